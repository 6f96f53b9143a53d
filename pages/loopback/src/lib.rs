//! Serves pages over HTTP to the browser of somebody who sits at this machine, or to a server that
//! shows the pages in one of its places.
//!
//! `mehari console` and `mehari docs` each give their pages ([`Pages`]). The [`Service`] listens,
//! admits requests, compresses, and writes the fields that bind a browser to these pages.

mod content;
mod listening;
mod service;
mod token;

pub use content::{Content, MediaType};
pub use hyper::StatusCode;
pub use service::{Pages, Service};
pub use token::Token;
