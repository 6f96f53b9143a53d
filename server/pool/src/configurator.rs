//! The perl processes that run `<Perl>` sections and `add_config` while a configuration is read:
//! one for the main server and one for each host with its own Perl.
//!
//! Each process starts at its first task, with the site's interpreter and switches. The process
//! ends when the [`Configurator`] is dropped or when a task takes too long.

use crate::exported;
use crate::perl_side::PerlSide;
use crate::zygote::{environment, server_arguments, switches};
use mehari_config::{CustomDirective, Errand, ErrandResult, Ground, Interpreter};
use rustix::event::{poll, PollFd, PollFlags};
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest answer in bytes.
const LONGEST: usize = 16 << 20;

/// The longest time of a task. A task that takes longer most likely waits for an event that will
/// not come.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Configurator {
    /// The processes by the number of the host with this Perl.
    running: BTreeMap<u32, Running>,
    patience: Duration,
}

impl Default for Configurator {
    fn default() -> Configurator {
        Configurator {
            running: BTreeMap::new(),
            patience: PATIENCE,
        }
    }
}

struct Running {
    /// The number of `PerlSetEnv` lines that the process knows.
    known_variables: usize,
    process: Child,
    errands: Option<ChildStdin>,
    answers: ChildStdout,
}

impl Interpreter for Configurator {
    fn run(&mut self, ground: &Ground<'_>, errand: Errand<'_>) -> Result<ErrandResult, String> {
        let running = match self.running.entry(ground.host) {
            Entry::Occupied(running) => running.into_mut(),
            Entry::Vacant(place) => place.insert(Running::start(ground)?),
        };
        let until = Instant::now() + self.patience;
        let told = running.tell_variables(&ground.perl.set_env, until);
        let answer = match told.and_then(|()| running.ask(errand, until)) {
            Ok(answer) => answer,
            Err(error) => {
                running.give_up();
                self.running.remove(&ground.host);
                return Err(describe_error(&error, self.patience));
            }
        };
        let mut parts = answer.split('\0');
        match parts.next() {
            Some("ok") => parse_reply(parts),
            _ => Err(parts.collect::<Vec<_>>().join(" ").replace('\n', " ")),
        }
    }

    fn environment(&mut self, file: &Path) -> Result<BTreeMap<String, String>, String> {
        exported::of(file, self.patience)
    }
}

/// Makes the result from the parts of a reply: each part is a line (`l`) or a directive (`d`).
fn parse_reply<'a>(parts: impl Iterator<Item = &'a str>) -> Result<ErrandResult, String> {
    let mut made = ErrandResult::default();
    for part in parts {
        match (part.get(..1), part.get(1..)) {
            (Some("l"), Some(line)) => made.lines.push(line.to_string()),
            (Some("d"), Some(text)) => made.directives.push(
                CustomDirective::from_text(text)
                    .ok_or("a module's directive has an unknown args_how")?,
            ),
            _ => return Err("perl's answer is invalid".to_string()),
        }
    }
    Ok(made)
}

fn describe_error(error: &io::Error, patience: Duration) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => format!(
            "it has not ended within {} s; expected Perl that sets its directives and ends: put \
             code that keeps running into a PerlChildInitHandler",
            patience.as_secs_f64()
        ),
        _ => format!("perl ended during the section ({error})"),
    }
}

impl Running {
    fn start(ground: &Ground<'_>) -> Result<Running, String> {
        let settings = ground.perl;
        let perl = PerlSide::ensure(&settings.interpreter).map_err(|error| error.to_string())?;
        let mut process = Command::new(&settings.interpreter)
            .args(switches(settings, &perl))
            .args([
                "-MMehari::Configuration",
                "-e",
                "Mehari::Configuration::serve(@ARGV)",
            ])
            .args(server_arguments(ground.server_root, ground.defines))
            .env_clear()
            .envs(environment(settings))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", settings.interpreter.display()))?;
        let (Some(errands), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("its pipes cannot be opened".to_string());
        };
        Ok(Running {
            known_variables: settings.set_env.len(),
            process,
            errands: Some(errands),
            answers,
        })
    }

    /// Sets the variables of `PerlSetEnv` lines that were read after the process had started.
    fn tell_variables(&mut self, all: &[(String, String)], until: Instant) -> io::Result<()> {
        let new = all.get(self.known_variables..).unwrap_or_default();
        if !new.is_empty() {
            let pairs = new.iter().map(|(name, value)| format!("\0{name}\0{value}"));
            self.send(&format!("environment{}", pairs.collect::<String>()), until)?;
            self.known_variables = all.len();
        }
        Ok(())
    }

    fn ask(&mut self, errand: Errand<'_>, until: Instant) -> io::Result<String> {
        let message = match errand {
            Errand::Module(name) => format!("module\0{name}"),
            Errand::Require(file) => format!("require\0{file}"),
            Errand::Section { name, code } => format!("section\0{name}\0{code}"),
            Errand::Directive(used) => format!("directive\0{}", used.text()),
        };
        self.send(&message, until)
    }

    /// Sends a message and returns the answer.
    fn send(&mut self, message: &str, until: Instant) -> io::Result<String> {
        let errands = self.errands.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        write!(errands, "{}\n{message}", message.len())?;
        errands.flush()?;
        let mut length = 0;
        loop {
            let mut byte = [0];
            self.read(&mut byte, until)?;
            match byte[0] {
                b'\n' => break,
                digit @ b'0'..=b'9' if length <= LONGEST => {
                    length = length * 10 + usize::from(digit - b'0');
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0; length];
        self.read(&mut answer, until)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Reads until `into` is full. Returns an error at the time `until`.
    fn read(&mut self, mut into: &mut [u8], until: Instant) -> io::Result<()> {
        while !into.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let milliseconds = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
            match poll(
                &mut [PollFd::new(&self.answers, PollFlags::IN)],
                milliseconds,
            ) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            match self.answers.read(into)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => into = &mut into[count..],
            }
        }
        Ok(())
    }

    /// Kills the process without waiting until its code ends.
    fn give_up(&mut self) {
        let _ = self.process.kill();
    }
}

impl Drop for Running {
    /// Closes the process's input, which makes the process end.
    fn drop(&mut self) {
        self.errands = None;
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::Site;

    fn section(code: &str) -> Errand<'_> {
        Errand::Section {
            name: "a.conf:7",
            code,
        }
    }

    #[test]
    fn a_section_reads_no_errands_and_is_not_waited_for_without_end() {
        let mut configurator = Configurator::default();
        let site = Site::defaults();
        let ground = Ground {
            host: 0,
            perl: site.perl(),
            server_root: &site.server_root,
            defines: &site.definitions.names,
        };
        let mut lines = |code| {
            configurator
                .run(&ground, section(code))
                .map(|made| made.lines)
        };
        let read = lines("our $ServerName = <STDIN> // 'none';");
        assert_eq!(read, Ok(vec!["ServerName none".to_string()]));
        configurator.patience = Duration::from_millis(300);
        let late = configurator.run(&ground, section("sleep 1 while 1;"));
        let why = late.expect_err("a section that does not end");
        assert!(why.contains("has not ended within 0.3 s"), "{why}");
        configurator.patience = PATIENCE;
        let next = configurator.run(&ground, section("our $Listen = 80;"));
        assert_eq!(
            next.map(|made| made.lines),
            Ok(vec!["Listen 80".to_string()])
        );
    }
}
