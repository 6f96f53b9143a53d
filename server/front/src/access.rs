//! The access phase: evaluates the configuration's rules before the handler runs (variables,
//! rewriting, redirects, access, changed request fields).
//!
//! `pipeline::access` calls [`evaluate`] when a head has been read, and again when the server
//! redirects the request internally. A request without rules passes at once.

mod digest;
mod login;
mod names;
mod open;
mod redirects;
mod require;
mod rewriting;
mod variables;

use crate::content::Answer;
use crate::filters::header_rules;
use crate::request::rule_state::{Checked, Destination, RuleState};
use crate::request::variables::ExpressionVariables;
use crate::request::{hop, Fields, Request};
use crate::routing::{self, Outcome, Route};
use crate::shared::Shared;
use mehari_auth::passwords::Credentials;
use mehari_config::{Host, Settings, Site};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_resolve::names::Question;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

pub use login::challenge;
pub use open::open_route;
pub use redirects::joined;
use variables::set_variables;

pub enum Decision {
    /// The handler may run.
    To(Rc<Route>),
    Answer(Arc<Settings>, Answer),
    /// The page of a status.
    Status(Option<Arc<Settings>>, u16),
    /// Evaluate again for another path and query.
    Led(Lead),
    /// Ask a map's program for this key, note its answer, and evaluate again.
    LookUp {
        map: String,
        key: Vec<u8>,
    },
    /// Read this user file, and evaluate again.
    ReadUsers(PathBuf),
    /// Ask the resolver, note its answer, and evaluate again.
    Resolve(Question),
    /// Let a thread read this path's metadata from the disk, and evaluate again.
    Fetch(Vec<u8>),
    /// Let a thread prepare the watch on this file's folder, and evaluate again.
    WarmWatches(Vec<u8>),
    /// Check this password, note the result, and evaluate again.
    Check(Arc<Settings>, PathBuf, Credentials),
}

/// The target of an internal redirect.
pub struct Lead {
    pub target: Vec<u8>,
    /// True for rules of the host: the same request with another target. False: a new request
    /// within the server.
    pub in_place: bool,
}

pub fn evaluate(
    shared: &Shared,
    request: &Request<'_>,
    rule_state: &mut Option<Box<RuleState>>,
) -> Result<Decision, Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    let phase = AccessPhase {
        shared,
        request,
        site: &site,
        host,
    };
    if !host.rules.is_empty() {
        if let Some(passage) = phase.before_mapping(rule_state)? {
            return Ok(passage);
        }
    }
    if let Some(question) = home(host, request, rule_state) {
        return Ok(Decision::Resolve(question));
    }
    let route = match known(shared, request, rule_state) {
        Some(route) => route,
        None => match cold(shared, request, rule_state) {
            Some(file) => return Ok(Decision::Fetch(file)),
            None => found_anew(shared, request, &site, rule_state)?,
        },
    };
    if matches!(&route.outcome, Outcome::File(target) if target.waits_for_watch()) {
        return Ok(Decision::WarmWatches(route.file.clone()));
    }
    if !route.settings.look_first() && route.intermediate_settings.is_empty() {
        return Ok(Decision::To(route));
    }
    phase.look(route, rule_state)
}

/// The user whose home must be known to find the file.
fn home(
    host: &Host,
    request: &Request<'_>,
    rule_state: &Option<Box<RuleState>>,
) -> Option<Question> {
    let dirs = host.user_dirs.as_ref().filter(|dirs| dirs.ask_homes())?;
    let path = Path::decode(request.path()).ok()?;
    let (name, _) = dirs.asked(std::str::from_utf8(&path.merged).ok()?)?;
    let question = Question::Home(name.to_string());
    let has_asked = |state: &RuleState| state.learned(&question).is_some();
    let is_known =
        routing::homes::is_remembered(name) || rule_state.as_deref().is_some_and(has_asked);
    (!is_known).then_some(question)
}

/// The kept route of the path, if nothing but the path decides.
fn known(
    shared: &Shared,
    request: &Request<'_>,
    rule_state: &Option<Box<RuleState>>,
) -> Option<Rc<Route>> {
    let state = rule_state.as_deref();
    if state.is_some_and(|state| !state.forced.is_empty() || state.back_end().is_some()) {
        return None;
    }
    let file = state.and_then(RuleState::file);
    shared.known_route(request.virtual_host, request.path(), file)
}

/// The file that the search for the route would read from a disk, unless a thread has read it.
fn cold(
    shared: &Shared,
    request: &Request<'_>,
    rule_state: &Option<Box<RuleState>>,
) -> Option<Vec<u8>> {
    if is_fetched(rule_state) {
        return None;
    }
    let file = rule_state.as_deref().and_then(RuleState::file);
    shared.cold_file(request.virtual_host, request.path(), file)
}

/// Finds a route that is not kept.
fn found_anew(
    shared: &Shared,
    request: &Request<'_>,
    site: &Site,
    rule_state: &Option<Box<RuleState>>,
) -> Result<Rc<Route>, Problem> {
    let route = routed(shared, request, site, rule_state)?;
    if let (true, Outcome::File(target)) = (is_fetched(rule_state), &route.outcome) {
        target.begin_cold();
    }
    Ok(route)
}

fn is_fetched(rule_state: &Option<Box<RuleState>>) -> bool {
    rule_state.as_deref().is_some_and(|state| state.fetched)
}

/// The route of a request after the rules of its host.
fn routed(
    shared: &Shared,
    request: &Request<'_>,
    site: &Site,
    rule_state: &Option<Box<RuleState>>,
) -> Result<Rc<Route>, Problem> {
    let Some(state) = rule_state else {
        return shared.route(request.virtual_host, request.path(), true);
    };
    let route = match (state.file(), state.forced.is_empty()) {
        (Some(file), true) => shared.route_to(request.virtual_host, request.path(), file, true),
        (None, true) => shared.route(request.virtual_host, request.path(), true),
        (_, false) => {
            routing::find_for(site, &shared.routing.htaccess, request, state, None).map(Rc::new)
        }
    };
    match state.back_end() {
        Some(proxied) => {
            route.map(|route| Rc::new(routing::to_back_end(site, request, &route, proxied)))
        }
        None => route,
    }
}

/// Finds the route of a request again after the access phase.
pub fn route_again(shared: &Shared, request: &Request<'_>) -> Result<Rc<Route>, Problem> {
    let site = shared.site();
    let mut rule_state = request.rule_state.cloned().map(Box::new);
    let phase = AccessPhase {
        shared,
        request,
        site: &site,
        host: site.host(request.virtual_host),
    };
    let route = routed(shared, request, &site, &rule_state)?;
    phase.settle(route, &mut rule_state)
}

/// The rules for a request that a worker makes within another. It cannot wait, so a password that
/// was not checked recently counts as wrong. Returns the route and its status: 0, or the status of
/// the refusal.
pub fn look_within(
    shared: &Shared,
    request: &Request<'_>,
    route: Rc<Route>,
    rule_state: &mut Option<Box<RuleState>>,
) -> Result<(Rc<Route>, u16), Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    set_variables(
        &host.rules.variables,
        shared,
        request,
        host,
        None,
        rule_state,
    );
    let phase = AccessPhase {
        shared,
        request,
        site: &site,
        host,
    };
    let route = phase.settle(route, rule_state)?;
    let mut stop = phase.stops(&route, rule_state);
    if let Some(Decision::Check(_, user_file, credentials)) = stop {
        let state = rule_state.get_or_insert_with(Default::default);
        state.checked.push(Checked {
            user_file,
            credentials,
            right: false,
        });
        stop = phase.stops(&route, rule_state);
    }
    let status = match stop {
        None => 0,
        Some(Decision::Status(_, status)) => status,
        Some(Decision::ReadUsers(_)) => 401,
        Some(_) => 403,
    };
    Ok((route, status))
}

struct AccessPhase<'a> {
    shared: &'a Shared,
    request: &'a Request<'a>,
    site: &'a Site,
    host: &'a Host,
}

impl AccessPhase<'_> {
    /// Rules of the host: they see the path before it is mapped to a file, once per resource.
    fn before_mapping(
        &self,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Option<Decision>, Problem> {
        let (shared, request, host) = (self.shared, self.request, self.host);
        let path = Path::decode_as(request.path(), host.encoded_slashes())?;
        let settings = host.base_settings();
        let decided = |rule_state: &Option<Box<RuleState>>| {
            rule_state
                .as_ref()
                .and_then(|state| state.destination.clone())
        };
        if decided(rule_state).is_none() {
            if let Some(question) = self.looks_up(&settings, rule_state) {
                return Ok(Some(question));
            }
            set_variables(
                &host.rules.variables,
                shared,
                request,
                host,
                None,
                rule_state,
            );
            if let Some(passage) = rewriting::of_host(shared, request, host, &path, rule_state) {
                return Ok(Some(passage));
            }
        }
        // `Redirect` does not apply to a path that is already a file's or a back end's.
        if let Some(Destination::File(_) | Destination::BackEnd(_)) = decided(rule_state) {
            return Ok(None);
        }
        let rules = &host.rules.redirects;
        Ok(redirects::first_met(
            rules,
            &path.merged,
            request,
            host,
            &settings,
        ))
    }

    fn look(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        // Variables may use the name.
        if let Some(question) = self.looks_up(&route.settings, rule_state) {
            return Ok(question);
        }
        let route = self.settle(route, rule_state)?;
        let settings = route.settings.clone();
        if let Some(refusal) = self.stops(&route, rule_state) {
            return Ok(refusal);
        }
        let path = Path::decode_as(self.request.path(), self.host.encoded_slashes())?;
        let redirects = &settings.rules.redirects;
        let (request, host) = (self.request, self.host);
        if let Some(passage) =
            redirects::first_met(redirects, &path.merged, request, host, &settings)
        {
            return Ok(passage);
        }
        let forced = |rule_state: &Option<Box<RuleState>>| {
            rule_state.as_ref().map_or(0, |state| state.forced.len())
        };
        let before = forced(rule_state);
        if let Some(passage) = self.rewrite(&route, &path, rule_state) {
            return Ok(passage);
        }
        let route = if forced(rule_state) > before {
            self.found(&route, rule_state)?
        } else {
            route
        };
        self.change_fields(&route, rule_state);
        Ok(Decision::To(route))
    }

    /// The route with the settings of this request (`<If>`), and with its variables set.
    fn settle(
        &self,
        mut route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        let settings = route.settings.clone();
        self.set_variables(&settings, &route, rule_state);
        if !settings.rules.conditionals.is_empty() {
            route = self.found(&route, rule_state)?;
            self.set_variables(&route.settings.clone(), &route, rule_state);
        }
        Ok(route)
    }

    /// The route with every matching `<If>` and with what rules have forced on the request.
    fn found(
        &self,
        route: &Rc<Route>,
        rule_state: &Option<Box<RuleState>>,
    ) -> Result<Rc<Route>, Problem> {
        let state = rule_state.as_deref();
        let facts = self.facts(route, &route.settings, state);
        let nothing = RuleState::default();
        let state = state.unwrap_or(&nothing);
        let again = routing::find_for(
            self.site,
            &self.shared.routing.htaccess,
            self.request,
            state,
            Some(&facts),
        )?;
        Ok(Rc::new(match state.back_end() {
            Some(proxied) => routing::to_back_end(self.site, self.request, &again, proxied),
            None => again,
        }))
    }

    fn facts<'f>(
        &'f self,
        route: &'f Route,
        settings: &'f Settings,
        state: Option<&'f RuleState>,
    ) -> ExpressionVariables<'f> {
        let mut facts =
            ExpressionVariables::new(self.request, self.host, state, &self.shared.lookups.maps);
        facts.file = &route.file;
        facts.path_info = &route.path_info;
        facts.set_env = &settings.programs.set_env;
        facts
    }

    fn set_variables(
        &self,
        settings: &Settings,
        route: &Route,
        rule_state: &mut Option<Box<RuleState>>,
    ) {
        let rules = &settings.rules.variables;
        set_variables(
            rules,
            self.shared,
            self.request,
            self.host,
            Some(route),
            rule_state,
        );
    }

    fn change_fields(&self, route: &Route, rule_state: &mut Option<Box<RuleState>>) {
        let rules = &route.settings.rules.request_headers;
        if rules.is_empty() {
            return;
        }
        let kept = hop::without_named(self.request.fields);
        let own = kept.as_deref().map_or(self.request.fields, Fields::List);
        let mut fields = own.to_owned();
        let state = rule_state.clone();
        let facts = self.facts(route, &route.settings, state.as_deref());
        header_rules::change_request(rules, &mut fields, &facts);
        rule_state.get_or_insert_with(Default::default).fields = Some(fields);
    }
}
