//! Runs the fixup stage: the rules of the request's place, after access was granted. These are
//! `Redirect`, the `RewriteRule`s of a folder, the index, `Script`, and `RequestHeader`.

use super::rewrite::joined;
use super::rules::{Decision, Evaluation, RedirectTarget};
use crate::filters::header_rules;
use crate::request::rule_state::{RuleState, User};
use crate::request::{hop, Fields};
use crate::routing::{Route, RouteOutcome};
use mehari_config::{Phase, PlaceRules, Settings};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_observe::Lookup;
use mehari_pool::{Login, Named};
use mehari_text::percent;
use std::rc::Rc;
use std::sync::Arc;

impl Evaluation<'_> {
    /// Notes the place of a request, if the worker asks for rules of this place. Returns whether
    /// the worker asks for the rules of the fixup stage.
    pub(super) fn note_place(
        &self,
        route: &Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> bool {
        let left = route.settings.left_rules();
        let is_left = left.fixups && !matches!(route.outcome, RouteOutcome::Indexed);
        let is_place_left = left.place != PlaceRules::Settled;
        if is_left || is_place_left || left.variables || left.decides_access() {
            rule_state.get_or_insert_with(Default::default).place = Some(route.clone());
        }
        is_left
    }

    pub(super) fn fix_up(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        let settings = route.settings.clone();
        let path = Path::decode_as(self.request.path(), self.host.mapping.encoded_slashes())?;
        let is_left = self.note_place(&route, rule_state);
        match self.leads_before_perl(&route, &path, rule_state)? {
            Some(need @ Decision::Needs(_)) => return Ok(need),
            // The worker asks for the rules after its handlers.
            Some(_) => {
                rule_state.get_or_insert_with(Default::default).place = Some(route.clone());
                return Ok(Decision::To(route));
            }
            None => {}
        }
        let route = if is_left {
            route
        } else {
            match self.apply_to_place(route, &path, rule_state)? {
                Ok(route) => route,
                Err(decision) => return Ok(decision),
            }
        };
        if let RouteOutcome::Indexed = route.outcome {
            let decision = self.to_index(route, rule_state)?;
            let noted = rule_state.as_mut().filter(|state| state.place.is_some());
            if let (Decision::To(place), Some(state)) = (&decision, noted) {
                state.place = Some(place.clone());
            }
            return Ok(decision);
        }
        if let Some(decision) = self.correct_spelling(&route, &path, rule_state) {
            return Ok(decision);
        }
        if let Some(decision) = self.to_method_program(&route, &path, rule_state)? {
            return Ok(decision);
        }
        self.name_tls_user(&settings, rule_state);
        if !is_left {
            self.change_fields(&route, rule_state);
        }
        Ok(Decision::To(route))
    }

    /// Returns where the rules of a folder with an index would lead, although a worker has not yet
    /// decided about access to the folder.
    pub(super) fn leads_before_perl(
        &self,
        route: &Rc<Route>,
        path: &Path,
        rule_state: &Option<Box<RuleState>>,
    ) -> Result<Option<Decision>, Problem> {
        let is_index = matches!(route.outcome, RouteOutcome::Indexed);
        let settings = &route.settings;
        if !is_index || !settings.left_rules().fixups || !settings.is_decided_after_perl() {
            return Ok(None);
        }
        let mut own = rule_state.clone();
        Ok(self.apply_to_place(route.clone(), path, &mut own)?.err())
    }

    /// Applies the rules that `fix_up` has left for after Perl's handlers.
    pub(super) fn fix_up_after_handlers(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        let path = Path::decode_as(self.request.path(), self.host.mapping.encoded_slashes())?;
        Ok(
            match self.apply_to_place(route.clone(), &path, rule_state)? {
                Ok(route) => {
                    self.change_fields(&route, rule_state);
                    Decision::To(route)
                }
                Err(decision) => {
                    // Like in Apache, the next resource gets the fields as this place changes them.
                    if matches!(&decision, Decision::Led(to) if !to.in_place) {
                        self.change_fields(&route, rule_state);
                    }
                    decision
                }
            },
        )
    }

    /// Applies `Redirect` and the `RewriteRule`s of the place. Returns the route with everything
    /// that the rules have forced on the request, or their decision.
    pub(super) fn apply_to_place(
        &self,
        route: Rc<Route>,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Result<Rc<Route>, Decision>, Problem> {
        let settings = route.settings.clone();
        if settings.rules.redirect.is_some() {
            let mut variables =
                self.variables(&route, &settings, (rule_state.as_deref(), Phase::Fixup));
            // As in Apache, the path is redirected before it leads to an index or a fallback.
            variables.path = None;
            if let Some(decision) = self.redirect_place(&settings, &variables) {
                return Ok(Err(decision));
            }
        }
        let redirects = &settings.rules.redirects;
        if let Some(decision) = self.redirect(redirects, &path.merged, &settings) {
            return Ok(Err(decision));
        }
        let forced = |rule_state: &Option<Box<RuleState>>| {
            rule_state
                .as_ref()
                .map_or(0, |state| state.mapping.forced.len())
        };
        let before = forced(rule_state);
        if let Some(decision) = self.rewrite_in_folder(&route, path, rule_state) {
            return Ok(Err(decision));
        }
        Ok(Ok(if forced(rule_state) > before {
            self.route_at_place(&route, rule_state)?
        } else {
            route
        }))
    }

    /// Leads the request to the program that `Script` names for its method, if no other program
    /// answers at its place (Apache's mod_actions). `None`: the request continues.
    pub(super) fn to_method_program(
        &self,
        route: &Route,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Option<Decision>, Problem> {
        let Some(program) = self.method_program(route) else {
            return Ok(None);
        };
        let resource = match &route.script_name[..] {
            b"" => path.merged.clone(),
            script_name => [script_name, &route.path_info].concat(),
        };
        if resource.starts_with(program.as_bytes()) {
            return Ok(None);
        }
        let acting = [program.as_bytes(), &resource].concat();
        let acting = percent::encode_path(&acting);
        let target = joined(self.request, &acting, self.request.query());
        let settings = &route.settings;
        if settings.is_decided_after_perl() {
            let acts_as_guarded = |evaluation: &Evaluation<'_>, state: &mut _| {
                let acting = evaluation.find_route(state)?;
                Ok(settings.guards_as(&acting.settings))
            };
            // Perl's handlers of this place would not run for the program.
            if !self.at_variant(target.clone(), None, rule_state, acts_as_guarded)? {
                return Ok(Some(Decision::Status(Some(settings.clone()), 403)));
            }
        }
        Ok(Some(Decision::Led(RedirectTarget {
            target,
            in_place: false,
            left: Some(percent::encode_path(&resource)),
        })))
    }

    /// Returns the URL path of the program for the request's method at the place of `route`.
    fn method_program<'r>(&self, route: &'r Route) -> Option<&'r str> {
        let is_left = match &route.outcome {
            RouteOutcome::File(_) => true,
            RouteOutcome::Refused(problem) => problem.status == 404,
            _ => false,
        };
        if !is_left || self.request.error().is_some() {
            return None;
        }
        let method = match self.request.method {
            b"HEAD" => b"GET",
            method => method,
        };
        let mut scripts = route.settings.media.scripts.iter();
        let (_, program) = scripts.find(|(known, _)| known.as_bytes() == method)?;
        (method != b"GET" || self.request.has_query()).then_some(program)
    }

    /// Notes the user whom `SSLUserName` takes from the TLS connection. Apache does so in this
    /// phase, after `Require`.
    fn name_tls_user(&self, settings: &Arc<Settings>, rule_state: &mut Option<Box<RuleState>>) {
        let (Some(name), Some(session)) = (&settings.tls.user_name, &self.request.peer.tls) else {
            return;
        };
        if let Some(user) = session.value(name).filter(|user| !user.is_empty()) {
            let state = rule_state.get_or_insert_with(Default::default);
            let named = Named {
                name: user.as_bytes().to_vec(),
                kind: b"ClientCert".to_vec(),
            };
            state.identity.user = Some(User::named(named, settings));
            if settings.runs_phases() && state.access.login == Login::Unasked {
                state.access.login = Login::Named(user.as_bytes().into());
            }
        }
    }

    /// Applies `RequestHeader` to the request's fields.
    pub(super) fn change_fields(&self, route: &Route, rule_state: &mut Option<Box<RuleState>>) {
        let rules = &route.settings.rules.request_headers;
        if rules.is_empty() {
            return;
        }
        let kept = hop::without_named(self.request.fields);
        let own = kept.as_deref().map_or(self.request.fields, Fields::List);
        let mut fields = own.to_owned();
        let state = rule_state.clone();
        let seen = (state.as_deref(), Phase::Fixup);
        let mut variables = self.variables(route, &route.settings, seen);
        variables.set_env = &route.settings.programs.set_env;
        header_rules::change_request(rules, &mut fields, &variables);
        let varying = variables.varying.into_inner();
        RuleState::note_varying(rule_state, varying);
        rule_state.get_or_insert_with(Default::default).fields = Some(fields);
    }
}
