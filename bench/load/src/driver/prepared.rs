//! Prepares the data that all threads of a run read: the plan, its addresses, and each request's
//! bytes.

use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::ServerName;
use url::Url;

use crate::plan::Plan;
use crate::plan_error::PlanError;
use crate::url::Endpoint;

use super::cookies;
use super::http2::hpack::{self, Block};
use super::tls;
use crate::address::{self, Address};

pub struct Prepared<'p> {
    pub plan: &'p Plan,
    pub endpoints: Vec<Target>,
    pub rendered: Vec<Rendered>,
    /// The addresses of each endpoint whose host is a name.
    pub addresses: Vec<Address>,
}

/// An endpoint with its resolved address.
pub struct Target {
    pub endpoint: Endpoint,
    pub address: SocketAddr,
    /// The name that the server's certificate must prove; for TLS only.
    pub server_name: Option<ServerName<'static>>,
}

/// One request as the driver sends it.
pub struct Rendered {
    pub bytes: Vec<u8>,
    /// The HPACK block of the request, for HTTP/2.
    pub block: Block,
    pub endpoint: usize,
    pub bodiless: bool,
    /// The request's URL for cookies; `None` if no session keeps cookies.
    pub url: Option<Url>,
}

impl<'p> Prepared<'p> {
    pub fn new(plan: &'p Plan) -> Result<Prepared<'p>, PlanError> {
        let mut endpoints: Vec<Target> = Vec::new();
        let keeps_cookies = plan.sessions.iter().any(|session| session.cookies);
        let mut addresses = Vec::new();
        let mut rendered = Vec::with_capacity(plan.requests.len());
        for request in &plan.requests {
            let known = endpoints
                .iter()
                .position(|target| target.endpoint == request.endpoint);
            let endpoint = match known {
                Some(place) => place,
                None => {
                    endpoints.push(Target {
                        address: find(plan, &request.endpoint, &mut addresses)?,
                        server_name: server_name(plan, &request.endpoint)?,
                        endpoint: request.endpoint.clone(),
                    });
                    endpoints.len() - 1
                }
            };
            rendered.push(Rendered {
                bytes: request.bytes(b""),
                block: Block::default(),
                endpoint,
                bodiless: request.bodiless_response,
                url: if keeps_cookies {
                    cookies::url_of(request)
                } else {
                    None
                },
            });
        }
        render_blocks(plan, &endpoints, &mut rendered)?;
        Ok(Prepared {
            plan,
            endpoints,
            rendered,
            addresses,
        })
    }
}

/// Returns the address of an endpoint. If the host is a name, its addresses are also added to
/// `told`.
fn find(
    plan: &Plan,
    endpoint: &Endpoint,
    told: &mut Vec<Address>,
) -> Result<SocketAddr, PlanError> {
    let found = address::reachable_from(&plan.connection.sources, endpoint.resolve()?);
    let place = address::first_that_answers(&found);
    if endpoint.host.parse::<IpAddr>().is_err() {
        told.push(Address {
            name: format!("{}:{}", endpoint.host, endpoint.port),
            used: found[place],
            passed: found[..place].to_vec(),
        });
    }
    Ok(found[place])
}

fn server_name(plan: &Plan, endpoint: &Endpoint) -> Result<Option<ServerName<'static>>, PlanError> {
    if !endpoint.tls {
        return Ok(None);
    }
    let wanted = plan.connection.tls.server_name.as_deref();
    tls::server_name(wanted.unwrap_or(&endpoint.host)).map(Some)
}

/// Renders the HTTP/2 blocks endpoint by endpoint, because only requests to the same endpoint share
/// connections and their dynamic tables.
fn render_blocks(
    plan: &Plan,
    endpoints: &[Target],
    rendered: &mut [Rendered],
) -> Result<(), PlanError> {
    if plan.connection.http2_streams.is_none() {
        return Ok(());
    }
    if plan
        .requests
        .iter()
        .any(|request| request.fields.method.is_empty())
    {
        return Err(PlanError::new(
            "a request given as bytes cannot be sent over HTTP/2",
        ));
    }
    for (endpoint, target) in endpoints.iter().enumerate() {
        let places: Vec<usize> = (0..rendered.len())
            .filter(|place| rendered[*place].endpoint == endpoint)
            .collect();
        let fields = places.iter().map(|place| &plan.requests[*place].fields);
        let blocks = hpack::requests(fields, target.endpoint.tls);
        for (place, block) in places.into_iter().zip(blocks) {
            rendered[place].block = block;
        }
    }
    Ok(())
}
