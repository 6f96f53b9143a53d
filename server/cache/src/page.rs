//! A kept response, and its possible uses at a given time (RFC 9111 section 4).

use crate::control::Control;
use crate::fields::fields;
use crate::terms::Terms;
use bytes::Bytes;
use std::time::{Duration, SystemTime};

#[derive(Debug, Clone)]
pub struct Page {
    pub status: u16,
    /// Header lines without those about the connection. Each line has the form `Name: value\r\n`.
    pub lines: Vec<u8>,
    pub body: Bytes,
    /// When the response arrived.
    pub since: SystemTime,
    pub terms: Terms,
    /// A number that no other page of the store has.
    pub number: u64,
}

/// How a page may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    /// The page may be used while a new page is made.
    StaleButUsable,
    /// The program must validate the page first.
    Stale,
}

impl Page {
    /// Returns how many bytes of the store's limit the page takes.
    pub fn weight(&self) -> u64 {
        const OVERHEAD: usize = 400;
        (self.lines.len() + self.body.len() + self.terms.weight() + OVERHEAD) as u64
    }

    /// Returns the age of RFC 9111 section 4.2.3.
    pub fn age(&self, now: SystemTime) -> Duration {
        self.terms.age + now.duration_since(self.since).unwrap_or(Duration::ZERO)
    }

    /// Returns how a request may use the page now. `asked` is the request's Cache-Control, or
    /// `None` if the site ignores that field.
    pub fn freshness(&self, asked: Option<&Control>, now: SystemTime) -> Freshness {
        let age = self.age(now);
        let nothing = Control::default();
        let asked = asked.unwrap_or(&nothing);
        let fresh_enough = age + asked.min_fresh.unwrap_or(Duration::ZERO) < self.terms.lifetime
            && asked
                .max_age
                .is_none_or(|limit| age <= limit && !limit.is_zero());
        if self.terms.ask || asked.no_cache {
            return Freshness::Stale;
        }
        if fresh_enough {
            return Freshness::Fresh;
        }
        let behind = age.saturating_sub(self.terms.lifetime);
        let demands = asked.max_age.is_some() || asked.min_fresh.is_some();
        let tolerated = asked
            .max_stale
            .filter(|_| self.terms.if_error > Duration::ZERO);
        match () {
            _ if demands => Freshness::Stale,
            _ if tolerated.is_some_and(|limit| behind <= limit) => Freshness::Fresh,
            _ if behind < self.terms.while_revalidate => Freshness::StaleButUsable,
            _ => Freshness::Stale,
        }
    }

    /// Returns whether the page may be used if the program failed.
    pub fn is_usable_after_failure(&self, now: SystemTime) -> bool {
        let end = self.terms.lifetime + self.terms.if_error;
        !self.terms.if_error.is_zero() && self.age(now) < end
    }

    /// Returns whether the page is useless, because it is too old and has no validator.
    pub fn is_useless(&self, now: SystemTime) -> bool {
        let more = self.terms.while_revalidate.max(self.terms.if_error);
        let can_ask = self.terms.etag.is_some() || self.terms.modified.is_some();
        !can_ask && self.age(now) >= self.terms.lifetime + more
    }

    /// Returns the page's header after a 304 with these lines (RFC 9111 section 3.2).
    pub fn update_header(&self, lines: &[u8]) -> Vec<u8> {
        let about_bytes = [
            "content-length",
            "content-encoding",
            "content-type",
            "content-range",
        ];
        let is_new = |name: &[u8]| {
            let is = |other: &&str| name.eq_ignore_ascii_case(other.as_bytes());
            !about_bytes.iter().any(is)
        };
        let said = |name: &[u8]| {
            is_new(name) && fields(lines).any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let mut all = Vec::with_capacity(self.lines.len());
        let mut push = |(name, value): (&[u8], &[u8])| {
            all.extend_from_slice(name);
            all.extend_from_slice(b": ");
            all.extend_from_slice(value);
            all.extend_from_slice(b"\r\n");
        };
        fields(&self.lines)
            .filter(|(name, _)| !said(name))
            .for_each(&mut push);
        fields(lines)
            .filter(|(name, _)| is_new(name))
            .for_each(&mut push);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page {
            status: 200,
            lines: b"ETag: \"a\"\r\nContent-Type: text/plain\r\nX: 1\r\n".to_vec(),
            body: Bytes::from_static(b"body"),
            since: SystemTime::UNIX_EPOCH,
            terms: Terms {
                lifetime: Duration::from_secs(10),
                age: Duration::from_secs(2),
                while_revalidate: Duration::from_secs(5),
                if_error: Duration::from_secs(20),
                ask: false,
                etag: None,
                modified: None,
                vary: Vec::new(),
            },
            number: 1,
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_page_ages_from_fresh_to_useless() {
        let page = page();
        let rows = [
            (0, "", Freshness::Fresh),
            (7, "", Freshness::Fresh),
            (8, "", Freshness::StaleButUsable),
            (13, "", Freshness::Stale),
            (0, "no-cache", Freshness::Stale),
            (0, "max-age=0", Freshness::Stale),
            (3, "max-age=4", Freshness::Stale),
            (3, "max-age=6", Freshness::Fresh),
            (6, "min-fresh=3", Freshness::Stale),
            (15, "max-stale=10", Freshness::Fresh),
            (25, "max-stale=10", Freshness::Stale),
        ];
        for (seconds, asked, expected) in rows {
            let control = Control::parse([asked.as_bytes()].into_iter());
            assert_eq!(
                page.freshness(Some(&control), at(seconds)),
                expected,
                "{seconds} {asked}"
            );
        }
        assert_eq!(page.freshness(None, at(0)), Freshness::Fresh);
        assert!(page.is_usable_after_failure(at(27)) && !page.is_usable_after_failure(at(28)));
        assert!(!page.is_useless(at(27)) && page.is_useless(at(28)));
    }

    #[test]
    fn a_304_changes_the_header_except_fields_about_the_body() {
        let lines = page().update_header(b"x: 2\r\nContent-Type: text/html\r\nExpires: later\r\n");
        let expected = "ETag: \"a\"\r\nContent-Type: text/plain\r\nx: 2\r\nExpires: later\r\n";
        assert_eq!(String::from_utf8_lossy(&lines), expected);
    }
}
