//! The certificate process: takes the domains from the server, sends the stored certificates, and
//! requests one certificate after another when it is due.

use crate::certificate::Facts;
use crate::connection::{self, Server};
use crate::domain::{Awaited, Kept};
use crate::message::{Level, Order, Report, Wish};
use crate::now;
use crate::ocsp::Response;
use crate::revocation::Revocation;
use crate::store::{self, Store};
use base64::prelude::{Engine, BASE64_STANDARD};
use mehari_config::{ChallengeKind, ManagedCertificates, ManagedDomain};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::net::UnixStream as StdStream;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

mod work;

/// The longest sleep. The clock may jump, and another process may renew a certificate.
const LOOK: Duration = Duration::from_secs(30);

/// Serves until the server closes the socket. `settings` holds an [`Order::Manage`].
///
/// # Errors
///
/// The settings are no order, or the socket or the event loop fails.
pub fn serve(settings: impl Read, socket: StdStream) -> io::Result<()> {
    let Order::Manage {
        managed,
        answerable,
    } = serde_json::from_reader(settings)?
    else {
        return Err(io::ErrorKind::InvalidData.into());
    };
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
                wishes: VecDeque::new(),
            },
            domains: Vec::new(),
            managed: *managed,
            answerable,
        };
        tokio::select! {
            read = connection::read(BufReader::new(from), sender) => read,
            kept = keeper.keep() => kept,
        }
    });
    runtime.shutdown_background();
    served
}

struct Keeper {
    server: Server,
    domains: Vec<Kept>,
    /// The settings of the start. The domains are those of the last order.
    managed: ManagedCertificates,
    answerable: Vec<ChallengeKind>,
}

impl Keeper {
    async fn keep(mut self) -> io::Result<()> {
        let store = match Store::open(&self.managed.store) {
            Ok(store) => store,
            Err(error) => {
                self.server.log(Level::Error, error.to_string()).await?;
                self.server.say(&Report::Loaded).await?;
                // Without a store there is nothing to do until the server ends.
                return std::future::pending().await;
            }
        };
        let domains = std::mem::take(&mut self.managed.domains);
        self.take(domains, &store).await?;
        self.server.say(&Report::Loaded).await?;
        loop {
            self.tell().await?;
            if let Some(domains) = self.server.news.take() {
                self.take(domains, &store).await?;
                continue;
            }
            if let Some(wish) = self.server.wishes.pop_front() {
                self.take_wish(&wish, &store).await?;
                continue;
            }
            match self.next_due() {
                Some((index, due)) if due <= now() => self.attend(index, &store).await?,
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
                None => Kept::new(domain),
            });
        }
        for index in 0..self.domains.len() {
            let first = self.domains[index].work.due.is_none();
            self.load(index, store).await?;
            if first {
                self.domains[index].plan();
            }
        }
        for awaited in before.into_iter().filter_map(|kept| kept.awaited) {
            let domain = awaited.name;
            let outcome = Err(format!("{domain}: a reload has changed the domain"));
            self.server
                .say(&Report::Revoked { domain, outcome })
                .await?;
        }
        Ok(())
    }

    /// Begins to revoke the certificate of a domain, or says why this cannot be done.
    async fn take_wish(&mut self, wish: &Wish, store: &Store) -> io::Result<()> {
        let refusal = match self.named(&wish.domain) {
            Ok(index) => self.begin_revocation(index, wish, store).await?,
            Err(text) => Some(text),
        };
        match refusal {
            None => Ok(()),
            Some(text) => {
                let domain = wish.domain.clone();
                let outcome = Err(text);
                self.server.say(&Report::Revoked { domain, outcome }).await
            }
        }
    }

    /// Returns the domain that has a name.
    fn named(&self, name: &str) -> Result<usize, String> {
        let has = |kept: &Kept| kept.domain.names.iter().any(|one| one == name);
        self.domains.iter().position(has).ok_or_else(|| {
            let all = self.domains.iter().map(|kept| kept.domain.name());
            let all: Vec<&str> = all.collect();
            format!(
                "expected a managed domain ({}), not `{name}`",
                all.join(", ")
            )
        })
    }

    /// Stores the wish to revoke the certificate of a domain. Returns why this cannot be done.
    async fn begin_revocation(
        &mut self,
        index: usize,
        wish: &Wish,
        store: &Store,
    ) -> io::Result<Option<String>> {
        let name = self.domains[index].domain.name().to_owned();
        let _lock = match store.lock(&name).await {
            Ok(lock) => lock,
            Err(error) => return Ok(Some(error.to_string())),
        };
        self.load(index, store).await?;
        let kept = &mut self.domains[index];
        let Some(facts) = &kept.facts else {
            return Ok(Some(format!("{name} has no certificate yet")));
        };
        if kept.is_replaced() {
            let text = "the certificate before this one is still to be revoked: \
                        mehari status shows the reason";
            return Ok(Some(format!("{name}: {text}")));
        }
        let revocation = Revocation::new(facts, wish);
        if let Err(error) = revocation.write(store, &name) {
            return Ok(Some(error.to_string()));
        }
        kept.awaited = Some(Awaited {
            name: wish.domain.clone(),
            serial: revocation.serial.clone(),
        });
        kept.revocation = Some(revocation);
        kept.work.succeed();
        kept.work.due = Some(now());
        Ok(None)
    }

    /// Reads what the store has for a domain: its certificate, the certificate that is being
    /// revoked, and the OCSP response. Sends what is new here.
    async fn load(&mut self, index: usize, store: &Store) -> io::Result<()> {
        let kept = &mut self.domains[index];
        let found = found(store, kept.domain.name());
        match found {
            Err(text) if kept.work.error.as_ref() == Some(&text) => Ok(()),
            Err(text) => {
                kept.work.error = Some(text.clone());
                self.server.log(Level::Error, text).await
            }
            Ok((certificate, revocation)) => {
                if kept.revocation != revocation {
                    kept.revocation = revocation;
                    kept.plan();
                }
                match certificate {
                    Some((pem, facts)) => self.place(index, pem, facts).await?,
                    None => return Ok(()),
                }
                self.load_staple(index, store).await
            }
        }
    }

    /// Sends a certificate that is new here.
    async fn place(&mut self, index: usize, pem: String, facts: Facts) -> io::Result<()> {
        let kept = &mut self.domains[index];
        if kept.facts.as_ref() == Some(&facts) {
            return Ok(());
        }
        kept.facts = Some(facts);
        kept.work.succeed();
        kept.plan();
        kept.staple = None;
        kept.stapling.succeed();
        kept.plan_stapling();
        let domain = kept.domain.name().to_owned();
        let is_wanted = kept.domain.settings.stapling == Some(true);
        let has_responder = kept
            .facts
            .as_ref()
            .is_some_and(|facts| facts.responder.is_some());
        if is_wanted && !has_responder {
            let line = format!(
                "managed certificate of {domain}: the certificate names no OCSP responder, so \
                 MDStapling has no effect"
            );
            self.server.log(Level::Warn, line).await?;
        }
        self.server.say(&Report::Certificate { domain, pem }).await
    }

    /// Sends the stored OCSP response if it is new here. Withdraws a response that has ended.
    async fn load_staple(&mut self, index: usize, store: &Store) -> io::Result<()> {
        let kept = &mut self.domains[index];
        let is_wanted = kept.domain.settings.stapling == Some(true);
        let Some(facts) = kept.facts.as_ref().filter(|_| is_wanted) else {
            return Ok(());
        };
        // A response that cannot be read or used is fetched again.
        let stored = store::read_bytes(&store.staple(kept.domain.name()));
        let stored = stored.ok().flatten();
        let stored = stored.and_then(|der| Response::of(der, facts, now()).ok());
        if kept.staple == stored {
            return Ok(());
        }
        kept.staple = stored;
        kept.stapling.succeed();
        kept.plan_stapling();
        let response = kept.staple.as_ref();
        let response = response.map(|response| BASE64_STANDARD.encode(&response.der));
        let domain = kept.domain.name().to_owned();
        self.server.say(&Report::Staple { domain, response }).await
    }

    fn next_due(&self) -> Option<(usize, u64)> {
        let due = self.domains.iter().enumerate();
        due.filter_map(|(index, kept)| kept.due().map(|due| (index, due)))
            .min_by_key(|(_, due)| *due)
    }

    /// Sleeps until a request may be due, or an order comes. Looks for certificates that another
    /// process has stored.
    async fn sleep(&mut self, due: Option<u64>, store: &Store) -> io::Result<()> {
        let left = due.map_or(LOOK, |due| Duration::from_secs(due.saturating_sub(now())));
        tokio::select! {
            order = self.server.orders.recv() => match order {
                Some(order) => {
                    let _ = self.server.keep(order);
                }
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

    async fn tell(&mut self) -> io::Result<()> {
        let all = self.domains.iter().map(Kept::status).collect();
        self.server.say(&Report::Status(all)).await
    }
}

type Stored = (Option<(String, Facts)>, Option<Revocation>);

/// Reads a domain's certificate and the certificate that is being revoked.
fn found(store: &Store, domain: &str) -> Result<Stored, String> {
    let revocation = Revocation::read(store, domain).map_err(|error| error.to_string())?;
    let file = store.certificate(domain);
    let Some(pem) = store::read(&file).map_err(|error| error.to_string())? else {
        return Ok((None, revocation));
    };
    match Facts::of(&pem) {
        Ok(facts) => Ok((Some((pem, facts)), revocation)),
        Err(why) => Err(format!("{}: {why}", file.display())),
    }
}
