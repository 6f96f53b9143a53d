//! Watches a worker and shows the variables whose memory it unshares, and the code that does it.

use super::growing::chosen;
use super::MemoryOptions;
use crate::cli::control;
use crate::cli::growth::{served_by, Counted};
use crate::cli::interrupt;
use crate::cli::status::size;
use mehari_memory::{Unsharing, UnsharingWatch};
use serde_json::json;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What the watch saw.
struct Watched {
    pid: u32,
    /// The requests during the watch. `None`: the process is no worker, or has ended.
    requests: Option<u64>,
    has_ended: bool,
    before: Vec<Unsharing>,
    during: Vec<Unsharing>,
}

/// The most requests that a row of the table names.
const MOST_REQUESTS: usize = 3;

/// Returns the table, or the same figures as JSON.
pub fn shown(options: &MemoryOptions) -> Result<String, String> {
    let watched = watched(options)?;
    if options.json {
        let report = json!({
            "pid": watched.pid, "requests": watched.requests, "ended": watched.has_ended,
            "before": watched.before, "unshared": watched.during,
        });
        return Ok(format!("{report:#}\n"));
    }
    Ok(watched.table(options.rows))
}

fn watched(options: &MemoryOptions) -> Result<Watched, String> {
    let status = || control::ask(options.control.as_deref(), "status");
    let Counted { pid, served } = match options.pid {
        Some(pid) => Counted { pid, served: None },
        None => {
            let mut workers = chosen(options, &status()?)?.into_iter();
            workers.next().ok_or("the server has no worker yet")?
        }
    };
    let is_over = interrupt::flag()?;
    let mut watch = UnsharingWatch::of(pid).map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let until = || is_over.load(Ordering::Relaxed) || begun.elapsed() >= options.duration;
    let shared = size(&json!(watch.shared_bytes()));
    let begins = || {
        eprintln!(
            "mehari memory: process {pid} shares {shared}; the watch lasts {:?}, or until Ctrl-C",
            options.duration
        );
    };
    watch
        .run(&begins, &until)
        .map_err(|error| error.to_string())?;
    let (before, during) = watch.report();
    let requests =
        served.and_then(|served| Some(served_by(&status().ok()?, pid)?.saturating_sub(served)));
    Ok(Watched {
        pid,
        requests,
        has_ended: watch.has_ended(),
        before,
        during,
    })
}

impl Watched {
    fn table(&self, rows: usize) -> String {
        let bytes = |all: &[Unsharing]| size(&json!(all.iter().map(|it| it.bytes).sum::<u64>()));
        let mut text = format!("process {}", self.pid);
        if let Some(requests) = self.requests {
            text = format!("worker {}: {requests} requests", self.pid);
        }
        let _ = writeln!(
            text,
            ", {} unshared during the watch, {} before",
            bytes(&self.during),
            bytes(&self.before)
        );
        if self.has_ended {
            text += "the process ended during the watch\n";
        }
        for (all, when, place) in [
            (
                &self.during,
                "during the watch",
                "the code that wrote, and the requests",
            ),
            (
                &self.before,
                "before the watch",
                "code that uses the variable",
            ),
        ] {
            if !all.is_empty() {
                let _ = writeln!(
                    text,
                    "\n{:>10}  variable unshared {when}, {place}",
                    "unshared"
                );
            }
            for one in all.iter().take(rows) {
                row(one, &mut text);
            }
        }
        text
    }
}

fn row(one: &Unsharing, text: &mut String) {
    let _ = writeln!(text, "{:>10}  {}", size(&json!(one.bytes)), one.name);
    for site in &one.sites {
        let _ = write!(text, "{:>14}{}:{}", "", site.file, site.line);
        let _ = if one.sub.is_empty() {
            writeln!(text)
        } else {
            writeln!(text, " {}", one.sub)
        };
    }
    let named: Vec<String> = one
        .requests
        .iter()
        .take(MOST_REQUESTS)
        .map(|it| plain(it))
        .collect();
    if !named.is_empty() {
        let more = match one.requests.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} others"),
        };
        let _ = writeln!(text, "{:>14}{}{more}", "", named.join(" "));
    }
}

/// A target from a client, without control characters.
fn plain(target: &str) -> String {
    target.chars().flat_map(char::escape_debug).collect()
}
