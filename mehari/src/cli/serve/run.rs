//! Runs a server: binds the sockets, starts the first generation, serves, and ends everything in
//! order.

use super::checks::Findings;
use super::control::{Control, Naming};
use super::identity::Identity;
use super::inherited::{Inherited, Opener};
use super::journal::Logs;
use super::keeper::{Keeper, KeptFiles};
use super::launchers::PoolLaunchers;
use super::managed::Managed;
use super::predecessor::Predecessor;
use super::reload::{ReloadParts, Reloader};
use super::remains::PidFile;
use super::service_manager::Notify;
use super::upgrade::{Handed, Upgrader};
use super::{certificates, listen, questions, signals, watch, Options, Refusal};
use mehari_cgi::{Cgi, Limits};
use mehari_config::Site;
use mehari_front::{Front, Hosts, ListenerOptions, Stop};
use mehari_pool::{PerlSide, Plan, Pool};
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::{spawn_local, LocalSet};

/// How a server that has served has ended.
pub enum Ended {
    Stopped,
    /// Another process goes on to serve (`upgrade.rs`).
    Replaced,
}

/// Runs the server. Returns when the server has ended. An error says why the server did not serve.
pub fn serve(
    options: Options,
    site: Site,
    inherited: Vec<Inherited>,
    predecessor: Option<&Predecessor>,
) -> Result<Ended, Refusal> {
    let notify = Rc::new(Notify::from_environment());
    let site = Arc::new(site);
    let mut findings = Findings::default();
    let identity = findings.look_at_machine(&site);
    let bound = bind(&site, inherited, &mut findings);
    if !findings.is_empty() {
        findings.look_at_perl(&site, identity.as_ref());
        return Err(findings.text().into());
    }
    let secure = site.listen.iter().any(|listen| site.is_secure(listen));
    let hosts = secure.then(|| Hosts::load(&site, None)).transpose();
    let hosts = hosts.map_err(|trouble| trouble.to_string())?;
    if let Some(identity) = &identity {
        mehari_observe::start_programs_as(identity.user, identity.group);
    }
    let logs =
        Rc::new(Logs::open(&site).map_err(|error| format!("the logs cannot be opened: {error}"))?);
    for note in &site.source.notes {
        logs.error.info(note);
    }
    if secure {
        let remarks = mehari_front::certificate_warnings(&site);
        remarks.iter().for_each(|remark| logs.error.warn(remark));
    }
    if let Some(identity) = &identity {
        identity.take_logs(&site)?;
        // The Perl side is built before the server becomes another user, who may not be allowed to
        // build it.
        for perl in (0..site.perls.len()).filter(|perl| !is_launched(&site, *perl)) {
            let built = PerlSide::ensure(&site.perls[perl].interpreter);
            built.map_err(|error| error.to_string())?;
        }
    }
    let runtime = mehari_pool::runtime().map_err(|error| format!("no runtime: {error}"))?;
    let tasks = LocalSet::new();
    let start = Start {
        options,
        site,
        identity,
        bound,
        hosts,
        logs: logs.clone(),
        notify,
        predecessor,
    };
    let served = runtime.block_on(tasks.run_until(run(start)));
    drop(tasks);
    logs.flush();
    // Does not wait for threads. They may still read a slow disk or build the Perl side, although
    // the start was aborted.
    runtime.shutdown_background();
    served
}

/// Whether a launcher builds the Perl side for this Perl, as the pool's user.
fn is_launched(site: &Site, perl: usize) -> bool {
    site.pool_of(perl).is_some_and(|pool| pool.is_launched())
}

/// A listener, and who opened its socket first.
struct Opened {
    bound: listen::Bound,
    opener: Opener,
}

/// Binds all addresses. Adds a problem for each address that cannot be bound.
fn bind(site: &Site, mut inherited: Vec<Inherited>, findings: &mut Findings) -> Vec<Opened> {
    let mut opened = Vec::new();
    for listen in &site.listen {
        let secure = site.is_secure(listen);
        let options = ListenerOptions { secure };
        let (opener, bound) = match listen::inherited_for(listen, &mut inherited) {
            Some(socket) => (socket.opener, listen::adopt(socket, options)),
            None => {
                let bound = listen::bind(&listen.address, options, site.limits.backlog);
                (Opener::Listen, bound)
            }
        };
        opened.extend(findings.keep(bound).map(|bound| Opened { bound, opener }));
    }
    for socket in inherited {
        let opener = socket.opener;
        // The socket of a `Listen` that the configuration does not have any more is closed.
        if let Opener::Manager { secure } = opener {
            let bound = findings.keep(listen::adopt(socket, ListenerOptions { secure }));
            opened.extend(bound.map(|bound| Opened { bound, opener }));
        }
    }
    opened
}

/// What was prepared before the event loop runs.
struct Start<'a> {
    options: Options,
    site: Arc<Site>,
    identity: Option<Identity>,
    bound: Vec<Opened>,
    hosts: Option<Hosts>,
    logs: Rc<Logs>,
    notify: Rc<Notify>,
    predecessor: Option<&'a Predecessor>,
}

async fn run(start: Start<'_>) -> Result<Ended, Refusal> {
    let Start {
        options,
        site,
        identity,
        bound,
        hosts,
        logs,
        notify,
        predecessor,
    } = start;
    let urls: Vec<String> = bound.iter().map(|one| one.bound.url.clone()).collect();
    let port = bound.iter().find_map(|one| one.bound.port);
    let handed = bound
        .iter()
        .map(|one| Handed::of(&one.bound.listener, one.opener))
        .collect::<Result<_, _>>();
    let handed = handed.map_err(|error| format!("a copy of a listening socket: {error}"))?;
    let mut caught = signals::catch()?;
    let naming = match predecessor {
        Some(_) => Naming::Later,
        None => Naming::AtOnce,
    };
    let mut control = Control::open(options.control.as_deref(), port, naming)?;
    let mut pid_file = PidFile::open(&site, predecessor.is_some())?;
    let managed = Managed::start(&site, hosts.as_ref(), &logs).await?;
    let launchers = PoolLaunchers::start(&site, &logs.error).await?;
    let of_pools = launchers.of(&site).await?;
    let files: Vec<_> = site.log_files().map(|(_, path)| path.clone()).collect();
    let kept = KeptFiles {
        logs: &files,
        pid_file: pid_file.as_ref().map(PidFile::path),
        control: control.path(),
        bound: control.bound(),
        temporary: options.temporary.as_deref(),
    };
    let start_keeper = || Keeper::start(&kept, &options.program, notify.variables());
    let keeper = drop_privileges(identity.as_ref(), &site, &logs, start_keeper)?;
    let plans = Plan::all(&site);
    let limits = Limits {
        processes: plans[0].max as usize,
        queue: site.workers().longest_queue() as usize,
        queue_timeout: site.workers().longest_wait(),
    };
    let software = concat!("Mehari/", env!("CARGO_PKG_VERSION"));
    let cgi = Cgi::new(limits, software, logs.error.clone());
    let resolver = mehari_front::warmup_resolver(logs.error.clone());
    let pool = tokio::select! {
        pool = Pool::start(site.clone(), plans, logs.error.clone(), resolver, of_pools) => {
            pool.map_err(|error| failed_load(error.to_string(), identity.is_some()))?
        }
        signal = caught.end() => {
            logs.error.notice(format_args!("{signal}: ended before it served"));
            return Ok(Ended::Stopped);
        }
    };
    for reasoning in pool.explain_plan() {
        logs.error.notice(reasoning);
    }
    site.doubts()
        .iter()
        .for_each(|doubt| logs.error.warn(doubt));
    let listeners = bound.into_iter().map(|one| one.bound.listener).collect();
    let front = Front::new(site.clone(), pool.clone(), cgi, listeners, logs.clone());
    let handle = front.handle();
    pool.resolve_with(handle.subrequest_resolver(), handle.page_renderer());
    let secure = hosts.is_some();
    if let Some(hosts) = hosts {
        front.handle().replace_tls(hosts);
    }
    let parts = ReloadParts {
        options: options.clone(),
        pool: pool.clone(),
        front: front.handle(),
        logs: logs.clone(),
        launchers,
    };
    let reloader = Rc::new(Reloader::new(parts, notify.clone(), identity.is_some()));
    let answering = Rc::downgrade(&reloader);
    front
        .handle()
        .answer_programs(move |channel| questions::answer(channel, answering.clone()));
    if let Some(managed) = &managed {
        reloader.manage(managed.clone());
        spawn_local(managed.clone().follow(front.handle()));
    }
    if let Some(predecessor) = predecessor {
        let mut leaving = tokio::select! {
            leaving = predecessor.take_over() => leaving?,
            signal = caught.end() => {
                logs.error.notice(format_args!("{signal}: ended before it served"));
                return Ok(Ended::Stopped);
            }
        };
        control.take_name(keeper.as_deref()).await?;
        // The predecessor may end, and remove a pid file with its own number, as soon as it hears.
        if let Some(pid_file) = &mut pid_file {
            pid_file.write()?;
        }
        leaving.report_serving().await;
        spawn_local(leaving.follow(reloader.predecessor()));
    }
    let (stop, stopped) = tokio::sync::watch::channel(Stop::No);
    let upgrader = Rc::new(Upgrader {
        program: options.program.clone(),
        sockets: RefCell::new(handed),
        reloader: reloader.clone(),
        notify: notify.clone(),
        logs: logs.clone(),
        stop,
        keeper,
    });
    spawn_local(control.listen(upgrader.clone()));
    spawn_local(caught.handle(upgrader.clone()));
    if secure {
        spawn_local(certificates::watch(reloader.clone()));
    }
    if options.watch {
        spawn_local(watch::run(reloader.clone()));
    }
    if let Some(pid_file) = pid_file.as_mut().filter(|_| predecessor.is_none()) {
        pid_file.write()?;
    }
    announce(&urls)?;
    reloader.start_profiling().await;
    notify.ready();
    let alive = notify.clone();
    spawn_local(async move { alive.keep_alive().await });
    let mut ending = stopped.clone();
    let told = notify.clone();
    let stopping = upgrader.clone();
    spawn_local(async move {
        let how = ending.wait_for(|stop| *stop != Stop::No).await;
        let is_replaced = how.is_ok_and(|how| *how == Stop::Replaced);
        if !is_replaced {
            told.stopping();
        }
        // The port is free as soon as the server stops to accept.
        stopping.sockets.borrow_mut().clear();
        if is_replaced {
            // The new server's processes are below this one, and have a sampling process already.
            stopping.reloader.end_profiling().await;
        }
    });
    let served = front.run(stopped).await.map_err(|error| error.to_string());
    pool.end().await;
    if let Some(managed) = managed {
        managed.end().await;
    }
    reloader.end_profiling().await;
    drop(pid_file);
    logs.error.notice("stopped");
    served?;
    Ok(if reloader.is_replaced() {
        Ended::Replaced
    } else {
        Ended::Stopped
    })
}

/// Says why Perl's part did not load. A server that has become another user cannot start again.
fn failed_load(reason: String, left_root: bool) -> Refusal {
    if left_root {
        Refusal::from(reason)
    } else {
        Refusal::Site(format!("mehari serve: {reason}"))
    }
}

/// Gives up root before Perl runs and before the first byte of a client is read. Without `User`
/// logs a warning if the server runs as root.
fn drop_privileges(
    identity: Option<&Identity>,
    site: &Site,
    logs: &Logs,
    start_keeper: impl FnOnce() -> std::io::Result<Keeper>,
) -> Result<Option<Rc<Keeper>>, String> {
    if let Some(identity) = identity {
        let keeper = start_keeper()
            .map_err(|error| format!("the process that keeps root's rights: {error}"))?;
        identity.assume()?;
        return Ok(Some(Rc::new(keeper)));
    }
    if rustix::process::geteuid().is_root() {
        logs.error
            .warn("started as root without `User`: scripts run as root too; expected `User NAME` or --user NAME");
    } else if site.process.user.is_some() || site.process.group.is_some() {
        logs.error
            .warn("User and Group need a start by root: the server keeps its user");
    }
    Ok(None)
}

/// Prints the ready line, the only line on stdout: the URLs in the order of the configuration.
fn announce(urls: &[String]) -> Result<(), String> {
    if urls.is_empty() {
        return Err("there is no address to listen on".into());
    }
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "mehari: serving {}", urls.join(" ")).and_then(|()| out.flush());
    Ok(())
}
