//! Shows a request to routing and handlers, for every protocol: the request's head, and what the
//! server has found out about the request so far. Everything is borrowed.
//!
//! `rule_state` holds the results of rules, and `variables` gives the values for expressions.

pub mod canonical;
mod fields;
pub mod hop;
pub mod owned;
mod redirect;
pub mod rule_state;
pub mod trace;
pub mod variables;
pub mod virtual_root;

use mehari_http::condition::Conditions;
use mehari_http::host::split_port;
use mehari_observe::trace::Trace;
use mehari_observe::Origin;
use rule_state::RuleState;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::rc::Rc;

pub use fields::{Fields, MapFields};
pub use mehari_http::target::{path_of, query_of};
pub use mehari_http::Field;
pub use mehari_net::Peer;
pub use redirect::{Redirect, RedirectCause, REDIRECTS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http10,
    Http11,
    Http2,
}

impl Protocol {
    /// Returns the protocol's name for SERVER_PROTOCOL and the access log.
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
    /// The method that the client sent, even if the server has changed `method`.
    pub asked_method: &'a [u8],
    /// Path and query as sent, without scheme and authority.
    pub target: &'a [u8],
    /// Path and query of the current resource: the target, or that of an internal redirect.
    pub resource: &'a [u8],
    /// The internal redirect, if any.
    pub redirect: Option<&'a Redirect>,
    pub protocol: Protocol,
    /// The fields in order of arrival, with names as sent.
    pub fields: Fields<'a>,
    /// The host, with its port if there is one: the target's host, or else the Host field's. It has
    /// been checked, and it is empty only in HTTP/1.0.
    pub host: &'a [u8],
    /// The number of the host that answers.
    pub virtual_host: u32,
    pub peer: &'a Peer,
    /// The results of rules.
    pub rule_state: Option<&'a RuleState>,
    pub id: u64,
    /// The timeline of a traced request.
    pub trace: Option<&'a Rc<Trace>>,
}

impl<'a> Request<'a> {
    /// Notes the end of a part of a traced request.
    #[inline(always)]
    pub fn mark(&self, part: &'static str) {
        if let Some(trace) = self.trace {
            trace.mark(part);
        }
    }

    /// Returns the origin of a line of the error log about this request.
    pub fn origin(&self) -> Origin {
        Origin {
            request: Some(self.id),
            client: self.peer.remote_addr.ip(),
            ..Origin::default()
        }
    }

    /// Returns the server's name: the requested host, or else the local address.
    pub fn server(&self) -> &'a [u8] {
        match self.host_name() {
            b"" => self.peer.server_addr.as_bytes(),
            name => name,
        }
    }

    /// Returns the path of the resource, without the query.
    pub fn path(&self) -> &'a [u8] {
        path_of(self.resource)
    }

    /// Returns the internal redirect, and the path and query before it.
    pub fn redirected_from(&self) -> Option<(&'a Redirect, &'a [u8])> {
        let redirect = self.redirect?;
        Some((redirect, redirect.from.as_deref()?))
    }

    /// Returns the error's status if the request is for an error page.
    pub fn error(&self) -> Option<u16> {
        let status = self.redirect.map(|redirect| redirect.status);
        status.filter(|status| *status >= 400)
    }

    /// Returns the undecoded query, or the query that Perl's handlers have set.
    pub fn query(&self) -> &'a [u8] {
        match self.rule_state {
            Some(RuleState {
                query: Some(query), ..
            }) => query,
            _ => query_of(self.resource),
        }
    }

    /// Whether the request has a query, which may be empty.
    pub fn has_query(&self) -> bool {
        self.resource.contains(&b'?') || !self.query().is_empty()
    }

    /// Returns the conditions under which the client wants the representation.
    pub fn conditions(&self) -> Conditions<'a> {
        if self.fields.may_have(Conditions::NAME_LENGTHS) {
            Conditions::of(self.method, self.fields.iter())
        } else {
            Conditions::default()
        }
    }

    /// Returns the first field of this name.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields.get(name)
    }

    /// Returns the values of all fields with this name as one list (RFC 9110 section 5.3).
    pub fn list(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        let is_it = |(known, _): &Field<'a>| known.eq_ignore_ascii_case(name.as_bytes());
        let mut values = self.fields.iter().filter(is_it).map(|(_, value)| value);
        let mut all = Cow::Borrowed(values.next()?);
        for value in values {
            all.to_mut().extend_from_slice(b", ");
            all.to_mut().extend_from_slice(value);
        }
        Some(all)
    }

    /// Returns the host without its port.
    pub fn host_name(&self) -> &'a [u8] {
        split_port(self.host).0
    }
}

/// A list of fields. A short list is on the stack, so that usual requests allocate nothing.
pub type Table<'a> = SmallVec<[Field<'a>; FEW]>;

const FEW: usize = 32;
