//! Runs the route stage: finds the file and the handler of the path that the server's rewriting has
//! left.
//!
//! `crate::routing` makes the search. This stage decides whether a kept route can be used, and what
//! must be known before the search.

use super::rules::{Evaluation, Need};
use crate::request::rule_state::{MappingState, RuleState};
use crate::request::Request;
use crate::routing::{self, Route, RouteOutcome, Sought};
use crate::shared::Shared;
use mehari_config::Phase;
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_resolve::names::Query;
use std::rc::Rc;

/// Returns the kept route of a path that no rules, scripts, limits or cache concern. `None`: the
/// rules must be evaluated, or no route is kept and the search may have to wait for a disk.
pub fn open_route(shared: &Shared, host: u32, path: &[u8]) -> Option<Rc<Route>> {
    if !is_open(shared, host) {
        return None;
    }
    let route = shared.known_route(Sought::path(host, path))?;
    let settings = &route.settings;
    let is_open = !settings.is_checked_first()
        && route.intermediate_settings.is_empty()
        && route.led_query().is_none()
        && !matches!(
            route.outcome,
            RouteOutcome::Negotiated(_) | RouteOutcome::Indexed
        )
        && settings.limits.traffic.is_empty()
        && settings.cache.is_off()
        && !settings.tracking.uploads;
    is_open.then_some(route)
}

fn is_open(shared: &Shared, host: u32) -> bool {
    let site = shared.site();
    let host = site.host(host);
    host.rules.is_empty() && host.mapping.user_dirs.is_none() && !shared.lua.is_used()
}

/// Returns the path of the request, and the file to which rules have mapped the path.
fn sought<'a>(request: &Request<'a>, mapping: Option<&'a MappingState>) -> Sought<'a> {
    Sought {
        host: request.virtual_host,
        path: request.path(),
        file: mapping.and_then(MappingState::file),
    }
}

impl Evaluation<'_> {
    /// Returns the route of the request. The inner error says what must be known first.
    pub(super) fn route(
        &self,
        rule_state: &Option<Box<RuleState>>,
    ) -> Result<Result<Rc<Route>, Need>, Problem> {
        if let Some(query) = self.unknown_home(rule_state) {
            return Ok(Err(Need::Resolve(query)));
        }
        let route = match self.kept_route(rule_state) {
            Some(route) => route,
            None => match self.cold_file(rule_state) {
                Some(file) => return Ok(Err(Need::Fetch(file))),
                None => self.route_anew(rule_state)?,
            },
        };
        Ok(match &route.outcome {
            RouteOutcome::File(target) if target.waits_for_watch() => {
                Err(Need::WarmWatches(route.file.clone()))
            }
            _ => Ok(route),
        })
    }

    /// Returns the query for the home folder of a user, if the file cannot be found without it.
    fn unknown_home(&self, rule_state: &Option<Box<RuleState>>) -> Option<Query> {
        let dirs = self.host.mapping.user_dirs.as_ref();
        let dirs = dirs.filter(|dirs| dirs.ask_homes())?;
        let path = Path::decode(self.request.path()).ok()?;
        let (name, _) = dirs.asked(&path.merged)?;
        let query = Query::Home(name.to_string());
        let has_asked = |state: &RuleState| state.identity.learned(&query).is_some();
        let is_known =
            routing::homes::is_remembered(name) || rule_state.as_deref().is_some_and(has_asked);
        (!is_known).then_some(query)
    }

    /// Returns the kept route of the path, if nothing but the path decides about the route.
    fn kept_route(&self, rule_state: &Option<Box<RuleState>>) -> Option<Rc<Route>> {
        let mapping = mapping(rule_state);
        if mapping.is_some_and(|mapping| self.needs_search(mapping)) {
            return None;
        }
        self.shared.known_route(sought(self.request, mapping))
    }

    /// Whether the route depends on more than the path, so that a kept route is of no use.
    fn needs_search(&self, mapping: &MappingState) -> bool {
        let is_index = mapping.index_of.is_some() && self.host.tells_indexes_apart();
        mapping.has_chosen_handler() || is_index || mapping.back_end_of_host().is_some()
    }

    /// Returns the file whose metadata the search for the route would read from a disk. `None`: no
    /// disk is needed, or a thread has already read the metadata.
    fn cold_file(&self, rule_state: &Option<Box<RuleState>>) -> Option<Vec<u8>> {
        if is_fetched(rule_state) {
            return None;
        }
        let sought = sought(self.request, mapping(rule_state));
        self.shared.cold_file(sought)
    }

    /// Finds a route that is not kept.
    fn route_anew(&self, rule_state: &Option<Box<RuleState>>) -> Result<Rc<Route>, Problem> {
        let route = self.find_route(rule_state)?;
        if let (true, RouteOutcome::File(target)) = (is_fetched(rule_state), &route.outcome) {
            target.begin_cold();
        }
        Ok(route)
    }

    /// Returns the route of a request after the rules of its host.
    pub(in crate::pipeline) fn find_route(
        &self,
        rule_state: &Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        let (shared, request, site) = (self.shared, self.request, self.site);
        let Some(mapping) = mapping(rule_state) else {
            return shared.route(sought(request, None), true);
        };
        let route = if self.needs_search(mapping) {
            routing::find_for(site, &shared.routing.htaccess, request, mapping, None).map(Rc::new)
        } else {
            shared.route(sought(request, Some(mapping)), true)
        };
        match mapping.back_end_of_folder() {
            Some(proxied) => {
                route.map(|route| Rc::new(routing::to_back_end(site, request, &route, proxied)))
            }
            None => route,
        }
    }

    /// Finds the route with every matching `<If>` and with everything that rules have forced on the
    /// request.
    pub(super) fn route_at_place(
        &self,
        route: &Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        let variables = self.variables(
            route,
            &route.settings,
            (rule_state.as_deref(), Phase::MapToStorage),
        );
        let nothing = MappingState::default();
        let mapping = mapping(rule_state).unwrap_or(&nothing);
        let again = routing::find_for(
            self.site,
            &self.shared.routing.htaccess,
            self.request,
            mapping,
            Some(&variables),
        )?;
        let again = Rc::new(match mapping.back_end_of_folder() {
            Some(proxied) => routing::to_back_end(self.site, self.request, &again, proxied),
            None => again,
        });
        let varying = variables.varying.into_inner();
        RuleState::note_varying(rule_state, varying);
        Ok(again)
    }
}

fn mapping(rule_state: &Option<Box<RuleState>>) -> Option<&MappingState> {
    rule_state.as_ref().map(|state| &state.mapping)
}

fn is_fetched(rule_state: &Option<Box<RuleState>>) -> bool {
    mapping(rule_state).is_some_and(|mapping| mapping.fetched)
}
