//! A program that is given a log's lines on its standard input (`CustomLog "|program"`).
//!
//! Started with its log, started again when it has ended (once a second at most), and told of the end by
//! the end of its input. Used by a spool's own thread, so waiting for it holds up nobody else.

use crate::output::write_whole;
use mehari_config::LogProgram;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const RESTART: Duration = Duration::from_secs(1);
/// How long a program may take to end once its input has.
const PARTING: Duration = Duration::from_secs(1);

/// Whom programs are started as, where it is not who opens the logs.
static USER_AND_GROUP: OnceLock<(u32, u32)> = OnceLock::new();

/// Called once, by a server that opens its logs as root and becomes somebody else afterwards.
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

    /// What a program that has ended did not take goes to the next one.
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
        // A line that was taken in part is not sent again from its middle.
        let rest = &bytes[taken..];
        let begun = taken > 0 && bytes[taken - 1] != b'\n';
        let skipped = match begun {
            true => rest
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(rest.len(), |at| at + 1),
            false => 0,
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

    /// Closes its input and collects it; one that does not end is ended.
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
    let mut command = match settings.by_shell {
        true => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(&settings.command);
            shell
        }
        false => {
            let mut words = settings.command.split_ascii_whitespace();
            let mut program = Command::new(words.next().unwrap_or_default());
            program.args(words);
            program
        }
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
