//! The access phase: what the configuration's rules say of a request before its handler answers, namely
//! variables, rewriting, redirects, who may come, and changed request fields.
//!
//! `pipeline::access` calls [`evaluate`] when a head is read, and again when the server leads a request
//! on. A request that no rule is about passes at once.

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
use crate::request::rule_state::{Checked, Destination, Notes, Remarks};
use crate::request::variables::RequestFacts;
use crate::request::{hop, Request};
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
    /// To the handler.
    To(Rc<Route>),
    Answer(Arc<Settings>, Answer),
    /// The page of a status.
    Status(Option<Arc<Settings>>, u16),
    /// On to another path and query, to be asked about again.
    Led(Lead),
    /// Ask a map's program for this key, note what it says, and ask again.
    LookUp {
        map: String,
        key: Vec<u8>,
    },
    /// Read this file of users, and ask again.
    ReadUsers(PathBuf),
    /// Have the resolver asked, note what it says, and ask again.
    Resolve(Question),
    /// Have the system learn what is at this path, and ask again.
    Fetch(Vec<u8>),
    /// Have a thread go ahead to the folder of this file, which is to be watched, and ask again.
    Scout(Vec<u8>),
    /// Look at this password, note what came of it, and ask again.
    Check(Arc<Settings>, PathBuf, Credentials),
}

/// Where rules lead a request.
pub struct Lead {
    pub target: Vec<u8>,
    /// A rule of the host: the same request, as if it had come for this. Else a new one within the server.
    pub in_place: bool,
}

pub fn evaluate(
    shared: &Shared,
    request: &Request<'_>,
    remarks: &mut Remarks,
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
        if let Some(passage) = phase.before_mapping(remarks)? {
            return Ok(passage);
        }
    }
    if let Some(question) = home(host, request, remarks) {
        return Ok(Decision::Resolve(question));
    }
    let route = match known(shared, request, remarks) {
        Some(route) => route,
        None => match cold(shared, request, remarks) {
            Some(file) => return Ok(Decision::Fetch(file)),
            None => found_anew(shared, request, &site, remarks)?,
        },
    };
    if matches!(&route.outcome, Outcome::File(target) if target.waits_for_watch()) {
        return Ok(Decision::Scout(route.file.clone()));
    }
    if !route.settings.look_first() && route.through.is_empty() {
        return Ok(Decision::To(route));
    }
    phase.look(route, remarks)
}

/// Whose home has to be known to find the file.
fn home(host: &Host, request: &Request<'_>, remarks: &Remarks) -> Option<Question> {
    let dirs = host.user_dirs.as_ref().filter(|dirs| dirs.ask_homes())?;
    let path = Path::decode(request.path()).ok()?;
    let (name, _) = dirs.asked(std::str::from_utf8(&path.merged).ok()?)?;
    let question = Question::Home(name.to_string());
    let has_asked = |notes: &Notes| notes.learned(&question).is_some();
    let is_known = routing::homes::is_remembered(name) || remarks.as_deref().is_some_and(has_asked);
    (!is_known).then_some(question)
}

/// The same route as last time, where nothing but the path decides.
fn known(shared: &Shared, request: &Request<'_>, remarks: &Remarks) -> Option<Rc<Route>> {
    let notes = remarks.as_deref();
    if notes.is_some_and(|notes| !notes.forced.is_empty() || notes.back_end().is_some()) {
        return None;
    }
    let file = notes.and_then(Notes::file);
    shared.known_route(request.virtual_host, request.path(), file)
}

/// What finding the route would read from the disk, if that has not been done for it.
fn cold(shared: &Shared, request: &Request<'_>, remarks: &Remarks) -> Option<Vec<u8>> {
    if is_fetched(remarks) {
        return None;
    }
    let file = remarks.as_deref().and_then(Notes::file);
    shared.cold_file(request.virtual_host, request.path(), file)
}

/// A route that was not kept.
fn found_anew(
    shared: &Shared,
    request: &Request<'_>,
    site: &Site,
    remarks: &Remarks,
) -> Result<Rc<Route>, Problem> {
    let route = routed(shared, request, site, remarks)?;
    if let (true, Outcome::File(target)) = (is_fetched(remarks), &route.outcome) {
        target.begin_cold();
    }
    Ok(route)
}

fn is_fetched(remarks: &Remarks) -> bool {
    remarks.as_deref().is_some_and(|notes| notes.fetched)
}

/// The route of a request where the rules of its host have left it.
fn routed(
    shared: &Shared,
    request: &Request<'_>,
    site: &Site,
    remarks: &Remarks,
) -> Result<Rc<Route>, Problem> {
    let Some(notes) = remarks else {
        return shared.route(request.virtual_host, request.path(), true);
    };
    let route = match (notes.file(), notes.forced.is_empty()) {
        (Some(file), true) => shared.route_to(request.virtual_host, request.path(), file, true),
        (None, true) => shared.route(request.virtual_host, request.path(), true),
        (_, false) => routing::find_for(site, &shared.htaccess, request, notes, None).map(Rc::new),
    };
    match notes.back_end() {
        Some(proxied) => {
            route.map(|route| Rc::new(routing::to_back_end(site, request, &route, proxied)))
        }
        None => route,
    }
}

/// The route that answers a request which has passed the access phase, found once more.
pub fn route_again(shared: &Shared, request: &Request<'_>) -> Result<Rc<Route>, Problem> {
    let site = shared.site();
    let mut remarks = request.notes.cloned().map(Box::new);
    let phase = AccessPhase {
        shared,
        request,
        site: &site,
        host: site.host(request.virtual_host),
    };
    let route = routed(shared, request, &site, &remarks)?;
    phase.settle(route, &mut remarks)
}

/// What the rules say of a request that a worker makes within another: nobody waits here, so a password that was
/// not looked at lately counts as wrong. The route with its status: 0, or what the request is refused with.
pub fn look_within(
    shared: &Shared,
    request: &Request<'_>,
    route: Rc<Route>,
    remarks: &mut Remarks,
) -> Result<(Rc<Route>, u16), Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    set_variables(&host.rules.variables, shared, request, host, None, remarks);
    let phase = AccessPhase {
        shared,
        request,
        site: &site,
        host,
    };
    let route = phase.settle(route, remarks)?;
    let mut stop = phase.stops(&route, remarks);
    if let Some(Decision::Check(_, user_file, credentials)) = stop {
        let notes = remarks.get_or_insert_with(Default::default);
        notes.checked.push(Checked {
            user_file,
            credentials,
            right: false,
        });
        stop = phase.stops(&route, remarks);
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
    /// Rules of the host: they see the path before it stands for a file, once for each resource.
    fn before_mapping(&self, remarks: &mut Remarks) -> Result<Option<Decision>, Problem> {
        let (shared, request, host) = (self.shared, self.request, self.host);
        let path = Path::decode_as(request.path(), host.encoded_slashes())?;
        let settings = host.base_settings();
        let decided =
            |remarks: &Remarks| remarks.as_ref().and_then(|notes| notes.destination.clone());
        if decided(remarks).is_none() {
            if let Some(question) = self.looks_up(&settings, remarks) {
                return Ok(Some(question));
            }
            set_variables(&host.rules.variables, shared, request, host, None, remarks);
            if let Some(passage) = rewriting::of_host(shared, request, host, &path, remarks) {
                return Ok(Some(passage));
            }
        }
        // What is a file's or a back end's by now is no path of `Redirect`'s any more.
        if let Some(Destination::File(_) | Destination::BackEnd(_)) = decided(remarks) {
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

    fn look(&self, route: Rc<Route>, remarks: &mut Remarks) -> Result<Decision, Problem> {
        // Variables may be about the name.
        if let Some(question) = self.looks_up(&route.settings, remarks) {
            return Ok(question);
        }
        let route = self.settle(route, remarks)?;
        let settings = route.settings.clone();
        if let Some(refusal) = self.stops(&route, remarks) {
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
        let forced = |remarks: &Remarks| remarks.as_ref().map_or(0, |notes| notes.forced.len());
        let before = forced(remarks);
        if let Some(passage) = self.rewrite(&route, &path, remarks) {
            return Ok(passage);
        }
        let route = if forced(remarks) > before {
            self.found(&route, remarks)?
        } else {
            route
        };
        self.change_fields(&route, remarks);
        Ok(Decision::To(route))
    }

    /// The route under the settings that hold for this very request (`<If>`), its variables set.
    fn settle(&self, mut route: Rc<Route>, remarks: &mut Remarks) -> Result<Rc<Route>, Problem> {
        let settings = route.settings.clone();
        self.set_variables(&settings, &route, remarks);
        if !settings.rules.conditionals.is_empty() {
            route = self.found(&route, remarks)?;
            self.set_variables(&route.settings.clone(), &route, remarks);
        }
        Ok(route)
    }

    /// The route as it is with every `<If>` that is met, and what rules have forced on it.
    fn found(&self, route: &Rc<Route>, remarks: &Remarks) -> Result<Rc<Route>, Problem> {
        let notes = remarks.as_deref();
        let facts = self.facts(route, &route.settings, notes);
        let nothing = Notes::default();
        let notes = notes.unwrap_or(&nothing);
        let again = routing::find_for(
            self.site,
            &self.shared.htaccess,
            self.request,
            notes,
            Some(&facts),
        )?;
        Ok(Rc::new(match notes.back_end() {
            Some(proxied) => routing::to_back_end(self.site, self.request, &again, proxied),
            None => again,
        }))
    }

    fn facts<'f>(
        &'f self,
        route: &'f Route,
        settings: &'f Settings,
        notes: Option<&'f Notes>,
    ) -> RequestFacts<'f> {
        let mut facts = RequestFacts::new(self.request, self.host, notes, &self.shared.maps);
        facts.file = &route.file;
        facts.path_info = &route.path_info;
        facts.set_env = &settings.programs.set_env;
        facts
    }

    fn set_variables(&self, settings: &Settings, route: &Route, remarks: &mut Remarks) {
        let rules = &settings.rules.variables;
        set_variables(
            rules,
            self.shared,
            self.request,
            self.host,
            Some(route),
            remarks,
        );
    }

    fn change_fields(&self, route: &Route, remarks: &mut Remarks) {
        let rules = &route.settings.rules.request_headers;
        if rules.is_empty() {
            return;
        }
        let kept = hop::without_named(self.request.fields);
        let own = kept.as_deref().unwrap_or(self.request.fields).iter();
        let mut fields: Vec<_> = own
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
        let notes = remarks.clone();
        let facts = self.facts(route, &route.settings, notes.as_deref());
        header_rules::change_request(rules, &mut fields, &facts);
        remarks.get_or_insert_with(Default::default).fields = Some(fields);
    }
}
