//! Describes a failed script for the client and the log.

use crate::native::NO_MEMORY;
use mlua::Error;
use std::path::Path;

/// The failure of a script: a status for the client and a line for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    pub status: u16,
    pub text: String,
}

impl Failure {
    /// Makes the failure from Lua's error. The log line names the script's file and line.
    pub(crate) fn of_script(error: &Error, file: &Path) -> Failure {
        let file = file.display().to_string();
        let text = match error {
            Error::CallbackError { traceback, cause } => {
                let message = match root(cause) {
                    Error::RuntimeError(text) => first_line(text),
                    other => first_line(&other.to_string()),
                };
                match place(traceback, &file) {
                    Some(place) => format!("{place}: {message}"),
                    None => message,
                }
            }
            Error::RuntimeError(text) | Error::SyntaxError { message: text, .. } => {
                first_line(text)
            }
            other => first_line(&other.to_string()),
        };
        let text = if text.contains(last_part(&file)) {
            text
        } else {
            format!("{file}: {text}")
        };
        Failure { status: 500, text }
    }
}

/// Returns the original error without mlua's context.
fn root(error: &Error) -> &Error {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => root(cause),
        other => other,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

fn last_part(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Returns the first place of the traceback that lies in this file, as `FILE:LINE`.
fn place(traceback: &str, file: &str) -> Option<String> {
    let mut lines = traceback.lines().map(str::trim);
    let line = lines.find(|line| line.contains(last_part(file)))?;
    let at = line.find(last_part(file))? + last_part(file).len();
    let number: String = line[at..]
        .strip_prefix(':')?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Some(format!("{file}:{number}"))
}

pub(crate) fn internal(error: Error) -> Failure {
    let text = match root(&error) {
        Error::MemoryError(_) => "no memory is left for Lua".to_string(),
        other => first_line(&other.to_string()),
    };
    Failure { status: 503, text }
}

/// Returns whether the script ran out of memory.
pub(crate) fn is_of_memory(error: &Error) -> bool {
    match root(error) {
        Error::MemoryError(_) => true,
        Error::RuntimeError(text) => text == NO_MEMORY,
        _ => false,
    }
}
