//! What a rule wants to know of names: answered from what is known of them, or with the question to ask.

use mehari_config::{NameLookups, NameTest, Settings, Verdict};
use mehari_resolve::names::{Answer, Question};
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;

use super::{AccessPhase, Decision};
use crate::request::rule_state::RuleState;

/// Kept while rules are asked: what they used, and what they miss.
#[derive(Default)]
pub(super) struct Asked {
    used: RefCell<Vec<(Question, Arc<Answer>)>>,
    missing: Cell<Option<Question>>,
    /// What a test comes to whose question the resolver does not answer.
    assumed: bool,
    has_assumed: Cell<bool>,
}

/// What rules come to.
pub(super) trait Ruling {
    /// It depends on a name.
    fn is_open(&self) -> bool;

    /// The one of two that lets fewer in.
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

/// Verdicts of two bits each ([`mehari_config::Requirement::known`]).
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

/// What the rules come to as far as names are known, or what has to be asked first. Where the resolver fails, the
/// stricter of both ways it could have answered.
pub(super) fn ruling<R: Ruling>(
    rule_state: &mut Option<Box<RuleState>>,
    ask: impl Fn(&Option<Box<RuleState>>, &Asked) -> R,
) -> Result<R, Question> {
    let asked = Asked::default();
    let ruling = ask(rule_state, &asked);
    if !asked.has_assumed.get() {
        return asked.settle(ruling, rule_state);
    }
    let otherwise = Asked {
        assumed: true,
        ..Asked::default()
    };
    let other = otherwise.settle(ask(rule_state, &otherwise), rule_state)?;
    Ok(asked.settle(ruling, rule_state)?.stricter(other))
}

impl Asked {
    /// What was used is noted: all is asked again when more is known, and programs are told.
    fn settle<R: Ruling>(
        &self,
        ruling: R,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<R, Question> {
        self.note(rule_state);
        match self.missing.take().filter(|_| ruling.is_open()) {
            Some(question) => Err(question),
            None => Ok(ruling),
        }
    }

    fn note(&self, rule_state: &mut Option<Box<RuleState>>) {
        for (question, answer) in self.used.take() {
            let state = rule_state.get_or_insert_with(Default::default);
            state.learn(question, answer);
        }
    }
}

impl AccessPhase<'_> {
    /// `HostnameLookups`. `None`: the name is known, or is not to be had.
    pub(super) fn looks_up(
        &self,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let lookups = settings.rules.lookups;
        if lookups == NameLookups::Off {
            return None;
        }
        let asked = Asked::default();
        let question = Question::NameOf(self.client()?);
        let answer = self.answer(&question, rule_state, &asked);
        asked.note(rule_state);
        if let Some(state) = rule_state {
            state.confirmed_only = lookups == NameLookups::Double;
        }
        match answer {
            Some(_) => None,
            None => Some(Decision::Resolve(question)),
        }
    }

    /// `None`: nobody knows yet.
    pub(super) fn is_named(
        &self,
        test: &NameTest,
        rule_state: &Option<Box<RuleState>>,
        asked: &Asked,
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
            let answer = self.answer(&Question::NameOf(client), rule_state, asked)?;
            return Some(match &*answer {
                Answer::Name(Some(name)) => name.is_confirmed && test.is_about(&name.text),
                Answer::Name(None) | Answer::Addresses(_) | Answer::Home(_) => false,
                Answer::Failed => assumed(),
            });
        };
        for name in names {
            let question = Question::AddressesOf(name.clone());
            let is_one = match &*self.answer(&question, rule_state, asked)? {
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
        question: &Question,
        rule_state: &Option<Box<RuleState>>,
        asked: &Asked,
    ) -> Option<Arc<Answer>> {
        if let Some(answer) = rule_state
            .as_ref()
            .and_then(|state| state.learned(question))
        {
            return Some(answer.clone());
        }
        let known = self.shared.names.known(question);
        match &known {
            Some(answer) => {
                let used = (question.clone(), answer.clone());
                asked.used.borrow_mut().push(used);
            }
            None => asked.missing.set(Some(question.clone())),
        }
        known
    }

    /// `None`: a local socket.
    pub(super) fn client(&self) -> Option<IpAddr> {
        let peer = self.request.peer;
        peer.server_ip?;
        peer.remote_addr.parse().ok()
    }
}
