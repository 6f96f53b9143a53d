//! The kernel's side of one request: the system calls of the server while the request runs
//! (`mehari trace --calls`), as strace(1) shows them.
//!
//! [`CallWatch`] stops the server's threads at each call. [`CallReport`] keeps the calls of the
//! processes that worked on the request, within the request's time.

mod processes;
mod stops;
mod subject;
mod watch;

use crate::timeline::Timeline;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::PathBuf;
pub use watch::{CallWatch, Recording};

/// A system call from its start to its end, in nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    pub process: u32,
    pub name: &'static str,
    /// The file that the call is about.
    pub subject: Option<PathBuf>,
    pub from: u64,
    pub until: u64,
    /// The result, or the number of the error with a minus sign.
    pub result: i64,
    pub is_error: bool,
}

/// Why a server cannot be watched. Each message is one line.
#[derive(Debug)]
pub enum WatchError {
    Forbidden(u32),
    Gone,
    /// The kernel does not tell the calls.
    Untold(io::Error),
    Failed(io::Error),
}

impl WatchError {
    fn of(pid: u32, error: io::Error) -> WatchError {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => WatchError::Forbidden(pid),
            Some(libc::ESRCH) => WatchError::Gone,
            _ => WatchError::Failed(error),
        }
    }
}

impl std::fmt::Display for WatchError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WatchError::Forbidden(pid) => forbidden(*pid, yama_scope(), out),
            WatchError::Gone => out.write_str("the server has ended"),
            WatchError::Untold(error) => write!(
                out,
                "the kernel does not tell system calls (Linux 5.3 and newer do): {error}"
            ),
            WatchError::Failed(error) => write!(out, "system calls cannot be watched: {error}"),
        }
    }
}

/// Says what has to be changed. `scope`: Yama's `ptrace_scope`.
fn forbidden(pid: u32, scope: Option<u8>, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    write!(out, "the kernel forbids to watch process {pid}: ")?;
    match scope {
        Some(1) => out.write_str(
            "kernel.yama.ptrace_scope is 1; run this command as root, or set it to 0 for a while",
        ),
        Some(2) => out.write_str("kernel.yama.ptrace_scope is 2; run this command as root"),
        Some(3) => out.write_str("kernel.yama.ptrace_scope is 3, which a restart alone changes"),
        _ => out.write_str(
            "it is another user's or watched by a debugger, or the container lacks the \
             capability SYS_PTRACE",
        ),
    }
}

fn yama_scope() -> Option<u8> {
    let text = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    text.trim().parse().ok()
}

/// Returns the name of a call.
fn name(number: u64) -> &'static str {
    let number = usize::try_from(number).ok().and_then(syscalls::Sysno::new);
    number.map_or("unknown", |number| number.name())
}

/// What a process is for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Front,
    Worker,
    /// A process that began during the request, such as a program of the rung `cgi`.
    Program,
}

/// The calls of one name in one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallSum {
    pub count: u64,
    pub took: u64,
    pub errors: u64,
}

/// The calls of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCalls {
    pub role: Role,
    pub process: u32,
    /// The names with the longest time first.
    pub sums: Vec<(&'static str, CallSum)>,
}

/// The calls of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReport {
    pub processes: Vec<ProcessCalls>,
    /// The calls about files, in the order of their start.
    pub files: Vec<RecordedCall>,
    /// When the request began.
    pub began: u64,
    pub took: u64,
    /// The time of the quickest call, which the watching takes for the most part.
    pub quickest: u64,
    pub left_out: u64,
}

impl CallReport {
    /// Chooses the request's calls. `since`: when the request was sent.
    pub fn of(timeline: &Timeline, front: u32, since: u64, recording: Recording) -> CallReport {
        let front_ends = timeline.front.iter().map(|part| part.until);
        let worker_ends = timeline.perl.iter().map(|part| part.until);
        let responded = front_ends.max().unwrap_or(timeline.began);
        let until = worker_ends.fold(responded, u64::max);
        let workers: HashSet<u32> = (timeline.perl.iter().map(|part| part.pid))
            .chain(timeline.queued.iter().map(|wait| wait.worker))
            .collect();
        let role = |process: u32| match process {
            process if process == front => Some(Role::Front),
            process if workers.contains(&process) => Some(Role::Worker),
            process if recording.begun.contains(&process) => Some(Role::Program),
            _ => None,
        };
        let is_within = |call: &&RecordedCall| {
            call.from >= since && call.from < until && role(call.process).is_some()
        };
        let mut calls: Vec<RecordedCall> =
            recording.calls.iter().filter(is_within).cloned().collect();
        calls.sort_by_key(|call| call.from);
        CallReport {
            processes: summed(&calls, role),
            quickest: calls.iter().map(RecordedCall::took).min().unwrap_or(0),
            files: calls
                .into_iter()
                .filter(|call| call.subject.is_some())
                .collect(),
            began: timeline.began,
            took: responded.saturating_sub(timeline.began),
            left_out: recording.left_out,
        }
    }
}

impl RecordedCall {
    pub fn took(&self) -> u64 {
        self.until.saturating_sub(self.from)
    }
}

fn summed(calls: &[RecordedCall], role: impl Fn(u32) -> Option<Role>) -> Vec<ProcessCalls> {
    let mut by_process: BTreeMap<(Role, u32), BTreeMap<&'static str, CallSum>> = BTreeMap::new();
    for call in calls {
        let Some(role) = role(call.process) else {
            continue;
        };
        let sums = by_process.entry((role, call.process)).or_default();
        let sum = sums.entry(call.name).or_default();
        sum.count += 1;
        sum.took += call.took();
        sum.errors += u64::from(call.is_error);
    }
    let processes = by_process.into_iter().map(|((role, process), sums)| {
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.took));
        ProcessCalls {
            role,
            process,
            sums,
        }
    });
    processes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{FrontPart, PerlPart, QueueWait};

    fn call(process: u32, name: &'static str, from: u64, file: Option<&str>) -> RecordedCall {
        RecordedCall {
            process,
            name,
            subject: file.map(PathBuf::from),
            from,
            until: from + 10,
            result: -2,
            is_error: name == "newfstatat",
        }
    }

    fn timeline() -> Timeline {
        let part = |kind: &str, pid| PerlPart {
            kind: kind.to_owned(),
            name: kind.to_owned(),
            from: 1_100,
            until: 1_900,
            busy: 800,
            count: 1,
            rows: None,
            pid,
        };
        Timeline {
            began: 1_000,
            front: vec![FrontPart {
                name: "Perl".to_owned(),
                until: 1_800,
                waits: true,
            }],
            queued: vec![QueueWait {
                from: 1_010,
                until: 1_020,
                worker: 7,
            }],
            perl: vec![part("script", 8), part("request", 7)],
            ..Timeline::default()
        }
    }

    #[test]
    fn calls_of_the_request_are_chosen_by_time_and_process() {
        let recording = Recording {
            calls: vec![
                call(7, "newfstatat", 1_300, Some("/b")),
                call(7, "newfstatat", 1_200, Some("/a")),
                call(1, "accept4", 950, None),
                call(1, "epoll_wait", 800, None),
                call(8, "read", 1_850, Some("/a")),
                call(9, "execve", 1_400, Some("/bin/x")),
                call(5, "read", 1_400, Some("/of/others")),
                call(7, "read", 1_950, Some("/of/the/next")),
            ],
            begun: HashSet::from([9]),
            left_out: 3,
        };
        let report = CallReport::of(&timeline(), 1, 900, recording);
        let processes: Vec<_> = report
            .processes
            .iter()
            .map(|it| (it.role, it.process))
            .collect();
        let expected = [
            (Role::Front, 1),
            (Role::Worker, 7),
            (Role::Worker, 8),
            (Role::Program, 9),
        ];
        assert_eq!(processes, expected);
        let (name, sum) = report.processes[1].sums[0];
        assert_eq!(
            (name, sum.count, sum.took, sum.errors),
            ("newfstatat", 2, 20, 2)
        );
        let files: Vec<_> = report
            .files
            .iter()
            .filter_map(|it| it.subject.as_ref()?.to_str())
            .collect();
        assert_eq!(files, ["/a", "/b", "/bin/x", "/a"]);
        assert_eq!(
            (report.took, report.quickest, report.left_out),
            (800, 10, 3)
        );
    }

    #[test]
    fn refusal_says_what_to_change() {
        struct Shown(Option<u8>);
        impl std::fmt::Display for Shown {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                forbidden(7, self.0, out)
            }
        }
        for (scope, words) in [
            (Some(1), "ptrace_scope is 1; run this command as root"),
            (Some(2), "ptrace_scope is 2; run this command as root"),
            (Some(3), "ptrace_scope is 3, which a restart"),
            (Some(0), "the capability SYS_PTRACE"),
            (None, "the capability SYS_PTRACE"),
        ] {
            let line = Shown(scope).to_string();
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
        }
    }
}
