//! Evaluates rules that depend on host names. A rule uses the known names, or says which name it
//! needs.

use mehari_config::{NameLookups, NameTest, Settings, Verdict};
use mehari_resolve::names::{Answer, Query};
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;

use crate::pipeline::rules::{Decision, Evaluation, Need};
use crate::request::rule_state::{ClientIdentity, RuleState};

/// The answers about names that rules have used, and the unknown name that a rule needs.
#[derive(Default)]
pub(super) struct NameUses {
    used: RefCell<Vec<(Query, Arc<Answer>)>>,
    missing: Cell<Option<Query>>,
    /// The result of a test by name if the resolver fails.
    assumed: bool,
    has_assumed: Cell<bool>,
}

/// A result of rules that may depend on names.
pub(super) trait Ruling {
    /// Whether the result depends on an unknown name.
    fn is_open(&self) -> bool;

    /// Returns the stricter of two results.
    fn stricter(self, other: Self) -> Self;
}

impl Ruling for Verdict {
    fn is_open(&self) -> bool {
        *self == Verdict::NeedsName
    }

    fn stricter(self, other: Verdict) -> Verdict {
        match other {
            Verdict::Denied | Verdict::Neutral => Verdict::Denied,
            _ => self,
        }
    }
}

impl Ruling for Option<bool> {
    fn is_open(&self) -> bool {
        self.is_none()
    }

    fn stricter(self, other: Option<bool>) -> Option<bool> {
        Some(self == Some(true) && other == Some(true))
    }
}

/// The results of requirements, two bits each ([`mehari_config::Requirement::encode_results`]).
impl Ruling for u64 {
    fn is_open(&self) -> bool {
        true
    }

    fn stricter(self, other: u64) -> u64 {
        const DENIED: u64 = 1;
        let pairs = (0..64)
            .step_by(2)
            .map(|at| match (self >> at & 3, other >> at & 3) {
                (one, same) if one == same => one << at,
                _ => DENIED << at,
            });
        pairs.fold(0, |all, pair| all | pair)
    }
}

/// Returns the result that rules have with the known names. The error is the name to look up first.
/// If the resolver has failed, the rules are evaluated for both possible results of a test, and the
/// stricter result counts.
pub(super) fn ruling<R: Ruling>(
    rule_state: &mut Option<Box<RuleState>>,
    ask: impl Fn(&Option<Box<RuleState>>, &NameUses) -> R,
) -> Result<R, Query> {
    let asked = NameUses::default();
    let ruling = ask(rule_state, &asked);
    if !asked.has_assumed.get() {
        return asked.settle(ruling, rule_state);
    }
    let otherwise = NameUses {
        assumed: true,
        ..NameUses::default()
    };
    let other = otherwise.settle(ask(rule_state, &otherwise), rule_state)?;
    Ok(asked.settle(ruling, rule_state)?.stricter(other))
}

impl NameUses {
    /// Notes the names that were used, for later evaluations and for programs. Returns the result,
    /// or the unknown name on which it depends.
    fn settle<R: Ruling>(
        &self,
        ruling: R,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<R, Query> {
        self.note(rule_state);
        match self.missing.take().filter(|_| ruling.is_open()) {
            Some(query) => Err(query),
            None => Ok(ruling),
        }
    }

    fn note(&self, rule_state: &mut Option<Box<RuleState>>) {
        for (query, answer) in self.used.take() {
            let state = rule_state.get_or_insert_with(Default::default);
            state.identity.learn(query, answer);
        }
    }
}

impl Evaluation<'_> {
    /// Returns the need for the name that `HostnameLookups` requires. `None`: no name is needed, or
    /// the answer is known.
    pub(in crate::pipeline) fn looks_up(
        &self,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let lookups = settings.rules.lookups;
        if lookups == NameLookups::Off {
            return None;
        }
        let asked = NameUses::default();
        let query = Query::NameOf(self.client()?);
        let identity = rule_state.as_ref().map(|state| &state.identity);
        let answer = self.answer(&query, identity, &asked);
        asked.note(rule_state);
        if let Some(state) = rule_state {
            state.identity.confirmed_only = lookups == NameLookups::Double;
        }
        match answer {
            None if self.may_wait => Some(Decision::Needs(Need::Resolve(query))),
            _ => None,
        }
    }

    /// Whether the client has this name. `None`: the name is not known yet.
    pub(super) fn is_named(
        &self,
        test: &NameTest,
        identity: Option<&ClientIdentity>,
        asked: &NameUses,
    ) -> Option<bool> {
        // A local socket has no name.
        let Some(client) = self.client() else {
            return Some(false);
        };
        let assumed = || {
            asked.has_assumed.set(true);
            asked.assumed
        };
        let NameTest::ForwardDns(names) = test else {
            let answer = self.answer(&Query::NameOf(client), identity, asked)?;
            return Some(match &*answer {
                Answer::Name(Some(name)) => name.is_confirmed && test.is_about(&name.text),
                Answer::Name(None) | Answer::Addresses(_) | Answer::Home(_) => false,
                Answer::Failed => assumed(),
            });
        };
        for name in names {
            let query = Query::AddressesOf(name.clone());
            let is_one = match &*self.answer(&query, identity, asked)? {
                Answer::Addresses(all) => all.contains(&client),
                Answer::Name(_) | Answer::Home(_) => false,
                Answer::Failed => assumed(),
            };
            if is_one {
                return Some(true);
            }
        }
        Some(false)
    }

    fn answer(
        &self,
        query: &Query,
        identity: Option<&ClientIdentity>,
        asked: &NameUses,
    ) -> Option<Arc<Answer>> {
        if let Some(answer) = identity.and_then(|identity| identity.learned(query)) {
            return Some(answer.clone());
        }
        let known = self.shared.lookups.names.known(query);
        match &known {
            Some(answer) => {
                let used = (query.clone(), answer.clone());
                asked.used.borrow_mut().push(used);
            }
            None => asked.missing.set(Some(query.clone())),
        }
        known
    }

    /// Returns the client's address. `None`: the client uses a local socket.
    pub(super) fn client(&self) -> Option<IpAddr> {
        let peer = self.request.peer;
        peer.server_ip?;
        peer.remote_addr.parse().ok()
    }
}
