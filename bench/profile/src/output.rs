//! Profiles as text, as a page, and in the formats of other tools.

mod html;
mod pprof;
mod text;
mod tree;

pub use html::html;
pub use pprof::pprof;
pub use text::text;
pub use tree::{dprofpp, tree};
