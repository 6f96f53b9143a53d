//! The server's side of managed certificates: starts the certificate process, hands its
//! certificates and proofs to the front, and keeps what it says for `mehari status`.
//!
//! The process starts before the server gives up root, so it alone can read the store. It ends when
//! the server closes the socket. Its parent starts it again when it dies; it then sends the stored
//! certificates once more, and the server tells it which domains the site has by now.

use super::journal::Logs;
use base64::prelude::{Engine, BASE64_STANDARD};
use mehari_acme::message::{self, DomainStatus, Level, Order, Proof, Report, Wish};
use mehari_config::{ChallengeKind, ManagedCertificates, Site};
use mehari_front::{Handle, Hosts};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::UnixStream;
use tokio::sync::{oneshot, Mutex};

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
    /// Who waits for the end of a revocation, by the name that the user has given.
    awaited: RefCell<HashMap<String, oneshot::Sender<Result<String, String>>>>,
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
            awaited: RefCell::default(),
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
                Ok(Some(Report::Staple { domain, response })) => {
                    hosts.managed().staple(&domain, decoded(response));
                }
                Ok(Some(report)) => self.note(report),
                Ok(None) => return Err("the certificate process has ended".into()),
                // A process that died may have sent a part of a line.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
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
        loop {
            let report = match message::read(&mut from).await {
                Ok(Some(report)) => report,
                // A process that died may have sent a part of a line.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
                Ok(None) | Err(_) => break,
            };
            match report {
                Report::Certificate { domain, pem } => {
                    let placed = front.replace_managed(&domain, &pem);
                    self.note_placed(&domain, placed, "a new certificate is in use from now on");
                }
                Report::Staple { domain, response } => {
                    front.staple_managed(&domain, decoded(response));
                }
                Report::Prove(proofs) => self.prove(&front, proofs).await,
                Report::Loaded => self.begin_again(&front).await,
                report => self.note(report),
            }
            front.note_expiries(self.expiries());
        }
        self.awaited.borrow_mut().clear();
        if self.is_ending.get() {
            return;
        }
        self.logs.error.error(
            "nobody starts the certificate process again: managed certificates are not renewed \
             until a restart",
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

    /// Tells a process that was started again which domains the site has by now.
    async fn begin_again(&self, front: &Handle) {
        self.awaited.borrow_mut().clear();
        let _ = self.order(&manage(&front.site())).await;
    }

    /// Has the certificate of a domain revoked. Returns a line for the user.
    pub async fn revoke(&self, wish: Wish) -> Result<String, String> {
        let (sender, receiver) = oneshot::channel();
        let domain = wish.domain.clone();
        if self.awaited.borrow().contains_key(&domain) {
            return Err(format!("{domain}: another command waits for this already"));
        }
        let ordered = self.order(&Order::Revoke(wish)).await;
        ordered.map_err(|_| "the certificate process has ended: restart the server")?;
        self.awaited.borrow_mut().insert(domain, sender);
        receiver.await.unwrap_or_else(|_| {
            let text = "the certificate process has ended; the next one goes on with a wish that \
                        is in the store: mehari status shows it";
            Err(text.into())
        })
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
            Report::Revoked { domain, outcome } => {
                if let Some(waiting) = self.awaited.borrow_mut().remove(&domain) {
                    // The user may have gone.
                    let _ = waiting.send(outcome);
                }
            }
            Report::Certificate { .. }
            | Report::Staple { .. }
            | Report::Prove(_)
            | Report::Loaded => {}
        }
    }

    fn note_placed(&self, domain: &str, placed: Result<bool, String>, done: &str) {
        match placed {
            // A process that was started again sends the stored certificates once more.
            Ok(false) => {}
            Ok(true) => {
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

/// Returns the bytes of an OCSP response.
fn decoded(response: Option<String>) -> Option<Vec<u8>> {
    response.and_then(|text| BASE64_STANDARD.decode(text).ok())
}

fn manage(site: &Site) -> Order {
    let tcp = site.listen.iter();
    let tcp = tcp.filter(|listen| !listen.address.starts_with("unix:"));
    let mut answerable: Vec<ChallengeKind> = tcp
        .map(|listen| {
            if site.is_secure(listen) {
                ChallengeKind::TlsAlpn
            } else {
                ChallengeKind::Http
            }
        })
        .collect();
    answerable.sort_by_key(|kind| kind.name());
    answerable.dedup();
    Order::Manage {
        managed: Box::new(site.managed.clone()),
        answerable,
    }
}
