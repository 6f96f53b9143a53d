//! Edge Lua in the pipeline: scripts before the access phase ([`admit`]), and before a response's
//! head is sent ([`respond`]). A site without scripts passes at once.
//!
//! `visit` is a script's view of a request, `outcome` evaluates its changes, `content` sends its
//! body.

mod admit;
mod content;
mod outcome;
mod respond;
mod visit;

pub use admit::admit;
pub use respond::{respond, OriginalHead, Response};
