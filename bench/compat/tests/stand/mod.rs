//! The fixture of the compatible tools' tests: a server of known behaviour, both programs, and a
//! comparison of the shape of their output.
#![allow(dead_code, clippy::unwrap_used)]

pub mod line;
pub mod pair;
pub mod programs;
pub mod server;
pub mod shape;
