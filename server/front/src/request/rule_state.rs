//! Holds the results of rules for one request. A request that no rule concerns has no `RuleState`.
//!
//! The access phase and logs use `identity`. A worker that decides about access gets `access`. The
//! router uses `mapping`.

mod identity;
mod mapping;

pub use identity::{Checked, ClientIdentity, User};
pub use mapping::{
    AliasedFile, Destination, IndexedFolder, Likeness, MappingState, SimilarName, SimilarNames,
};

use crate::request::{Fields, Redirect};
use mehari_pool::{Login, MethodChanges, RequestChanges};
use std::any::Any;
use std::rc::Rc;

#[derive(Debug, Default, Clone)]
pub struct RuleState {
    /// Variables of `SetEnvIf`, `RewriteRule [E=]` and the like. The last value of a name counts.
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// The variables of the request within which a worker makes this request. Rules see them, and
    /// the worker itself hands them on to programs.
    pub inherited: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of variables that Perl's handlers have taken out, for logs.
    pub removed: Vec<Vec<u8>>,
    /// The variables that the Perl handlers of the response have changed. Unlike other variables,
    /// they replace those of `SetEnv` at the place.
    pub told: Vec<(Vec<u8>, Vec<u8>)>,
    /// The request's fields after `RequestHeader`.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// The query that Perl's handlers have set.
    pub query: Option<Vec<u8>>,
    /// The method that Perl's handlers have set.
    pub method: MethodChanges,
    /// Header lines that rules add to every response, such as cookies.
    pub lines: Vec<u8>,
    /// The fields of the request that conditions have read. Vary names them.
    pub varying: Vec<String>,
    /// Whether a `RewriteRule [END]` has ended all rewriting.
    pub ended: bool,
    /// Answers of `RewriteMap` programs: map, key and value.
    pub looked_up: Vec<LookedUp>,
    /// Whether a page with server-side includes requests this path as a part.
    pub is_within: bool,
    /// The route of the request (a `routing::Route`, which this module does not know), if rules of
    /// its place are left for after Perl's handlers.
    pub place: Option<Rc<dyn Any>>,
    /// What the rules of each stage have changed, if the stage is evaluated again after Perl's
    /// handlers.
    pub stages: [Vec<StageVariable>; 3],
    /// The beginning of the server's rules, if they are evaluated again after Perl's handlers.
    pub beginning: Option<Beginning>,
    pub identity: ClientIdentity,
    pub access: AccessFindings,
    pub mapping: MappingState,
    pub edge: ScriptState,
}

#[derive(Debug, Clone)]
pub struct LookedUp {
    pub map: String,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// The results of the front's access phase, for a worker that decides about access.
#[derive(Debug, Default, Clone)]
pub struct AccessFindings {
    /// The status of the front's refusal. 0: no refusal.
    pub status: u16,
    /// The results of the requirements that need no user, two bits each
    /// (`mehari_config::Requirement::encode_results`).
    pub known: u64,
    /// The same results after a Perl handler has set the user.
    pub known_for_user: u64,
    /// The user, unless a Perl handler sets another user.
    pub login: Login,
    /// The header lines that request authentication.
    pub challenge: Vec<u8>,
}

/// What edge scripts have set. A file that a script sets is in `MappingState`.
#[derive(Debug, Default, Clone)]
pub struct ScriptState {
    /// Fields that replace those of the response.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether the scripts have seen the head of the response.
    pub responded: bool,
}

/// A stage of the rules that Perl's handlers may come before, in the order of evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The server's `SetEnvIf`.
    Server,
    /// The server's `RewriteRule` and `Redirect`.
    Translation,
    /// The variables of the place, and `<If>`.
    Place,
}

/// The redirect of the request when the server's rules began.
#[derive(Debug, Clone)]
pub struct Beginning(pub Option<Redirect>);

/// A variable that a rule of a stage has changed: its name, its value, and its value before.
pub type StageVariable = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

impl RuleState {
    pub fn set(&mut self, name: &[u8], value: Vec<u8>) {
        self.unset(name);
        self.removed.retain(|known| known != name);
        self.variables.push((name.to_vec(), value));
    }

    pub fn unset(&mut self, name: &[u8]) {
        self.variables.retain(|(known, _)| known != name);
        self.inherited.retain(|(known, _)| known != name);
    }

    pub fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        let mut known = self.variables.iter().rev().chain(&self.inherited);
        known
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_slice())
    }

    /// Returns the request's fields, if rules or handlers have changed them.
    pub fn changed_fields(&self) -> Option<Fields<'_>> {
        self.fields.as_deref().map(Fields::Owned)
    }

    /// Whether Perl handlers have given or removed the variable, so the value of `SetEnv` does not
    /// count.
    pub fn is_told(&self, name: &[u8]) -> bool {
        self.told.iter().any(|(known, _)| known == name)
            || self.removed.iter().any(|known| known == name)
    }

    /// Whether rules have noted anything.
    pub fn has_notes(&self) -> bool {
        !self.variables.is_empty()
            || !self.lines.is_empty()
            || !self.varying.is_empty()
            || !self.mapping.forced.is_empty()
            || self.ended
    }

    /// Notes what Perl's handlers have changed in the request. Every later reader sees the changes.
    pub fn restate(&mut self, changes: RequestChanges) {
        self.fields = changes.fields.or(self.fields.take());
        self.query = changes.query.or(self.query.take());
        self.method.name = changes.method.name.or(self.method.name.take());
        self.method.numbered = changes.method.numbered.or(self.method.numbered.take());
        for name in &changes.removed {
            self.unset(name);
        }
        for (name, value) in changes.variables {
            self.set(&name, value);
        }
        if !changes.removed.is_empty() {
            self.removed = changes.removed;
        }
    }

    /// Drops what was granted in the earlier place, because the request moves to another place.
    pub fn leave_place(&mut self) {
        self.identity.leave_place();
        self.access = AccessFindings::default();
        self.place = None;
        self.stages[Stage::Place as usize].clear();
        self.mapping.fetched = false;
    }

    /// Drops the earlier results, because the request moves to another resource.
    pub fn leave_resource(&mut self) {
        self.leave_place();
        self.mapping.leave_resource();
        self.stages = Default::default();
        self.beginning = None;
        self.query = None;
        self.method = MethodChanges::default();
    }

    /// Takes back what the rules have found out about the request from a stage on, because they are
    /// evaluated again. What the handlers have changed stays.
    pub fn take_back_from(&mut self, stage: Stage) {
        for later in [Stage::Place, Stage::Translation, Stage::Server] {
            if later >= stage {
                self.take_back(later);
            }
        }
        let user = self.identity.user.take();
        self.leave_place();
        self.identity.user = user;
        if stage <= Stage::Translation {
            self.mapping.leave_resource();
            self.ended = false;
        }
    }

    /// Begins again for another resource, for which all rules run anew. `by` is the earlier
    /// redirect.
    pub fn restart_rules(&mut self, by: Option<&Redirect>) {
        self.leave_resource();
        self.redirected();
        if let Some(before) = by.filter(|redirect| redirect.from.is_some()) {
            self.set(
                b"REDIRECT_REDIRECT_STATUS",
                before.status.to_string().into(),
            );
        }
    }

    /// Replaces the challenge of an earlier refusal of the same request, such as that of a page
    /// whose error page is refused too.
    pub fn challenge_anew(&mut self, lines: &[u8]) {
        const NAME: &[u8] = b"www-authenticate:";
        let is_other = |line: &&[u8]| {
            let name = line.get(..NAME.len());
            !name.is_some_and(|name| name.eq_ignore_ascii_case(NAME))
        };
        let said = self.lines.split_inclusive(|byte| *byte == b'\n');
        let mut all = said.filter(is_other).collect::<Vec<_>>().concat();
        all.extend_from_slice(lines);
        self.lines = all;
    }

    pub fn say_once(&mut self, line: &[u8]) {
        if memchr::memmem::find(&self.lines, line).is_none() {
            self.lines.extend_from_slice(line);
        }
    }

    /// Notes which variables a stage has changed. `before`: the variables before the stage.
    pub fn note_stage(&mut self, stage: Stage, before: &[(Vec<u8>, Vec<u8>)]) {
        let value = |all: &[(Vec<u8>, Vec<u8>)], name: &[u8]| {
            let found = all.iter().rev().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let names = before.iter().chain(&self.variables).map(|(name, _)| name);
        let mut changed: Vec<StageVariable> = Vec::new();
        for name in names {
            let (now, then) = (value(&self.variables, name), value(before, name));
            if now != then && !changed.iter().any(|(known, ..)| known == name) {
                changed.push((name.clone(), now, then));
            }
        }
        self.stages[stage as usize] = changed;
    }

    /// Takes back what the rules of a stage have changed, unless Perl's handlers have changed the
    /// same variable.
    pub fn take_back(&mut self, stage: Stage) {
        for (name, now, then) in std::mem::take(&mut self.stages[stage as usize]) {
            if self.variable(&name) != now.as_deref() {
                continue;
            }
            match then {
                Some(then) => self.set(&name, then),
                None => self.unset(&name),
            }
        }
    }

    /// Notes that the response depends on this field of the request.
    pub fn vary(&mut self, field: &str) {
        let is = |known: &String| known.eq_ignore_ascii_case(field);
        if !self.varying.iter().any(is) {
            self.varying.push(field.to_string());
        }
    }

    /// Notes the fields that conditions have read.
    pub fn note_varying(rule_state: &mut Option<Box<RuleState>>, fields: Vec<String>) {
        for field in fields {
            rule_state.get_or_insert_with(Default::default).vary(&field);
        }
    }

    /// Returns a `RewriteMap` program's answer for a key, if the program was asked.
    pub fn looked_up(&self, map: &str, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        let mut known = self.looked_up.iter();
        known
            .find(|known| known.map == map && known.key == key)
            .map(|known| &known.value)
    }

    /// Renames the variables as Apache does for an internal redirect.
    fn redirected(&mut self) {
        for (name, _) in &mut self.variables {
            name.splice(..0, b"REDIRECT_".iter().copied());
        }
    }
}
