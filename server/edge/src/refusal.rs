//! Why a function that a script calls gives no value.

/// Why a function returns no value.
#[derive(Debug)]
pub enum Refusal {
    /// The script's mistake. The error names the line of the script.
    Said(String),
    /// The script's mistake, for errors without a line.
    SaidOfAll(String),
    NoMemory,
}

/// A refusal with this text and the script's line.
pub fn said(text: impl Into<String>) -> Refusal {
    Refusal::Said(text.into())
}
