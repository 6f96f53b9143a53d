//! Asks the programs of `RewriteMap prg:`. Each program has one process and one thread. The thread
//! writes one line to the process and waits for one line.
//!
//! A program that is slow, ends or writes too much is killed and started again for the next lookup.
//! When its configuration or the server ends, the program's input is closed, and the program ends.

use rustix::event::{poll, PollFd, PollFlags};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long an answer may take, including the lookups that wait before it.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest key in bytes. A pipe takes a key of this length in one piece.
const LONGEST_KEY: usize = 4000;
const LONGEST_ANSWER: usize = 8 * 1024;
/// The largest number of lookups that wait for one program.
const WAITING: usize = 64;

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("cannot be started: {0}")]
    Start(io::Error),
    #[error("has not answered within {} s", LIMIT.as_secs())]
    Slow,
    #[error("has ended without an answer")]
    Ended,
    #[error("answers with a line of more than {LONGEST_ANSWER} bytes")]
    TooLong,
    #[error("is asked by too many requests at once")]
    Busy,
}

type LookupResult = Result<Option<Vec<u8>>, Trouble>;

struct ProgramLookup {
    key: Vec<u8>,
    asked: Instant,
    tell: oneshot::Sender<LookupResult>,
}

#[derive(Default)]
pub struct Programs {
    known: RefCell<HashMap<Vec<String>, mpsc::SyncSender<ProgramLookup>>>,
}

impl Programs {
    pub async fn ask(&self, command: &[String], key: &[u8]) -> LookupResult {
        if key.len() > LONGEST_KEY || key.contains(&b'\n') {
            return Ok(None);
        }
        let (tell, said) = oneshot::channel();
        let lookup = ProgramLookup {
            key: key.to_vec(),
            asked: Instant::now(),
            tell,
        };
        self.put(command, lookup)?;
        match tokio::time::timeout(LIMIT, said).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) => Err(Trouble::Ended),
            Err(_) => Err(Trouble::Slow),
        }
    }

    /// Forgets all programs. The thread of each program then ends the program.
    pub fn clear(&self) {
        self.known.borrow_mut().clear();
    }

    fn put(&self, command: &[String], lookup: ProgramLookup) -> Result<(), Trouble> {
        let mut known = self.known.borrow_mut();
        if !known.contains_key(command) {
            let (sender, lookups) = mpsc::sync_channel(WAITING);
            let own = command.to_vec();
            let keeper = std::thread::Builder::new().name("map program".into());
            keeper
                .spawn(move || serve_lookups(&own, &lookups))
                .map_err(Trouble::Start)?;
            known.insert(command.to_vec(), sender);
        }
        let sender = known.get(command).ok_or(Trouble::Ended)?;
        sender.try_send(lookup).map_err(|_| Trouble::Busy)
    }
}

/// Answers lookups until no sender is left.
fn serve_lookups(command: &[String], lookups: &mpsc::Receiver<ProgramLookup>) {
    let mut process: Option<Process> = None;
    while let Ok(lookup) = lookups.recv() {
        let deadline = lookup.asked + LIMIT;
        if Instant::now() >= deadline {
            let _ = lookup.tell.send(Err(Trouble::Slow));
            continue;
        }
        let current = process.take();
        let said = match current.map_or_else(|| Process::start(command), Ok) {
            Err(error) => Err(Trouble::Start(error)),
            Ok(mut current) => {
                let said = current.ask(&lookup.key, deadline);
                if said.is_ok() {
                    process = Some(current);
                }
                said
            }
        };
        // Sending fails if the request has ended meanwhile.
        let _ = lookup.tell.send(said);
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Process {
    fn start(command: &[String]) -> io::Result<Process> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Process {
                child,
                input,
                output,
            }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn ask(&mut self, key: &[u8], deadline: Instant) -> LookupResult {
        let line = [key, b"\n"].concat();
        wait(&self.input, PollFlags::OUT, deadline)?;
        self.input.write_all(&line).map_err(|_| Trouble::Ended)?;
        let mut answer = Vec::new();
        let mut buffer = [0; 1024];
        while answer.last() != Some(&b'\n') {
            wait(&self.output, PollFlags::IN, deadline)?;
            let count = self.output.read(&mut buffer).map_err(|_| Trouble::Ended)?;
            if count == 0 {
                return Err(Trouble::Ended);
            }
            answer.extend_from_slice(&buffer[..count]);
            if answer.len() > LONGEST_ANSWER {
                return Err(Trouble::TooLong);
            }
        }
        let end = memchr::memchr(b'\n', &answer).unwrap_or(answer.len());
        let word = &answer[..end];
        let known = !word.eq_ignore_ascii_case(b"NULL");
        Ok(known.then(|| word.to_vec()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(pipe: &impl AsFd, flags: PollFlags, deadline: Instant) -> Result<(), Trouble> {
    let left = deadline.saturating_duration_since(Instant::now());
    let milliseconds = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
    let mut watched = [PollFd::new(pipe, flags)];
    match poll(&mut watched, milliseconds) {
        Ok(0) => Err(Trouble::Slow),
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::INTR) => wait(pipe, flags, deadline),
        Err(_) => Err(Trouble::Ended),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(programs: &Programs, script: &str, key: &str) -> LookupResult {
        let command = ["/bin/sh", "-c", script].map(str::to_string);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(programs.ask(&command, key.as_bytes()))
    }

    #[test]
    fn one_process_answers_all_lookups_until_it_is_replaced() {
        let programs = Programs::default();
        let script = "while read key; do case $key in none) echo NULL;; quit) exit;; *) echo $key-$$;; esac; done";
        let first = ask(&programs, script, "a")
            .expect("an answer")
            .expect("a value");
        let second = ask(&programs, script, "a")
            .expect("an answer")
            .expect("a value");
        assert_eq!(first, second);
        assert_eq!(ask(&programs, script, "none").expect("an answer"), None);
        assert_eq!(
            ask(&programs, script, "two\nlines").expect("no answer"),
            None
        );
        assert!(matches!(
            ask(&programs, script, "quit"),
            Err(Trouble::Ended)
        ));
        let third = ask(&programs, script, "a")
            .expect("an answer")
            .expect("a value");
        assert_ne!(first, third);
        assert!(matches!(
            ask(&programs, "cat /dev/zero", "a"),
            Err(Trouble::TooLong)
        ));
        let command = vec!["/no/such/program".to_string()];
        assert!(matches!(keep_once(&command), Err(Trouble::Start(_))));
    }

    fn keep_once(command: &[String]) -> LookupResult {
        let programs = Programs::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(programs.ask(command, b"a"))
    }
}
