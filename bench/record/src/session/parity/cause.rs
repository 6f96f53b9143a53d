//! Groups the differences of all requests by their cause: one changed setting usually changes many
//! answers in the same way.

use serde::Serialize;

use super::report::Compared;
use super::Difference;

/// The same difference in the answers to several requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// What differs, such as `status: old 404, new 200`.
    pub what: String,
    /// The number of requests with this difference.
    pub requests: usize,
    /// The first of these requests.
    pub first: String,
}

/// Returns the causes, the most frequent first.
pub fn of(requests: &[Compared]) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    for one in requests {
        let mut seen: Vec<String> = Vec::new();
        for what in one.differences.iter().map(name) {
            if seen.contains(&what) {
                continue;
            }
            match causes.iter_mut().find(|cause| cause.what == what) {
                Some(cause) => cause.requests += 1,
                None => causes.push(Cause {
                    what: what.clone(),
                    requests: 1,
                    first: one.request.clone(),
                }),
            }
            seen.push(what);
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.requests));
    causes
}

/// Returns the difference without the values that belong to one request.
fn name(difference: &Difference) -> String {
    let part = match &difference.name {
        Some(name) => format!("{} {name}", difference.part),
        None => difference.part.to_owned(),
    };
    match (difference.part, &difference.old, &difference.new) {
        ("status", Some(old), Some(new)) => format!("status: old {old}, new {new}"),
        ("body", _, _) => part,
        (_, Some(_), None) => format!("{part}: only old has it"),
        (_, None, Some(_)) => format!("{part}: only new has it"),
        _ => format!("{part}: another value"),
    }
}
