//! The life of a serving process, from bound sockets to the last flushed log line.

use super::control::Control;
use super::journal::Logs;
use super::reload::Reloader;
use super::service::{self, Notify};
use super::{certificates, listen, signals, watch, Options};
use mehari_config::Site;
use mehari_front::handler::cgi::{Cgi, Limits};
use mehari_front::{Door, Front, Hosts, Stop};
use mehari_pool::{Plan, Pool};
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::{spawn_local, LocalSet};

/// Answers when the server has ended; an error is why it never served.
pub fn serve(options: Options, site: Site) -> Result<(), String> {
    let notify = Rc::new(Notify::from_environment());
    let site = Arc::new(site);
    let mut bound = Vec::new();
    // Before anything is bound or started: a certificate that cannot be used is told at once.
    let hosts = match site.listen.iter().any(|listen| site.is_secure(listen)) {
        true => Some(Hosts::load(&site, None).map_err(|trouble| trouble.to_string())?),
        false => None,
    };
    let mut inherited = service::sockets()?;
    for listen in &site.listen {
        let secure = site.is_secure(listen);
        let door = Door { secure };
        bound.push(match listen::inherited_for(listen, &mut inherited) {
            Some(socket) => listen::adopt(socket, door)?,
            None => listen::bind(&listen.address, door, site.limits.backlog)?,
        });
    }
    for socket in inherited {
        let secure = socket.name == "https";
        bound.push(listen::adopt(socket, Door { secure })?);
    }
    let logs =
        Rc::new(Logs::open(&site).map_err(|error| format!("the logs cannot be opened: {error}"))?);
    for note in &site.notes {
        logs.error.info(note);
    }
    let runtime = mehari_pool::runtime().map_err(|error| format!("no runtime: {error}"))?;
    let tasks = LocalSet::new();
    let served =
        runtime.block_on(tasks.run_until(run(options, site, bound, hosts, logs.clone(), notify)));
    logs.flush();
    served
}

async fn run(
    options: Options,
    site: Arc<Site>,
    bound: Vec<listen::Bound>,
    hosts: Option<Hosts>,
    logs: Rc<Logs>,
    notify: Rc<Notify>,
) -> Result<(), String> {
    let plan = Plan::of(&site);
    let limits = Limits {
        processes: plan.max as usize,
        queue: site.workers.queue as usize,
        queue_timeout: site.workers.queue_timeout,
    };
    let software = concat!("Mehari/", env!("CARGO_PKG_VERSION"));
    let cgi = Cgi::new(limits, software, logs.error.clone());
    if rustix::process::getuid().is_root() {
        logs.error.notice("started as root: scripts run as root too (User and Group are not honoured); a service manager should start it as another user");
    }
    let pool = Pool::start(site.clone(), plan, logs.error.clone())
        .await
        .map_err(|error| error.to_string())?;
    logs.error.notice(pool.status().plan.reasoning);
    site.doubts()
        .iter()
        .for_each(|doubt| logs.error.warn(doubt));
    let (urls, ports): (Vec<String>, Vec<Option<u16>>) = bound
        .iter()
        .map(|bound| (bound.url.clone(), bound.port))
        .unzip();
    let listeners = bound.into_iter().map(|bound| bound.listener).collect();
    let front = Front::new(site.clone(), pool.clone(), cgi, listeners, logs.clone());
    pool.ask(front.handle().oracle());
    let secure = hosts.is_some();
    if let Some(hosts) = hosts {
        front.handle().replace_tls(hosts);
    }
    let reloader = Rc::new(Reloader::new(
        options.clone(),
        pool.clone(),
        front.handle(),
        logs.clone(),
        notify.clone(),
    ));
    let (stop, stopped) = tokio::sync::watch::channel(Stop::No);
    let control = Control::open(
        options.control.as_deref(),
        ports.iter().flatten().next().copied(),
    )?;
    spawn_local(control.listen(reloader.clone(), stop.clone()));
    spawn_local(signals::handle(
        reloader.clone(),
        stop.clone(),
        logs.clone(),
    ));
    if secure {
        spawn_local(certificates::watch(reloader.clone()));
    }
    if options.watch {
        spawn_local(watch::run(reloader.clone()));
    }
    let pid_file = PidFile::write(&site)?;
    announce(&urls)?;
    notify.ready();
    let alive = notify.clone();
    spawn_local(async move { alive.keep_alive().await });
    let mut ending = stopped.clone();
    let told = notify.clone();
    spawn_local(async move {
        if ending.wait_for(|stop| *stop != Stop::No).await.is_ok() {
            told.stopping();
        }
    });
    let served = front.run(stopped).await.map_err(|error| error.to_string());
    pool.end().await;
    drop(pid_file);
    logs.error.notice("stopped");
    served
}

/// The one line on stdout: the first address; more follow in the log only.
fn announce(urls: &[String]) -> Result<(), String> {
    let first = urls.first().ok_or("there is no address to listen on")?;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "mehari: serving {first}").and_then(|()| out.flush());
    Ok(())
}

/// `PidFile`, taken away at the end.
struct PidFile(std::path::PathBuf);

impl PidFile {
    fn write(site: &Site) -> Result<Option<PidFile>, String> {
        let Some(path) = &site.pid_file else {
            return Ok(None);
        };
        std::fs::write(path, format!("{}\n", std::process::id()))
            .map_err(|error| format!("PidFile {}: {error}", path.display()))?;
        Ok(Some(PidFile(path.clone())))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
