//! Records the system calls of a server during an action with strace(1).

use crate::processes::{self, Pid};
use crate::Server;
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The path of a request that proves that the trace works: the front looks this file up.
const PROOF: &str = "/traced/none.txt";

/// Returns the lines of the calls in `filter`, each with the number of the thread. The filter has
/// the form of `strace -e trace=` and must include `file`.
pub fn calls(server: &Server, filter: &str, what: impl FnOnce()) -> Vec<String> {
    calls_of(server, server.pid(), filter, PROOF, what)
}

/// Returns the calls of one process. A request for `proof` must make the process look at a path
/// that contains `/traced`. Lines with such paths are left out.
pub fn calls_of(
    server: &Server,
    process: Pid,
    filter: &str,
    proof: &str,
    what: impl FnOnce(),
) -> Vec<String> {
    let trace = server.site.path("trace");
    let mut strace = Command::new("strace")
        .args(["-f", "-e", &format!("trace={filter}"), "-o"])
        .arg(&trace)
        .args(["-p", &process.to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace is there");
    let mut attached = String::new();
    let stderr = strace.stderr.as_mut().expect("it was piped");
    let read = BufReader::new(stderr).read_line(&mut attached);
    read.expect("strace says when it is attached");
    what();
    server.get(proof);
    processes::signal(strace.id() as _, Signal::Int);
    strace.wait().expect("our child");
    let text = std::fs::read_to_string(&trace).expect("the trace");
    assert!(text.contains("/traced"), "nothing was traced: {text}");
    let lines = text.lines().filter(|line| !line.contains("/traced"));
    lines.map(str::to_owned).collect()
}

/// Runs an action while a process's system calls on a file of the site fail. `fault` says which
/// calls fail and how: `read:error=EIO` (see strace(1)).
pub fn failing(server: &Server, process: Pid, file: &str, fault: &str, what: impl FnOnce()) {
    let file = server.site.path(file).display().to_string();
    injecting(process, fault, &["-P", &file], what);
}

/// Runs an action while the system calls of a process return later. `fault` says which calls
/// return how many microseconds later: `epoll_ctl:delay_exit=20000` (see strace(1)).
pub fn delayed(server: &Server, fault: &str, what: impl FnOnce()) {
    injecting(server.pid(), fault, &[], what);
}

fn injecting(process: Pid, fault: &str, more: &[&str], what: impl FnOnce()) {
    let mut strace = Command::new("strace")
        .args(["-f", "-e", &format!("inject={fault}")])
        .args(more)
        .args(["-o", "/dev/null", "-p", &process.to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace is there");
    let mut attached = String::new();
    let stderr = strace.stderr.as_mut().expect("it was piped");
    let read = BufReader::new(stderr).read_line(&mut attached);
    read.expect("strace says when it is attached");
    what();
    processes::signal(strace.id() as _, Signal::Int);
    strace.wait().expect("our child");
}
