//! The response cache: RFC 9111's rules, a store in memory, and a folder. Knows no sockets and no programs.
//!
//! The front asks [`Store::find`] before a program is run, [`Terms::of`] what may become of its response,
//! and puts the [`Page`] in when all of it has been said.

mod control;
mod fields;
mod file;
mod folder;
mod index;
mod page;
mod store;
mod terms;

pub use control::Control;
pub use fields::{field, fields, find, values, Field};
pub use file::{decode, encode, hash};
pub use folder::{Filed, Folder};
pub use index::Index;
pub use page::{Page, State};
pub use store::{Found, Store};
pub use terms::{Refusal, Terms};
