//! Reads `Cache-Control` of requests and responses (RFC 9111 section 5.2, RFC 5861).
//!
//! An argument that is not a number of seconds makes its directive as strict as possible.
//! `no-cache` and `private` with field names count like those without names.

use std::time::Duration;

/// The largest number of seconds. RFC 9111 section 1.2.2 demands that a larger number counts as
/// this number.
const LONGEST: u64 = 1 << 31;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Control {
    pub no_store: bool,
    pub no_cache: bool,
    pub private: bool,
    pub public: bool,
    pub must_revalidate: bool,
    pub proxy_revalidate: bool,
    pub only_if_cached: bool,
    pub max_age: Option<Duration>,
    pub shared_max_age: Option<Duration>,
    pub min_fresh: Option<Duration>,
    /// A request accepts a response that has been stale for this long.
    pub max_stale: Option<Duration>,
    pub while_revalidate: Option<Duration>,
    pub if_error: Option<Duration>,
}

impl Control {
    /// Returns whether a shared cache must never use the response stale, whatever else the response
    /// says (RFC 9111 sections 5.2.2.2 and 5.2.2.8).
    pub fn forbids_stale(&self) -> bool {
        self.must_revalidate || self.proxy_revalidate || self.no_cache
    }

    pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Control {
        let mut control = Control::default();
        for value in values {
            for (name, argument) in Words(value) {
                control.note(name, argument);
            }
        }
        control
    }

    fn note(&mut self, name: &[u8], argument: Option<&[u8]>) {
        let seconds = || Some(argument.and_then(seconds).unwrap_or(Duration::ZERO));
        let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
        match () {
            _ if is("no-store") => self.no_store = true,
            _ if is("no-cache") => self.no_cache = true,
            _ if is("private") => self.private = true,
            _ if is("public") => self.public = true,
            _ if is("must-revalidate") => self.must_revalidate = true,
            _ if is("proxy-revalidate") => self.proxy_revalidate = true,
            _ if is("only-if-cached") => self.only_if_cached = true,
            // If the directive occurs twice, the first value counts. A second value cannot relax
            // the first.
            _ if is("max-age") => self.max_age = self.max_age.or_else(seconds),
            _ if is("s-maxage") => self.shared_max_age = self.shared_max_age.or_else(seconds),
            _ if is("min-fresh") => self.min_fresh = seconds(),
            _ if is("max-stale") => {
                let any = Duration::from_secs(LONGEST);
                self.max_stale = argument.map_or(Some(any), seconds_of);
            }
            _ if is("stale-while-revalidate") => self.while_revalidate = seconds(),
            _ if is("stale-if-error") => self.if_error = seconds(),
            _ => {}
        }
    }
}

fn seconds_of(argument: &[u8]) -> Option<Duration> {
    seconds(argument)
}

/// Returns a number of seconds, or `None` if the text is not a number.
pub(crate) fn seconds(argument: &[u8]) -> Option<Duration> {
    let digits = !argument.is_empty() && argument.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(argument).ok().filter(|_| digits)?;
    let number = text.parse::<u64>().unwrap_or(LONGEST);
    Some(Duration::from_secs(number.min(LONGEST)))
}

/// The words of a list with their arguments: `a, b=1, c="d, e"`.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.0.trim_ascii_start();
            if rest.is_empty() {
                return None;
            }
            let end = rest.iter().position(|byte| matches!(byte, b',' | b'='));
            let end = end.unwrap_or(rest.len());
            let name = rest[..end].trim_ascii();
            let (argument, after) = match rest.get(end) {
                Some(b'=') => argument(&rest[end + 1..]),
                _ => (None, &rest[end..]),
            };
            let comma = memchr::memchr(b',', after);
            self.0 = comma.map_or(&[][..], |comma| &after[comma + 1..]);
            if !name.is_empty() {
                return Some((name, argument));
            }
        }
    }
}

/// Splits a token or a quoted string off the text. Returns the argument and the rest of the text.
fn argument(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let text = text.trim_ascii_start();
    if let Some(quoted) = text.strip_prefix(b"\"") {
        let end = memchr::memchr(b'"', quoted).unwrap_or(quoted.len());
        return (
            Some(&quoted[..end]),
            quoted.get(end + 1..).unwrap_or_default(),
        );
    }
    let end = memchr::memchr(b',', text).unwrap_or(text.len());
    (Some(text[..end].trim_ascii()), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Control {
        Control::parse([text.as_bytes()].into_iter())
    }

    #[test]
    fn directives_are_read_in_any_case_and_with_quotes() {
        let seconds = |number| Some(Duration::from_secs(number));
        let rows: [(&str, Control); 9] = [
            (
                "no-store, NO-CACHE",
                Control {
                    no_store: true,
                    no_cache: true,
                    ..Control::default()
                },
            ),
            (
                "max-age=60",
                Control {
                    max_age: seconds(60),
                    ..Control::default()
                },
            ),
            (
                "max-age = \"60\" , public",
                Control {
                    max_age: seconds(60),
                    public: true,
                    ..Control::default()
                },
            ),
            (
                "max-age=x",
                Control {
                    max_age: seconds(0),
                    ..Control::default()
                },
            ),
            (
                "max-age=-1",
                Control {
                    max_age: seconds(0),
                    ..Control::default()
                },
            ),
            (
                "max-age=99999999999999999999",
                Control {
                    max_age: seconds(LONGEST),
                    ..Control::default()
                },
            ),
            (
                "max-age=5, max-age=50",
                Control {
                    max_age: seconds(5),
                    ..Control::default()
                },
            ),
            (
                "private=\"Set-Cookie, no-store\", x=1",
                Control {
                    private: true,
                    ..Control::default()
                },
            ),
            (
                ", ,max-stale,,",
                Control {
                    max_stale: seconds(LONGEST),
                    ..Control::default()
                },
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
