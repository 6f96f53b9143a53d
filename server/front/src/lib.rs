//! The front: listens, reads requests, routes them, has them answered, logs them.
//!
//! One thread owns every socket (`Front`). A connection is a task: `http1` or `http2` reads its
//! requests, `route` finds what answers, `work` has it done by a `handler`, and the answer leaves
//! the way the request came. Perl is `mehari_pool`'s.

mod accept;
mod answer;
mod backlog;
mod cache;
mod canonical;
mod crew;
mod dispatch;
mod facts;
mod filter;
mod front;
mod gate;
mod given;
mod handed_back;
pub mod handler;
mod header_rules;
mod http1;
mod http2;
mod includes;
mod meters;
mod notes;
mod oracle;
mod owned;
mod pace;
mod page;
mod page_cache;
pub mod probe;
mod redirect;
mod report;
mod request;
mod rewrite;
mod route;
mod shared;
mod spool;
mod trace;
mod traffic;
mod turn;
mod uploads;
mod work;

// The paths by which the modules here know them.
use mehari_auth::{digest, passwords};
use mehari_http::{lines, path, problem, status};
use mehari_net::{address, clock, deadline, hands, proxied, socket, spare, tls, watched};
use mehari_observe as log;
use mehari_resolve::{maps, names};

pub use cache::CacheStats;
pub use dispatch::{Dispatch, Exchange};
pub use front::{Front, Handle, Stats, Stop};
pub use log::{Entry, Journal, Origin};
pub use mehari_upstream::{GroupStatus, MemberStatus};
pub use socket::{Door, Listener};
pub use tls::{remarks as remarks_on_certificates, Hosts, Trouble};

/// Why back ends of `https://` cannot be met as they are configured.
pub fn look_at_back_ends(site: &mehari_config::Site) -> Result<(), String> {
    match mehari_upstream::is_secure(&site.upstreams) {
        true => mehari_upstream::Trust::load(&site.proxy_tls).map(drop),
        false => Ok(()),
    }
}
