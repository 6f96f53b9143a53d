//! Makes malformed input for every parser of foreign data, and for a running server.

pub mod corpus;
pub mod live;
mod mailbox;
pub mod mutate;
mod patterns;
pub mod targets;
