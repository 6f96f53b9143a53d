//! The response cache: RFC 9111's rules, a store in memory, and a folder. The crate knows no
//! sockets and no programs.
//!
//! The front calls [`Store::find`] before it runs a program, and [`Terms::of`] to learn whether the
//! response may be kept. The front stores the [`Page`] when the response is complete.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod control;
mod fields;
mod file;
mod folder;
mod index;
mod page;
mod store;
mod terms;
pub mod vary;

pub use control::Control;
pub use fields::{field, fields, find, values, Field};
pub use file::{decode, encode, hash};
pub use folder::{Folder, FolderEntry};
pub use index::Index;
pub use page::{Freshness, Page};
pub use store::{Store, StoreLookup};
pub use terms::{Arrival, Refusal, Terms};
pub use vary::Varied;
