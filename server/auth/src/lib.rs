//! Authentication: the user that a request names, and the proof. Basic and Digest schemes.
//!
//! The front's access phase calls this crate. Other threads read user files and check passwords.
//! The caller decides which users a location requires.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod digest;
pub mod passwords;
