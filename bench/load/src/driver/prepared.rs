//! What all threads of a run read: the plan, its addresses, and each request's bytes.

use std::net::SocketAddr;

use rustls::pki_types::ServerName;

use crate::plan::{Plan, PlanError};
use crate::request::Request;
use crate::url::Endpoint;

use super::http2::hpack;
use super::tls;

pub struct Prepared<'p> {
    pub plan: &'p Plan,
    pub endpoints: Vec<Target>,
    pub rendered: Vec<Rendered>,
}

/// An endpoint with its resolved address.
pub struct Target {
    pub endpoint: Endpoint,
    pub address: SocketAddr,
    /// The name the server must prove, for TLS.
    pub server_name: Option<ServerName<'static>>,
}

/// One request as the driver sends it.
pub struct Rendered {
    pub bytes: Vec<u8>,
    /// Its HPACK block, for HTTP/2.
    pub block: Vec<u8>,
    pub endpoint: usize,
    pub bodiless: bool,
    /// For the cookies of sessions.
    pub path: String,
}

impl<'p> Prepared<'p> {
    pub fn new(plan: &'p Plan) -> Result<Prepared<'p>, PlanError> {
        let mut endpoints: Vec<Target> = Vec::new();
        let mut rendered = Vec::with_capacity(plan.requests.len());
        for request in &plan.requests {
            let known = endpoints
                .iter()
                .position(|target| target.endpoint == request.endpoint);
            let endpoint = match known {
                Some(place) => place,
                None => {
                    endpoints.push(Target {
                        address: request.endpoint.resolve()?[0],
                        server_name: server_name(plan, &request.endpoint)?,
                        endpoint: request.endpoint.clone(),
                    });
                    endpoints.len() - 1
                }
            };
            rendered.push(Rendered {
                bytes: request.bytes(b""),
                block: block(plan, request)?,
                endpoint,
                bodiless: request.bodiless_response,
                path: request.path(),
            });
        }
        Ok(Prepared {
            plan,
            endpoints,
            rendered,
        })
    }
}

fn server_name(plan: &Plan, endpoint: &Endpoint) -> Result<Option<ServerName<'static>>, PlanError> {
    if !endpoint.tls {
        return Ok(None);
    }
    let wanted = plan.connection.tls.server_name.as_deref();
    tls::server_name(wanted.unwrap_or(&endpoint.host)).map(Some)
}

fn block(plan: &Plan, request: &Request) -> Result<Vec<u8>, PlanError> {
    if plan.connection.http2_streams.is_none() {
        return Ok(Vec::new());
    }
    if request.fields.method.is_empty() {
        return Err(PlanError::new(
            "a request given as bytes cannot be sent over HTTP/2",
        ));
    }
    Ok(hpack::request(&request.fields, request.endpoint.tls))
}
