//! Starts the next generation: reads the configuration again, starts a zygote beside the running
//! zygote, then switches. If anything fails to load, reports the failure and keeps the running
//! generation.

use super::exact::ExactRun;
use super::exact_reports::ExactReports;
use super::identity::Identity;
use super::journal::Logs;
use super::launchers::PoolLaunchers;
use super::managed::Managed;
use super::predecessor::LeftCell;
use super::profiling::Profiling;
use super::service_manager::Notify;
use super::{sources, watching, Options};
use crate::cli::control::Reply;
use crate::cli::explain::Report;
use mehari_acme::message::{DomainStatus, Wish};
use mehari_config::Site;
use mehari_front::{
    ExactChoice, GroupStatus, Handle, PlaceReport, Stats, TraceFilter, Tracing, WatchReport,
};
use mehari_pool::{Inspected, Plan, Pool, PoolStatus};
use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tokio::net::UnixStream;
use tokio::sync::Mutex;

pub struct Reloader {
    options: Options,
    pool: Pool,
    front: Handle,
    logs: Rc<Logs>,
    /// The lock that a reload holds. Another reload waits for the lock.
    turn: Mutex<()>,
    waiting: Cell<u32>,
    /// The process that has replaced this one in an upgrade.
    successor: Cell<Option<u32>>,
    /// What the process still has that this one has replaced.
    predecessor: LeftCell,
    watched_certificates: RefCell<Vec<PathBuf>>,
    /// Notified when a reload has replaced `watched_certificates`.
    certificates_replaced: tokio::sync::Notify,
    notify: Rc<Notify>,
    /// The process that requests certificates.
    managed: OnceCell<Rc<Managed>>,
    profiling: Profiling,
    launchers: PoolLaunchers,
    /// Whether root started the server and the server then became another user.
    left_root: bool,
    pub exact_reports: ExactReports,
}

/// What a reload works with.
pub struct ReloadParts {
    pub options: Options,
    pub pool: Pool,
    pub front: Handle,
    pub logs: Rc<Logs>,
    pub launchers: PoolLaunchers,
}

/// The words of the command line that say what is served. Relative paths begin at `folder`.
#[derive(serde::Serialize)]
pub struct StartedWith {
    folder: PathBuf,
    conf: Option<PathBuf>,
    define: Vec<String>,
    line: Vec<String>,
    path: Option<PathBuf>,
}

fn same_tls(one: &Site, other: &Site) -> bool {
    let tls = |host: &mehari_config::Host| host.tls.clone();
    one.all_hosts().map(tls).eq(other.all_hosts().map(tls))
}

fn files(site: &Site) -> Vec<PathBuf> {
    let all = site.all_hosts().flat_map(|host| host.tls.files());
    let mut files: Vec<PathBuf> = all.cloned().collect();
    files.sort();
    files.dedup();
    files
}

impl Reloader {
    pub fn new(parts: ReloadParts, notify: Rc<Notify>, left_root: bool) -> Reloader {
        let ReloadParts {
            options,
            pool,
            front,
            logs,
            launchers,
        } = parts;
        let watched_certificates = RefCell::new(files(&front.site()));
        Reloader {
            watched_certificates,
            certificates_replaced: tokio::sync::Notify::new(),
            notify,
            managed: OnceCell::new(),
            profiling: Profiling::new(logs.clone()),
            launchers,
            left_root,
            options,
            pool,
            front,
            logs,
            turn: Mutex::new(()),
            waiting: Cell::new(0),
            successor: Cell::new(None),
            predecessor: LeftCell::default(),
            exact_reports: ExactReports::default(),
        }
    }

    /// Tells the certificate process of later reloads. Called once.
    pub fn manage(&self, managed: Rc<Managed>) {
        let _ = self.managed.set(managed);
    }

    /// Returns the state of the managed domains.
    pub fn managed(&self) -> Vec<DomainStatus> {
        let managed = self.managed.get();
        managed.map(|managed| managed.status()).unwrap_or_default()
    }

    /// Has the certificate of a managed domain revoked.
    pub async fn revoke(&self, wish: Wish) -> Result<String, String> {
        match self.managed.get() {
            Some(managed) => managed.revoke(wish).await,
            None => Err("this server has no managed certificates".into()),
        }
    }

    /// Starts a reload and returns at once. If a reload is already waiting to start, no further
    /// reload is added.
    pub fn ask(self: &Rc<Self>, who: &'static str) {
        if self.waiting.get() > 0 {
            return;
        }
        let this = self.clone();
        this.waiting.set(1);
        tokio::task::spawn_local(async move {
            let _ = this.reload(who).await;
        });
    }

    /// Waits until no reload runs. None runs while the result lives.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Refuses reloads from now on, because another process is the server.
    pub fn retire(&self, successor: u32) {
        self.successor.set(Some(successor));
    }

    /// Whether another process has replaced this one.
    pub fn is_replaced(&self) -> bool {
        self.successor.get().is_some()
    }

    /// Returns the place for what the replaced process still has.
    pub fn predecessor(&self) -> LeftCell {
        self.predecessor.clone()
    }

    pub fn front_stats(&self) -> Stats {
        self.front.stats()
    }

    /// Returns the number of the new generation, or the reason why there is none.
    pub async fn reload(&self, who: &str) -> Result<u32, String> {
        let _turn = self.turn.lock().await;
        self.waiting.set(0);
        if let Some(pid) = self.successor.get() {
            return Err(format!("process {pid} has replaced this one"));
        }
        self.notify.reloading();
        let outcome = self.load().await;
        self.notify.ready();
        match &outcome {
            Ok(number) => self
                .logs
                .error
                .notice(format_args!("{who}: generation {number} serves")),
            Err(reason) => {
                for line in reason.lines() {
                    self.logs.error.error(format_args!("{who}: {line}"));
                }
                self.logs.error.error(format_args!(
                    "{who}: the new generation is dropped, the old one goes on"
                ));
            }
        }
        outcome
    }

    /// Loads the Perl of one pool anew. Returns the number of the pool's new generation, or the
    /// reason why there is none.
    pub async fn reload_pool(&self, name: &str) -> Result<u32, String> {
        let _turn = self.turn.lock().await;
        if let Some(pid) = self.successor.get() {
            return Err(format!("process {pid} has replaced this one"));
        }
        let site = self.front.site();
        let names = || site.pools().map(|(_, pool)| pool.name.as_str());
        if !names().any(|known| known == name) {
            let known: Vec<&str> = names().collect();
            return Err(
                match (mehari_config::nearest(name, names()), known.is_empty()) {
                    (Some(near), _) => format!("there is no pool `{name}`; did you mean `{near}`?"),
                    (None, false) => {
                        format!("there is no pool `{name}`; expected {}", known.join(", "))
                    }
                    (None, true) => {
                        format!("there is no pool `{name}`: the site has no <PerlPool>")
                    }
                },
            );
        }
        let loaded = self.pool.reload_pool(name).await;
        let log = &self.logs.error;
        match &loaded {
            Ok(number) => log.notice(format_args!(
                "reload of pool {name}: generation {number} serves"
            )),
            Err(error) => {
                for line in error.to_string().lines() {
                    log.error(format_args!("reload of pool {name}: {line}"));
                }
                log.error(format_args!(
                    "reload of pool {name}: the new generation is dropped, the old one goes on"
                ));
            }
        }
        loaded.map_err(|error| error.to_string())
    }

    async fn load(&self) -> Result<u32, String> {
        let site = self.options.site();
        let site = site.map_err(|refusal| refusal.text().to_owned())?;
        let site: Arc<Site> = Arc::new(site);
        let hosts = match self.front.load_tls(&site) {
            Ok(hosts) => hosts,
            // The server is not root any more and may not read the keys. If the TLS settings are
            // unchanged, the certificates in use stay.
            Err(trouble) if self.left_root && same_tls(&site, &self.front.site()) => {
                self.logs.error.warn(format_args!(
                    "the certificates in use stay until a restart, because `User` may not read \
                     them: {trouble}"
                ));
                None
            }
            Err(trouble) => return Err(trouble.to_string()),
        };
        mehari_front::look_at_back_ends(&site)?;
        mehari_front::look_at_collector(&site)?;
        let before = self.front.site();
        if (&site.process.user, &site.process.group)
            != (&before.process.user, &before.process.group)
        {
            self.logs
                .error
                .warn("a changed User or Group takes effect with a restart");
        }
        for (_, pool) in site.pools() {
            Identity::of_pool(pool).map_err(|problem| problem.to_string())?;
        }
        let launchers = self.launchers.of(&site).await?;
        let plans = Plan::all(&site);
        let loaded = self.pool.reload(site.clone(), plans, launchers).await;
        let number = loaded.map_err(|error| error.to_string())?;
        self.launchers.forget_others(&site);
        if let Err(error) = self.logs.follow(&site) {
            self.logs
                .error
                .error(format_args!("a virtual host's log: {error}"));
        }
        self.watched_certificates.replace(files(&site));
        self.certificates_replaced.notify_one();
        if hosts.is_some() {
            let remarks = mehari_front::certificate_warnings(&site);
            remarks
                .iter()
                .for_each(|remark| self.logs.error.warn(remark));
        }
        self.front.replace_site(site.clone());
        if let Some(hosts) = hosts {
            self.front.replace_tls(hosts);
        }
        match self.managed.get() {
            Some(managed) => managed.reload(&site).await,
            None if site.managed.domains.is_empty() => {}
            None => self
                .logs
                .error
                .warn("the first managed domain takes effect with a restart"),
        }
        self.profiling.follow(&site).await;
        Ok(number)
    }

    /// Reloads only the certificates. Workers do not change.
    pub fn reload_certificates(&self) {
        let site = self.front.site();
        match self.front.load_tls(&site) {
            Ok(Some(hosts)) => {
                self.front.replace_tls(hosts);
                self.logs
                    .error
                    .notice("a certificate has changed: the new one is in use from now on");
            }
            Ok(None) => {}
            Err(trouble) => self.logs.error.error(format_args!(
                "a certificate has changed but is unusable, the old one stays: {trouble}"
            )),
        }
    }

    /// Returns the TLS files whose change makes the server read them again.
    pub fn certificate_files(&self) -> Vec<PathBuf> {
        self.watched_certificates.borrow().clone()
    }

    /// Returns after a reload has replaced the list of these files.
    pub async fn certificates_replaced(&self) {
        self.certificates_replaced.notified().await;
    }

    /// Returns what the server was started with, for commands that read the same configuration.
    pub fn started_with(&self) -> StartedWith {
        StartedWith {
            folder: std::env::current_dir().unwrap_or_default(),
            conf: self.options.conf.clone(),
            define: self.options.define.clone(),
            line: self.options.line.clone(),
            path: self.options.path.clone(),
        }
    }

    pub async fn status(&self) -> (PoolStatus, Stats, Vec<GroupStatus>) {
        self.pool.look_at_memory().await;
        let back_ends = self.front.back_ends();
        (self.pool.status(), self.front.stats(), back_ends)
    }

    /// Returns the status without a look at memory, and what was counted for watchers.
    pub fn watch(&self) -> (PoolStatus, Stats, Vec<GroupStatus>, WatchReport) {
        let back_ends = self.front.back_ends();
        let (stats, watched) = (self.front.stats(), self.front.watch());
        (self.pool.status(), stats, back_ends, watched)
    }

    /// Traces the next requests that the filter takes.
    pub fn trace(&self, filter: TraceFilter, count: u32) -> Tracing {
        self.front.trace(filter, count)
    }

    /// Starts a pool with a profiler and gives the chosen requests to it.
    pub async fn profile_exactly(&self, choice: ExactChoice) -> Result<ExactRun, String> {
        const BUSY: &str = "there is an exact profile already; wait for its end";
        if self.front.is_profiled_exactly() {
            return Err(BUSY.to_owned());
        }
        let folder = tempfile::Builder::new().prefix("mehari-exact-").tempdir();
        let folder = folder.map_err(|error| format!("a folder for the profiles: {error}"))?;
        let site = self.front.site();
        let resolver = mehari_front::warmup_resolver(self.logs.error.clone());
        let log = self.logs.error.clone();
        let pool = Pool::start_exact(&site, folder.path(), log, resolver).await;
        let pool = pool.map_err(|error| error.to_string())?;
        pool.resolve_with(self.front.subrequest_resolver(), self.front.page_renderer());
        match self.front.profile_exactly(pool.clone(), choice) {
            Some(profiling) => Ok(ExactRun {
                pool,
                profiling,
                folder,
            }),
            None => {
                pool.end_at_once();
                Err(BUSY.to_owned())
            }
        }
    }

    /// Returns the perl of the main server.
    pub fn interpreter(&self) -> PathBuf {
        self.front.site().perl().interpreter.clone()
    }

    /// Returns what was counted for each place, and the site with their hosts.
    pub fn places(&self) -> (Arc<Site>, Vec<PlaceReport>) {
        (self.front.site(), self.front.places())
    }

    pub fn errors(&self) -> Reply {
        watching::errors(self.logs.error.groups().all())
    }

    pub fn history(&self) -> Reply {
        watching::history(self.front.history())
    }

    /// Explains a script file or a URL path, for `mehari explain`.
    pub async fn explain(&self, what: &Path) -> Result<Report, String> {
        let site = self.front.site();
        let mut report = Report::of_places(&site, what)?;
        if let Some((perl, file)) = report.question(&site) {
            let told = self.pool.explain(perl, &file).await;
            report.learn(told.map_err(|error| error.to_string()));
        }
        report.see(self.pool.status().scripts);
        Ok(report)
    }

    /// Has a process inspected, for `mehari inspect`. `order` is `any`, `zygote` or a number, then
    /// the question. Returns the stream of the answer.
    pub async fn inspect(&self, order: &str) -> Result<UnixStream, String> {
        let (whom, question) = order.split_once(' ').unwrap_or((order, ""));
        let whom = match (whom, whom.parse()) {
            ("any", _) => Inspected::Any,
            ("zygote", _) => Inspected::Zygote,
            (_, Ok(pid)) => Inspected::Process(pid),
            (other, Err(_)) => {
                return Err(format!(
                    "expected any, zygote or the number of a process, not `{other}`"
                ))
            }
        };
        let answer = self.pool.inspect(whom, question).await;
        answer.map_err(|error| error.to_string())
    }

    /// Removes pages from the response cache.
    pub fn purge(&self, url: &str) -> Result<String, String> {
        let count = self.front.purge(url).ok_or_else(|| {
            format!("expected a URL or a URL path, optionally with a final `*`, not `{url}`")
        })?;
        Ok(format!("forgot {count} page(s) of {url}"))
    }

    /// Stops or allows new requests to a back end.
    pub fn drain(&self, name: &str, drained: bool) -> Result<String, String> {
        let meant = self.front.drain(name, drained);
        let what = if drained { "drained" } else { "resumed" };
        if meant.is_empty() {
            Err(format!(
                "there is no back end `{name}`; `mehari status` names them"
            ))
        } else {
            let text = format!("{what}: {}", meant.join(", "));
            self.logs.error.notice(&text);
            Ok(text)
        }
    }

    /// Returns the files whose change needs a new generation.
    pub fn watched_files(&self) -> Vec<PathBuf> {
        self.pool.watched_files()
    }

    /// Returns the folders of the application, for `--watch`.
    pub fn source_folders(&self) -> Vec<PathBuf> {
        sources::folders(&self.options, Some(&self.front.site()))
    }

    /// Starts the process of `ProfileAlways`, if the site has the directive.
    pub async fn start_profiling(&self) {
        self.profiling.follow(&self.front.site()).await;
    }

    pub async fn end_profiling(&self) {
        self.profiling.end().await;
    }

    /// Returns the folder of the samples of `ProfileAlways`.
    pub fn profile_folder(&self) -> Option<PathBuf> {
        let site = self.front.site();
        let always = site.process.always_profiled(&site.server_root);
        always.map(|it| it.folder)
    }

    pub fn log_notice(&self, text: std::fmt::Arguments<'_>) {
        self.logs.error.notice(text);
    }
}
