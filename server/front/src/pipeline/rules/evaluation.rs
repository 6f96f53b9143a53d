//! One evaluation of the rules for a request: which stage follows which.
//!
//! An evaluation cannot wait. `rules::apply` evaluates a client's requests, `declined` and
//! `subrequest` those that a worker asks about.

use super::{Decision, Need, UncheckedPassword};
use crate::request::rule_state::{Checked, RuleState};
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{Host, Settings, Site};
use mehari_http::problem::Problem;
use std::rc::Rc;

/// A request whose rules are evaluated. Each stage adds its functions.
pub struct Evaluation<'a> {
    pub shared: &'a Shared,
    pub request: &'a Request<'a>,
    pub site: &'a Site,
    pub host: &'a Host,
}

/// Evaluates the rules once.
pub fn evaluate(
    shared: &Shared,
    request: &Request<'_>,
    rule_state: &mut Option<Box<RuleState>>,
) -> Result<Decision, Problem> {
    let site = shared.site();
    let evaluation = Evaluation::new(shared, request, &site);
    if !evaluation.host.rules.is_empty() {
        if let Some(decision) = evaluation.rewrite(rule_state)? {
            return Ok(decision);
        }
    }
    let route = match evaluation.route(rule_state)? {
        Ok(route) => route,
        Err(need) => return Ok(Decision::Needs(need)),
    };
    if !route.settings.is_checked_first() && route.intermediate_settings.is_empty() {
        return Ok(Decision::To(route));
    }
    evaluation.at_place(route, rule_state)
}

/// Finds the route of a request again after the access phase.
pub fn route_again(shared: &Shared, request: &Request<'_>) -> Result<Rc<Route>, Problem> {
    let site = shared.site();
    let mut rule_state = request.rule_state.cloned().map(Box::new);
    let evaluation = Evaluation::new(shared, request, &site);
    let route = evaluation.find_route(&rule_state)?;
    evaluation.settle(route, &mut rule_state)
}

/// Evaluates the rules for a request that a worker makes within another request. The evaluation
/// cannot wait, so a password that was not checked recently counts as wrong. Returns the route and
/// its status: 0, or the status of the refusal.
pub fn evaluate_subrequest(
    shared: &Shared,
    request: &Request<'_>,
    route: Rc<Route>,
    rule_state: &mut Option<Box<RuleState>>,
) -> Result<(Rc<Route>, u16), Problem> {
    let site = shared.site();
    let evaluation = Evaluation::new(shared, request, &site);
    evaluation.set_variables(&evaluation.host.rules.variables, None, rule_state);
    let route = evaluation.settle(route, rule_state)?;
    let mut stop = evaluation.check_access(&route, rule_state);
    if let Some(Decision::Needs(Need::Check(check))) = stop {
        let UncheckedPassword {
            user_file,
            credentials,
            ..
        } = check;
        let state = rule_state.get_or_insert_with(Default::default);
        state.identity.checked.push(Checked {
            user_file,
            credentials,
            right: false,
        });
        stop = evaluation.check_access(&route, rule_state);
    }
    let status = match stop {
        None => 0,
        Some(Decision::Status(_, status)) => status,
        Some(Decision::Needs(Need::ReadUsers(_))) => 401,
        Some(_) => 403,
    };
    Ok((route, status))
}

impl<'a> Evaluation<'a> {
    fn new(shared: &'a Shared, request: &'a Request<'a>, site: &'a Site) -> Evaluation<'a> {
        Evaluation {
            shared,
            request,
            site,
            host: site.host(request.virtual_host),
        }
    }
}

impl Evaluation<'_> {
    /// The rules of the place to which the route leads.
    fn at_place(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        // Variables may use the name.
        if let Some(need) = self.looks_up(&route.settings, rule_state) {
            return Ok(need);
        }
        let route = self.settle(route, rule_state)?;
        if let Some(refusal) = self.check_access(&route, rule_state) {
            return Ok(refusal);
        }
        self.fix_up(route, rule_state)
    }

    /// Returns the route with the settings of this request (`<If>`), and sets its variables.
    fn settle(
        &self,
        mut route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        let settings = route.settings.clone();
        self.set_place_variables(&settings, &route, rule_state);
        if !settings.rules.conditionals.is_empty() {
            route = self.route_at_place(&route, rule_state)?;
            self.set_place_variables(&route.settings.clone(), &route, rule_state);
        }
        Ok(route)
    }

    /// The values for expressions at a place.
    pub fn variables<'f>(
        &'f self,
        route: &'f Route,
        settings: &'f Settings,
        state: Option<&'f RuleState>,
    ) -> ExpressionVariables<'f> {
        let mut variables =
            ExpressionVariables::new(self.request, self.host, state, &self.shared.lookups.maps);
        variables.file = &route.file;
        variables.path_info = &route.path_info;
        variables.set_env = &settings.programs.set_env;
        variables
    }

    fn set_place_variables(
        &self,
        settings: &Settings,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) {
        self.set_variables(&settings.rules.variables, Some(route), rule_state);
    }
}
