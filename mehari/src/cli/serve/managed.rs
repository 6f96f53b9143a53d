//! The server's side of managed certificates: starts the certificate process, hands its
//! certificates and proofs to the front, and keeps what it says for `mehari status`.
//!
//! The process starts before the server gives up root, so it alone can read the store. It ends when
//! the server closes the socket.

use super::journal::Logs;
use mehari_acme::message::{self, DomainStatus, Level, Order, Proof, Report};
use mehari_config::{ChallengeKind, ManagedCertificates, Site};
use mehari_front::{Handle, Hosts};
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

/// How long the process may take to read the store.
const PATIENCE: Duration = Duration::from_secs(30);

/// The running certificate process.
pub struct Managed {
    process: RefCell<Child>,
    to: Mutex<Option<OwnedWriteHalf>>,
    from: RefCell<Option<BufReader<OwnedReadHalf>>>,
    /// The settings that hold until the process ends.
    started_with: ManagedCertificates,
    status: RefCell<Vec<DomainStatus>>,
    is_ending: Cell<bool>,
    logs: Rc<Logs>,
}

impl Managed {
    /// Starts the process and takes the stored certificates. `None`: the site has no managed
    /// domain that is served.
    pub async fn start(
        site: &Site,
        hosts: Option<&Hosts>,
        logs: &Rc<Logs>,
    ) -> Result<Option<Rc<Managed>>, String> {
        if site.managed.domains.is_empty() {
            return Ok(None);
        }
        let Some(hosts) = hosts else {
            logs.error
                .warn("no address uses TLS, so no managed certificate is requested");
            return Ok(None);
        };
        let failed = |error: std::io::Error| format!("the certificate process: {error}");
        let (process, socket) = spawn().map_err(failed)?;
        let (from, to) = socket.into_split();
        let managed = Rc::new(Managed {
            process: RefCell::new(process),
            to: Mutex::new(Some(to)),
            from: RefCell::new(Some(BufReader::new(from))),
            started_with: site.managed.clone(),
            status: RefCell::default(),
            is_ending: Cell::new(false),
            logs: logs.clone(),
        });
        managed.order(&manage(site)).await.map_err(failed)?;
        let loaded = tokio::time::timeout(PATIENCE, managed.load(hosts)).await;
        loaded.unwrap_or_else(|_| Err("the certificate process does not answer".into()))?;
        Ok(Some(managed))
    }

    /// Takes the stored certificates.
    async fn load(&self, hosts: &Hosts) -> Result<(), String> {
        let Some(mut from) = self.from.take() else {
            return Ok(());
        };
        loop {
            match message::read(&mut from).await {
                Ok(Some(Report::Loaded)) => break,
                Ok(Some(Report::Certificate { domain, pem })) => {
                    let placed = hosts.managed().replace(&domain, &pem);
                    self.note_placed(&domain, placed, "the stored certificate is in use");
                }
                Ok(Some(report)) => self.note(report),
                Ok(None) => return Err("the certificate process has ended".into()),
                Err(error) => return Err(format!("the certificate process: {error}")),
            }
        }
        self.from.replace(Some(from));
        Ok(())
    }

    /// Serves the process until it ends.
    pub async fn follow(self: Rc<Self>, front: Handle) {
        let Some(mut from) = self.from.take() else {
            return;
        };
        while let Ok(Some(report)) = message::read(&mut from).await {
            match report {
                Report::Certificate { domain, pem } => {
                    let placed = front.replace_managed(&domain, &pem);
                    self.note_placed(&domain, placed, "a new certificate is in use from now on");
                }
                Report::Prove(proofs) => self.prove(&front, proofs).await,
                report => self.note(report),
            }
            front.note_expiries(self.expiries());
        }
        if self.is_ending.get() {
            return;
        }
        self.logs.error.error(
            "the certificate process has ended: managed certificates are not renewed until a \
             restart",
        );
    }

    /// Puts proofs in place. The process waits for the answer, and gives up without one.
    async fn prove(&self, front: &Handle, proofs: Vec<Proof>) {
        let mut tokens = std::collections::HashMap::new();
        let mut certificates = Vec::new();
        for proof in proofs {
            match proof {
                Proof::Http { token, answer } if message::is_token(&token) => {
                    tokens.insert(token, answer);
                }
                Proof::Http { .. } => {}
                Proof::TlsAlpn { name, pem } => certificates.push((name, pem)),
            }
        }
        let placed = front.prove(tokens, &certificates);
        let answered = match placed {
            Ok(()) => self.order(&Order::Proving).await,
            Err(reason) => {
                let line = format!("a challenge of the authority: {reason}");
                self.logs.error.error(line);
                return;
            }
        };
        // The end of the process is reported where its reports are read.
        let _ = answered;
    }

    /// Tells the process which domains the site has after a reload.
    pub async fn reload(&self, site: &Site) {
        let (old, new) = (&self.started_with, &site.managed);
        if (&old.authority, &old.store, old.retry_delay)
            != (&new.authority, &new.store, new.retry_delay)
        {
            self.logs.error.warn(
                "a changed MDStoreDir, MDRetryDelay or authority takes effect with a restart",
            );
        }
        let _ = self.order(&manage(site)).await;
    }

    pub fn status(&self) -> Vec<DomainStatus> {
        self.status.borrow().clone()
    }

    fn expiries(&self) -> Vec<(String, u64)> {
        let status = self.status.borrow();
        let known = status.iter().filter_map(|one| {
            let name = one.names.first()?.clone();
            Some((name, one.expires?))
        });
        known.collect()
    }

    fn note(&self, report: Report) {
        match report {
            Report::Status(status) => drop(self.status.replace(status)),
            Report::Log { level, text } => match level {
                Level::Notice => self.logs.error.notice(text),
                Level::Warn => self.logs.error.warn(text),
                Level::Error => self.logs.error.error(text),
            },
            Report::Certificate { .. } | Report::Prove(_) | Report::Loaded => {}
        }
    }

    fn note_placed(&self, domain: &str, placed: Result<(), String>, done: &str) {
        match placed {
            Ok(()) => {
                let line = format!("managed certificate of {domain}: {done}");
                self.logs.error.notice(line);
            }
            Err(reason) => {
                let line = format!("managed certificate of {domain}: {reason}; the old one stays");
                self.logs.error.error(line);
            }
        }
    }

    async fn order(&self, order: &Order) -> std::io::Result<()> {
        match &mut *self.to.lock().await {
            Some(to) => message::write(to, order).await,
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the process.
    pub async fn end(&self) {
        self.is_ending.set(true);
        // The process sees the end of its input.
        drop(self.to.lock().await.take());
        let _ = self.process.borrow_mut().wait();
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        drop(self.to.get_mut().take());
        let _ = self.process.borrow_mut().wait();
    }
}

/// Starts the process with one end of a socket as its input.
fn spawn() -> std::io::Result<(Child, UnixStream)> {
    let (ours, theirs) = StdStream::pair()?;
    // The process has its own process group, so the terminal's signals do not reach it.
    let process = Command::new(std::env::current_exe()?)
        .arg("certificate-process")
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    ours.set_nonblocking(true)?;
    Ok((process, UnixStream::from_std(ours)?))
}

fn manage(site: &Site) -> Order {
    let tcp = site.listen.iter();
    let tcp = tcp.filter(|listen| !listen.address.starts_with("unix:"));
    let mut answerable: Vec<ChallengeKind> = tcp
        .map(|listen| match site.is_secure(listen) {
            true => ChallengeKind::TlsAlpn,
            false => ChallengeKind::Http,
        })
        .collect();
    answerable.sort_by_key(|kind| kind.name());
    answerable.dedup();
    Order::Manage {
        managed: Box::new(site.managed.clone()),
        answerable,
    }
}
