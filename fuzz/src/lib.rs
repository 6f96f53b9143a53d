//! Broken input for every parser that reads what others wrote, and for a server that runs.

pub mod corpus;
pub mod live;
pub mod mutate;
pub mod targets;
