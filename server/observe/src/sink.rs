//! The target of a log: a file opened for appending, a program, or stderr.

use crate::output::write_whole;
use crate::program::Program;
use mehari_config::LogTarget;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub enum Sink {
    Stderr,
    File { path: PathBuf, file: File },
    Pipe(Program),
}

impl Sink {
    /// Opens the target. Returns `None` if the log is off.
    ///
    /// # Errors
    ///
    /// The error of opening the file or of starting the program. The message names the file.
    pub fn open(target: &LogTarget) -> io::Result<Option<Sink>> {
        Ok(match target {
            LogTarget::Off => None,
            LogTarget::Stderr => Some(Sink::Stderr),
            LogTarget::Pipe(program) => Some(Sink::Pipe(Program::start(program)?)),
            LogTarget::File(path) => Some(Sink::File {
                path: path.clone(),
                file: append_to(path)?,
            }),
        })
    }

    /// Opens the path again, or takes the file that somebody else has opened there.
    ///
    /// # Errors
    ///
    /// The error of opening the file. The sink then keeps the old file.
    pub fn reopen(&mut self, opened: Option<File>) -> io::Result<()> {
        if let Sink::File { path, file } = self {
            *file = opened.map_or_else(|| append_to(path), Ok)?;
        }
        Ok(())
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    ///
    /// The number of bytes written before the error, and the error.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        match self {
            // The lock keeps lines whole if two logs share one stderr.
            Sink::Stderr => write_whole(&mut io::stderr().lock(), bytes),
            Sink::File { file, .. } => write_whole(file, bytes),
            Sink::Pipe(program) => program.write(bytes),
        }
    }

    pub fn name(&self) -> String {
        match self {
            Sink::Stderr => "stderr".to_string(),
            Sink::File { path, .. } => path.display().to_string(),
            Sink::Pipe(program) => program.name(),
        }
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("cannot open {}: {error}", path.display()),
            )
        })
}
