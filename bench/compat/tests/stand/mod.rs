//! Holds what the tests of the compatible tools share: a server whose behaviour is known, both
//! programs, and a comparison of the shapes of their outputs.
#![allow(dead_code, clippy::unwrap_used)]

pub mod line;
pub mod pair;
pub mod programs;
pub mod server;
pub mod shape;
