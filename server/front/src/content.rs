//! Content: the parts of an answer, and the files from which an answer is made.
//!
//! [`Answer`] is a response that needs no program. `files` keeps files open. `resource` describes
//! one representation of a file and keeps a small body. `body` reads a large file, and `variants`
//! keeps compressed files. `spool` and `backlog` hold bodies that arrive faster than they leave.
//! Handlers and codecs call this module. It uses no connection, and no configuration except the
//! settings that its callers pass.

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
