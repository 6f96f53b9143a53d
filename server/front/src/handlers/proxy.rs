//! Gives requests to back ends over HTTP/1.1, FastCGI, SCGI or uwsgi. The back ends that serve the
//! same route are the members of a group.
//!
//! [`start`] takes a complete request and returns a [`ProxyExchange`], which the pipeline polls.
//! `mehari_upstream` chooses the member and the connection. This module implements the protocols.

mod exchange;
mod forwarded;
mod opening;
mod outgoing;
mod reader;
mod reply;
mod request;
mod request_summary;
mod reverse;
mod sticky;
pub mod tunnel;
mod upstream_session;
mod via;

pub use exchange::ProxyExchange;
pub use reader::{Reader, Step};
pub use reply::Http;

use crate::handlers::{fastcgi, gateway};
use crate::request::{hop, Fields, Request};
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{Handler, LogLevel, Site, Speech, FCGID};
use mehari_http::problem::Problem;
use mehari_pool::Body;
use mehari_upstream::{Group, Wish};
use outgoing::Outgoing;
pub use request_summary::RequestSummary;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

const NO_SCRIPT: Problem = Problem::refused(404, "there is no such FastCGI script");
const NOT_EXECUTABLE: Problem = Problem::refused(403, "the FastCGI script is not executable");
const NOT_STARTED: Problem = Problem::refused(503, "the FastCGI script cannot be started");
const UNKNOWN: Problem = Problem::refused(503, "the configuration has no such back end any more");

/// Gives a complete request to a back end of its route. `path`: the path on the back end.
pub fn start(
    shared: &Shared,
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    path: &[u8],
    body: Body<'_>,
) -> Result<ProxyExchange, Problem> {
    let Handler::Proxy(proxied) = &route.handler else {
        return Err(UNKNOWN);
    };
    let fields = hop::without_named(request.fields);
    let request = &Request {
        fields: fields.as_deref().map_or(request.fields, Fields::List),
        ..*request
    };
    let asked = RequestSummary::new(shared, request, route);
    let group = if proxied.upstream == FCGID {
        script(shared, &asked, route)?
    } else {
        shared
            .backends
            .upstreams
            .group(&proxied.upstream)
            .ok_or(UNKNOWN)?
    };
    let wish = Wish {
        key: if group.wants_key() {
            Wish::key_of(request.host, request.path())
        } else {
            0
        },
        route: sticky::route(request, &group.settings()),
        tried: Vec::new(),
    };
    let speech = group.settings().speech();
    let (outgoing, reader) = match speech {
        Speech::Http => {
            let (opening, lines) = request::head(request, route, path, &body, &asked);
            let outgoing = Outgoing::http(opening, lines, body);
            (outgoing, Reader::Http(Http::new(&asked)))
        }
        Speech::FastCgi => {
            let params = fastcgi::request::begin(request, route, site, &body, &shared.backends.cgi);
            let outgoing = Outgoing::fastcgi(params, body);
            (outgoing, Reader::FastCgi(Box::default()))
        }
        Speech::Scgi => {
            let head = gateway::scgi(request, route, site, &body, &shared.backends.cgi);
            let reader = Reader::Gateway(gateway::Reply::default());
            (Outgoing::plain(head.into(), body), reader)
        }
        Speech::Uwsgi => {
            let head = gateway::uwsgi(request, route, site, &body, &shared.backends.cgi)?;
            let reader = Reader::Gateway(gateway::Reply::default());
            (Outgoing::plain(head.into(), body), reader)
        }
    };
    Ok(ProxyExchange::new(
        asked,
        group.seek(wish),
        outgoing,
        reader,
    ))
}

/// Returns the group of processes that run the route's script.
fn script(shared: &Shared, asked: &RequestSummary, route: &Route) -> Result<Rc<Group>, Problem> {
    let file = Path::new(OsStr::from_bytes(&route.file));
    shared.backends.upstreams.script(file).map_err(|error| {
        let text = format!("{}: cannot be started: {error}", file.display());
        asked.log(LogLevel::Error, &text);
        match error.kind() {
            ErrorKind::NotFound => NO_SCRIPT,
            ErrorKind::PermissionDenied => NOT_EXECUTABLE,
            _ => NOT_STARTED,
        }
    })
}
