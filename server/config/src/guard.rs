//! Whether settings let a request in, as far as that can be told without one: what a place asks of those who
//! come, compared with what another place asks.

use crate::{Phase, Settings};

/// The phases in which Perl has a say about access.
const PHASES: [Phase; 3] = [Phase::Access, Phase::Authen, Phase::Authz];

impl Settings {
    /// Who may come here depends on the request.
    pub fn is_guarded(&self) -> bool {
        self.rules.denied().is_none() || self.is_guarded_by_perl()
    }

    /// Whether a request has to be looked at before its handler may answer.
    pub fn look_first(&self) -> bool {
        // Where one of two is enough, Perl may take away what the rules alone would grant.
        let by_perl = self.runs_phases() && self.rules.satisfy_any && self.rules.require.is_some();
        by_perl || self.rules.look_first()
    }

    /// Perl handlers have a say in it.
    pub fn is_guarded_by_perl(&self) -> bool {
        let asks_user = (self.rules.require.as_ref()).is_some_and(|rule| rule.asks_user());
        PHASES
            .iter()
            .any(|phase| (asks_user || *phase == Phase::Access) && !self.perl.of(*phase).is_empty())
    }

    /// Whoever is let in here is let in there, and as the same user.
    pub fn guards_as(&self, other: &Settings) -> bool {
        let (rules, others) = (&self.rules, &other.rules);
        rules.require == others.require
            && rules.allow_deny == others.allow_deny
            && rules.satisfy_any == others.satisfy_any
            && rules.authentication == others.authentication
            && PHASES
                .iter()
                .all(|phase| self.perl.of(*phase) == other.perl.of(*phase))
    }
}
