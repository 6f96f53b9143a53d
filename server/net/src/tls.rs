//! TLS: chooses the certificate, makes the handshake, and keeps the session's facts for programs.
//!
//! `Hosts` is made from a site before the site serves, so the start or the reload reports unusable
//! files. The front passes connections through [`accept()`] and then serves them like any other
//! connection.

mod accept;
mod certificate;
mod client;
mod config;
mod hosts;
mod managed;
mod session;
mod validity;
mod variables;

pub use accept::{accept, Refusal};
pub use hosts::{Hosts, Trouble};
pub use managed::Managed;
pub use session::Session;
pub use validity::warnings;
