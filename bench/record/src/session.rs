//! Records user sessions through a small proxy into HAR 1.2 files, and replays them.
//!
//! `mehari record` runs [`proxy::serve`], and `mehari replay` runs [`replay::play`]. `mehari
//! parity` compares two servers with [`parity::compare`].

mod capture;
mod client;
mod excerpt;
pub mod har;
mod headers;
pub mod parity;
pub mod proxy;
pub mod replay;
mod target;
mod trust;

pub use target::Target;
pub use trust::Trust;
