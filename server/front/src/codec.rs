//! The protocols that clients speak: framing, flow control, and what each has of its own.
//!
//! A request that a codec has read goes through `pipeline`, which knows of no protocol.

pub mod h1;
pub mod h2;
mod pace;
