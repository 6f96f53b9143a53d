//! Decides whether settings admit every request, and compares the access rules of two settings.

use crate::{Phase, Settings};

/// The phases in which Perl decides about access.
const PHASES: [Phase; 3] = [Phase::Access, Phase::Authen, Phase::Authz];

impl Settings {
    /// Tells whether access with these settings depends on the request.
    pub fn is_guarded(&self) -> bool {
        self.rules.denied().is_none()
            || self.rules.methods.is_some()
            || !self.rules.tls_requirements.is_empty()
            || self.has_perl_checks()
    }

    /// Tells whether conditions of an `<If>` decide about these settings.
    pub fn is_undecided(&self) -> bool {
        !self.rules.conditionals.is_empty()
    }

    /// Tells whether a request must be checked before its handler runs.
    pub fn is_checked_first(&self) -> bool {
        // With `Satisfy Any` Perl may refuse a request that the rules alone would admit.
        let by_perl =
            self.runs_phases() && self.rules.may_satisfy_any() && self.rules.require.is_some();
        by_perl
            || self.tls.user_name.is_some()
            || self.files.spelling.checked
            || !self.media.scripts.is_empty()
            || self.refuses_rewriting()
            || self.rules.is_checked_first()
    }

    /// Tells whether every request is refused because `RewriteEngine` is on in a section or
    /// .htaccess file and no symbolic link is followed. As in Apache, rewriting needs `Options
    /// FollowSymLinks` or `SymLinksIfOwnerMatch`.
    pub fn refuses_rewriting(&self) -> bool {
        let rewriting = &self.rules.rewriting;
        rewriting.is_configured && rewriting.engine == Some(true) && self.files.links.are_refused()
    }

    /// Tells whether Perl handlers decide about access.
    pub fn is_guarded_by_perl(&self) -> bool {
        let asks_user = (self.rules.require.as_ref()).is_some_and(|rule| rule.asks_user());
        PHASES
            .iter()
            .any(|phase| (asks_user || *phase == Phase::Access) && !self.perl.of(*phase).is_empty())
    }

    /// Tells whether Perl handlers of this place may refuse a request.
    pub fn has_perl_checks(&self) -> bool {
        self.is_guarded_by_perl() || !self.perl.of(Phase::HeaderParser).is_empty()
    }

    /// Tells whether a worker decides about access, after Perl handlers that run before.
    pub fn is_decided_after_perl(&self) -> bool {
        self.is_guarded_by_perl() || (self.runs_before_admission() && self.is_guarded())
    }

    /// Tells whether these settings have early handlers that `other` has not. Such handlers may
    /// refuse a request too.
    pub fn has_other_parsers(&self, other: &Settings) -> bool {
        let (own, others) = (&self.perl, &other.perl);
        let own = own.of(Phase::HeaderParser);
        !own.is_empty() && own != others.of(Phase::HeaderParser)
    }

    /// Tells whether access to an index or a fallback with these settings is checked although the
    /// place that leads to it, with the settings `from`, has admitted the request. As in Apache, it
    /// is checked as for a sub-request.
    pub fn are_checked_behind(&self, from: &Settings) -> bool {
        self.rules.is_of_path || self.id != from.id
    }

    /// Tells whether `other` admits every client that these settings admit, as the same user.
    pub fn guards_as(&self, other: &Settings) -> bool {
        let (rules, others) = (&self.rules, &other.rules);
        rules.require == others.require
            && rules.allow_deny == others.allow_deny
            && rules.methods == others.methods
            && rules.tls_requirements == others.tls_requirements
            && rules.authentication == others.authentication
            && !self.has_other_parsers(other)
            && !other.has_other_parsers(self)
            && PHASES
                .iter()
                .all(|phase| self.perl.of(*phase) == other.perl.of(*phase))
    }
}
