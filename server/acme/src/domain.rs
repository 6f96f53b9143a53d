//! One managed domain: its certificate, what is to be done about it, and when.

use crate::certificate::Facts;
use crate::message::DomainStatus;
use crate::ocsp::Response;
use crate::revocation::Revocation;
use crate::{now, schedule};
use mehari_config::{ManagedDomain, RenewWindow};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tries that have failed since the last success, and when the next one is due.
#[derive(Debug, Default)]
pub struct Tries {
    pub failures: u32,
    pub error: Option<String>,
    /// In seconds since 1970. `None`: nothing is to be done.
    pub due: Option<u64>,
}

impl Tries {
    /// Notes a failure. Returns the pause in seconds.
    pub fn fail(&mut self, first: Duration, error: String) -> u64 {
        self.failures = self.failures.saturating_add(1);
        let chance = SystemTime::now().duration_since(UNIX_EPOCH);
        let chance = chance.unwrap_or_default().subsec_micros();
        let pause = schedule::pause(first, self.failures, chance)
            .as_secs()
            .max(1);
        self.due = Some(now() + pause);
        self.error = Some(error);
        pause
    }

    /// Notes a success.
    pub fn succeed(&mut self) {
        (self.failures, self.error) = (0, None);
    }

    pub fn is_due(&self) -> bool {
        self.due.is_some_and(|due| due <= now())
    }
}

/// A user who waits for the end of a revocation.
pub struct Awaited {
    /// The name of the domain that the user has given.
    pub name: String,
    pub serial: String,
}

pub struct Kept {
    pub domain: ManagedDomain,
    /// The stored certificate.
    pub facts: Option<Facts>,
    pub revocation: Option<Revocation>,
    /// Whoever waits for the end of the revocation.
    pub awaited: Option<Awaited>,
    /// The OCSP response in use.
    pub staple: Option<Response>,
    pub work: Tries,
    pub stapling: Tries,
}

impl Kept {
    pub fn new(domain: ManagedDomain) -> Kept {
        Kept {
            domain,
            facts: None,
            revocation: None,
            awaited: None,
            staple: None,
            work: Tries::default(),
            stapling: Tries::default(),
        }
    }

    pub fn status(&self) -> DomainStatus {
        let revocation = self.revocation.as_ref();
        DomainStatus {
            names: self.domain.names.clone(),
            expires: self.facts.as_ref().map(|facts| facts.not_after),
            renews: self.work.due,
            error: self.work.error.clone(),
            failures: self.work.failures,
            revoking: revocation.map(|revocation| revocation.serial.clone()),
            stapled_until: self.staple.as_ref().map(|staple| staple.ends),
        }
    }

    /// Tells whether another certificate is in place of the certificate that is being revoked.
    pub fn is_replaced(&self) -> bool {
        match (&self.revocation, &self.facts) {
            (Some(revocation), Some(facts)) => !revocation.concerns(facts),
            _ => false,
        }
    }

    /// Tells whether the stored certificate is revoked.
    fn is_revoked(&self) -> bool {
        let revocation = self.revocation.as_ref();
        revocation.is_some_and(|revocation| revocation.is_revoked) && !self.is_replaced()
    }

    /// Tells whether the authority is to be asked now to revoke the certificate.
    pub fn is_to_be_revoked(&self) -> bool {
        let is_only = !self.domain.is_requested();
        self.revocation.as_ref().is_some_and(|revocation| {
            !revocation.is_revoked && (revocation.is_at_once || is_only || self.is_replaced())
        })
    }

    /// Returns when a new certificate is due, in seconds since 1970. `None`: none is requested.
    fn renewal(&self) -> Option<u64> {
        let window = self.domain.settings.window.unwrap_or(RenewWindow::DEFAULT);
        let is_revoked = self.revocation.is_some() && !self.is_replaced();
        let facts = self.facts.as_ref();
        let facts = facts.filter(|facts| facts.has(&self.domain.names) && !is_revoked);
        let due = facts.map_or(0, |facts| schedule::renewal(facts, window));
        self.domain.is_requested().then_some(due)
    }

    pub fn is_renewal_due(&self) -> bool {
        self.renewal().is_some_and(|due| due <= now())
    }

    /// Sets the time of the next work by certificate and revocation alone.
    pub fn plan(&mut self) {
        let is_revoking = self.is_to_be_revoked() || self.is_replaced();
        let due = if is_revoking { Some(0) } else { self.renewal() };
        self.work.due = due.map(|due| due.max(now()));
    }

    /// Sets the time of the next OCSP request by the response in use alone.
    pub fn plan_stapling(&mut self) {
        let has_responder = |facts: &Facts| facts.responder.is_some() && facts.issuer.is_some();
        let is_possible = self.facts.as_ref().is_some_and(has_responder) && !self.is_revoked();
        let is_wanted = self.domain.settings.stapling == Some(true);
        let window = self.domain.settings.staple_window;
        let window = window.unwrap_or(RenewWindow::DEFAULT);
        let due = self.staple.as_ref().map_or(0, |staple| {
            let lifetime = Duration::from_secs(staple.ends.saturating_sub(staple.begins));
            staple.ends.saturating_sub(window.of(lifetime).as_secs())
        });
        self.stapling.due = (is_possible && is_wanted).then_some(due.max(now()));
    }

    /// Returns when the next work or the next OCSP request is due.
    pub fn due(&self) -> Option<u64> {
        let due = [self.work.due, self.stapling.due];
        due.into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Reason, Wish};

    fn kept(is_at_once: bool) -> Kept {
        let mut domain = ManagedDomain::of(vec!["a.example".into()]);
        domain.is_used = true;
        let facts = Facts {
            names: vec!["a.example".into()],
            not_before: now() - 86_400,
            not_after: now() + 86_400 * 90,
            der: vec![1],
            ..Facts::default()
        };
        let wish = Wish {
            domain: "a.example".into(),
            reason: Reason::Unspecified,
            is_at_once,
        };
        let mut kept = Kept::new(domain);
        kept.revocation = Some(Revocation::new(&facts, &wish));
        kept.facts = Some(facts);
        kept
    }

    #[test]
    fn a_new_certificate_comes_before_the_revocation_unless_it_is_at_once() {
        let mut in_turn = kept(false);
        assert!(in_turn.is_renewal_due() && !in_turn.is_to_be_revoked());
        let facts = in_turn.facts.as_mut().expect("a certificate");
        facts.der = vec![2];
        assert!(!in_turn.is_renewal_due() && in_turn.is_to_be_revoked());
        let at_once = kept(true);
        assert!(at_once.is_renewal_due() && at_once.is_to_be_revoked());
    }

    #[test]
    fn a_revoked_certificate_without_a_successor_is_the_end_only_if_none_is_requested() {
        let mut kept = kept(false);
        kept.domain.is_used = false;
        assert!(kept.is_to_be_revoked() && !kept.is_renewal_due());
        let revocation = kept.revocation.as_mut().expect("a revocation");
        revocation.is_revoked = true;
        kept.plan();
        assert_eq!(kept.work.due, None);
        kept.domain.is_used = true;
        kept.plan();
        assert!(kept.work.is_due() && kept.is_renewal_due());
    }
}
