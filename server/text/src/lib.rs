//! Encodes and decodes text of the web: percent-encoding, hexadecimal digits, HTML's entities.
//!
//! Every other crate may call these functions over bytes. Crates of the registry lack two things
//! that Apache's rules need: lower-case digits (`mod_rewrite`, `mod_include`), and decoding that
//! refuses a broken code.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod hex;
pub mod html;
pub mod percent;
