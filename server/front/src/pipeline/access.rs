//! The access stage: who may come (`Require`, `Allow` and `Deny`, `Satisfy`), and who the user is.

mod digest;
mod login;
mod names;

use crate::request::Request;
use crate::routing::Route;
use mehari_auth::passwords;
use mehari_config::{Phase, Settings, Verdict, Visitor};
use mehari_pool::Login;
use mehari_resolve::names::Query;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::rules::{Decision, Evaluation, Need};
use names::{ruling, Ruling};

use crate::request::rule_state::RuleState;
use crate::request::variables::ExpressionVariables;
pub use login::challenge;

fn resolve(query: Query) -> Decision {
    Decision::Needs(Need::Resolve(query))
}

impl Evaluation<'_> {
    /// Checks the access rules of every place on the way to the file. `None`: the request may
    /// continue.
    pub(super) fn check_access(
        &self,
        route: &Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        for settings in &route.intermediate_settings {
            // Perl's handlers would run only for the new place, and the new place has other
            // handlers or none.
            if settings.is_guarded_by_perl() || settings.has_other_parsers(&route.settings) {
                return Some(Decision::Status(Some(settings.clone()), 403));
            }
            if let Err(refusal) = self
                .allows_method(settings, rule_state)
                .and_then(|()| self.admits(route, settings, rule_state))
            {
                return Some(refusal);
            }
            if let Some(state) = rule_state {
                state.leave_place();
            }
        }
        // As in Apache, the page of a refusal is sent if it lies at the place that has refused.
        let mapping = rule_state.as_ref().map(|state| &state.mapping);
        if mapping.is_some_and(|mapping| mapping.is_page_of(&route.settings)) {
            return None;
        }
        let of_index = (rule_state.as_ref()).and_then(|state| state.mapping.index_of.as_ref());
        let is_other = of_index.is_some_and(|of| route.settings.are_checked_behind(&of.settings));
        // Perl's handlers run once, so they decide about the request itself and not about the
        // lookup.
        if (is_other || route.is_looked_up) && !route.settings.is_guarded_by_perl() {
            return self.as_lookup(|lookup| lookup.check_place(route, rule_state).err());
        }
        self.check_place(route, rule_state).err()
    }

    /// Checks the access rules of an index that has other settings than its folder.
    pub(super) fn refuses_index(
        &self,
        folder: &Route,
        route: &Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        if !route.settings.are_checked_behind(&folder.settings) {
            return None;
        }
        self.as_lookup(|lookup| lookup.check_place(route, rule_state).err())
    }

    /// Returns the refusal of a place whose Perl handlers do not take part in the decision. The
    /// rules of such a place must not lead to another place.
    pub(super) fn refuses_before_perl(
        &self,
        route: &Route,
        rule_state: &Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let settings = &route.settings;
        let is_decided_here = settings.runs_phases()
            && !settings.runs_before_admission()
            && settings.rules.denied() != Some(false);
        if !is_decided_here {
            return None;
        }
        let mut own = rule_state.clone();
        self.admits(route, settings, &mut own).err()
    }

    /// Calls `with` for the sub-request by which Apache looks an index or a fallback up. The method
    /// of a sub-request is GET.
    fn as_lookup<T>(&self, with: impl FnOnce(&Evaluation<'_>) -> T) -> T {
        let request = Request {
            method: b"GET",
            ..*self.request
        };
        with(&Evaluation {
            may_wait: self.may_wait,
            is_lookup: true,
            ..Evaluation::new(self.shared, &request, self.site)
        })
    }

    fn check_place(
        &self,
        route: &Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(), Decision> {
        let settings = &route.settings;
        self.allows_method(settings, rule_state)?;
        if settings.runs_phases() {
            self.prepare_worker_results(route, rule_state)
        } else {
            self.admits(route, settings, rule_state)
        }
    }

    /// Returns the method that access rules see. As in Apache, a handler may have set its number.
    fn method<'m>(&'m self, state: Option<&'m RuleState>) -> &'m [u8] {
        let state = state.filter(|_| !self.is_lookup);
        let numbered = state.and_then(|state| state.method.numbered.as_deref());
        numbered.unwrap_or(self.request.method)
    }

    /// Refuses a method that `AllowMethods` does not name.
    fn allows_method(
        &self,
        settings: &Arc<Settings>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(), Decision> {
        if settings.rules.allow_method(self.request.method) {
            return Ok(());
        }
        let methods = settings.rules.methods.iter().flatten();
        let methods: Vec<&str> = methods.map(String::as_str).collect();
        let line = format!("Allow: {}\r\n", methods.join(", "));
        let state = rule_state.get_or_insert_with(Default::default);
        state.say_once(line.as_bytes());
        Err(Decision::Status(Some(settings.clone()), 405))
    }

    /// Returns the values for access rules. As in Apache, an index, a fallback or a variant is
    /// checked with the path of the request, unless the sub-request for it is checked.
    fn variables_for_access<'f>(
        &'f self,
        route: &'f Route,
        settings: &'f Settings,
        seen: (Option<&'f RuleState>, Phase),
    ) -> ExpressionVariables<'f> {
        let mut variables = self.variables(route, settings, seen);
        if !self.is_lookup {
            variables.path = None;
        }
        variables
    }

    /// Evaluates `SSLRequire`, which counts like `Deny`.
    fn meets_tls_requirements(
        &self,
        route: &Route,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> bool {
        let seen = (rule_state.as_deref(), Phase::Access);
        let variables = self.variables_for_access(route, settings, seen);
        let mut requirements = settings.rules.tls_requirements.iter();
        let meets = requirements.all(|rule| rule.holds(&variables));
        let varying = variables.varying.into_inner();
        RuleState::note_varying(rule_state, varying);
        meets
    }

    /// Notes the front's results for a worker whose Perl handlers decide about access. `Err`:
    /// something must be found out first.
    pub(super) fn prepare_worker_results(
        &self,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(), Decision> {
        let settings = &route.settings;
        let requirement = settings.rules.require.as_ref();
        let is_refused = !self.allows(route, settings, rule_state)?;
        // As in Apache, the rules see the user only after authentication, even if the front has
        // checked a password already. A Perl handler of an earlier phase may have set a user.
        let state = rule_state.as_mut();
        let own = state.and_then(|state| state.identity.take_own_user());
        let known = self.requirement_results(route, Phase::Access, rule_state);
        if let (Some(own), Some(state)) = (own, rule_state.as_mut()) {
            state.identity.user = Some(own);
        }
        let known = known?;
        let login = if requirement.is_some_and(|requirement| requirement.asks_user()) {
            self.log_in(settings, rule_state)?.0
        } else {
            Login::Unasked
        };
        if !is_refused && known == 0 && login == Login::Unasked {
            return Ok(());
        }
        let state = rule_state.get_or_insert_with(Default::default);
        // Without a Perl handler that sets the user, the access log has no other source of the
        // name.
        if settings.perl.of(Phase::Authen).is_empty() {
            state.identity.note_user(settings, &login);
        }
        if login != Login::Unasked {
            let said = &settings.rules.authentication;
            state.access.challenge = challenge(self.shared, said, state.identity.stale).into();
        }
        state.access.status = if is_refused { 403 } else { 0 };
        state.access.known = known;
        state.access.login = login;
        Ok(())
    }

    /// Evaluates `Require` again for a worker that has authenticated the user.
    pub(super) fn evaluate_for_user(
        &self,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(), Decision> {
        let known = self.requirement_results(route, Phase::Authz, rule_state)?;
        let state = rule_state.get_or_insert_with(Default::default);
        state.access.known_for_user = known;
        Ok(())
    }

    /// Returns the results of `Require` for the worker.
    fn requirement_results(
        &self,
        route: &Route,
        phase: Phase,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<u64, Decision> {
        let settings = &route.settings;
        let Some(requirement) = &settings.rules.require else {
            return Ok(0);
        };
        let encode = |visitor: &Visitor<'_>| requirement.encode_results(visitor);
        self.visit(route, settings, rule_state, (None, phase), encode)
            .map_err(resolve)
    }

    /// Decides whether these settings admit the request, without Perl. `Err`: the refusal, or what
    /// must be found out first.
    pub(super) fn admits(
        &self,
        route: &Route,
        settings: &Arc<Settings>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<(), Decision> {
        let rules = &settings.rules;
        if let Some(state) = rule_state {
            state.identity.recall_user(settings);
        }
        let refused = |status| Err(Decision::Status(Some(settings.clone()), status));
        let satisfies_any = rules.satisfies_any(self.method(rule_state.as_deref()));
        match self.allows(route, settings, rule_state)? {
            true if satisfies_any => return Ok(()),
            false if !satisfies_any => return refused(403),
            _ => {}
        }
        match &rules.require {
            Some(_) => {}
            None if rules.authentication.kind.is_none() => return Ok(()),
            // A place with AuthType but without Require admits nobody.
            None => return refused(500),
        }
        // A request that needs no user is admitted without a check of its password.
        let user = rule_state
            .as_ref()
            .and_then(|state| state.identity.user.clone());
        let name = user.as_ref().map(|user| &*user.name);
        match self.verdict(route, settings, rule_state, name)? {
            Verdict::Granted | Verdict::Silent => return Ok(()),
            Verdict::NeedsUser => {}
            _ if user.is_some() && rules.asks_user() => return Err(self.lacks_right(settings)),
            _ => return refused(403),
        }
        let (login, line) = self.log_in(settings, rule_state)?;
        let name = match &login {
            Login::Known(name) => name,
            Login::Refused => return Err(self.challenge(settings)),
            // Without a user file no user can be authenticated. This is a fault of the
            // configuration, so the request is refused.
            _ => return refused(500),
        };
        let state = rule_state.get_or_insert_with(Default::default);
        state.identity.note_user(settings, &login);
        match self.verdict(route, settings, rule_state, Some(name))? {
            Verdict::Granted | Verdict::Silent => {
                let state = rule_state.as_mut().filter(|_| !line.is_empty());
                state.into_iter().for_each(|state| state.say_once(&line));
                Ok(())
            }
            _ => Err(self.lacks_right(settings)),
        }
    }

    /// Refuses an authenticated user who has not the right.
    fn lacks_right(&self, settings: &Arc<Settings>) -> Decision {
        if settings.rules.authentication.forbids_on_failure {
            Decision::Status(Some(settings.clone()), 403)
        } else {
            self.challenge(settings)
        }
    }

    /// Evaluates `Allow`, `Deny` and `SSLRequire`. Returns whether they admit the request.
    fn allows(
        &self,
        route: &Route,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<bool, Decision> {
        if !self.meets_tls_requirements(route, settings, rule_state) {
            return Ok(false);
        }
        let Some(rules) = &settings.rules.allow_deny else {
            return Ok(true);
        };
        let grants = |visitor: &Visitor<'_>| rules.grants(visitor);
        let allowed = self.visit(route, settings, rule_state, (None, Phase::Access), grants);
        allowed
            .map(|allowed| allowed == Some(true))
            .map_err(resolve)
    }

    fn challenge(&self, settings: &Arc<Settings>) -> Decision {
        Decision::Status(Some(settings.clone()), 401)
    }

    /// Evaluates `Require`. Without `Require` the verdict is `Silent`.
    fn verdict(
        &self,
        route: &Route,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
        user: Option<&[u8]>,
    ) -> Result<Verdict, Decision> {
        let requirement = settings.rules.require.as_ref();
        let seen = (user, Phase::Access);
        self.visit(route, settings, rule_state, seen, |visitor| {
            requirement.map_or(Verdict::Silent, |requirement| requirement.verdict(visitor))
        })
        .map_err(resolve)
    }

    /// Evaluates `what` for the request in a phase. The error is a name that must be looked up
    /// first.
    fn visit<R: Ruling>(
        &self,
        route: &Route,
        settings: &Settings,
        rule_state: &mut Option<Box<RuleState>>,
        (user, phase): (Option<&[u8]>, Phase),
        what: impl Fn(&Visitor<'_>) -> R,
    ) -> Result<R, Query> {
        let groups = settings.rules.authentication.group_file.as_deref();
        let varying = RefCell::new(Vec::new());
        let ruling = ruling(rule_state, |rule_state, asked| {
            let state = rule_state.as_deref();
            let variables = self.variables_for_access(route, settings, (state, phase));
            let result = what(&Visitor {
                address: self.client(),
                own_address: self.request.peer.server_ip,
                method: self.method(state),
                variables: &variables,
                has_variable: &|name| variables.environment(name).is_some(),
                user,
                is_member: &|user, group| {
                    groups.is_some_and(|file| passwords::is_member(file, user, group))
                },
                is_named: &|test| self.is_named(test, state.map(|state| &state.identity), asked),
            });
            varying.borrow_mut().append(&mut variables.varying.take());
            result
        });
        RuleState::note_varying(rule_state, varying.into_inner());
        ruling
    }
}
