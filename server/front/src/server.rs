//! Runs the front: accepts connections, sweeps deadlines and stops. `mehari serve` calls
//! [`Front::run`].

mod accept;
mod export_reports;
pub mod probe;
mod socket_handoff;
mod warmup;

pub use warmup::warmup_resolver;

use crate::cache::{CacheStats, Purge};
use crate::handlers::cgi::Cgi;
use crate::pipeline::subrequest::{self, MapAnswers};
use crate::shared::exact::{ExactChoice, Profiling};
use crate::shared::history::{self, HistoryPoint};
use crate::shared::places::PlaceReport;
use crate::shared::tracer::{TraceFilter, Tracing};
use crate::shared::watched::{Watch, WatchReport};
use crate::shared::{PerlPool, Shared};
use accept::accept;
use mehari_config::Site;
use mehari_net::deadline::Interrupt;
use mehari_net::readiness::register;
use mehari_net::socket::{Acceptor, Listener};
use mehari_net::tls::{Hosts, Trouble};
use mehari_observe::Journal;
use mehari_pool::{PageRenderer, Pool, SubrequestResolver};
use mehari_upstream::GroupStatus;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::task::{spawn_local, LocalSet};

/// Whether and how a front must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    #[default]
    No,
    /// Accept no more connections, and finish running requests within `GracefulShutdownTimeout`.
    Gracefully,
    /// As `Gracefully`, but another process accepts the connections. Idle connections stay open
    /// until their next response or their time limit, so a request on its way is not lost.
    Replaced,
    /// End at once.
    Now,
}

/// The front's part of `mehari status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub open_connections: usize,
    pub active_requests: usize,
    pub connections: u64,
    /// Connections that got 503 because `MaxConnections` were open.
    pub refused_connections: u64,
    /// The decisions of traffic rules: 503 answers, 429 answers, delays, and connections with 429.
    pub too_many_at_once: u64,
    pub too_fast: u64,
    pub held_back: u64,
    pub too_many_connections: u64,
    /// Requests that were answered with 408.
    pub too_slow: u64,
    pub requests: u64,
    /// Bytes of response bodies.
    pub bytes: u64,
    pub cache: CacheStats,
}

/// One front, which belongs to one thread. Call `new`, then `run` inside a current-thread runtime.
pub struct Front {
    listeners: Vec<Listener>,
    shared: Rc<Shared>,
}

/// Controls a running front from its own thread.
pub struct Handle(Rc<Shared>);

impl Clone for Handle {
    fn clone(&self) -> Handle {
        Handle(self.0.clone())
    }
}

impl Handle {
    /// Installs a new site for the next requests. The listeners, their backlogs and the logs stay.
    pub fn replace_site(&self, site: Arc<Site>) {
        self.0.replace_site(site);
    }

    /// Installs new certificates for the next handshakes.
    pub fn replace_tls(&self, hosts: Hosts) {
        self.0.connections.replace_tls(hosts);
    }

    /// Puts the proofs of managed domains in place of all former proofs: tokens with their texts,
    /// and names with key and certificate in PEM.
    ///
    /// # Errors
    ///
    /// A certificate cannot be used.
    pub fn prove(
        &self,
        tokens: HashMap<String, String>,
        certificates: &[(String, String)],
    ) -> Result<(), String> {
        self.0.managed.replace_tokens(tokens);
        match self.0.connections.tls() {
            Some(hosts) => hosts.managed().answer_challenges(certificates),
            None => Ok(()),
        }
    }

    /// Replaces the certificate of a managed domain for the next handshakes. Returns whether the
    /// certificate differs from the one before.
    ///
    /// # Errors
    ///
    /// The certificate cannot be used. The old certificate stays.
    pub fn replace_managed(&self, domain: &str, pem: &str) -> Result<bool, String> {
        match self.0.connections.tls() {
            Some(hosts) => hosts.managed().replace(domain, pem),
            None => Ok(false),
        }
    }

    /// Sends an OCSP response in DER with the certificate of a managed domain from now on, or none.
    pub fn staple_managed(&self, domain: &str, response: Option<Vec<u8>>) {
        if let Some(hosts) = self.0.connections.tls() {
            hosts.managed().staple(domain, response);
        }
    }

    /// Notes when the certificates of managed domains end, in seconds since 1970, for the metrics.
    pub fn note_expiries(&self, expiries: Vec<(String, u64)>) {
        self.0.managed.expiries.replace(expiries);
    }

    /// Loads the TLS settings of a new site. `None`: no listener uses TLS.
    ///
    /// # Errors
    ///
    /// A file that the configuration names cannot be used.
    pub fn load_tls(&self, site: &Site) -> Result<Option<Hosts>, Trouble> {
        let current = self.0.connections.tls();
        let load = |before: Rc<Hosts>| Hosts::load(site, Some(&before));
        current.map(load).transpose()
    }

    /// Returns the function that answers the workers' questions about paths while the front lives.
    pub fn subrequest_resolver(&self) -> SubrequestResolver {
        subrequest::resolver(Rc::downgrade(&self.0), MapAnswers::default())
    }

    /// Returns what renders pages with server-side includes within workers' requests while the
    /// front lives.
    pub fn page_renderer(&self) -> PageRenderer {
        subrequest::page_renderer(Rc::downgrade(&self.0))
    }

    pub fn site(&self) -> Arc<Site> {
        Arc::clone(&self.0.site())
    }

    /// Gives the questions of the programs that the front starts to this function. Called before
    /// the front runs.
    pub fn answer_programs(&self, answerer: impl Fn(OwnedFd) + 'static) {
        self.0.backends.upstreams.answer_by(Rc::new(answerer));
    }

    /// Returns the state of the back ends.
    pub fn back_ends(&self) -> Vec<GroupStatus> {
        self.0.backends.upstreams.status()
    }

    /// Stops new requests to a back end if `drained` is true, and otherwise allows them. Returns
    /// the names of the back ends concerned.
    pub fn drain(&self, name: &str, drained: bool) -> Vec<String> {
        self.0.backends.upstreams.drain(name, drained)
    }

    /// Removes pages from the response cache: the pages of a URL or of a path. A final `*` in `url`
    /// stands for any text. Returns the number of removed pages. `None`: `url` is neither a URL nor
    /// a path.
    pub fn purge(&self, url: &str) -> Option<usize> {
        let purge = Purge::parse(url.as_bytes())?;
        Some(self.0.cache.purge(&purge))
    }

    pub fn stats(&self) -> Stats {
        let counts = &self.0.stats.counts;
        let traffic = &self.0.traffic.counts;
        Stats {
            open_connections: self.0.connections.registry.open(),
            active_requests: counts.active.get(),
            connections: counts.connections.get(),
            refused_connections: counts.refused_connections.get(),
            too_many_at_once: traffic.too_many_at_once.get(),
            too_fast: traffic.too_fast.get(),
            held_back: traffic.held_back.get(),
            too_many_connections: traffic.too_many_connections.get(),
            too_slow: traffic.too_slow.get(),
            requests: counts.requests.get(),
            bytes: counts.bytes.get(),
            cache: self.0.cache.stats(),
        }
    }
}

impl Handle {
    /// Returns what was counted for watchers, and goes on counting. The first look begins the
    /// counting.
    pub fn watch(&self) -> WatchReport {
        let now = Instant::now();
        let mut watch = self.0.stats.watch.borrow_mut();
        let watch = watch.get_or_insert_with(|| Box::new(Watch::begin(now)));
        watch.look(now)
    }

    /// Traces the next `count` requests that the filter takes, until the result is dropped.
    pub fn trace(&self, filter: TraceFilter, count: u32) -> Tracing {
        self.0.tracer.arm(filter, count)
    }

    /// Gives the chosen requests to this pool until the result is dropped. `None`: there is an
    /// exact profile already.
    pub fn profile_exactly(&self, pool: Pool, choice: ExactChoice) -> Option<Profiling> {
        self.0.backends.exact.arm(&self.0.site(), pool, choice)
    }

    /// Whether there is an exact profile.
    pub fn is_profiled_exactly(&self) -> bool {
        self.0.backends.exact.is_armed()
    }

    /// Returns what was counted for each place while somebody watched.
    pub fn places(&self) -> Vec<PlaceReport> {
        let watch = self.0.stats.watch.borrow();
        watch
            .as_ref()
            .map(|watch| watch.places())
            .unwrap_or_default()
    }

    /// Returns the figures of each minute of the last day, and those of now.
    pub fn history(&self) -> Vec<HistoryPoint> {
        let mut points = self.0.stats.history.all();
        points.push(figures_now(&self.0));
        points
    }
}

impl Front {
    pub fn new(
        site: Arc<Site>,
        pool: impl Into<PerlPool>,
        cgi: Cgi,
        listeners: Vec<Listener>,
        journal: Rc<dyn Journal>,
    ) -> Front {
        Front {
            listeners,
            shared: Rc::new(Shared::new(site, pool.into(), cgi, journal)),
        }
    }

    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// Serves until told to stop.
    ///
    /// # Errors
    ///
    /// The error of a listener that is unusable.
    pub async fn run(self, mut stop: watch::Receiver<Stop>) -> io::Result<()> {
        let tasks = LocalSet::new();
        let shared = self.shared;
        let listeners = self.listeners;
        tasks
            .run_until(async {
                let mut accepting = Vec::new();
                for listener in listeners {
                    let acceptor = Acceptor::new(listener)?;
                    accepting.push(spawn_local(accept(shared.clone(), acceptor)));
                }
                shared.backends.upstreams.watch();
                let sweeping = spawn_local(sweep(shared.clone()));
                let routing = &shared.routing;
                let descriptors = [routing.watcher.descriptor(), routing.htaccess.descriptor()];
                let listening = descriptors.map(|descriptor| {
                    spawn_local(listen_for_file_changes(shared.clone(), descriptor))
                });
                let keeping = spawn_local(keep_history(shared.clone()));
                shared.export_traces(&shared.site());
                let telling = spawn_local(export_reports::tell(shared.clone()));
                let how = await_stop(&mut stop).await;
                accepting.iter().for_each(|task| task.abort());
                if how != Stop::Now {
                    finish(&shared, how, &mut stop).await;
                }
                shared.connections.registry.raise(Interrupt::Abort);
                shared.connections.streams.raise(Interrupt::Abort);
                sweeping.abort();
                keeping.abort();
                listening.iter().for_each(|task| task.abort());
                telling.abort();
                if how != Stop::Now {
                    shared.tracer.finish();
                }
                Ok(())
            })
            .await
    }
}

/// Waits for an order to stop. A dropped sender counts as such an order.
async fn await_stop(stop: &mut watch::Receiver<Stop>) -> Stop {
    match stop.wait_for(|stop| *stop != Stop::No).await {
        Ok(how) => *how,
        Err(_) => Stop::Gracefully,
    }
}

/// Waits until all connections have ended by themselves and the workers have finished their
/// cleanups and deferred calls, the time limit has passed, or the order `Now` comes.
async fn finish(shared: &Shared, how: Stop, stop: &mut watch::Receiver<Stop>) {
    shared.connections.stopping.set(true);
    if how == Stop::Replaced {
        shared.connections.is_replaced.set(true);
        shared.connections.registry.wake();
    } else {
        shared.connections.registry.raise(Interrupt::Drain);
    }
    let limit = shared.site().workers().stop_timeout;
    let impatient = async {
        if stop.wait_for(|stop| *stop == Stop::Now).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let finished = async {
        shared.connections.registry.wait_until_empty().await;
        shared.backends.pool.finished_all().await;
    };
    tokio::select! {
        () = finished => {}
        () = tokio::time::sleep(limit) => {}
        () = impatient => {}
    }
}

fn figures_now(shared: &Shared) -> HistoryPoint {
    let counts = &shared.stats.counts;
    let pool = shared.backends.pool.status();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    HistoryPoint {
        at: since.unwrap_or_default().as_secs(),
        requests: counts.requests.get(),
        bytes: counts.bytes.get(),
        server_errors: counts.server_errors.get(),
        connections: shared.connections.registry.open(),
        busy: pool.as_ref().map_or(0, |pool| pool.busy),
        idle: pool.as_ref().map_or(0, |pool| pool.idle),
        queue: pool.as_ref().map_or(0, |pool| pool.queue),
        memory: pool.as_ref().map_or(0, |pool| pool.memory.pss),
    }
}

/// Adds a point to the history each minute.
async fn keep_history(shared: Rc<Shared>) {
    loop {
        shared.stats.history.add(figures_now(&shared));
        tokio::time::sleep(history::STEP).await;
    }
}

async fn sweep(shared: Rc<Shared>) {
    loop {
        shared.connections.registry.sweep_due().await;
        shared.clock.advance();
        shared.connections.registry.sweep(shared.clock.tick());
        shared.connections.streams.sweep(shared.clock.tick());
        shared.content.files.swept();
        shared
            .routing
            .routes
            .sweep(shared.routing.watcher.take_invalidated());
        shared.backends.upstreams.sweep();
        shared.stats.end_left_watch();
    }
}

/// Waits for changes of watched files, so that the queues of events stay short while no requests
/// come.
async fn listen_for_file_changes(shared: Rc<Shared>, descriptor: Option<OwnedFd>) {
    let Some(Ok(readable)) = descriptor.map(register) else {
        return;
    };
    while let Ok(mut ready) = readable.readable().await {
        ready.clear_ready();
        shared.take_file_changes();
    }
}
