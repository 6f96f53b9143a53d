//! Compares the `Set-Cookie` fields of both sides: names, values and attributes, in the order of
//! the fields.

use std::collections::BTreeMap;

use hyper::header::{HeaderMap, DATE, SET_COOKIE};

use super::difference::Findings;
use super::fields::same_moment;
use super::mask::Masks;
use crate::session::headers::value_text;

/// The least length of a value that counts as generated.
const LEAST_MADE_UP: usize = 8;

struct Cookie {
    name: String,
    value: String,
    attributes: BTreeMap<String, String>,
}

pub fn compare(old: &HeaderMap, new: &HeaderMap, masks: &mut Masks, findings: &mut Findings) {
    let [dates_old, dates_new] = [old, new].map(|map| map.get(DATE).map(value_text));
    let dates = [dates_old.as_deref(), dates_new.as_deref()];
    let (olds, mut news) = (cookies(old), cookies(new));
    for a in olds {
        match news.iter().position(|b| b.name == a.name) {
            Some(place) => pair(&a, &news.remove(place), dates, masks, findings),
            None => findings.differ("cookie", Some(&a.name), Some(a.value.clone()), None),
        }
    }
    for b in news {
        findings.differ("cookie", Some(&b.name), None, Some(b.value.clone()));
    }
}

fn pair(
    a: &Cookie,
    b: &Cookie,
    dates: [Option<&str>; 2],
    masks: &mut Masks,
    findings: &mut Findings,
) {
    if a.value != b.value {
        let label = format!("cookie {}", a.name);
        if is_made_up(&a.value) && is_made_up(&b.value) {
            if masks.pair(&a.name, &a.value, &b.value) {
                findings.hide(&label, &a.value, &b.value)
            } else {
                let [old, new] = [a, b].map(|side| Some(side.value.clone()));
                findings.differ("cookie", Some(&a.name), old, new);
            }
        } else if let Some([old, new]) = masks.compare(&a.value, &b.value, &mut findings.hidden) {
            findings.differ("cookie", Some(&a.name), Some(old), Some(new));
        }
    }
    let mut names: Vec<&String> = a.attributes.keys().chain(b.attributes.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let sides = [a, b].map(|side| side.attributes.get(name));
        let label = format!("{}; {name}", a.name);
        match sides {
            [Some(old), Some(new)] if old == new => {}
            [Some(old), Some(new)] if name == "expires" && same_moment([old, new], dates) => {
                findings.hide("date", old, new);
            }
            [Some(old), Some(new)] if name == "domain" => {
                if let Some([old, new]) = masks.compare(old, new, &mut findings.hidden) {
                    findings.differ("cookie", Some(&label), Some(old), Some(new));
                }
            }
            [old, new] => findings.differ("cookie", Some(&label), old.cloned(), new.cloned()),
        }
    }
}

/// Returns whether the value looks generated, like a session identifier: long, without spaces, with
/// a digit.
fn is_made_up(value: &str) -> bool {
    value.len() >= LEAST_MADE_UP
        && !value.contains(char::is_whitespace)
        && value.contains(|c: char| c.is_ascii_digit())
}

fn cookies(headers: &HeaderMap) -> Vec<Cookie> {
    let lines = headers.get_all(SET_COOKIE).iter().map(value_text);
    lines.map(|line| cookie(&line)).collect()
}

fn cookie(line: &str) -> Cookie {
    let mut parts = line.split(';').map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    });
    let (name, value) = parts.next().unwrap_or_default();
    Cookie {
        name,
        value,
        attributes: parts
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect(),
    }
}
