//! Offers the old tools `ab`, `httperf`, `http_load` and `crashme` on Mehari's load engine.
//!
//! Each tool is an argument parser, a plan for the engine, a tally of the engine's events, and a
//! report with the original's labels, order and units on the original's streams. The parsers are
//! written by hand, because each original has its own grammar. The engine alone sends requests.
//! Where an original calculates wrongly, the tool calculates correctly. With `--bug-compatible` it
//! calculates like the original. docs/reference/compatible-tools.md lists these cases.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod ab;
pub mod crashme;
pub mod http_load;
pub mod httperf;

mod console;
mod drawn;
mod engine;
mod getopt;
mod number;
mod resolve;

use console::reason;
pub use console::Console;
