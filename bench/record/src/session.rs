//! Sessions of users: recorded through a small proxy into HAR 1.2 files, and played again.
//!
//! `mehari record` runs [`proxy::serve`], `mehari replay` runs [`replay::play`]; `mehari parity` asks two
//! servers the same by [`parity::compare`].

mod capture;
mod client;
pub mod har;
mod headers;
pub mod parity;
pub mod proxy;
pub mod replay;
mod target;
mod trust;

pub use target::Target;
pub use trust::Trust;
