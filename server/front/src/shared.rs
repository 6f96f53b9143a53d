//! The state that all connections of a front share. One thread uses it, so it has cells instead of
//! locks.

pub mod meters;
mod perl_pool;
pub mod scripts;
pub mod task_pool;
pub mod traffic;
pub mod uploads;

pub use perl_pool::{PerlExchange, PerlPool, StandIn, StandInExchange};

use crate::cache::Cache;
use crate::content::backlog::Unsent;
use crate::content::includes::Pages;
use crate::content::variants::Variants;
use crate::content::Files;
use crate::request::Peer;
use crate::routing::hosts::HostTable;
use crate::routing::htaccess::HtaccessTable;
use crate::routing::table::RouteTable;
use crate::routing::{self, Route};
use crate::shared::meters::Meters;
use crate::shared::scripts::Lua;
use crate::shared::task_pool::TaskPool;
use crate::shared::traffic::Traffic;
use crate::shared::uploads::Uploads;
use mehari_auth::digest::Digests;
use mehari_auth::passwords::Passwords;
use mehari_cgi::Cgi;
use mehari_config::{LogLevel, LogNeeds, Site};
use mehari_filewatch::FileWatcher;
use mehari_http::problem::Problem;
use mehari_net::clock::Clock;
use mehari_net::deadline::Registry;
use mehari_net::tls::Hosts;
use mehari_observe::{Journal, Origin};
use mehari_resolve::maps::MapTable;
use mehari_resolve::names::Names;
use mehari_upstream::Upstreams;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// The site in an `Rc`, because each request uses it several times and atomic counting is slower.
#[allow(clippy::redundant_allocation)]
pub type OwnSite = Rc<Arc<Site>>;

pub struct Shared {
    site: RefCell<OwnSite>,
    pub pool: PerlPool,
    pub cgi: Cgi,
    pub lua: Lua,
    pub upstreams: Upstreams,
    pub journal: Rc<dyn Journal>,
    pub clock: Clock,
    pub files: Files,
    pub registry: Rc<Registry>,
    /// The HTTP/2 streams, for their deadlines.
    pub streams: Rc<Registry>,
    pub routes: RouteTable,
    pub watcher: Rc<FileWatcher>,
    pub hosts: HostTable,
    pub htaccess: HtaccessTable,
    pub maps: MapTable,
    pub passwords: Passwords,
    pub names: Names,
    pub digests: Digests,
    pub pages: Pages,
    /// A buffer for bytes that are counted or dropped at once.
    pub scratch: RefCell<Vec<u8>>,
    /// Bytes of responses in memory that clients have not taken.
    pub unsent: Rc<Unsent>,
    pub stopping: Cell<bool>,
    pub counts: Counts,
    tls: RefCell<Option<Rc<Hosts>>>,
    /// The facts of a request that the site's access logs need.
    pub log_needs: Cell<LogNeeds>,
    /// Present if the site reports them.
    pub meters: RefCell<Option<Meters>>,
    pub started: std::time::SystemTime,
    pub traffic: Rc<Traffic>,
    pub uploads: Uploads,
    pub tasks: TaskPool,
    pub variants: Variants,
    pub cache: Rc<Cache>,
    /// Whether any host serves its connections itself.
    gives_connections: Cell<bool>,
}

/// Totals since the start, and running requests.
#[derive(Debug, Default)]
pub struct Counts {
    pub connections: Cell<u64>,
    pub refused_connections: Cell<u64>,
    pub requests: Cell<u64>,
    pub active: Cell<usize>,
    pub bytes: Cell<u64>,
}

impl Shared {
    /// The problem of a request whose body cannot be stored. The log says where and why.
    pub fn cannot_spool(&self, error: &io::Error) -> Problem {
        let folder = std::env::temp_dir();
        let text = format!(
            "a request's body does not go into a temporary file in {} (TMPDIR): {error}",
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
        let log_needs = site.log_needs();
        let variants = Variants::default();
        variants.configure(&site.stores.variants);
        let cache = Rc::<Cache>::default();
        cache.configure(&site.stores.cache);
        cache.tell(journal.clone());
        let files = Files::default();
        let watcher = Rc::new(FileWatcher::new(journal.clone()));
        let meters = site.is_metered().then(Meters::default);
        let gives_connections = Cell::new(site.gives_connections());
        Shared {
            upstreams: Upstreams::new(&site.back_ends.upstreams, &site.back_ends.tls, report),
            lua: Lua::new(&site, &watcher, &files),
            site: RefCell::new(Rc::new(site)),
            pool,
            cgi,
            journal: journal.clone(),
            clock: Clock::new(),
            files,
            registry: Rc::default(),
            streams: Rc::default(),
            routes: RouteTable::default(),
            watcher,
            hosts: HostTable::default(),
            htaccess: HtaccessTable::new(journal),
            maps: MapTable::default(),
            passwords: Passwords::default(),
            names: Names::default(),
            digests: Digests::default(),
            pages: Pages::default(),
            scratch: RefCell::default(),
            unsent: Rc::default(),
            stopping: Cell::new(false),
            counts: Counts::default(),
            tls: RefCell::default(),
            log_needs: Cell::new(log_needs),
            meters: RefCell::new(meters),
            started: std::time::SystemTime::now(),
            traffic: Rc::default(),
            uploads: Uploads::default(),
            tasks: TaskPool::default(),
            variants,
            cache,
            gives_connections,
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
        self.upstreams
            .renew(&site.back_ends.upstreams, &site.back_ends.tls);
        self.upstreams.watch();
        self.log_needs.set(site.log_needs());
        self.variants.configure(&site.stores.variants);
        self.cache.configure(&site.stores.cache);
        let mut meters = self.meters.borrow_mut();
        match (site.is_metered(), meters.is_some()) {
            (true, false) => *meters = Some(Meters::default()),
            (false, true) => *meters = None,
            _ => {}
        }
        drop(meters);
        self.lua.renew(&site);
        self.gives_connections.set(site.gives_connections());
        self.site.replace(Rc::new(site));
        self.routes.clear();
        self.watcher.clear();
        self.hosts.clear();
        self.htaccess.clear();
        self.maps.clear();
    }

    /// `None`: TLS is not used.
    pub fn tls(&self) -> Option<Rc<Hosts>> {
        self.tls.borrow().clone()
    }

    pub fn replace_tls(&self, hosts: Hosts) {
        self.tls.replace(Some(Rc::new(hosts)));
    }

    /// The kept route of a path.
    pub fn known_route(&self, host: u32, path: &[u8], mapped: Option<&[u8]>) -> Option<Rc<Route>> {
        let now = self.clock.tick();
        match mapped {
            None => self.routes.known(host, path, now),
            Some(file) => self.routes.known(host, &Self::mapped_key(path, file), now),
        }
    }

    /// The file that a search for a path may have to read from the disk.
    pub fn cold_file(&self, host: u32, path: &[u8], mapped: Option<&[u8]>) -> Option<Vec<u8>> {
        routing::cold(&self.site.borrow(), &self.watcher, host, path, mapped)
    }

    /// `patient`: see [`routing::find_to_keep`].
    pub fn route(&self, host: u32, path: &[u8], patient: bool) -> Result<Rc<Route>, Problem> {
        let site = self.site.borrow();
        let now = self.clock.tick();
        self.routes.route(host, path, now, |before| {
            let watcher = (&*self.watcher, patient);
            let route = routing::find_to_keep(&site, &self.htaccess, watcher, host, path, None)?;
            Ok(route.succeeding(before, &self.watcher))
        })
    }

    /// The route of a path that a rule has mapped to a file.
    pub fn route_to(
        &self,
        host: u32,
        path: &[u8],
        file: &[u8],
        patient: bool,
    ) -> Result<Rc<Route>, Problem> {
        let site = self.site.borrow();
        let key = Self::mapped_key(path, file);
        self.routes.route(host, &key, self.clock.tick(), |before| {
            let watcher = (&*self.watcher, patient);
            let route =
                routing::find_to_keep(&site, &self.htaccess, watcher, host, path, Some(file))?;
            Ok(route.succeeding(before, &self.watcher))
        })
    }

    /// No path contains a NUL.
    fn mapped_key(path: &[u8], file: &[u8]) -> Vec<u8> {
        [path, &[0], file].concat()
    }

    /// The number of the host for this name at this address.
    pub fn host(&self, peer: &Peer, host: &[u8]) -> u32 {
        self.hosts.number(&self.site.borrow(), peer, host)
    }

    /// The host of a connection, if the host serves its connections itself.
    pub fn gives_connections(&self, peer: &Peer) -> Option<u32> {
        if !self.gives_connections.get() {
            return None;
        }
        let host = self.host(peer, b"");
        self.site
            .borrow()
            .host(host)
            .gives_connections()
            .then_some(host)
    }

    /// Whether logs or metrics need the durations of requests.
    pub fn times_requests(&self) -> bool {
        let needs = self.log_needs.get();
        needs.duration || needs.backend_time || self.meters.borrow().is_some()
    }

    /// Counts a new request and returns its id.
    pub fn request_begins(&self) -> u64 {
        let id = self.counts.requests.get() + 1;
        self.counts.requests.set(id);
        self.counts.active.set(self.counts.active.get() + 1);
        id
    }

    pub fn request_ends(&self, bytes: u64) {
        self.counts.active.set(self.counts.active.get() - 1);
        self.counts.bytes.set(self.counts.bytes.get() + bytes);
    }
}
