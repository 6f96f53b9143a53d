//! The front: it listens, reads requests, routes them, gets them answered, and logs them.
//!
//! The modules stand in the order in which a request meets them, and each uses only modules below.
//! One thread owns every socket, and a connection is a task of that thread. `mehari_pool` runs
//! Perl.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

/// Listeners, connections and their tasks.
mod server;

/// HTTP/1 and HTTP/2: bytes to requests, responses to bytes.
mod codec;

/// The stages of a request, the same for every protocol.
mod pipeline;

/// Handlers: files, programs, back ends, includes, reports.
mod handlers;

/// The state that all connections of a front share.
mod shared;

/// `RewriteRule`.
mod rewriting;

/// The response cache: keys, store, fills.
mod cache;

/// From a path to its file and handler.
mod routing;

/// Content: answers, files and their ranges and codings, spooled bodies.
mod content;

/// Output filters: compression, header rules.
mod filters;

/// The request, and the results of rules about it.
mod request;

pub use cache::CacheStats;
pub use mehari_net::socket::{Listener, ListenerOptions};
pub use mehari_net::tls::{warnings as certificate_warnings, Hosts, Trouble};
pub use mehari_observe::{AccessEntry, Journal, Origin};
pub use mehari_upstream::{GroupStatus, MemberStatus};
pub use routing::{htaccess_problems, places_of, survey, ServedUrl, Survey, SurveyedPlace};
pub use server::{probe, warmup_resolver, Front, Handle, Stats, Stop};
pub use shared::exact::{ExactChoice, ExactCounts, Profiling, FIELD as EXACT_FIELD};
pub use shared::history::HistoryPoint;
pub use shared::places::PlaceReport;
pub use shared::tracer::{TraceFilter, Tracing};
pub use shared::watched::WatchReport;
pub use shared::{PerlPool, StandIn, StandInExchange};

/// Checks the TLS configuration of `https://` back ends.
///
/// # Errors
///
/// The reason for which the configuration is unusable.
pub fn look_at_back_ends(site: &mehari_config::Site) -> Result<(), String> {
    if mehari_upstream::is_secure(&site.back_ends.upstreams) {
        mehari_upstream::Trust::load(&site.back_ends.tls).map(drop)
    } else {
        Ok(())
    }
}

/// Checks the TLS configuration of an `https://` collector (`TraceExport`).
///
/// # Errors
///
/// The reason for which the configuration is unusable.
pub fn look_at_collector(site: &mehari_config::Site) -> Result<(), String> {
    match &site.process.trace_export {
        Some(settings) => mehari_observe::export::Exporter::check(settings),
        None => Ok(()),
    }
}
