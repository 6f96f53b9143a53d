//! Edge Lua: runs scripts that decide about a request inside the server, with the names of
//! lighttpd's mod_magnet.
//!
//! The front makes a [`Visit`] of a request, starts a script on it ([`Edge::start`]), and steps the
//! [`Run`] until the script ends. The visit then holds the script's changes, and [`ScriptDecision`]
//! holds the script's decision. This crate knows nothing of sockets, configuration or HTTP syntax.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod attribute;
mod current;
mod edge;
mod faces;
mod failure;
mod fields;
mod hook_interval;
mod interpreter;
mod native;
mod patterns;
mod refusal;
mod runner;
mod scripts;
mod visit;

pub use attribute::Attribute;
pub use edge::{Edge, Limits, Run, ScriptDecision, Step};
pub use failure::Failure;
pub use fields::Fields;
pub use visit::{Piece, Pieces, Source, Stage, Status, Visit, World};
