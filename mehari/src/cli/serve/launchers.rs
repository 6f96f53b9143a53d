//! Starts a launcher for each `<PerlPool>` with its own user or cgroup, and keeps it over reloads.
//!
//! Only root can start a process that becomes another user. The launchers therefore start before
//! the server gives up root, and a pool that comes with a reload needs a restart then.

use mehari_config::{Cgroup, PerlPool, Problem, Site};
use mehari_observe::ErrorLog;
use mehari_pool::launcher::{Launcher, Launchers};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::rc::Rc;
use tokio::process::Command;

/// What a launcher was started with.
type Started = (Option<String>, Option<String>, Option<Cgroup>);

/// The launchers of the pools that serve.
pub struct PoolLaunchers {
    was_root: bool,
    running: RefCell<BTreeMap<String, (Started, Rc<Launcher>)>>,
}

impl PoolLaunchers {
    /// Starts the launchers of a site, before the server gives up root.
    pub async fn start(site: &Site, log: &ErrorLog) -> Result<PoolLaunchers, String> {
        let launchers = PoolLaunchers {
            was_root: is_root(),
            running: RefCell::default(),
        };
        if !launchers.was_root {
            let named = site
                .pools()
                .filter_map(|(_, pool)| pool.user.as_ref().map(|_| pool));
            named.for_each(|pool| log.warn(pool.problem(NEEDS_ROOT)));
        }
        let started = launchers.follow(site, true).await;
        started.map_err(|problem| problem.to_string())?;
        Ok(launchers)
    }

    /// Returns the launchers for a site, which may be the next one.
    pub async fn of(&self, site: &Site) -> Result<Launchers, String> {
        let followed = self.follow(site, !self.was_root || is_root()).await;
        followed.map_err(|problem| problem.to_string())
    }

    async fn follow(&self, site: &Site, may_start: bool) -> Result<Launchers, Problem> {
        let mut all = Launchers::new();
        for (_, pool) in site.pools().filter(|(_, pool)| self.needs_one(pool)) {
            let key = (pool.user.clone(), pool.group.clone(), pool.cgroup.clone());
            let known = self.running.borrow().get(&pool.name).cloned();
            let launcher = match known.filter(|(started, _)| *started == key) {
                Some((_, launcher)) => launcher,
                None if may_start => start(pool, true).await?,
                None => return Err(pool.problem(
                    "a new pool, or another User, Group or PerlPoolCgroup, takes effect with a \
                     restart, because the server has given up root",
                )),
            };
            let started = (key, launcher.clone());
            self.running.borrow_mut().insert(pool.name.clone(), started);
            all.insert(pool.name.clone(), launcher);
        }
        Ok(all)
    }

    /// Forgets the launchers of pools that the site does not have any more. They end with the last
    /// request of their workers.
    pub fn forget_others(&self, site: &Site) {
        let has = |name: &String| site.pools().any(|(_, pool)| pool.name == *name);
        self.running.borrow_mut().retain(|name, _| has(name));
    }

    fn needs_one(&self, pool: &PerlPool) -> bool {
        pool.cgroup.is_some() || (pool.user.is_some() && self.was_root)
    }
}

const NEEDS_ROOT: &str = "User needs a start by root: the pool's Perl keeps the server's user";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts the launchers that `mehari check` needs. They join no cgroup.
pub async fn start_for_check(site: &Site) -> Result<Launchers, Problem> {
    let mut all = Launchers::new();
    let named = site
        .pools()
        .filter(|(_, pool)| pool.user.is_some() && is_root());
    for (_, pool) in named {
        all.insert(pool.name.clone(), start(pool, false).await?);
    }
    Ok(all)
}

/// Starts a launcher with one end of a socket as its input.
async fn start(pool: &PerlPool, joins_cgroup: bool) -> Result<Rc<Launcher>, Problem> {
    let cgroup = pool.cgroup.as_ref().filter(|_| joins_cgroup);
    let failed = |error: std::io::Error| pool.problem(format!("its launcher: {error}"));
    let (ours, theirs) = Launcher::socket().map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(["pool-launcher", "--pool", &pool.name]);
    if let Some(user) = pool.user.as_ref().filter(|_| is_root()) {
        command.args(["--user", user]);
        let group = pool.group.iter();
        command.args(group.flat_map(|group| ["--group", group]));
    }
    if let Some(Cgroup { path, values }) = cgroup {
        command.arg("--cgroup").arg(path);
        let values = values.iter().map(|(file, value)| format!("{file}={value}"));
        command.args(values.flat_map(|value| ["--value".to_owned(), value]));
    }
    // The launcher has its own process group, so the terminal's signals do not reach it.
    let process = command
        .process_group(0)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let attached = Launcher::attach(ours, process).await;
    attached.map_err(|reason| match reason.strip_prefix("PerlPoolCgroup") {
        Some(_) => pool.cgroup_problem(reason),
        None => pool.problem(reason),
    })
}
