//! A request as routing and handlers see it, for every protocol: its head, and what the server has
//! made of the request so far. Everything is borrowed.
//!
//! `rule_state` holds the results of rules, `variables` the values for expressions.

pub mod canonical;
mod fields;
pub mod hop;
pub mod owned;
mod redirect;
pub mod rule_state;
pub mod trace;
pub mod variables;

use mehari_http::condition::Conditions;
use mehari_http::host::split_port;
use rule_state::RuleState;
use smallvec::SmallVec;

pub use fields::{Fields, MapFields};
pub use mehari_http::target::{path_of, query_of};
pub use mehari_http::Field;
pub use mehari_net::Peer;
pub use redirect::{Redirect, REDIRECTS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http10,
    Http11,
    Http2,
}

impl Protocol {
    /// The protocol as SERVER_PROTOCOL and the access log have it.
    pub fn name(self) -> &'static [u8] {
        match self {
            Protocol::Http10 => b"HTTP/1.0",
            Protocol::Http11 => b"HTTP/1.1",
            Protocol::Http2 => b"HTTP/2.0",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a [u8],
    /// The client's method, whatever the server has changed.
    pub asked_method: &'a [u8],
    /// Path and query as sent, without scheme and authority.
    pub target: &'a [u8],
    /// Path and query of the current resource: the target, or that of an internal redirect.
    pub resource: &'a [u8],
    /// The internal redirect, if any.
    pub redirect: Option<&'a Redirect>,
    pub protocol: Protocol,
    /// In order of arrival, names as sent.
    pub fields: Fields<'a>,
    /// Of the target if that had one, else of the Host field. Checked; empty only in HTTP/1.0.
    pub host: &'a [u8],
    /// The number of the host that answers.
    pub virtual_host: u32,
    pub peer: &'a Peer,
    /// The results of rules.
    pub rule_state: Option<&'a RuleState>,
    pub id: u64,
}

impl<'a> Request<'a> {
    /// The server's name, as far as the request knows it.
    pub fn server(&self) -> &'a [u8] {
        match self.host_name() {
            b"" => self.peer.server_addr.as_bytes(),
            name => name,
        }
    }

    /// The resource up to its `?`.
    pub fn path(&self) -> &'a [u8] {
        path_of(self.resource)
    }

    /// The path and query before the internal redirect.
    pub fn redirected_from(&self) -> Option<(&'a Redirect, &'a [u8])> {
        let redirect = self.redirect?;
        Some((redirect, redirect.from.as_deref()?))
    }

    /// The error's status, if this is an error page.
    pub fn error(&self) -> Option<u16> {
        let status = self.redirect.map(|redirect| redirect.status);
        status.filter(|status| *status >= 400)
    }

    /// The undecoded query, or the one that Perl's handlers have set.
    pub fn query(&self) -> &'a [u8] {
        match self.rule_state {
            Some(RuleState {
                query: Some(query), ..
            }) => query,
            _ => query_of(self.resource),
        }
    }

    /// The conditions under which the client wants the representation.
    pub fn conditions(&self) -> Conditions<'a> {
        Conditions::of(self.method, self.fields.iter())
    }

    /// The first field of this name.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields.get(name)
    }

    /// The host without its port.
    pub fn host_name(&self) -> &'a [u8] {
        split_port(self.host).0
    }
}

/// A list that is on the stack while it is short, so that usual requests allocate nothing.
pub type Table<'a> = SmallVec<[Field<'a>; FEW]>;

const FEW: usize = 32;
