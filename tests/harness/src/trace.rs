//! The system calls of a server while something is done, as strace(1) tells them.

use crate::{processes, Server};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// What shows that the trace sees what it is to see; its lines are left out.
const PROOF: &str = "/traced/none.txt";

/// The lines of the calls in `filter` (as `strace -e trace=` has it, with `file` in it), each with the thread's number before it.
pub fn calls(server: &Server, filter: &str, what: impl FnOnce()) -> Vec<String> {
    let trace = server.site.path("trace");
    let mut strace = Command::new("strace")
        .args(["-f", "-e", &format!("trace={filter}"), "-o"])
        .arg(&trace)
        .args(["-p", &server.pid().to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace is there");
    let mut attached = String::new();
    let stderr = strace.stderr.as_mut().expect("it was piped");
    let read = BufReader::new(stderr).read_line(&mut attached);
    read.expect("strace says when it is attached");
    what();
    server.get(PROOF).expect(404);
    processes::signal(strace.id() as _, Signal::Int);
    strace.wait().expect("our child");
    let text = std::fs::read_to_string(&trace).expect("the trace");
    assert!(text.contains("/traced"), "nothing was traced: {text}");
    let lines = text.lines().filter(|line| !line.contains("/traced"));
    lines.map(str::to_owned).collect()
}
