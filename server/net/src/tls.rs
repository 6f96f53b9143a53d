//! TLS: which certificate a client is shown, the handshake, and what programs learn of it.
//!
//! `Hosts` is made of a site before it serves, so that what cannot be used is told at the start or by
//! the reload, and never to a client. `front` has connections pass through [`accept`]; behind it a
//! connection is served like any other.

mod accept;
mod certificate;
mod client;
mod config;
mod hosts;
mod session;
mod validity;
mod variables;

pub use accept::{accept, Refusal};
pub use hosts::{Hosts, Trouble};
pub use session::Session;
pub use validity::remarks;
