//! Does what is due for a domain: requests a certificate, revokes one, asks the OCSP responder.

use super::Keeper;
use crate::authority::{self, Prover};
use crate::certificate::Facts;
use crate::domain::Awaited;
use crate::message::{self, Level, Report};
use crate::revocation::Revocation;
use crate::store::{self, Store};
use crate::{now, ocsp, Error};
use mehari_config::{ChallengeKind, ManagedDomain};
use std::io;

impl Keeper {
    /// Does what is due for a domain, unless another process has just done so.
    pub(super) async fn attend(&mut self, index: usize, store: &Store) -> io::Result<()> {
        let name = self.domains[index].domain.name().to_owned();
        let _lock = match store.lock(&name).await {
            Ok(lock) => lock,
            Err(error) => {
                let first = self.managed.retry_delay;
                self.domains[index].stapling.fail(first, error.to_string());
                return self.note_failure(index, &error).await;
            }
        };
        self.load(index, store).await?;
        if self.domains[index].work.is_due() {
            return match self.work(index, store).await {
                Ok(()) => self.note_success(index).await,
                Err(error) => self.note_failure(index, &error).await,
            };
        }
        if self.domains[index].stapling.is_due() {
            self.fetch_staple(index, store).await?;
        }
        Ok(())
    }

    /// Requests a certificate and revokes one, as far as each is due. The caller holds the lock.
    async fn work(&mut self, index: usize, store: &Store) -> Result<(), Error> {
        let at_once = self.revoke(index, store).await;
        if self.domains[index].is_renewal_due() {
            let domain = self.domains[index].domain.clone();
            let failures = self.domains[index].work.failures;
            let kind = chosen(&domain, &self.answerable, failures)?;
            let (authority, server) = (&self.managed.authority, &mut self.server);
            let pem = authority::obtain(authority, store, &domain, kind, server).await?;
            checked(&domain, &pem)?;
            store::write(&store.certificate(domain.name()), &pem)?;
            self.load(index, store).await.map_err(|_| Error::Gone)?;
        }
        self.revoke(index, store).await?;
        at_once
    }

    /// Revokes the certificate of a domain if it is time, and forgets it when it is revoked and
    /// replaced.
    async fn revoke(&mut self, index: usize, store: &Store) -> Result<(), Error> {
        let name = self.domains[index].domain.name().to_owned();
        if self.domains[index].is_to_be_revoked() {
            // The answer tells that the new certificate is in use.
            self.server.prove(Vec::new()).await?;
            let kept = &mut self.domains[index];
            if let Some(revocation) = &mut kept.revocation {
                let (der, reason) = (revocation.der()?, revocation.reason);
                authority::revoke(&self.managed.authority, store, &der, reason).await?;
                revocation.is_revoked = true;
                revocation.write(store, &name)?;
                let serial = &revocation.serial;
                let line = format!(
                    "managed certificate of {name}: the authority has revoked the certificate \
                     {serial}"
                );
                let logged = self.server.log(Level::Notice, line).await;
                logged.map_err(|_| Error::Gone)?;
            }
        }
        if self.domains[index].is_replaced() {
            Revocation::remove(store, &name)?;
            self.domains[index].revocation = None;
        }
        Ok(())
    }

    /// Asks the OCSP responder. A certificate that is revoked is replaced at once.
    async fn fetch_staple(&mut self, index: usize, store: &Store) -> io::Result<()> {
        let Some(facts) = self.domains[index].facts.clone() else {
            return Ok(());
        };
        let name = self.domains[index].domain.name().to_owned();
        let stored = match ocsp::ask(&facts).await {
            Ok(response) if response.is_revoked => {
                let line = format!(
                    "managed certificate of {name}: the authority has revoked the certificate \
                     {}: a new one is requested",
                    facts.serial
                );
                self.server.log(Level::Error, line).await?;
                Revocation::found(&facts).write(store, &name)
            }
            Ok(response) => store::write(&store.staple(&name), &response.der),
            Err(text) => Err(Error::Authority(message::one_line(&text))),
        };
        match stored {
            Ok(()) => {
                self.load(index, store).await?;
                let kept = &mut self.domains[index];
                kept.stapling.succeed();
                kept.plan_stapling();
                // A responder may give the same response for hours.
                let next = now() + self.managed.retry_delay.as_secs().max(1);
                kept.stapling.due = kept.stapling.due.map(|due| due.max(next));
                Ok(())
            }
            Err(error) => {
                let kept = &mut self.domains[index];
                let pause = kept
                    .stapling
                    .fail(self.managed.retry_delay, error.to_string());
                let line = format!(
                    "managed certificate of {name}: OCSP: {error}; the next try is in {pause} s"
                );
                self.server.log(Level::Warn, line).await
            }
        }
    }

    async fn note_success(&mut self, index: usize) -> io::Result<()> {
        let kept = &mut self.domains[index];
        kept.work.succeed();
        kept.plan();
        // Whatever the plan says, the authority is not asked twice in a second.
        kept.work.due = kept.work.due.map(|due| due.max(now() + 1));
        let Some(Awaited { name, serial }) = kept.awaited.take() else {
            return Ok(());
        };
        let then = match kept.revocation {
            None => "a new one is in use",
            Some(_) => "it stays in use, because MDRenewMode requests no other",
        };
        let outcome = Ok(format!("the certificate {serial} is revoked: {then}"));
        let domain = name;
        self.server.say(&Report::Revoked { domain, outcome }).await
    }

    async fn note_failure(&mut self, index: usize, error: &Error) -> io::Result<()> {
        let kept = &mut self.domains[index];
        let pause = kept.work.fail(self.managed.retry_delay, error.to_string());
        let name = kept.domain.name().to_owned();
        let text = format!("{error}; the next try is in {pause} s");
        let awaited = kept.awaited.take();
        let line = format!("managed certificate of {name}: {text}");
        self.server.log(Level::Error, line).await?;
        if let Some(Awaited { name: domain, .. }) = awaited {
            let outcome = Err(format!("{domain}: not done yet: {text}"));
            self.server
                .say(&Report::Revoked { domain, outcome })
                .await?;
        }
        Ok(())
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
