//! Serves pages over HTTP to the browser of somebody who sits at this machine.
//!
//! `mehari console` and `mehari docs` each give their pages ([`Pages`]). The [`Service`] listens,
//! admits requests, compresses, and writes the fields that bind a browser to these pages.

mod content;
mod service;
mod token;

pub use content::{Content, MediaType};
pub use hyper::StatusCode;
pub use service::{Pages, Service};
