//! Authentication by the schemes Basic and Digest: reads the user that a request names, and checks
//! the proof.
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
