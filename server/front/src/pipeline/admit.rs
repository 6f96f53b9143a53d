//! Admits a request: checks the head, starts simple requests at once, and applies traffic rules.

use super::client::ClientStream;
use crate::handlers::HandlerOutcome;
use crate::pipeline::route::open_route;
use crate::pipeline::{managed, start, RequestContext, RequestSource};
use crate::request::{path_of, Peer};
use crate::shared::traffic::{counted, Verdict};
use crate::shared::Shared;
use mehari_config::TrafficRule;
use mehari_http::host::split_port;
use mehari_http::problem::{bad, Problem};
use mehari_pool::Body;
use std::borrow::Cow;

/// The form of a request's target.
#[derive(Debug, PartialEq, Eq)]
pub enum TargetForm {
    Origin,
    /// `OPTIONS *`
    Asterisk,
}

/// Checks what can be checked with the head alone.
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
    check_name(client.shared(), client.host(), context.host)?;
    check_trust(client.shared(), client.peer(), context.host)?;
    Ok(TargetForm::Origin)
}

/// Starts the handler of a request that has no body and that no rule concerns. `None`: rules must
/// be evaluated, or the request must wait.
pub fn at_once<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
) -> Option<HandlerOutcome> {
    if let Some(answer) = managed::answer(client, context) {
        return Some(HandlerOutcome::Answer(answer));
    }
    if !client.is_bodiless() {
        return None;
    }
    let shared = client.shared();
    let route = open_route(shared, context.host, path_of(client.target()))?;
    context.note_route(&route);
    client.begin_work();
    context.mark("route");
    let request = client.request(context);
    let work = start::begin(shared, &request, &route, Body::Empty);
    context.mark_wait("start the handler");
    Some(work)
}

/// Refuses TRACE, which reveals cookies, and CONNECT, which is for forward proxies.
fn check_method(method: &[u8]) -> Result<(), Problem> {
    match method {
        b"TRACE" => Err(Problem::malformed(405, "TRACE is not served")),
        b"CONNECT" => Err(Problem::malformed(405, "CONNECT is for proxies")),
        _ => Ok(()),
    }
}

/// Refuses a request for a name that its host has not, if `StrictHostCheck` demands it. Any host
/// but the first of its address was chosen by its name.
fn check_name(shared: &Shared, asked: &[u8], host: u32) -> Result<(), Problem> {
    let site = shared.site();
    let host = site.host(host);
    if !host.names.are_strict() {
        return Ok(());
    }
    let name = split_port(asked).0;
    if name.is_empty() || host.is_named(name) {
        Ok(())
    } else {
        Err(bad("StrictHostCheck: no host has this name"))
    }
}

/// Refuses a request for another host than the one that the client named in the TLS handshake, if
/// `SSLVHostSNIPolicy` demands it. A client that named no host has the first host's settings.
fn check_trust(shared: &Shared, peer: &Peer, host: u32) -> Result<(), Problem> {
    let Some(session) = &peer.tls else {
        return Ok(());
    };
    let (site, known) = (shared.site(), &session.settings);
    let asked = &site.host(host).tls;
    if !known.may_carry(asked, site.sni_policy) {
        let named = session.name.as_deref().unwrap_or_default();
        return if shared.host(peer, named.as_bytes()) == host {
            Ok(())
        } else {
            Err(Problem::refused(
                421,
                "the connection is for a host with other rules",
            ))
        };
    }
    // Apache would ask for the certificate now, which no client of HTTP/2 permits.
    if known.lacks_certificate_for(asked) {
        return Err(Problem::refused(
            403,
            "the host asks clients for certificates, and the connection is for another host",
        ));
    }
    Ok(())
}

/// Returns the decision of the traffic rules of the request's place. A rule counts a request once,
/// also if Perl's handlers lead the request to another place.
pub fn traffic_verdict(
    shared: &Shared,
    context: &mut RequestContext,
    method: &[u8],
    client: &str,
) -> Verdict {
    let settings = match &context.settings {
        Some(settings) if !settings.limits.traffic.is_empty() => settings.clone(),
        _ => return Verdict::Pass,
    };
    let mut rules = Cow::Borrowed(&*settings.limits.traffic);
    if !context.counted.is_empty() {
        let has_counted = |rule: &TrafficRule| {
            let mut before = context.counted.iter();
            before.any(|settings| settings.limits.traffic.contains(rule))
        };
        rules.to_mut().retain(|rule| !has_counted(rule));
    }
    let client = counted(client, shared.site().limits.client_prefix);
    let (traffic, clock) = (&shared.traffic, &shared.clock);
    let verdict = traffic.admit(&rules, method, &client, clock, &mut context.held);
    drop(rules);
    context.counted.push(settings);
    verdict
}
