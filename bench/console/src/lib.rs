//! What a person sees of a running server: the console (pages for a browser) and `top` (a
//! terminal).
//!
//! The crate knows the server only by its control socket and /proc. [`WatchedServer`] reads both.
//! [`Console`] serves the pages on a loopback address to whoever has its token. [`top`] shows the
//! same figures as text. The commands `mehari console` and `mehari top` choose the server.

mod assets;
mod filesystems;
pub mod inspection;
mod looks;
mod machine;
mod memory;
mod paths;
mod processes;
mod reports;
mod sizes;
mod stack;

pub mod top;
mod watched_server;

pub use paths::Console;
pub use processes::processes_below;
pub use watched_server::{Question, WatchedServer};
