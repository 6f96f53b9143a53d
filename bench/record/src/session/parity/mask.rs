//! Masks values that may differ: rules replace such a value by `<what>` on each side.

use std::collections::{BTreeMap, HashMap};

use regex::{Captures, Regex};

use super::Settings;
use crate::session::Target;

/// The rules that always apply, in the order of their application: whole dates come before times,
/// because a date contains a time.
const USUAL: [(&str, &str); 6] = [
    (
        "date",
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:\d{1,2}[ -][A-Z][a-z]{2}[a-z]*[ -]\d{2,4}|[A-Z][a-z]{2}[a-z]* +\d{1,2},?)(?: +\d{1,2}:\d{2}(?::\d{2})?)?(?: (?:GMT|UTC|[A-Z]{3,4}|[+-]\d{4}))?(?: \d{4})?\b",
    ),
    (
        "date",
        r"\b\d{1,2}/[A-Z][a-z]{2}/\d{4}(?::\d{2}:\d{2}:\d{2}(?: [+-]\d{4})?)?\b",
    ),
    (
        "date",
        r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b",
    ),
    ("time", r"\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?\b"),
    ("time", r"\b(?<epoch>\d{10})(?:\.\d+)?\b"),
    (
        "process id",
        r#"(?i)\b(?:pid|process(?:[ _-]?id)?)\b["']?(?:</?[a-z]+>|[\s:=#>|-])*["']?(?<v>\d+)\b"#,
    ),
];

/// A number counts as a time if it differs from the present time by at most these seconds.
const AROUND_NOW: u64 = 86_400;

struct Rule {
    what: String,
    pattern: Regex,
}

pub struct Masks {
    own: Vec<Rule>,
    servers: [Vec<Rule>; 2],
    usual: Vec<Rule>,
    /// For each cookie: which value of one server belongs to which value of the other server. The
    /// first map leads from old to new, the second from new to old.
    same: [HashMap<(String, String), String>; 2],
    /// The latest values of each cookie: the old server's, then the new server's.
    current: BTreeMap<String, [String; 2]>,
}

/// Two different values that a mask has hidden.
pub struct Hidden {
    pub what: String,
    pub old: String,
    pub new: String,
}

impl Masks {
    pub fn of(settings: &Settings) -> Result<Masks, String> {
        let own = settings.masks.iter().map(|pattern| {
            let compiled = Regex::new(pattern).map_err(|cause| {
                let told = cause.to_string();
                let reason = told.lines().last().unwrap_or_default().trim();
                format!(
                    "--mask `{pattern}`: {}",
                    reason.trim_start_matches("error: ")
                )
            })?;
            Ok(rule(&format!("mask {pattern}"), compiled))
        });
        Ok(Masks {
            own: own.collect::<Result<_, String>>()?,
            servers: [
                addresses(&settings.old, &settings.new),
                addresses(&settings.new, &settings.old),
            ],
            usual: USUAL
                .map(|(what, pattern)| rule(what, fixed(pattern)))
                .into(),
            same: Default::default(),
            current: BTreeMap::new(),
        })
    }

    /// Records that the values `old` and `new` of a cookie belong together. Returns false if one of
    /// the values already belongs to another value: a server has lost a session, or joined two
    /// sessions.
    pub fn pair(&mut self, cookie: &str, old: &str, new: &str) -> bool {
        let is_same = |map: &mut HashMap<(String, String), String>, from: &str, to: &str| {
            let before = map.insert((cookie.to_owned(), from.to_owned()), to.to_owned());
            before.is_none_or(|before| before == to)
        };
        let agree = is_same(&mut self.same[0], old, new) & is_same(&mut self.same[1], new, old);
        self.current
            .insert(cookie.to_owned(), [old.to_owned(), new.to_owned()]);
        agree
    }

    /// Masks both texts. Returns the masked texts if they still differ. Adds the masked values to
    /// `hidden`.
    pub fn compare(&self, old: &str, new: &str, hidden: &mut Vec<Hidden>) -> Option<[String; 2]> {
        if old == new {
            return None;
        }
        let mut texts = [old.to_owned(), new.to_owned()];
        for rule in &self.own {
            self.apply(&mut texts, [rule, rule], hidden);
        }
        for (cookie, values) in &self.current {
            let rules = values
                .each_ref()
                .map(|value| rule(&format!("cookie {cookie}"), fixed(&regex::escape(value))));
            self.apply(&mut texts, [&rules[0], &rules[1]], hidden);
        }
        for (a, b) in self.servers[0].iter().zip(&self.servers[1]) {
            self.apply(&mut texts, [a, b], hidden);
        }
        for rule in &self.usual {
            self.apply(&mut texts, [rule, rule], hidden);
        }
        (texts[0] != texts[1]).then_some(texts)
    }

    fn apply(&self, texts: &mut [String; 2], rules: [&Rule; 2], hidden: &mut Vec<Hidden>) {
        let (old, olds) = rules[0].mask(&texts[0]);
        let (new, news) = rules[1].mask(&texts[1]);
        let differing = olds.into_iter().zip(news).filter(|(a, b)| a != b);
        hidden.extend(differing.map(|(old, new)| Hidden {
            what: rules[0].what.clone(),
            old,
            new,
        }));
        *texts = [old, new];
    }
}

impl Rule {
    /// Returns the text with `<what>` in place of each matching value, and the values.
    fn mask(&self, text: &str) -> (String, Vec<String>) {
        let (mut masked, mut values, mut done) = (String::new(), Vec::new(), 0);
        for found in self.pattern.captures_iter(text) {
            if !is_meant(&found) {
                continue;
            }
            let Some(span) = found.name("v").or_else(|| found.get(0)) else {
                continue;
            };
            // An empty match, such as that of `x*`, hides nothing.
            if span.is_empty() {
                continue;
            }
            masked.push_str(&text[done..span.start()]);
            masked.push_str(&format!("<{}>", self.what));
            values.push(span.as_str().to_owned());
            done = span.end();
        }
        masked.push_str(&text[done..]);
        (masked, values)
    }
}

/// Returns whether the match counts. Ten digits count as a time only if they are near the present
/// time.
fn is_meant(found: &Captures) -> bool {
    let Some(digits) = found.name("epoch") else {
        return true;
    };
    let now = crate::wall_clock::now() / 1_000_000;
    let seconds = digits.as_str().parse::<u64>();
    seconds.is_ok_and(|seconds| seconds.abs_diff(now) < AROUND_NOW)
}

/// Returns the rules that mask the addresses of `server`. The lists for both servers have equal
/// length and order.
fn addresses(server: &Target, other: &Target) -> Vec<Rule> {
    let word = |name: &str| {
        if name.starts_with(|c: char| c.is_alphanumeric()) {
            format!(r"\b{}\b", regex::escape(name))
        } else {
            regex::escape(name)
        }
    };
    let authority = regex::escape(&server.authority);
    let scheme = if server.tls { "https" } else { "http" };
    let mut patterns = vec![
        format!(r"\b{scheme}://{authority}\b"),
        word(&server.authority),
        format!(r"(?i)port\b[^\w\r\n]{{1,12}}(?<v>{})\b", server.port),
    ];
    if server.host != other.host {
        patterns.push(word(&server.host));
    }
    let rules = patterns
        .iter()
        .map(|pattern| rule("server address", fixed(pattern)));
    rules.collect()
}

fn rule(what: &str, pattern: Regex) -> Rule {
    Rule {
        what: what.to_owned(),
        pattern,
    }
}

fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file and escaped text are valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Trust;

    fn masks(own: &[&str]) -> Masks {
        let settings = Settings {
            old: "http://127.0.0.1:8001".parse().expect("a target"),
            new: "http://127.0.0.1:9002".parse().expect("a target"),
            trust: Trust::new(false),
            timeout: std::time::Duration::from_secs(1),
            masks: own.iter().map(|text| (*text).to_owned()).collect(),
            ignored_headers: Vec::new(),
            ignore_validators: false,
            ignore_server_pages: false,
        };
        Masks::of(&settings).expect("masks")
    }

    fn hidden(masks: &Masks, old: &str, new: &str) -> Option<Vec<String>> {
        let mut hidden = Vec::new();
        match masks.compare(old, new, &mut hidden) {
            Some(_) => None,
            None => Some(hidden.into_iter().map(|one| one.what).collect()),
        }
    }

    #[test]
    fn values_that_vary_are_masked_and_reported() {
        let now = crate::wall_clock::now() / 1_000_000;
        let (now, later) = (now.to_string(), (now + 1).to_string());
        for (old, new, what) in [
            (
                "at Sun Nov 22 01:28:22 2026.",
                "at Mon Nov 23 02:28:22 2026.",
                "date",
            ),
            (
                "Sun, 22 Nov 2026 01:28:22 GMT",
                "Sun, 22 Nov 2026 01:28:23 GMT",
                "date",
            ),
            ("2026-11-22T01:28:22Z", "2026-11-23T01:28:22Z", "date"),
            (
                "[22/Nov/2026:01:28:22 +0000]",
                "[22/Nov/2026:01:28:23 +0000]",
                "date",
            ),
            ("it is 1:28:22", "it is 1:28:23", "time"),
            (&now, &later, "time"),
            ("pid=17 of", "pid=4711 of", "process id"),
            (r#"{"pid":17}"#, r#"{"pid":18}"#, "process id"),
            (
                "http://127.0.0.1:8001/x",
                "http://127.0.0.1:9002/x",
                "server address",
            ),
            (
                "Server at 127.0.0.1 Port 8001",
                "Server at 127.0.0.1 Port 9002",
                "server address",
            ),
        ] {
            let told = hidden(&masks(&[]), old, new);
            assert_eq!(told, Some(vec![what.to_owned()]), "{old}");
        }
        assert_eq!(
            hidden(&masks(&[]), "2026-11-22", "2026-11-22"),
            Some(vec![])
        );
    }

    #[test]
    fn other_differences_are_not_masked() {
        for (old, new) in [
            ("1234567890", "1234567891"),
            ("http://127.0.0.1/x", "http://127.0.0.1:9002/x"),
            ("pid 7 a", "pid 8 b"),
            ("7", "8"),
        ] {
            assert_eq!(hidden(&masks(&[]), old, new), None, "{old}");
        }
    }

    #[test]
    fn a_mask_of_the_user_hides_its_group_only() {
        let own = masks(&[r"token=(?<v>\w+)"]);
        assert!(hidden(&own, "token=a1", "token=b2").is_some());
        assert_eq!(hidden(&own, "token=a1", "other=b2"), None);
    }

    #[test]
    fn cookies_are_paired_one_to_one() {
        let mut masks = masks(&[]);
        assert!(masks.pair("id", "aaaa1111", "bbbb2222"));
        assert!(masks.pair("id", "aaaa1111", "bbbb2222"));
        assert!(hidden(&masks, "?id=aaaa1111", "?id=bbbb2222").is_some());
        assert_eq!(hidden(&masks, "?id=aaaa1111", "?id=cccc3333"), None);
        assert!(!masks.pair("id", "aaaa1111", "cccc3333"));
        assert!(!masks.pair("id", "dddd4444", "bbbb2222"));
    }
}
