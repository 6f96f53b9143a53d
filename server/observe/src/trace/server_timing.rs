//! Writes the stages of a timeline as the value of the field Server-Timing (W3C Server Timing):
//! `queue;dur=0.035, script;dur=12.5, statement;dur=3.1;desc="4 times", total;dur=14`.
//!
//! The names are kinds of parts, never names of the application or texts of statements.

use super::Timeline;
use std::fmt::Write;

/// The kinds of parts of a worker that contain all others, or that the front's `Perl` stands for.
const WHOLE: &str = "request";

/// A stage: the parts with one name together.
struct Stage {
    name: String,
    /// Nanoseconds.
    took: u64,
    count: u64,
}

/// Returns the value. `now`: the end of the whole.
pub fn value(timeline: &Timeline, now: u64) -> String {
    let mut stages: Vec<Stage> = Vec::new();
    let mut add = |name: &str, took: u64, count: u64| {
        let name = token(name);
        match stages.iter_mut().find(|stage| stage.name == name) {
            Some(stage) => (stage.took, stage.count) = (stage.took + took, stage.count + count),
            None => stages.push(Stage { name, took, count }),
        }
    };
    let mut from = timeline.began;
    for part in &timeline.front {
        add(part.name, part.until.saturating_sub(from), 1);
        from = part.until;
    }
    for wait in timeline.queued.iter().filter(|wait| wait.until > 0) {
        add("queue", wait.until.saturating_sub(wait.from), 1);
    }
    for part in timeline.perl.iter().filter(|part| part.kind != WHOLE) {
        add(part.kind, part.busy, part.count.into());
    }
    let mut text = String::new();
    for stage in &stages {
        push(&mut text, stage);
    }
    push(
        &mut text,
        &Stage {
            name: "total".to_owned(),
            took: now.saturating_sub(timeline.began),
            count: 1,
        },
    );
    text
}

fn push(text: &mut String, stage: &Stage) {
    let between = if text.is_empty() { "" } else { ", " };
    let thousandths = (stage.took + 500) / 1000;
    let _ = write!(
        text,
        "{between}{};dur={}.{:03}",
        stage.name,
        thousandths / 1000,
        thousandths % 1000
    );
    if stage.count > 1 {
        let _ = write!(text, ";desc=\"{} times\"", stage.count);
    }
}

/// Returns the name as a token of RFC 9110: letters, digits and `-`.
fn token(name: &str) -> String {
    let is_of_word = |letter: &char| letter.is_ascii_alphanumeric();
    let words = name.split(|letter: char| !is_of_word(&letter));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.len() {
        0 => "part".to_owned(),
        _ => words.join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FrontPart, PerlPart, QueueWait};
    use super::*;

    fn front(name: &'static str, until: u64) -> FrontPart {
        FrontPart {
            name,
            until,
            waits: false,
        }
    }

    fn perl(kind: &'static str, busy: u64, count: u32) -> PerlPart {
        PerlPart {
            kind,
            name: "DBI execute: SELECT \"secret\"".to_owned(),
            from: 0,
            until: 0,
            busy,
            count,
            rows: None,
            pid: 7,
            driver: None,
        }
    }

    #[test]
    fn stages_are_joined_by_name_and_show_no_name_of_the_application() {
        let timeline = Timeline {
            began: 1_000_000,
            front: vec![
                front("head", 1_100_000),
                front("route", 1_150_400),
                front("wait for a name, a password or a file", 1_250_400),
                front("route", 1_300_400),
            ],
            queued: vec![
                QueueWait {
                    from: 1_300_400,
                    until: 1_310_400,
                    worker: 7,
                },
                QueueWait {
                    from: 1_400_000,
                    until: 0,
                    worker: 0,
                },
            ],
            perl: vec![
                perl("statement", 2_000_000, 3),
                perl("statement", 500_000, 1),
                perl("request", 9_000_000, 1),
            ],
            ..Timeline::default()
        };
        assert_eq!(
            value(&timeline, 13_345_678),
            "head;dur=0.100, route;dur=0.100;desc=\"2 times\", \
             wait-for-a-name-a-password-or-a-file;dur=0.100, queue;dur=0.010, \
             statement;dur=2.500;desc=\"4 times\", total;dur=12.346"
        );
    }

    #[test]
    fn timeline_without_parts_has_only_its_whole() {
        assert_eq!(value(&Timeline::default(), 0), "total;dur=0.000");
        assert_eq!(token("(*)"), "part");
    }
}
