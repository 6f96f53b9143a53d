//! The codecs of text on the web: percent-encoding, hexadecimal digits, HTML's entities.
//!
//! Functions over bytes that every other crate may call. They are written here rather than taken
//! from a crate, since Apache's rules need what those of the registry lack: lower-case digits
//! (`mod_rewrite`, `mod_include`) and decoding that refuses a broken code.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod hex;
pub mod html;
pub mod percent;
