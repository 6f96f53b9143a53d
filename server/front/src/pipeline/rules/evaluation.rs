//! Evaluates the rules for a request once: runs one stage after another.
//!
//! An evaluation cannot wait. `rules::apply` evaluates the requests of clients. `within`
//! evaluates the paths about which a worker asks.

use super::Decision;
use crate::pipeline::negotiate::Negotiated;
use crate::pipeline::rewrite::joined;
use crate::request::rule_state::{Destination, RuleState, Stage};
use crate::request::variables::ExpressionVariables;
use crate::request::{query_of, Request};
use crate::routing::{Route, RouteOutcome};
use crate::shared::Shared;
use mehari_config::{Host, Phase, PlaceRules, Settings, Site};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use std::rc::Rc;

/// A request whose rules are evaluated. Each stage adds its functions.
pub struct Evaluation<'a> {
    pub shared: &'a Shared,
    pub request: &'a Request<'a>,
    pub site: &'a Site,
    pub host: &'a Host,
    /// Whether the request may wait for a name or a password. A question of a worker cannot wait.
    pub may_wait: bool,
    /// Whether this is the sub-request by which Apache looks an index or a fallback up.
    pub is_lookup: bool,
}

/// Evaluates the rules once, from a stage on.
pub fn evaluate(
    shared: &Shared,
    request: &Request<'_>,
    rule_state: &mut Option<Box<RuleState>>,
    from: Stage,
) -> Result<Decision, Problem> {
    let site = shared.site();
    let evaluation = Evaluation::new(shared, request, &site);
    if from != Stage::Place && !evaluation.host.rules.is_empty() {
        let decision = evaluation.rewrite(rule_state, from)?;
        request.mark("rewrite");
        if let Some(decision) = decision {
            return Ok(decision);
        }
    }
    let route = match evaluation.route(rule_state)? {
        Ok(route) => route,
        Err(need) => return Ok(Decision::Needs(need)),
    };
    request.mark("route");
    let is_negotiated = matches!(
        route.outcome,
        RouteOutcome::Negotiated(_) | RouteOutcome::Indexed
    );
    let settings = &route.settings;
    let is_checked = settings.is_checked_first()
        || settings.left_rules().place != PlaceRules::Settled
        || !route.intermediate_settings.is_empty()
        || route.led_query().is_some();
    if !is_checked && !is_negotiated {
        return Ok(Decision::To(route));
    }
    evaluation.at_place(route, rule_state)
}

/// Finds the route of a request again after the access phase.
pub fn route_again(shared: &Shared, request: &Request<'_>) -> Result<Rc<Route>, Problem> {
    if let Some(place) = request.rule_state.and_then(super::noted_place) {
        return Ok(place);
    }
    let site = shared.site();
    let mut rule_state = request.rule_state.cloned().map(Box::new);
    let evaluation = Evaluation::new(shared, request, &site);
    let route = evaluation.find_route(&rule_state)?;
    let route = evaluation.settle(route, &mut rule_state)?;
    let route = evaluation.at_index(route, &mut rule_state)?;
    match evaluation.negotiate(&route, &mut rule_state) {
        Negotiated::At(target, file) => {
            evaluation.at_variant(target, file, &mut rule_state, |evaluation, rule_state| {
                let route = evaluation.find_route(rule_state)?;
                evaluation.settle(route, rule_state)
            })
        }
        _ => Ok(route),
    }
}

impl<'a> Evaluation<'a> {
    pub(in crate::pipeline) fn new(
        shared: &'a Shared,
        request: &'a Request<'a>,
        site: &'a Site,
    ) -> Evaluation<'a> {
        Evaluation {
            shared,
            request,
            site,
            host: site.host(request.virtual_host),
            may_wait: true,
            is_lookup: false,
        }
    }
}

impl Evaluation<'_> {
    /// Evaluates the rules of the place to which the route leads.
    fn at_place(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        // The client's name comes first, because variables may contain it.
        if let Some(need) = self.looks_up(&route.settings, rule_state) {
            return Ok(need);
        }
        let route = self.settle(route, rule_state)?;
        self.request.mark("variables");
        let refusal = self.check_access(&route, rule_state);
        self.request.mark("access");
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
        match self.refuses_before_perl(&route, rule_state) {
            Some(need @ Decision::Needs(_)) => return Ok(need),
            // The worker refuses the request, and then runs the handlers of refused requests.
            Some(_) => {
                self.note_place(&route, rule_state);
                return Ok(Decision::To(route));
            }
            None => {}
        }
        let negotiated = self.negotiate(&route, rule_state);
        self.request.mark("negotiate");
        match negotiated {
            Negotiated::Here | Negotiated::Nothing(_) => {
                let decision = self.fix_up(route, rule_state);
                self.request.mark("fixups");
                decision
            }
            Negotiated::Waits(need) => Ok(Decision::Needs(need)),
            Negotiated::To(target) => Ok(Decision::Led(target)),
            Negotiated::Endless => Ok(Decision::Status(Some(route.settings.clone()), 506)),
            Negotiated::At(target, file) => self.at_variant(
                target,
                file,
                rule_state,
                |evaluation, rule_state| match evaluation.route(rule_state)? {
                    Ok(variant) if leaves_guard(&route.settings, &variant, rule_state) => {
                        Ok(Decision::Status(Some(route.settings.clone()), 403))
                    }
                    Ok(variant) => evaluation.at_place(variant, rule_state),
                    Err(need) => Ok(Decision::Needs(need)),
                },
            ),
        }
    }

    /// Calls `with` for the same request with the target of a variant, and with the variant's file
    /// if a rule has mapped the path.
    pub(in crate::pipeline) fn at_variant<T>(
        &self,
        target: Vec<u8>,
        file: Option<Vec<u8>>,
        rule_state: &mut Option<Box<RuleState>>,
        with: impl FnOnce(&Evaluation<'_>, &mut Option<Box<RuleState>>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if let (Some(file), Some(state)) = (file, rule_state.as_deref_mut()) {
            state.mapping.destination = Some(Destination::File(file));
        }
        let request = Request {
            resource: &target,
            ..*self.request
        };
        let evaluation = Evaluation {
            may_wait: self.may_wait,
            ..Evaluation::new(self.shared, &request, self.site)
        };
        with(&evaluation, rule_state)
    }

    /// Sets the variables of the route's place. Returns the route with the settings that hold for
    /// this request (`<If>`).
    pub(in crate::pipeline) fn settle(
        &self,
        mut route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        if let Some(own) = route.led_query() {
            let query = joined(self.request, own, query_of(self.request.resource));
            rule_state.get_or_insert_with(Default::default).query = Some(query);
        }
        let settings = route.settings.clone();
        let left = settings.left_rules();
        let is_left = left.variables || left.place != PlaceRules::Settled;
        let before = is_left.then(|| variables_of(rule_state));
        self.set_place_variables(&settings, &route, rule_state);
        if route.is_undecided() {
            route = self.route_at_place(&route, rule_state)?;
            self.set_place_variables(&route.settings.clone(), &route, rule_state);
        }
        if let (Some(before), Some(state)) = (before, rule_state) {
            state.note_stage(Stage::Place, &before);
        }
        Ok(route)
    }

    /// Returns the values for expressions at the place of a route, in a phase before the response.
    pub fn variables<'f>(
        &'f self,
        route: &'f Route,
        settings: &'f Settings,
        (state, phase): (Option<&'f RuleState>, Phase),
    ) -> ExpressionVariables<'f> {
        let mut variables =
            ExpressionVariables::new(self.request, self.host, state, &self.shared.lookups.maps);
        // An intermediate place, such as the folder of an index, has the request's own path.
        let is_final = std::ptr::eq(settings, &*route.settings);
        variables.path = route.led_path().filter(|_| is_final);
        variables.file = &route.file;
        variables.path_info = &route.path_info;
        variables.perl_env = self.host.perl_env(settings, phase);
        variables
    }

    pub(super) fn set_place_variables(
        &self,
        settings: &Settings,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) {
        let encoded_slashes = self.host.mapping.encoded_slashes();
        if let (false, Ok(path)) = (
            settings.rules.named_groups.is_empty(),
            Path::decode_as(self.request.path(), encoded_slashes),
        ) {
            self.set_groups(settings, &path, Some(&route.file), rule_state);
        }
        // As in Apache, sub-requests have no header parser phase.
        if !rule_state.as_ref().is_some_and(|state| state.is_within) {
            self.set_variables(&settings.rules.variables, Some(route), rule_state);
        }
    }
}

/// Returns a copy of the variables that rules have set.
pub(in crate::pipeline) fn variables_of(
    rule_state: &Option<Box<RuleState>>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let state = rule_state.as_ref();
    state.map_or_else(Vec::new, |state| state.variables.clone())
}

/// Moves the request from a negotiated place to its variant. Returns true if a worker decides about
/// access to the place and would not decide for the variant, so the request is refused.
pub(super) fn leaves_guard(
    from: &Settings,
    variant: &Route,
    rule_state: &mut Option<Box<RuleState>>,
) -> bool {
    if from.guards_as(&variant.settings) {
        return false;
    }
    if let Some(state) = rule_state {
        let fetched = state.mapping.fetched;
        state.leave_place();
        // The variant's metadata has been read for this evaluation.
        state.mapping.fetched = fetched;
    }
    from.is_decided_after_perl()
}
