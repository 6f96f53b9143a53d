//! Owns a request that outlives the connection's buffer. The response cache renews a page with it
//! after the response, and server-side includes request parts of a page with it.

use crate::request::rule_state::RuleState;
use crate::request::{Fields, Peer, Protocol, Redirect, Request};

pub struct OwnedRequest {
    method: Vec<u8>,
    target: Vec<u8>,
    resource: Vec<u8>,
    redirect: Option<Redirect>,
    protocol: Protocol,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    host: Vec<u8>,
    virtual_host: u32,
    peer: Peer,
    rule_state: Option<RuleState>,
    id: u64,
}

impl OwnedRequest {
    /// Copies a request, with these fields in place of its own.
    pub fn of(request: &Request<'_>, fields: Option<Vec<(Vec<u8>, Vec<u8>)>>) -> OwnedRequest {
        OwnedRequest {
            method: request.method.to_vec(),
            target: request.target.to_vec(),
            resource: request.resource.to_vec(),
            redirect: request.redirect.cloned(),
            protocol: request.protocol,
            fields: fields.unwrap_or_else(|| request.fields.to_owned()),
            host: request.host.to_vec(),
            virtual_host: request.virtual_host,
            peer: request.peer.clone(),
            rule_state: request.rule_state.cloned(),
            id: request.id,
        }
    }

    /// Adds variables, which requests within this request get.
    pub fn with_variables<'v>(
        mut self,
        variables: impl Iterator<Item = &'v (String, String)>,
    ) -> OwnedRequest {
        for (name, value) in variables {
            let state = self.rule_state.get_or_insert_with(Default::default);
            state.set(name.as_bytes(), value.clone().into());
        }
        self
    }

    pub fn host(&self) -> u32 {
        self.virtual_host
    }

    pub fn state(&self) -> RuleState {
        self.rule_state.clone().unwrap_or_default()
    }

    /// Returns a view of the request with its own method.
    pub fn request_as_asked(&self) -> Request<'_> {
        Request {
            method: &self.method,
            asked_method: &self.method,
            ..self.request()
        }
    }

    /// Returns a view of the request with the method GET.
    pub fn request(&self) -> Request<'_> {
        Request {
            method: b"GET",
            asked_method: b"GET",
            target: &self.target,
            resource: &self.resource,
            redirect: self.redirect.as_ref(),
            protocol: self.protocol,
            fields: Fields::Owned(&self.fields),
            host: &self.host,
            virtual_host: self.virtual_host,
            peer: &self.peer,
            rule_state: self.rule_state.as_ref(),
            id: self.id,
            trace: None,
        }
    }
}
