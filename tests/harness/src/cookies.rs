//! Keeps the cookies of one site as a browser does.

use crate::{Answer, Request};
use std::collections::BTreeMap;

/// The cookies by name. Paths and domains are ignored, because a test uses one site.
#[derive(Default)]
pub struct Cookies {
    values: BTreeMap<String, String>,
}

impl Cookies {
    /// Keeps the cookies that a response sets, and removes those that it lets expire.
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

/// Returns whether the cookie's date is in the past. Programs delete a cookie in this way.
fn is_over(attributes: &str) -> bool {
    let attributes = attributes.to_ascii_lowercase();
    attributes.contains("max-age=0")
        || attributes.split_once("expires=").is_some_and(|(_, date)| {
            ["1970", "1971", "-70 ", "1997", "1998"]
                .iter()
                .any(|year| date.contains(year))
        })
}
