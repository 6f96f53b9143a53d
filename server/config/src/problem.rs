//! What is wrong with a configuration, and what is worth knowing about one.
//!
//! Reading never stops at the first problem: [`Problems`] holds all of them in the order of the
//! files, and prints each as `file:line:column: message`.

use std::fmt;
use std::path::PathBuf;

/// A place within the file that is being read. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub line: u32,
    pub column: u32,
}

/// A problem before it is known in which file: what parsers and directives answer.
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

    /// The same fault where words behind the directive look like a comment: they are arguments, as in Apache.
    pub fn of_a_comment(mut self) -> Fault {
        self.message.push_str("; a comment needs a line of its own");
        self
    }

    /// The same fault with the nearest name that would have been understood.
    pub fn or_nearest<'a>(mut self, word: &str, names: impl Iterator<Item = &'a str>) -> Fault {
        if let Some(name) = crate::nearest(word, names) {
            self.message.push_str(&format!("; did you mean `{name}`?"));
        }
        self
    }
}

/// One thing wrong, and where.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Problem {
    /// Empty when none is to blame: the command line, the machine.
    pub file: PathBuf,
    /// From 1; 0 when the whole file is meant.
    pub line: u32,
    /// In characters from 1; 0 when the whole file is meant.
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

/// What is wrong with no line of any file.
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

/// What became of a directive that is not wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// It does what it says.
    Honoured,
    /// It is understood and has nothing to do here; the message says why.
    Ignored,
    /// It is honoured in a way the writer should know about.
    Remark,
}

/// A directive that was read, and what became of it.
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

/// Everything wrong with a configuration. Never empty as an error.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Problems {
    pub problems: Vec<Problem>,
    /// What was read besides, for `mehari check`.
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
