//! What the tests of the compatible faces share: a server of known manners, the programs side by side,
//! and a differ that looks at the shape of what they print.
#![allow(dead_code, clippy::unwrap_used)]

pub mod line;
pub mod pair;
pub mod programs;
pub mod server;
pub mod shape;
