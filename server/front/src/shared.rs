//! The state that all connections of a front share. Only one thread uses the state, so the state
//! has cells instead of locks.

mod connections;
pub mod exact;
pub mod history;
pub mod managed;
pub mod meters;
mod perl_pool;
pub mod places;
mod routing_tables;
pub mod scripts;
mod statistics;
pub mod task_pool;
pub mod tracer;
pub mod traffic;
pub mod uploads;
pub mod watched;

pub use connections::Connections;
pub use perl_pool::{PerlExchange, PerlPool, StandIn, StandInExchange};
pub use routing_tables::RoutingTables;
pub use statistics::Statistics;

use crate::cache::Cache;
use crate::content::includes::Pages;
use crate::content::variants::Variants;
use crate::content::Files;
use crate::request::Peer;
use crate::shared::exact::Exact;
use crate::shared::managed::Managed;
use crate::shared::scripts::Lua;
use crate::shared::tracer::Tracer;
use crate::shared::traffic::Traffic;
use crate::shared::uploads::Uploads;
use mehari_auth::digest::Digests;
use mehari_auth::passwords::Passwords;
use mehari_cgi::Cgi;
use mehari_config::{LogLevel, Site};
use mehari_http::problem::Problem;
use mehari_net::clock::Clock;
use mehari_observe::{Journal, Origin};
use mehari_resolve::maps::MapTable;
use mehari_resolve::names::Names;
use mehari_upstream::Upstreams;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// The site in an `Rc`, because each request uses it several times and atomic counting is slower.
#[allow(clippy::redundant_allocation)]
pub type OwnSite = Rc<Arc<Site>>;

/// The state that all connections of a front share, in parts by purpose.
pub struct Shared {
    site: RefCell<OwnSite>,
    pub clock: Clock,
    pub journal: Rc<dyn Journal>,
    pub connections: Connections,
    pub routing: RoutingTables,
    pub users: Users,
    pub lookups: Lookups,
    pub content: ContentStore,
    pub backends: Backends,
    pub cache: Rc<Cache>,
    pub lua: Lua,
    pub traffic: Rc<Traffic>,
    pub uploads: Uploads,
    pub managed: Managed,
    pub stats: Statistics,
    pub tracer: Rc<Tracer>,
    /// A buffer for bytes that are counted or dropped at once.
    pub scratch: RefCell<Vec<u8>>,
}

/// What the access phase remembers about users.
#[derive(Default)]
pub struct Users {
    pub passwords: Passwords,
    pub digests: Digests,
}

/// Answers of the resolver and of `RewriteMap`s.
#[derive(Default)]
pub struct Lookups {
    pub names: Names,
    pub maps: MapTable,
}

/// Open files, and what the front has made of files.
#[derive(Default)]
pub struct ContentStore {
    pub files: Files,
    pub variants: Variants,
    pub pages: Pages,
}

/// The parts that run programs and ask other servers.
pub struct Backends {
    pub pool: PerlPool,
    /// The requests that go to another pool.
    pub exact: Rc<Exact>,
    pub cgi: Cgi,
    pub upstreams: Upstreams,
}

impl Shared {
    /// Logs where and why a request's body cannot be stored. Returns the problem with which the
    /// request is refused.
    pub fn cannot_spool(&self, error: &io::Error) -> Problem {
        let folder = std::env::temp_dir();
        let text = format!(
            "a request's body cannot be written to a temporary file in {} (TMPDIR): {error}",
            folder.display()
        );
        self.journal
            .error(0, LogLevel::Error, Origin::default(), &text);
        let status = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => 507,
            _ => 500,
        };
        Problem::malformed(status, "a temporary file for the body failed")
    }

    pub fn new(site: Arc<Site>, pool: PerlPool, cgi: Cgi, journal: Rc<dyn Journal>) -> Shared {
        let told = journal.clone();
        let report =
            Rc::new(move |level, text: &str| told.error(0, level, Origin::default(), text));
        let content = ContentStore::default();
        content.variants.configure(&site.stores.variants);
        let cache = Rc::<Cache>::default();
        cache.configure(&site.stores.cache);
        cache.set_journal(journal.clone());
        let routing = RoutingTables::new(&journal);
        let upstreams = Upstreams::new(&site.back_ends.upstreams, &site.back_ends.tls, report);
        let connections = Connections::new(&site);
        Shared {
            lua: Lua::new(
                &site,
                &routing.watcher,
                &content.files,
                &connections.threads,
            ),
            stats: Statistics::new(&site),
            connections,
            managed: Managed::new(&site),
            site: RefCell::new(Rc::new(site)),
            clock: Clock::new(),
            journal,
            routing,
            users: Users::default(),
            lookups: Lookups::default(),
            content,
            backends: Backends {
                pool,
                exact: Rc::default(),
                cgi,
                upstreams,
            },
            cache,
            traffic: Rc::default(),
            uploads: Uploads::default(),
            tracer: Rc::default(),
            scratch: RefCell::default(),
        }
    }

    /// Counts and logs a client that was refused because it sends too slowly.
    pub fn note_slow(&self, peer: &Peer, what: &str) {
        let count = &self.traffic.counts.too_slow;
        count.set(count.get() + 1);
        let text = format!(
            "{}: its {what} comes too slowly (RequestReadTimeout): 408",
            peer.remote_addr
        );
        let journal = &self.journal;
        journal.error(0, LogLevel::Notice, Origin::default(), &text);
    }

    pub fn site(&self) -> OwnSite {
        self.site.borrow().clone()
    }

    pub fn replace_site(&self, site: Arc<Site>) {
        let upstreams = &self.backends.upstreams;
        upstreams.reconfigure(&site.back_ends.upstreams, &site.back_ends.tls);
        upstreams.watch();
        self.content.variants.configure(&site.stores.variants);
        self.cache.configure(&site.stores.cache);
        self.stats.configure(&site);
        self.lua.reconfigure(&site);
        self.connections.configure(&site);
        self.managed.configure(&site);
        self.export_traces(&site);
        self.site.replace(Rc::new(site));
        self.routing.clear();
        self.lookups.maps.clear();
    }

    /// Follows `TraceExport` of the site.
    pub fn export_traces(&self, site: &Site) {
        if let Err(reason) = self.tracer.export(site.process.trace_export.as_ref()) {
            let text = format!("TraceExport: {reason}: no spans are sent");
            let origin = Origin::default();
            self.journal.error(0, LogLevel::Error, origin, &text);
        }
    }

    /// Returns the number of the host that has this name at the local address of the connection.
    pub fn host(&self, peer: &Peer, host: &[u8]) -> u32 {
        self.routing.hosts.number(&self.site.borrow(), peer, host)
    }

    /// Returns the number of a connection's host if a Perl handler of the host serves its
    /// connections.
    pub fn gives_connections(&self, peer: &Peer) -> Option<u32> {
        if !self.connections.any_handed_over.get() {
            return None;
        }
        let host = self.host(peer, b"");
        self.site
            .borrow()
            .host(host)
            .gives_connections()
            .then_some(host)
    }
}
