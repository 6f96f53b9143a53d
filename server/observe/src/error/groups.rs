//! Groups the messages of the error log by their place in Perl and their text, for the console.
//!
//! Only messages from warnings upwards are grouped. The groups are bounded: a new group replaces
//! the group whose last message is the oldest.

use crate::error::{word, Origin};
use mehari_config::LogLevel;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The most groups that are kept.
const MOST: usize = 200;
/// The most bytes of a message that are kept.
const LONGEST: usize = 500;

/// Messages of one place with one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorGroup {
    pub level: &'static str,
    /// `FILE:LINE` of the Perl code. Empty if the message names no line.
    pub place: String,
    /// The last message.
    pub message: String,
    pub count: u64,
    pub first: SystemTime,
    pub last: SystemTime,
    /// The origin of the last message.
    pub origin: Origin,
    /// Method and target of the last message's request. Empty if no request is known.
    pub request: String,
    /// The message without its numbers.
    kind: String,
}

#[derive(Default)]
pub struct ErrorGroups(Mutex<Vec<ErrorGroup>>);

impl ErrorGroups {
    pub fn add(&self, level: LogLevel, origin: Origin, message: &[u8]) {
        if level > LogLevel::Warn {
            return;
        }
        let message = String::from_utf8_lossy(&message[..message.len().min(LONGEST)]);
        let (kind, place) = (without_numbers(&message), place_of(&message));
        let now = SystemTime::now();
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut same = groups.iter_mut();
        let same = same.find(|it| it.kind == kind && it.place == place && it.level == word(level));
        if let Some(group) = same {
            group.count += 1;
            group.last = now;
            group.origin = origin;
            group.message = message.into_owned();
            group.request.clear();
            return;
        }
        if groups.len() >= MOST {
            let oldest = (0..groups.len()).min_by_key(|&index| groups[index].last);
            oldest.map(|index| groups.swap_remove(index));
        }
        groups.push(ErrorGroup {
            level: word(level),
            place,
            message: message.into_owned(),
            count: 1,
            first: now,
            last: now,
            origin,
            request: String::new(),
            kind,
        });
    }

    /// Names the request of the groups whose last message came from this request.
    pub fn name_request(&self, number: u64, request: &str) {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for group in groups.iter_mut() {
            if group.origin.request == Some(number) && group.request.is_empty() {
                request.clone_into(&mut group.request);
            }
        }
    }

    /// Returns the last messages of a request, the oldest first.
    pub fn of_request(&self, number: u64) -> Vec<String> {
        let groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = groups.iter().filter(|it| it.origin.request == Some(number));
        let mut said: Vec<&ErrorGroup> = said.collect();
        said.sort_by_key(|group| group.last);
        said.into_iter()
            .map(|group| group.message.clone())
            .collect()
    }

    /// Returns all groups.
    pub fn all(&self) -> Vec<ErrorGroup> {
        let groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        groups.clone()
    }
}

/// Replaces each run of digits by `#`, so that messages that differ in numbers are one group.
fn without_numbers(message: &str) -> String {
    let mut kind = String::with_capacity(message.len());
    for sign in message.chars() {
        if !sign.is_ascii_digit() {
            kind.push(sign);
        } else if !kind.ends_with('#') {
            kind.push('#');
        }
    }
    kind
}

/// Returns `FILE:LINE` of a message that ends as perl's do: `... at FILE line LINE.`
fn place_of(message: &str) -> String {
    let found = message.rfind(" line ").and_then(|at| {
        let (_, file) = message[..at].rsplit_once(" at ")?;
        let digits: String = message[at + 6..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        (!digits.is_empty()).then(|| format!("{file}:{digits}"))
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(messages: &[&str]) -> Vec<ErrorGroup> {
        let groups = ErrorGroups::default();
        for (number, message) in messages.iter().enumerate() {
            let origin = Origin {
                request: Some(number as u64),
                ..Origin::default()
            };
            groups.add(LogLevel::Error, origin, message.as_bytes());
            groups.name_request(number as u64, &format!("GET /{number}"));
        }
        groups.all()
    }

    #[test]
    fn messages_of_one_line_and_text_are_one_group_with_the_last_request() {
        let all = groups(&[
            "no row 7 at /a/b.pl line 12.",
            "no row 8 at /a/b.pl line 12.",
            "no row 8 at /a/b.pl line 13, <STDIN> line 4.",
            "<b>\u{1b}[31m</b>",
        ]);
        assert_eq!(all.len(), 3);
        assert_eq!((all[0].count, all[0].request.as_str()), (2, "GET /1"));
        assert_eq!(all[0].place, "/a/b.pl:12");
        assert_eq!(all[0].message, "no row 8 at /a/b.pl line 12.");
        assert_eq!((all[2].place.as_str(), all[2].count), ("", 1));
    }

    #[test]
    fn messages_of_a_request_are_found_by_its_number() {
        let groups = ErrorGroups::default();
        let origin = |number| Origin {
            request: Some(number),
            ..Origin::default()
        };
        for (number, message) in [(1, "no row"), (2, "no column"), (2, "no header")] {
            groups.add(LogLevel::Error, origin(number), message.as_bytes());
        }
        assert_eq!(groups.of_request(2), ["no column", "no header"]);
        assert!(groups.of_request(3).is_empty());
    }

    #[test]
    fn groups_are_bounded_and_notices_are_left_out() {
        let texts: Vec<String> = (0..MOST + 50)
            .map(|number| "x".repeat(number + 1))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(groups(&texts).len(), MOST);
        let groups = ErrorGroups::default();
        groups.add(LogLevel::Notice, Origin::default(), b"all is well");
        groups.add(LogLevel::Warn, Origin::default(), &[0xff; 10_000]);
        assert_eq!(groups.all().len(), 1);
    }
}
