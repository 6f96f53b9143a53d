//! Edge Lua in the pipeline: scripts before the access phase ([`admit`]) and before the head of a
//! response is sent ([`respond`]). A site without scripts passes at once.
//!
//! `visit` is what a script sees of a request, `outcome` what becomes of its changes, `content` what
//! it sends.

mod admit;
mod content;
mod outcome;
mod respond;
mod visit;

pub use admit::admit;
pub use respond::{respond, Response};
