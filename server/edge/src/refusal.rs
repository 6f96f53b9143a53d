//! Why a function that a script calls gives no value.

/// Why a function gives no value.
#[derive(Debug)]
pub enum Refusal {
    /// The script's own mistake, without its place.
    Said(String),
    /// The same, about no line of it.
    SaidOfAll(String),
    NoMemory,
}

/// A refusal with this text.
pub fn said(text: impl Into<String>) -> Refusal {
    Refusal::Said(text.into())
}
