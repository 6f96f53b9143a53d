//! Managed certificates: requests certificates from an authority by ACME (RFC 8555), keeps them in
//! a store, renews and revokes them, and fetches their OCSP responses.
//!
//! The work runs in a process of its own, the certificate process ([`serve`]). The server starts
//! that process before it gives up root, so neither scripts nor the front can read the store. The
//! server and the process exchange lines ([`message`]) over a socket that the process inherits. The
//! process parses what the authority sends, and nothing of any client. When the process dies, its
//! parent ([`supervise`]) starts another.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

use std::time::{SystemTime, UNIX_EPOCH};

mod authority;
mod certificate;
mod client;
mod connection;
mod domain;
mod keeper;
pub mod message;
mod ocsp;
mod revocation;
mod schedule;
mod store;
mod supervisor;

pub use keeper::serve;
pub use supervisor::supervise;

/// Returns the seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Why a certificate could not be obtained. Each error is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The authority refused, or its answer makes no sense.
    #[error("{0}")]
    Authority(String),
    /// The store cannot be used.
    #[error("MDStoreDir {file}: {reason}", file = .file.display())]
    Store {
        file: std::path::PathBuf,
        reason: String,
    },
    /// A key or a certificate cannot be made.
    #[error("{0}")]
    Made(String),
    /// The server does not answer any more.
    #[error("the server does not answer")]
    Gone,
}

impl From<instant_acme::Error> for Error {
    fn from(error: instant_acme::Error) -> Error {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        Error::Authority(message::one_line(&text))
    }
}

impl From<rcgen::Error> for Error {
    fn from(error: rcgen::Error) -> Error {
        Error::Made(error.to_string())
    }
}
