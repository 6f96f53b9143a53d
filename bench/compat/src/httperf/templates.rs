//! Makes the sessions of a run from the options: the URIs of each burst.

use super::options::{Options, Uris, Workload};
use super::session_log::{self, LoggedBurst, LoggedCall, LoggedSession};

/// The different sessions of a run, and how many sessions the run plays. The run uses the different
/// sessions in turn.
pub type Templates = (Vec<LoggedSession>, u64);

pub fn templates(options: &Options) -> Result<Templates, String> {
    match &options.workload {
        Workload::Log {
            sessions,
            think,
            file,
        } => {
            let bytes = std::fs::read(file).map_err(|_| format!("can't open {file}"))?;
            let text = String::from_utf8_lossy(&bytes);
            let logged = session_log::read(&text, file, *think)?;
            Ok((logged, *sessions))
        }
        Workload::Sessions {
            sessions,
            calls,
            think,
            ..
        } => of_calls(options, *sessions, *calls, *think),
        Workload::Connections => of_calls(options, options.num_conns, options.num_calls, 0.0),
    }
}

/// The most calls that are prepared before the run. A longer run repeats these calls.
const MOST_CALLS: u64 = 1_000_000;

/// Returns `count` sessions of `calls` calls each. The options choose the URIs. With a single URI
/// all sessions are equal. Otherwise there are as many different sessions as [`MOST_CALLS`]
/// permits.
fn of_calls(options: &Options, count: u64, calls: u64, think: f64) -> Result<Templates, String> {
    if calls > MOST_CALLS {
        return Err(format!(
            "at most {MOST_CALLS} calls a connection are possible"
        ));
    }
    let mut uris = uris(options, count.saturating_mul(calls))?
        .into_iter()
        .cycle();
    let different = match options.uris {
        Uris::One => 1,
        _ => count.clamp(1, (MOST_CALLS / calls.max(1)).max(1)),
    };
    let bursts = parts(options, calls);
    let template = |uris: &mut dyn Iterator<Item = String>| -> LoggedSession {
        bursts
            .iter()
            .map(|part| LoggedBurst {
                calls: uris
                    .take(part.calls as usize)
                    .map(|uri| LoggedCall {
                        method: None,
                        uri,
                        contents: Vec::new(),
                    })
                    .collect(),
                think: if part.ends_burst { think } else { 0.0 },
            })
            .collect()
    };
    let templates = (0..different).map(|_| template(&mut uris)).collect();
    let once = match options.uris {
        Uris::List { again: false, .. } => count.min((listed(options)? / calls.max(1)).max(1)),
        _ => count,
    };
    Ok((templates, once))
}

/// Calls that are sent together.
#[derive(Debug, PartialEq, Eq)]
struct BurstPart {
    calls: u64,
    /// Whether this is the last part of its burst. The think time follows the last part only.
    ends_burst: bool,
}

/// Returns the parts of a session. A burst has `--burst-length` calls. If `--max-piped-calls` is
/// smaller, a burst is divided into parts of that size.
fn parts(options: &Options, calls: u64) -> Vec<BurstPart> {
    let piped = match options.max_piped_calls {
        0 => u64::MAX,
        most => most,
    };
    let mut parts = Vec::new();
    let mut left = calls;
    while left > 0 {
        let mut burst = options.burst_length.min(left);
        left -= burst;
        while burst > 0 {
            let calls = burst.min(piped);
            burst -= calls;
            parts.push(BurstPart {
                calls,
                ends_burst: burst == 0,
            });
        }
    }
    parts
}

fn listed(options: &Options) -> Result<u64, String> {
    Ok(uris(options, 0)?.len() as u64)
}

/// Returns the URIs in request order.
fn uris(options: &Options, wanted: u64) -> Result<Vec<String>, String> {
    match &options.uris {
        Uris::One => Ok(vec![options.uri.clone()]),
        Uris::List { file, .. } => {
            let bytes = std::fs::read(file).map_err(|_| format!("can't open {file}"))?;
            let found: Vec<String> = bytes
                .split(|&byte| byte == 0)
                .filter(|uri| !uri.is_empty())
                .map(|uri| String::from_utf8_lossy(uri).into_owned())
                .collect();
            if found.is_empty() {
                Err(format!("specified URI list is empty: {file}"))
            } else {
                Ok(found)
            }
        }
        Uris::Set { files, miss_rate } => Ok(working_set(options, *files, *miss_rate, wanted)),
    }
}

/// Returns the URIs of a working set. A new file is requested at the rate of the misses. Between
/// the misses the last file is requested again.
fn working_set(options: &Options, files: u64, miss_rate: f64, wanted: u64) -> Vec<String> {
    let prefix = options.uri.trim_end_matches('/');
    let first = files * options.client.number / options.client.clients.max(1);
    let mut misses = 0.0;
    let mut file = 0;
    (0..wanted.min(MOST_CALLS))
        .map(|_| {
            misses += miss_rate;
            if misses >= 1.0 {
                misses -= 1.0;
                file = (file + 1) % files.max(1);
            }
            format!("{prefix}{}", set_path((first + file) % files.max(1), files))
        })
        .collect()
}

/// Returns the path of a file with one digit per folder: `/0/1/2.html` is file 12 of the set.
fn set_path(number: u64, files: u64) -> String {
    let width = files.saturating_sub(1).to_string().len();
    let digits = format!("{number:0width$}");
    let folders: Vec<String> = digits.chars().map(|digit| format!("/{digit}")).collect();
    format!("{}.html", folders.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_divided_if_fewer_calls_may_be_pipelined() {
        let options = Options {
            burst_length: 3,
            max_piped_calls: 2,
            ..Options::default()
        };
        let found: Vec<(u64, bool)> = parts(&options, 7)
            .iter()
            .map(|part| (part.calls, part.ends_burst))
            .collect();
        let wanted = [(2, false), (1, true), (2, false), (1, true), (1, true)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_path_of_a_file_in_the_working_set_has_one_digit_per_folder() {
        assert_eq!(set_path(0, 30), "/0/0.html");
        assert_eq!(set_path(12, 30), "/1/2.html");
    }
}
