//! Listen, HTTP, route, and the handlers that answer.

pub mod handler;
