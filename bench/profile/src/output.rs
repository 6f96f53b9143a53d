//! Writes profiles as text, as an HTML page, and in the formats of other tools.

mod difference;
mod firefox;
mod html;
mod pprof;
mod text;
mod tree;

pub use difference::{difference_html, difference_text};
pub use firefox::firefox;
pub use html::html;
pub use pprof::pprof;
pub use text::text;
pub use tree::{dprofpp, tree};
