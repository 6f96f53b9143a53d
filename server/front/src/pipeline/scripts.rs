//! Runs edge Lua in the pipeline: scripts before and after the rules ([`admit`]), and before a
//! response's head is sent ([`respond`]). For a site without scripts, both functions return at
//! once.
//!
//! `visit` shows a request to a script, `outcome` carries out the script's changes, and `content`
//! makes the script's body.

mod admit;
mod content;
mod outcome;
mod respond;
mod visit;

pub use admit::admit;
pub use respond::{respond, OriginalHead, Response};
