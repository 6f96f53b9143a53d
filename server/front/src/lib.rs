//! The front: listens, reads requests, routes them, has them answered, logs them.
//!
//! One thread owns every socket (`Front`). A connection is a task. A `codec` reads its requests, and
//! `pipeline` leads each of them: `access` evaluates the rules, `route` finds what answers, `handling`
//! begins a `handler`, and the response leaves through the codec. Perl is `mehari_pool`'s.

mod accept;
mod access;
mod answer;
mod backlog;
mod cache;
mod canonical;
mod codec;
mod dispatch;
mod facts;
mod filter;
mod front;
mod handed_back;
pub mod handler;
mod handling;
mod header_rules;
mod hop;
mod includes;
mod meters;
mod notes;
mod oracle;
mod owned_request;
mod pace;
mod page;
mod page_cache;
mod pipeline;
pub mod probe;
mod redirect;
mod report;
mod request;
mod request_context;
mod rewrite;
mod route;
mod shared;
mod socket_handoff;
mod spool;
mod status_page;
mod task_pool;
mod trace;
mod traffic;
mod uploads;

// The paths by which the modules here know them.
use mehari_auth::{digest, passwords};
use mehari_http::{lines, path, problem, status};
use mehari_net::{
    address, blocking_pool, buffer_pool, clock, deadline, proxied, socket, tls, watched,
};
use mehari_observe as log;
use mehari_resolve::{maps, names};

pub use cache::CacheStats;
pub use dispatch::{PerlPool, StandIn, StandInExchange};
pub use front::{Front, Handle, Stats, Stop};
pub use log::{Entry, Journal, Origin};
pub use mehari_upstream::{GroupStatus, MemberStatus};
pub use socket::{Listener, ListenerOptions};
pub use tls::{remarks as remarks_on_certificates, Hosts, Trouble};

/// Why back ends of `https://` cannot be met as they are configured.
pub fn look_at_back_ends(site: &mehari_config::Site) -> Result<(), String> {
    if mehari_upstream::is_secure(&site.back_ends.upstreams) {
        mehari_upstream::Trust::load(&site.back_ends.tls).map(drop)
    } else {
        Ok(())
    }
}
