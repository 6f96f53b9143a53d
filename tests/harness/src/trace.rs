//! The system calls of a server while something is done, as strace(1) tells them.

use crate::processes::{self, Pid};
use crate::Server;
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The front looks for it; what shows that the trace sees what it is to see.
const PROOF: &str = "/traced/none.txt";

/// The lines of the calls in `filter` (as `strace -e trace=` has it, with `file` in it), each with the thread's number before it.
pub fn calls(server: &Server, filter: &str, what: impl FnOnce()) -> Vec<String> {
    calls_of(server, server.pid(), filter, PROOF, what)
}

/// The same of one process, which looks at a path with `/traced` in it when `proof` is asked for; such lines are left out.
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

/// Does something while calls of a process on a file of the site end as `fault` says (`read:error=EIO`; see strace(1)).
pub fn failing(server: &Server, process: Pid, file: &str, fault: &str, what: impl FnOnce()) {
    let mut strace = Command::new("strace")
        .args(["-f", "-e", &format!("inject={fault}"), "-P"])
        .arg(server.site.path(file))
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
