//! Starts the certificate process, and starts it again when it dies.
//!
//! This process keeps the settings of the first start, and only those: it is root's when the server
//! is not, so the server cannot give other paths or URLs to a process that is started later.

use crate::message::{Level, Order, Report};
use crate::schedule;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{memfd_create, MemfdFlags};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// The pause after the first death. Each further death doubles the pause.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);
/// The failures before a process are forgotten when the process has lived for this time.
const LONG: Duration = Duration::from_secs(600);
/// How long the server may take to read a line.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest settings.
const LONGEST_LINE: usize = 1 << 20;

/// Runs the certificate process until the server closes the socket. `start` starts one: its
/// standard input is the file of the settings, its standard output the socket.
///
/// # Errors
///
/// The socket fails, or no process can be started.
pub fn supervise(
    socket: UnixStream,
    start: impl Fn(File, UnixStream) -> io::Result<Child>,
) -> io::Result<()> {
    socket.set_write_timeout(Some(PATIENCE))?;
    let Some(settings) = settings(&socket)? else {
        return Ok(());
    };
    let mut failures = 0;
    loop {
        let begun = Instant::now();
        let status = start(file(&settings)?, socket.try_clone()?)?.wait()?;
        if status.success() || is_closed(&socket, Duration::ZERO)? {
            return Ok(());
        }
        failures = if begun.elapsed() < LONG {
            failures + 1
        } else {
            1
        };
        let pause = schedule::pause(FIRST, failures, 0).min(LONGEST);
        // The pause is the same whether the server reads the line or not.
        let _ = report(&socket, status, pause);
        if is_closed(&socket, pause)? {
            return Ok(());
        }
    }
}

/// Reads the first line, and no byte of the next. `None`: the server has closed the socket.
fn settings(mut socket: &UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST_LINE && socket.read(&mut byte)? == 1 {
        line.extend(byte);
        if byte == *b"\n" {
            let is_settings = matches!(serde_json::from_slice(&line)?, Order::Manage { .. });
            return if is_settings {
                Ok(Some(line))
            } else {
                Err(io::ErrorKind::InvalidData.into())
            };
        }
    }
    if line.is_empty() {
        Ok(None)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn file(settings: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("settings", MemfdFlags::CLOEXEC)?);
    file.write_all(settings)?;
    file.rewind()?;
    Ok(file)
}

/// Waits until the server has closed its end of the socket, or the time is over.
fn is_closed(socket: &UnixStream, time: Duration) -> io::Result<bool> {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
        let mut polled = [PollFd::new(socket, PollFlags::RDHUP)];
        match poll(&mut polled, left) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn report(mut socket: &UnixStream, status: ExitStatus, pause: Duration) -> io::Result<()> {
    let how = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, code) => format!("status {}", code.unwrap_or_default()),
    };
    let line = format!(
        "the certificate process has ended ({how}): the next one starts in {} s",
        pause.as_secs()
    );
    let report = Report::Log {
        level: Level::Error,
        text: line,
    };
    // The process may have died within a line.
    let mut bytes = vec![b'\n'];
    bytes.extend(serde_json::to_vec(&report)?);
    bytes.push(b'\n');
    socket.set_nonblocking(false)?;
    socket.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;
    use std::process::{Command, Stdio};

    /// Runs `true` or `sh -c COMMAND` in place of the certificate process.
    fn run(command: &'static str) -> impl Fn(File, UnixStream) -> io::Result<Child> {
        move |settings, socket| {
            Command::new("sh")
                .args(["-c", command])
                .stdin(Stdio::from(settings))
                .stdout(Stdio::from(std::os::fd::OwnedFd::from(socket)))
                .spawn()
        }
    }

    fn manage() -> Vec<u8> {
        let order = Order::Manage {
            managed: Box::default(),
            answerable: Vec::new(),
        };
        let mut line = serde_json::to_vec(&order).expect("JSON");
        line.push(b'\n');
        line
    }

    #[test]
    fn a_process_that_dies_is_started_again_with_the_first_settings() {
        let (mut ours, theirs) = UnixStream::pair().expect("a socket");
        ours.write_all(&manage()).expect("sent");
        ours.write_all(b"\"Proving\"\n").expect("sent");
        let supervised = std::thread::spawn(move || supervise(theirs, run("cat; kill -9 $$")));
        let mut lines = io::BufReader::new(ours.try_clone().expect("a copy")).lines();
        let mut next = || lines.next().expect("a line").expect("read");
        let settings = String::from_utf8(manage()).expect("text");
        for pause in [1, 2] {
            assert_eq!(next(), settings.trim_end());
            assert_eq!(next(), "");
            let line = next();
            let told = format!("(signal 9): the next one starts in {pause} s");
            assert!(line.contains(&told), "{line}");
        }
        ours.shutdown(std::net::Shutdown::Write).expect("closed");
        supervised.join().expect("no panic").expect("it ends");
    }

    #[test]
    fn a_process_that_ends_well_is_the_end_and_other_first_lines_are_refused() {
        let (mut ours, theirs) = UnixStream::pair().expect("a socket");
        ours.write_all(&manage()).expect("sent");
        supervise(theirs, run("exit 0")).expect("it ends");
        for wrong in ["\"Proving\"\n", "no JSON\n", "{"] {
            let (mut ours, theirs) = UnixStream::pair().expect("a socket");
            ours.write_all(wrong.as_bytes()).expect("sent");
            drop(ours);
            assert!(supervise(theirs, run("exit 0")).is_err(), "{wrong}");
        }
    }
}
