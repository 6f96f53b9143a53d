//! Removes `.` and `..` segments, in a path as sent and in a path that a rule has made.

use crate::problem::{bad, Problem};
use std::borrow::Cow;

/// Removes `.` and `..` segments from the path as sent (RFC 3986 section 5.2.4). `%2e` counts as a
/// dot. A path above the root is refused.
///
/// # Errors
///
/// A [`Problem`] for a path that leads above the root.
pub fn remove_dot_segments(raw: &[u8]) -> Result<Cow<'_, [u8]>, Problem> {
    const PROBLEM: Problem = bad("a path that leads above the root");
    let mut segments = raw.split(|&byte| byte == b'/');
    if !segments.any(|segment| Step::of_encoded(segment) != Step::Into) {
        return Ok(Cow::Borrowed(raw));
    }
    resolve_segments(raw, Step::of_encoded)
        .map(Cow::Owned)
        .ok_or(PROBLEM)
}

/// Removes `.` and `..` from an absolute path that a rule or a page has made. Returns `None` if the
/// path leads above its root.
pub fn resolved(path: &[u8]) -> Option<Vec<u8>> {
    resolve_segments(path, Step::of)
}

/// How a segment changes the current folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Into,
    Stay,
    Up,
}

impl Step {
    fn of(segment: &[u8]) -> Step {
        match segment {
            b"." => Step::Stay,
            b".." => Step::Up,
            _ => Step::Into,
        }
    }

    fn of_encoded(segment: &[u8]) -> Step {
        let mut rest = segment;
        for step in [Step::Into, Step::Stay, Step::Up] {
            let dot = rest.strip_prefix(b".");
            let encoded = |rest: &[u8]| rest.get(..3)?.eq_ignore_ascii_case(b"%2e").then_some(());
            rest = match (rest, dot) {
                (b"", _) => return step,
                (_, Some(behind)) => behind,
                _ if encoded(rest).is_some() => &rest[3..],
                _ => return Step::Into,
            };
        }
        Step::Into
    }
}

/// Returns the absolute path after all steps. As on the disk, `..` leaves the previous folder even
/// if several slashes stand before it.
fn resolve_segments(path: &[u8], step: impl Fn(&[u8]) -> Step) -> Option<Vec<u8>> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut segments = path.strip_prefix(b"/")?.split(|&byte| byte == b'/');
    let mut ends_in_folder = false;
    for segment in &mut segments {
        let step = step(segment);
        ends_in_folder = step != Step::Into;
        match step {
            Step::Into => kept.push(segment),
            Step::Stay => {}
            Step::Up => {
                while kept.last().is_some_and(|name| name.is_empty()) {
                    kept.pop();
                }
                kept.pop()?;
            }
        }
    }
    if ends_in_folder {
        kept.push(b"");
    }
    Some([b"/", &kept.join(&b"/"[..])[..]].concat())
}
