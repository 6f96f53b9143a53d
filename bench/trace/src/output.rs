//! Writes a request's anatomy: a waterfall for a terminal, JSON, or a page.

mod calls;
mod html;
mod json;
mod text;

pub use calls::{calls_json, calls_text};
pub use html::html;
pub use json::json;
pub use text::text;

use crate::anatomy::TracedPart;

/// Returns a part's name as people read it: the calls that it joins, and its rows.
fn told(part: &TracedPart) -> String {
    let name = match &*part.kind {
        "request" => format!("worker {}", part.process.unwrap_or_default()),
        "statement" => format!("DBI {}", part.name),
        _ => part.name.clone(),
    };
    let calls = match part.count {
        1 => String::new(),
        count => format!(" × {count}"),
    };
    let rows = match part.rows {
        None => String::new(),
        Some(1) => " (1 row)".to_owned(),
        Some(rows) => format!(" ({rows} rows)"),
    };
    let line: Vec<&str> = name.split_whitespace().collect();
    format!("{}{calls}{rows}", line.join(" "))
}

/// Calls `give` with each part and its depth, the outer part first.
fn walk<'a>(parts: &'a [TracedPart], depth: usize, give: &mut impl FnMut(&'a TracedPart, usize)) {
    for part in parts {
        give(part, depth);
        walk(&part.parts, depth + 1, give);
    }
}

fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e6)
}

/// Microseconds with three decimals.
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
