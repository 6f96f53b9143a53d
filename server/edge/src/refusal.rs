//! The errors of the Rust functions that a script calls.

/// The reason why a function returns no value.
#[derive(Debug)]
pub enum Refusal {
    /// The script's mistake. The error names the line of the script.
    Said(String),
    /// The script's mistake, for errors without a line.
    SaidOfAll(String),
    NoMemory,
}

/// Makes a refusal with this text and the script's line.
pub fn said(text: impl Into<String>) -> Refusal {
    Refusal::Said(text.into())
}
