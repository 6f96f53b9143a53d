//! Broken input for every parser that reads what others wrote, and for a server that runs.

pub mod corpus;
pub mod live;
mod mailbox;
pub mod mutate;
pub mod targets;
