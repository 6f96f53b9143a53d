//! Limits the resources of a program (`RLimitCPU`, `RLimitMEM`, `RLimitNPROC`) before the program
//! begins. The limits hold for every process that the program starts.
#![allow(unsafe_code)]

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A limit of a process. `None`: the most that the system allows.
#[derive(Debug, Clone, Copy)]
pub struct ResourceLimit {
    pub resource: Resource,
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// Has the command set its limits between fork and exec, and ignore SIGPIPE again, which std has
/// reset.
pub fn set(command: &mut Command, limits: Vec<ResourceLimit>) {
    let set_all = move || {
        // SAFETY: SIG_IGN is no function of this program.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        limits.iter().try_for_each(set_one)
    };
    // SAFETY: the closure runs between fork and exec. The closure calls only signal, getrlimit and
    // setrlimit, allocates nothing and takes no lock.
    unsafe { command.pre_exec(set_all) };
}

fn set_one(limit: &ResourceLimit) -> io::Result<()> {
    // A process without privileges cannot raise its hard limit.
    let known = getrlimit(limit.resource).maximum;
    let maximum = least(limit.hard, known);
    let current = least(limit.soft, maximum);
    setrlimit(limit.resource, Rlimit { current, maximum })?;
    Ok(())
}

/// Returns the smaller limit. `None` means no limit.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
