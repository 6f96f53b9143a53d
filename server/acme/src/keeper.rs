//! The certificate process: takes the domains from the server, sends the stored certificates, and
//! requests one certificate after another when it is due.

use crate::authority::{self, Prover};
use crate::certificate::Facts;
use crate::message::{self, DomainStatus, Level, Order, Proof, Report};
use crate::store::{self, Store};
use crate::{schedule, Error};
use mehari_config::{ChallengeKind, ManagedCertificates, ManagedDomain, RenewWindow};
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::BufReader;
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

/// How long the server may take to put proofs in place.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest sleep. The clock may jump, and another process may renew a certificate.
const LOOK: Duration = Duration::from_secs(30);

/// Serves until the server closes the socket.
///
/// # Errors
///
/// The socket or the event loop fails.
pub fn serve(socket: StdStream) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        socket.set_nonblocking(true)?;
        let (from, to) = UnixStream::from_std(socket)?.into_split();
        let (sender, orders) = mpsc::channel(8);
        let keeper = Keeper {
            server: Server {
                to,
                orders,
                news: None,
            },
            domains: Vec::new(),
        };
        tokio::select! {
            read = read(BufReader::new(from), sender) => read,
            kept = keeper.keep() => kept,
        }
    });
    runtime.shutdown_background();
    served
}

/// Reads orders until the server closes the socket.
async fn read(
    mut from: BufReader<tokio::net::unix::OwnedReadHalf>,
    sender: mpsc::Sender<Order>,
) -> io::Result<()> {
    while let Some(order) = message::read(&mut from).await? {
        if sender.send(order).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The connection to the server.
struct Server {
    to: OwnedWriteHalf,
    orders: mpsc::Receiver<Order>,
    /// New domains that came while an order was under way.
    news: Option<Vec<ManagedDomain>>,
}

impl Server {
    async fn say(&mut self, report: &Report) -> io::Result<()> {
        message::write(&mut self.to, report).await
    }

    async fn log(&mut self, level: Level, text: String) -> io::Result<()> {
        self.say(&Report::Log { level, text }).await
    }
}

impl Prover for Server {
    async fn prove(&mut self, proofs: Vec<Proof>) -> Result<(), Error> {
        let said = self.say(&Report::Prove(proofs)).await;
        said.map_err(|_| Error::Gone)?;
        let placed = async {
            loop {
                match self.orders.recv().await {
                    Some(Order::Proving) => return Ok(()),
                    Some(Order::Manage { managed, .. }) => self.news = Some(managed.domains),
                    None => return Err(Error::Gone),
                }
            }
        };
        let placed = tokio::time::timeout(PATIENCE, placed).await;
        placed.unwrap_or(Err(Error::Gone))
    }
}

/// One domain and its certificate.
struct Kept {
    domain: ManagedDomain,
    facts: Option<Facts>,
    failures: u32,
    error: Option<String>,
    /// When the next request is due, in seconds since 1970.
    due: Option<u64>,
}

impl Kept {
    fn status(&self) -> DomainStatus {
        DomainStatus {
            names: self.domain.names.clone(),
            expires: self.facts.as_ref().map(|facts| facts.not_after),
            renews: self.due,
            error: self.error.clone(),
            failures: self.failures,
        }
    }

    /// Sets the time of the next request by the certificate alone.
    fn plan(&mut self) {
        let window = self.domain.settings.window.unwrap_or(RenewWindow::DEFAULT);
        let facts = self.facts.as_ref();
        let facts = facts.filter(|facts| facts.has(&self.domain.names));
        let due = facts.map_or(0, |facts| schedule::renewal(facts, window));
        self.due = self.domain.is_requested().then_some(due.max(now()));
    }
}

struct Keeper {
    server: Server,
    domains: Vec<Kept>,
}

impl Keeper {
    async fn keep(mut self) -> io::Result<()> {
        let Some(Order::Manage {
            managed,
            answerable,
        }) = self.server.orders.recv().await
        else {
            return Ok(());
        };
        let store = match Store::open(&managed.store) {
            Ok(store) => store,
            Err(error) => {
                self.server.log(Level::Error, error.to_string()).await?;
                self.server.say(&Report::Loaded).await?;
                // Without a store there is nothing to do until the server ends.
                return std::future::pending().await;
            }
        };
        self.take(managed.domains.clone(), &store).await?;
        self.server.say(&Report::Loaded).await?;
        loop {
            self.tell().await?;
            if let Some(domains) = self.server.news.take() {
                self.take(domains, &store).await?;
                continue;
            }
            match self.next_due() {
                Some((index, due)) if due <= now() => {
                    self.renew(index, &managed, &answerable, &store).await?;
                }
                next => self.sleep(next.map(|(_, due)| due), &store).await?,
            }
        }
    }

    /// Takes new domains and sends their stored certificates.
    async fn take(&mut self, domains: Vec<ManagedDomain>, store: &Store) -> io::Result<()> {
        let mut before = std::mem::take(&mut self.domains);
        // The front speaks to clients, so this process checks the names, which become files' names.
        let is_safe = |name: &String| mehari_config::managed_name(name).as_ref() == Ok(name);
        let is_named = |domain: &ManagedDomain| !domain.names.is_empty();
        let safe = |domain: &ManagedDomain| is_named(domain) && domain.names.iter().all(is_safe);
        for domain in domains.into_iter().filter(safe) {
            let known = before.iter().position(|kept| kept.domain == domain);
            self.domains.push(match known {
                Some(index) => before.swap_remove(index),
                None => Kept {
                    domain,
                    facts: None,
                    failures: 0,
                    error: None,
                    due: None,
                },
            });
        }
        for index in 0..self.domains.len() {
            let first = self.domains[index].due.is_none();
            self.load(index, store).await?;
            if first {
                self.domains[index].plan();
            }
        }
        Ok(())
    }

    /// Reads the stored certificate of a domain. Sends a certificate that is new here.
    async fn load(&mut self, index: usize, store: &Store) -> io::Result<()> {
        let kept = &mut self.domains[index];
        let file = store.certificate(kept.domain.name());
        let found = store::read(&file).map_err(|error| error.to_string());
        let found = found.and_then(|pem| match pem {
            None => Ok(None),
            Some(pem) => match Facts::of(&pem) {
                Ok(facts) => Ok(Some((pem, facts))),
                Err(why) => Err(format!("{}: {why}", file.display())),
            },
        });
        match found {
            Ok(None) => Ok(()),
            Ok(Some((_, facts))) if kept.facts.as_ref() == Some(&facts) => Ok(()),
            Ok(Some((pem, facts))) => {
                kept.facts = Some(facts);
                (kept.failures, kept.error) = (0, None);
                kept.plan();
                let domain = kept.domain.name().to_owned();
                self.server.say(&Report::Certificate { domain, pem }).await
            }
            Err(text) if kept.error.as_ref() == Some(&text) => Ok(()),
            Err(text) => {
                kept.error = Some(text.clone());
                self.server.log(Level::Error, text).await
            }
        }
    }

    fn next_due(&self) -> Option<(usize, u64)> {
        let due = self.domains.iter().enumerate();
        due.filter_map(|(index, kept)| kept.due.map(|due| (index, due)))
            .min_by_key(|(_, due)| *due)
    }

    /// Sleeps until a request may be due, or new domains come. Looks for certificates that another
    /// process has stored.
    async fn sleep(&mut self, due: Option<u64>, store: &Store) -> io::Result<()> {
        let left = due.map_or(LOOK, |due| Duration::from_secs(due.saturating_sub(now())));
        tokio::select! {
            order = self.server.orders.recv() => match order {
                Some(Order::Manage { managed, .. }) => self.server.news = Some(managed.domains),
                Some(Order::Proving) => {}
                None => return std::future::pending().await,
            },
            () = tokio::time::sleep(left.min(LOOK)) => {
                for index in 0..self.domains.len() {
                    self.load(index, store).await?;
                }
            }
        }
        Ok(())
    }

    /// Requests a certificate that is due, unless another process has just done so.
    async fn renew(
        &mut self,
        index: usize,
        managed: &ManagedCertificates,
        answerable: &[ChallengeKind],
        store: &Store,
    ) -> io::Result<()> {
        let domain = self.domains[index].domain.clone();
        let failures = self.domains[index].failures;
        let obtained = match store.lock(domain.name()).await {
            Err(error) => Err(error),
            Ok(_lock) => {
                self.load(index, store).await?;
                if self.domains[index].due.is_none_or(|due| due > now()) {
                    return Ok(());
                }
                match chosen(&domain, answerable, failures) {
                    Err(error) => Err(error),
                    Ok(kind) => {
                        let server = &mut self.server;
                        let authority = &managed.authority;
                        let pem = authority::obtain(authority, store, &domain, kind, server).await;
                        pem.and_then(|pem| checked(&domain, &pem).map(|()| pem))
                            .and_then(|pem| store::write(&store.certificate(domain.name()), &pem))
                    }
                }
            }
        };
        match obtained {
            Ok(()) => self.load(index, store).await,
            Err(error) => self.note_failure(index, managed.retry_delay, &error).await,
        }
    }

    async fn note_failure(
        &mut self,
        index: usize,
        first: Duration,
        error: &Error,
    ) -> io::Result<()> {
        let kept = &mut self.domains[index];
        kept.failures = kept.failures.saturating_add(1);
        let chance = SystemTime::now().duration_since(UNIX_EPOCH);
        let chance = chance.unwrap_or_default().subsec_micros();
        let pause = schedule::pause(first, kept.failures, chance);
        kept.due = Some(now() + pause.as_secs().max(1));
        let text = error.to_string();
        kept.error = Some(text.clone());
        let name = kept.domain.name();
        let line = format!(
            "managed certificate of {name}: {text}; the next try is in {} s",
            pause.as_secs().max(1)
        );
        self.server.log(Level::Error, line).await
    }

    async fn tell(&mut self) -> io::Result<()> {
        let all = self.domains.iter().map(Kept::status).collect();
        self.server.say(&Report::Status(all)).await
    }
}

/// Returns the challenge to try: the next one after each failure.
fn chosen(
    domain: &ManagedDomain,
    answerable: &[ChallengeKind],
    failures: u32,
) -> Result<ChallengeKind, Error> {
    let kinds = match &domain.settings.challenges {
        Some(wanted) => wanted,
        None => answerable,
    };
    let kinds: Vec<_> = kinds
        .iter()
        .filter(|kind| answerable.contains(kind))
        .collect();
    match kinds.len() {
        0 => Err(Error::Authority(
            "no address of `Listen` can answer a challenge of MDCAChallenges: http-01 needs an \
             address without TLS, tls-alpn-01 an address with TLS"
                .into(),
        )),
        count => Ok(*kinds[failures as usize % count]),
    }
}

/// Checks that the authority has signed what was requested.
fn checked(domain: &ManagedDomain, pem: &str) -> Result<(), Error> {
    let facts = Facts::of(pem);
    let facts = facts.map_err(|why| Error::Authority(format!("the new certificate: {why}")))?;
    if !facts.has(&domain.names) || facts.not_after <= now() {
        let text = "the authority's certificate has other names or has ended";
        return Err(Error::Authority(text.into()));
    }
    Ok(())
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
