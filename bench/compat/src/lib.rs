//! The old tools' faces on the load engine: `ab`, `httperf`, `http_load` and `crashme`.
//!
//! Each face is a hand-written argument parser, a plan for the engine, a tally of what the engine observed, and a
//! report with the original's labels, order and units on the original's streams. No face sends a request
//! itself: the engine does. Where an original's arithmetic is wrong the figure is right and `--bug-compatible` gives
//! the old one; docs/compatible-tools.md lists each such place.

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
