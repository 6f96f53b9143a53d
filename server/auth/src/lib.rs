//! Authentication: the user that a request names, and the proof. Basic and Digest schemes.
//!
//! The front's access phase calls this crate. Other threads read user files and check passwords.
//! The caller decides which users a location requires.

pub mod digest;
pub mod passwords;
