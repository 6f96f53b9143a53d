//! Runs the program `driver.pl`, which measures the subs of one file.
//!
//! A driver compiles the file once and forks a process for each sub. All processes end with the
//! driver, and the driver ends with this process.

use crate::error::TimeError;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{kill_process_group, Pid, Signal};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What stands in for the module Benchmark, and the driver.
pub const PROGRAM: &str = concat!(include_str!("benchmark.pl"), include_str!("driver.pl"));
/// The name of the sub that does nothing.
pub const EMPTY: &str = "";

/// What calls of a sub took together, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    pub cpu: f64,
    pub wall: f64,
}

/// What a driver runs.
#[derive(Clone, Debug)]
pub struct Job {
    pub perl: PathBuf,
    pub file: PathBuf,
    /// The longest time until an answer.
    pub limit: Duration,
}

pub struct Driver<'a> {
    job: &'a Job,
    child: Child,
    group: Option<Pid>,
    commands: Option<ChildStdin>,
    answers: ChildStdout,
    read: Vec<u8>,
    names: Vec<String>,
}

impl<'a> Driver<'a> {
    /// Starts a perl that compiles the file. What the file prints to standard error while it is
    /// loaded is shown if `is_heard` says so.
    ///
    /// # Errors
    /// The perl cannot be run, or the file cannot be loaded or has no subs.
    pub fn start(job: &'a Job, is_heard: bool) -> Result<Driver<'a>, TimeError> {
        let mut child = spawn(job, is_heard).map_err(|cause| TimeError::NoPerl {
            perl: job.perl.display().to_string(),
            cause: cause.to_string(),
        })?;
        let (commands, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.ok_or_else(|| TimeError::Protocol("no pipe".into()))?;
        let group = Pid::from_child(&child);
        let mut driver = Driver {
            job,
            child,
            group: Some(group),
            commands,
            answers,
            read: Vec::new(),
            names: Vec::new(),
        };
        driver.names = driver.loaded()?;
        Ok(driver)
    }

    /// The file's subs, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn loaded(&mut self) -> Result<Vec<String>, TimeError> {
        let file = file_of(self.job);
        let Some(line) = self.answer("the code outside of subs has not ended")? else {
            let status = self
                .child
                .wait()
                .map_err(|cause| TimeError::Protocol(cause.to_string()))?;
            return Err(TimeError::LoadEnded {
                file,
                status: status.to_string(),
            });
        };
        let mut words = line.split('\t').map(str::to_owned);
        match words.next().as_deref() {
            Some("subs") => {
                let names: Vec<String> = words.collect();
                if names.is_empty() {
                    return Err(TimeError::NoSubs { file });
                }
                Ok(names)
            }
            Some("failed") => Err(TimeError::NotLoaded {
                file,
                reason: words.next().unwrap_or_default(),
            }),
            _ => Err(TimeError::Protocol(line)),
        }
    }

    /// Calls the sub `count` times, in its process.
    ///
    /// # Errors
    /// The sub dies, ends its process, or takes too long.
    pub fn calls(&mut self, name: &str, count: u64) -> Result<Took, TimeError> {
        let line = self.asked(name, &count.to_string())?;
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["took", cpu, wall] => match (cpu.parse(), wall.parse()) {
                (Ok(cpu), Ok(wall)) => Ok(Took { cpu, wall }),
                _ => Err(TimeError::Protocol(line)),
            },
            _ => Err(self.failed(name, &line)),
        }
    }

    /// Calls the sub in a process of its own. Returns what the sub returns and prints, as text.
    ///
    /// # Errors
    /// The sub dies, ends its process, or takes too long.
    pub fn results(&mut self, name: &str) -> Result<String, TimeError> {
        let line = self.asked(name, "=")?;
        match line.strip_prefix("gave\t") {
            Some(given) => Ok(given.to_owned()),
            None => Err(self.failed(name, &line)),
        }
    }

    fn asked(&mut self, name: &str, what: &str) -> Result<String, TimeError> {
        let command = format!("{name}\t{what}\n");
        // A driver that has ended is found when its answer is read.
        if let Some(commands) = &mut self.commands {
            let _ = commands.write_all(command.as_bytes());
        }
        let line = self.answer(&format!("{name} has not returned"))?;
        Ok(line.unwrap_or_default())
    }

    /// Returns why a sub has not done what was asked.
    fn failed(&self, name: &str, line: &str) -> TimeError {
        let words: Vec<&str> = line.split('\t').collect();
        let (file, sub) = (file_of(self.job), name.to_owned());
        match words[..] {
            ["died", reason] => TimeError::Died {
                file,
                sub,
                reason: reason.to_owned(),
            },
            ["ended", how, number] => TimeError::Ended {
                file,
                sub,
                status: format!("{how} {number}"),
            },
            _ => TimeError::Protocol(line.to_owned()),
        }
    }

    /// Reads a line, without its end. `None`: the driver has ended.
    fn answer(&mut self, what: &str) -> Result<Option<String>, TimeError> {
        let begun = Instant::now();
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            let left = self.job.limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(TimeError::Slow {
                    file: file_of(self.job),
                    what: what.to_owned(),
                    seconds: self.job.limit.as_secs_f64(),
                });
            }
            let milliseconds = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
            let mut waited = [PollFd::new(&self.answers, PollFlags::IN)];
            if !matches!(poll(&mut waited, milliseconds), Ok(1..)) {
                continue;
            }
            let mut piece = [0; 4096];
            match self.answers.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
                Err(cause) => return Err(TimeError::Protocol(cause.to_string())),
            }
        }
    }

    /// Ends the driver and waits for its end, so that the file's END blocks run.
    pub fn finish(mut self) {
        self.commands = None;
        if matches!(self.answer("the driver has not ended"), Ok(None)) && self.child.wait().is_ok()
        {
            self.group = None;
        }
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::Kill);
            let _ = self.child.wait();
        }
    }
}

fn spawn(job: &Job, is_heard: bool) -> std::io::Result<Child> {
    let errors = if is_heard {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    Command::new(&job.perl)
        .args(words_of(job))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors)
        .process_group(0)
        .spawn()
}

/// Returns what perl is started with.
pub fn words_of(job: &Job) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["-e", PROGRAM, "--"].map(OsString::from).to_vec();
    words.push(libc::SYS_clock_gettime.to_string().into());
    words.push(libc::SYS_prctl.to_string().into());
    words.push(job.file.clone().into());
    words
}

/// The file, for messages.
pub fn file_of(job: &Job) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let short: &Path = job.file.strip_prefix(&here).unwrap_or(&job.file);
    short.display().to_string()
}
