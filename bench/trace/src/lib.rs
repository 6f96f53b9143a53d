//! Shows where the time of one request goes: the parts of the front, of the worker and of Perl.
//!
//! `mehari trace` uses this crate. The server sends a [`Timeline`] on its control socket,
//! [`Anatomy`] makes a tree of its parts, and `output` writes the tree. `request` sends the request
//! whose parts are wanted. [`CallWatch`] records the server's system calls meanwhile.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod anatomy;
mod calls;
pub mod output;
mod page;
mod request;
mod timeline;

pub use anatomy::{Anatomy, TracedPart};
pub use calls::{CallReport, CallWatch, WatchError};
pub use page::Page;
pub use request::TracedRequest;
pub use timeline::{FrontPart, PerlPart, QueueWait, Timeline};
