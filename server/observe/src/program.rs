//! Runs a program that reads a log's lines on its standard input (`CustomLog "|program"`).
//!
//! The program starts when its log is opened. A program that has ended is started again, at most
//! once a second. When the log is closed, the program's input ends, and the program should end too.
//! The spool's own thread does all this, so no request waits for the program.

use crate::output::write_whole;
use mehari_config::LogProgram;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const RESTART: Duration = Duration::from_secs(1);
/// How long a program may take to end after its input has ended.
const PARTING: Duration = Duration::from_secs(1);

/// The user and group of the programs, if they are not those of the process that opens the logs.
static USER_AND_GROUP: OnceLock<(u32, u32)> = OnceLock::new();

/// Sets the user and group of programs. A server calls this once if it opens its logs as root and
/// gives up root afterwards.
pub fn start_programs_as(user: u32, group: u32) {
    let _ = USER_AND_GROUP.set((user, group));
}

pub struct Program {
    settings: LogProgram,
    child: Child,
    started: Instant,
}

impl Program {
    pub fn start(settings: &LogProgram) -> io::Result<Program> {
        Ok(Program {
            child: spawn(settings)?,
            settings: settings.clone(),
            started: Instant::now(),
        })
    }

    pub fn name(&self) -> String {
        format!("|{}", self.settings.command)
    }

    /// Writes the bytes. If the program has ended, a new program gets the bytes that the old
    /// program did not take.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let Err((taken, error)) = self.try_write(bytes) else {
            return Ok(());
        };
        if error.kind() != io::ErrorKind::BrokenPipe || self.started.elapsed() < RESTART {
            return Err((taken, error));
        }
        let failed = |error| (taken, error);
        self.end();
        self.child = spawn(&self.settings).map_err(failed)?;
        self.started = Instant::now();
        // If the old program took a part of a line, the rest of that line is not sent.
        let rest = &bytes[taken..];
        let begun = taken > 0 && bytes[taken - 1] != b'\n';
        let skipped = if begun {
            rest.iter()
                .position(|&byte| byte == b'\n')
                .map_or(rest.len(), |at| at + 1)
        } else {
            0
        };
        self.try_write(&rest[skipped..])
            .map_err(|(more, error)| (taken + skipped + more, error))
    }

    fn try_write(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        match &mut self.child.stdin {
            Some(input) => write_whole(input, bytes),
            None => Err((0, io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Closes the program's input and waits for its end. A program that does not end in time is
    /// killed.
    fn end(&mut self) {
        self.child.stdin = None;
        let deadline = Instant::now() + PARTING;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(settings: &LogProgram) -> io::Result<Child> {
    let mut command = if settings.by_shell {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(&settings.command);
        shell
    } else {
        let mut words = settings.command.split_ascii_whitespace();
        let mut program = Command::new(words.next().unwrap_or_default());
        program.args(words);
        program
    };
    if let Some(&(user, group)) = USER_AND_GROUP.get() {
        command.uid(user).gid(group);
    }
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    spawned.map_err(|error| {
        let text = format!("cannot start |{}: {error}", settings.command);
        io::Error::new(error.kind(), text)
    })
}
