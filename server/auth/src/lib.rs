//! Authentication: who a request says it is, and whether it proves it. The Basic and Digest schemes.
//!
//! The front's access phase asks. User files are read and passwords are checked on other threads.
//! Which users a location requires is decided by the caller.

pub mod digest;
pub mod passwords;
