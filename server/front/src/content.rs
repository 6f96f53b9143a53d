//! Content: the parts of an answer, and the files that it comes from.
//!
//! [`Answer`] is a response that needs no program. `files` keeps open files and small bodies,
//! `resource` is a file as its readers see it, `body` sends it, `variants` keeps compressed copies.
//! `spool` and `backlog` hold bodies that arrive faster than they leave. Handlers and codecs call
//! this module; it knows no connection and no configuration beyond the settings it is given.

mod answer;
pub mod backlog;
pub mod body;
pub mod decided;
pub mod files;
pub mod includes;
pub mod media;
pub mod page;
pub mod page_cache;
pub mod readers;
pub mod resource;
pub mod spool;
pub mod stat;
mod stretch;
mod target;
pub mod variants;

pub use answer::{Answer, Content};
pub use files::Files;
pub use target::FileTarget;
