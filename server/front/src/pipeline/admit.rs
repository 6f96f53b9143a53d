//! Whether a request is served, and where its path leads: checks of the head, the rules, the limits of its place.

use super::client::ClientStream;
use crate::access;
use crate::handlers::HandlerOutcome;
use crate::pipeline::{start, RequestContext, RequestSource};
use crate::request::{path_of, Peer};
use crate::shared::traffic::{counted, Verdict};
use crate::shared::Shared;
use mehari_http::problem::{bad, Problem};
use mehari_pool::Body;

/// What a request is about.
#[derive(Debug, PartialEq, Eq)]
pub enum TargetForm {
    Origin,
    /// `OPTIONS *`
    Asterisk,
}

/// Checks that need nothing but the head.
pub fn check<C: ClientStream>(client: &C, context: &RequestContext) -> Result<TargetForm, Problem> {
    let method = client.method();
    check_method(method)?;
    client.check_head()?;
    if client.target() == b"*" {
        return match method {
            b"OPTIONS" => Ok(TargetForm::Asterisk),
            _ => Err(bad("* is for OPTIONS")),
        };
    }
    check_trust(client.shared(), client.peer(), context.host)?;
    Ok(TargetForm::Origin)
}

/// Begins the work for a request without a body that nobody has to be asked about. `None`: the rules have to be
/// asked, or something waited for.
pub fn at_once<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
) -> Option<HandlerOutcome> {
    if !client.is_bodiless() {
        return None;
    }
    let shared = client.shared();
    let route = access::open_route(shared, context.host, path_of(client.target()))?;
    context.note_route(shared, &route);
    client.begin_work();
    let request = client.request(context);
    Some(start::begin(shared, &request, &route, Body::Empty))
}

/// Methods that no handler gets: TRACE gives away cookies, CONNECT is a proxy's.
fn check_method(method: &[u8]) -> Result<(), Problem> {
    match method {
        b"TRACE" => Err(Problem::malformed(405, "TRACE is not served")),
        b"CONNECT" => Err(Problem::malformed(405, "CONNECT is for proxies")),
        _ => Ok(()),
    }
}

/// A client is let in for the host it named in its TLS greeting; another one may want to see its certificate.
fn check_trust(shared: &Shared, peer: &Peer, host: u32) -> Result<(), Problem> {
    match &peer.tls {
        Some(session) if !session.settings.trusts_as(&shared.site().host(host).tls) => Err(
            Problem::refused(421, "the connection is for a host with other rules"),
        ),
        _ => Ok(()),
    }
}

/// What the traffic rules of its place say to a request.
pub fn traffic_verdict(
    shared: &Shared,
    context: &mut RequestContext,
    method: &[u8],
    peer: &Peer,
) -> Verdict {
    let rules = match &context.settings {
        Some(settings) if !settings.limits.traffic.is_empty() => settings.clone(),
        _ => return Verdict::Pass,
    };
    let (traffic, clock) = (&shared.traffic, &shared.clock);
    let client = context.client(peer).remote_addr;
    let client = counted(&client, shared.site().limits.client_prefix);
    traffic.admit(
        &rules.limits.traffic,
        method,
        &client,
        clock,
        &mut context.held,
    )
}
