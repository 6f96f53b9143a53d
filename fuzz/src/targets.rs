//! Lists the parsers and checks for each the invariants that hold for any input. No input may cause
//! a panic.

use crate::mutate::{mutate, Random};
use crate::{corpus, mailbox, patterns};
use mehari_config::{Site, Speech};
use mehari_front::probe;
use mehari_pool::script_head::{self, Form};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

pub struct Target {
    pub name: &'static str,
    pub check: fn(&[u8]),
}

pub const ALL: &[Target] = &[
    Target {
        name: "head",
        check: head,
    },
    Target {
        name: "chunked",
        check: chunked,
    },
    Target {
        name: "script-head",
        check: script,
    },
    Target {
        name: "records",
        check: records,
    },
    Target {
        name: "ring",
        check: mailbox::ring,
    },
    Target {
        name: "positions",
        check: mailbox::positions,
    },
    Target {
        name: "reply",
        check: |input| reply(input, Speech::Http),
    },
    Target {
        name: "fastcgi",
        check: |input| reply(input, Speech::FastCgi),
    },
    Target {
        name: "config",
        check: config,
    },
    Target {
        name: "patterns",
        check: patterns::engines,
    },
];

/// The longest input of a parser in bytes.
const LONGEST: usize = 64 * 1024;

impl Target {
    /// Runs each input of the corpus, then mutations until the deadline. Returns the number of
    /// inputs, or the input that failed.
    pub fn run(&self, time: Duration, random: &mut Random) -> Result<usize, Vec<u8>> {
        let corpus = corpus::read(self.name);
        for input in &corpus {
            self.holds(input)?;
        }
        let (begun, mut count) = (Instant::now(), corpus.len());
        while begun.elapsed() < time {
            self.holds(&mutate(&corpus, random, LONGEST))?;
            count += 1;
        }
        Ok(count)
    }

    fn holds(&self, input: &[u8]) -> Result<(), Vec<u8>> {
        let begun = time_on_core();
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.check)(input)));
        // Every parser takes far less time than this, but a parser with quadratic time exceeds it.
        if outcome.is_ok() && time_on_core() - begun < Duration::from_secs(2) {
            Ok(())
        } else {
            Err(input.to_vec())
        }
    }
}

/// Returns the time that this thread has been on a core. A machine that is busy with other work
/// does not lengthen it.
fn time_on_core() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// Reads a request head. The result must not depend on how the bytes are split.
fn head(input: &[u8]) {
    let limits = &Site::defaults().limits;
    let whole = probe::request_head(input, usize::MAX / 2, limits);
    let by_bytes = probe::request_head(input, 1, limits);
    match (&whole, &by_bytes) {
        // The parser may report an error before the line is complete, or report another error
        // first.
        (Err(_) | Ok(None), Err(_)) => {}
        _ => assert_eq!(whole, by_bytes, "the pieces matter"),
    }
    if let Ok(Some((length, method, target))) = whole {
        assert!(length <= input.len() && !method.is_empty() && !target.is_empty());
    }
}

fn chunked(input: &[u8]) {
    let whole = probe::chunked_body(input, usize::MAX / 2);
    let by_bytes = probe::chunked_body(input, 1);
    match (&whole, &by_bytes) {
        (Err(_), Err(_)) => {}
        _ => assert_eq!(whole, by_bytes, "the pieces matter"),
    }
    if let Ok((body, taken, _)) = whole {
        assert!(body.len() <= taken && taken <= input.len());
    }
}

fn script(input: &[u8]) {
    let whole = script_head::end(input, 0);
    let mut by_bytes = None;
    for arrived in 1..=input.len().min(2000) {
        by_bytes = script_head::end(&input[..arrived], arrived - 1);
        if by_bytes.is_some() {
            break;
        }
    }
    if input.len() <= 2000 {
        assert_eq!(whole, by_bytes, "the pieces matter");
    }
    for form in [Form::Parsed, Form::StatusLine] {
        if let Some(end) = whole {
            if let Ok(head) = script_head::parse(&input[..end], form) {
                let lines = head.into_response().lines;
                assert!(lines.is_empty() || lines.ends_with(b"\r\n"));
            }
        }
    }
}

/// Reads a worker's records for a request. The input has for each record its kind, its detail, the
/// length of its payload, and the payload.
fn records(mut input: &[u8]) {
    let records = std::iter::from_fn(|| {
        let (&[kind, low, high, short, long], rest) = input.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes([short, long])).min(rest.len());
        let (payload, rest) = rest.split_at(length);
        input = rest;
        Some((kind.into(), u16::from_le_bytes([low, high]), payload))
    });
    let _ = mehari_pool::probe::records(records);
}

fn config(input: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("httpd.conf");
    std::fs::write(&file, input).expect("a file");
    if let Err(problems) = Site::load(&file, &[]) {
        assert!(!problems.problems.is_empty(), "refused without a reason");
        assert!(!problems.to_string().is_empty());
    }
}

/// Reads a back end's response. The result for a whole response must not depend on how the bytes
/// are split.
fn reply(input: &[u8], speech: Speech) {
    let whole = probe::back_end_reply(input, usize::MAX / 2, speech);
    let by_bytes = probe::back_end_reply(input, 1, speech);
    if let (Ok(Some((status, body, true))), Ok(Some((other, bytes, true)))) = (&whole, &by_bytes) {
        assert_eq!((status, body), (other, bytes));
    }
}
