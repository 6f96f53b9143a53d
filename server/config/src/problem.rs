//! The problems of a configuration, and the notes about its directives.
//!
//! Reading never stops at the first problem. [`Problems`] holds all of them in the order of the
//! files and prints each as `file:line:column: message`.

use std::fmt;
use std::path::PathBuf;

/// A position in the current file. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub line: u32,
    pub column: u32,
}

/// A problem of the current file, as parsers and directives return it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub at: At,
    pub message: String,
}

impl Fault {
    pub fn new(at: At, message: impl Into<String>) -> Fault {
        Fault {
            at,
            message: message.into(),
        }
    }

    /// Adds to the message that the last arguments look like a comment, and that a comment needs
    /// its own line.
    pub fn of_a_comment(mut self) -> Fault {
        self.message.push_str("; a comment needs a line of its own");
        self
    }

    /// Adds the nearest known name to the message.
    pub fn or_nearest<'a>(mut self, word: &str, names: impl Iterator<Item = &'a str>) -> Fault {
        if let Some(name) = crate::nearest(word, names) {
            self.message.push_str(&format!("; did you mean `{name}`?"));
        }
        self
    }
}

/// One problem and its position.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Problem {
    /// The file that has the problem. Empty: the problem is one of the command line or of the
    /// machine.
    pub file: PathBuf,
    /// The line, counted from 1. 0 means the whole file.
    pub line: u32,
    /// The column in characters, counted from 1. 0 means the whole file.
    pub column: u32,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.as_os_str().is_empty() {
            write!(out, "{}:", self.file.display())?;
            if self.line > 0 {
                write!(out, "{}:{}:", self.line, self.column)?;
            }
            write!(out, " ")?;
        }
        write!(out, "{}", self.message)
    }
}

/// Makes a problem that has no file and no line.
impl From<String> for Problem {
    fn from(message: String) -> Problem {
        Problem {
            file: PathBuf::new(),
            line: 0,
            column: 0,
            message,
        }
    }
}

/// The result of a valid directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// The directive has its effect.
    Honoured,
    /// The directive is valid but has no effect here. The note's message gives the reason.
    Ignored,
    /// The directive has its effect, and the message tells the author something about the effect.
    Remark,
}

/// A directive that was read, and its result.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Note {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
    pub kind: NoteKind,
    /// The directive's name in the table.
    pub directive: &'static str,
    /// Empty for an honoured directive.
    pub message: String,
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line, column) = (self.file.display(), self.line, self.column);
        write!(out, "{file}:{line}:{column}: {}", self.directive)?;
        match self.kind {
            NoteKind::Honoured => Ok(()),
            NoteKind::Ignored => write!(out, " is ignored by design: {}", self.message),
            NoteKind::Remark => write!(out, ": {}", self.message),
        }
    }
}

/// All problems of a configuration. A function that returns `Problems` as an error returns at least
/// one problem.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Problems {
    pub problems: Vec<Problem>,
    /// The notes about the valid directives, for `mehari check`.
    pub notes: Vec<Note>,
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            write!(out, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
