//! The perl that runs while a configuration is read: `<Perl>` sections and `add_config`.
//!
//! Started at the first errand, with the site's own interpreter and switches; it ends when it is dropped.

use crate::perl_side::PerlSide;
use crate::zygote::{environment, switches};
use mehari_config::{Errand, Interpreter, PerlSettings};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An answer is never longer.
const LONGEST: usize = 16 << 20;

#[derive(Default)]
pub struct Configurator {
    running: Option<Running>,
}

struct Running {
    process: Child,
    errands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Interpreter for Configurator {
    fn run(&mut self, settings: &PerlSettings, errand: Errand<'_>) -> Result<Vec<String>, String> {
        if self.running.is_none() {
            self.running = Some(Running::start(settings)?);
        }
        let Some(running) = &mut self.running else {
            return Ok(Vec::new());
        };
        let answer = running.ask(errand).map_err(|error| {
            self.running = None;
            format!("perl ended in it ({error})")
        })?;
        let mut parts = answer.split('\0');
        match parts.next() {
            Some("ok") => Ok(parts.map(str::to_string).collect()),
            _ => Err(parts.collect::<Vec<_>>().join(" ").replace('\n', " ")),
        }
    }
}

impl Running {
    fn start(settings: &PerlSettings) -> Result<Running, String> {
        let perl = PerlSide::ensure(&settings.interpreter).map_err(|error| error.to_string())?;
        let mut process = Command::new(&settings.interpreter)
            .args(switches(settings, &perl))
            .args([
                "-MMehari::Configuration",
                "-e",
                "Mehari::Configuration::serve()",
            ])
            .env_clear()
            .envs(environment(settings))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", settings.interpreter.display()))?;
        let (Some(errands), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("its pipes cannot be had".to_string());
        };
        Ok(Running {
            process,
            errands: Some(errands),
            answers: BufReader::new(answers),
        })
    }

    fn ask(&mut self, errand: Errand<'_>) -> io::Result<String> {
        let message = match errand {
            Errand::Module(name) => format!("module\0{name}"),
            Errand::Require(file) => format!("require\0{file}"),
            Errand::Section { name, code } => format!("section\0{name}\0{code}"),
        };
        let errands = self.errands.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        write!(errands, "{}\n{message}", message.len())?;
        errands.flush()?;
        let mut length = String::new();
        self.answers.read_line(&mut length)?;
        let length: usize = length
            .trim()
            .parse()
            .map_err(|_| io::ErrorKind::UnexpectedEof)?;
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0; length];
        self.answers.read_exact(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

impl Drop for Running {
    /// It ends when there are no more errands.
    fn drop(&mut self) {
        self.errands = None;
        let _ = self.process.wait();
    }
}
