//! Runs scripts on the real interpreter: what scripts see, what they change, and what stops them.

mod answers;
mod bench;
mod helping;
mod isolation;
mod language;
mod limits;
