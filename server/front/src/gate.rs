//! What the configuration's rules say of a request before its handler answers: variables, rewriting,
//! redirects, who may ask, and changed request fields. A request no rule is about passes at once.
//!
//! Both HTTP versions ask [`admit`] when the head is read, and again when the server leads a request on.

mod access;
mod admission;
mod redirects;
mod rewriting;
mod variables;

use crate::answer::Answer;
use crate::dispatch::Dispatch;
use crate::facts::RequestFacts;
use crate::header_rules;
use crate::notes::Notes;
use crate::passwords::Credentials;
use crate::path::Path;
use crate::problem::Problem;
use crate::request::Request;
use crate::route::Route;
use crate::shared::Shared;
use mehari_config::{Host, Settings, Site};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

pub use admission::{admit, lead, Admission};
use variables::set_variables;

pub enum Passage {
    /// To the handler.
    To(Rc<Route>),
    Answer(Arc<Settings>, Answer),
    /// The page of a status.
    Status(Option<Arc<Settings>>, u16),
    /// As if the request had come for this path and query.
    Led(Vec<u8>),
    /// Look at this password, note what came of it, and ask again.
    Check(Arc<Settings>, PathBuf, Credentials),
}

pub type Remarks = Option<Box<Notes>>;

pub fn pass<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    remarks: &mut Remarks,
) -> Result<Passage, Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    let mapped = match host.rules.is_empty() {
        true => None,
        false => match before_mapping(shared, request, host, remarks)? {
            Early::Decided(passage) => return Ok(passage),
            Early::Go(mapped) => mapped,
        },
    };
    // A script at the edge has the last word.
    let by_script = remarks.as_ref().and_then(|notes| notes.edge.mapped.clone());
    let mapped = by_script.or(mapped);
    let route = match &mapped {
        None => shared.route(request.virtual_host, request.path())?,
        Some(mapped) => shared.route_to(request.virtual_host, request.path(), mapped)?,
    };
    if !route.settings.rules.look_first() && route.through.is_empty() {
        return Ok(Passage::To(route));
    }
    let gate = Gate {
        shared,
        request,
        site: &site,
        host,
    };
    gate.look(route, mapped.as_deref(), remarks)
}

/// What the rules say of a request that a worker makes within another: nobody waits here, so a password that was
/// not looked at lately counts as wrong. The route with its status: 0, or what the request is refused with.
pub fn look_within<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    route: Rc<Route>,
    mapped: Option<&[u8]>,
    remarks: &mut Remarks,
) -> Result<(Rc<Route>, u16), Problem> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    set_variables(&host.rules.variables, shared, request, host, None, remarks);
    let gate = Gate {
        shared,
        request,
        site: &site,
        host,
    };
    let route = gate.settle(route, mapped, remarks)?;
    let status = match gate.stops(&route, remarks) {
        None => remarks.as_ref().map_or(0, |notes| notes.access_status),
        Some(Passage::Status(_, status)) => status,
        Some(Passage::Check(..)) => 401,
        Some(_) => 403,
    };
    Ok((route, status))
}

enum Early {
    Decided(Passage),
    /// To be mapped; with a file, to that.
    Go(Option<Vec<u8>>),
}

/// Rules of the host: they see the path before it stands for a file.
fn before_mapping<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    host: &Host,
    remarks: &mut Remarks,
) -> Result<Early, Problem> {
    set_variables(&host.rules.variables, shared, request, host, None, remarks);
    let path = Path::decode(request.path())?;
    let early = rewriting::of_host(shared, request, host, &path, remarks);
    if let Early::Decided(_) = early {
        return Ok(early);
    }
    let settings = host.base_settings();
    let redirects = &host.rules.redirects;
    let redirect = redirects::first_met(redirects, &path.bytes, request, host, &settings);
    Ok(redirect.map_or(early, Early::Decided))
}

struct Gate<'a, D: Dispatch> {
    shared: &'a Shared<D>,
    request: &'a Request<'a>,
    site: &'a Site,
    host: &'a Host,
}

impl<D: Dispatch> Gate<'_, D> {
    fn look(
        &self,
        route: Rc<Route>,
        mapped: Option<&[u8]>,
        remarks: &mut Remarks,
    ) -> Result<Passage, Problem> {
        let route = self.settle(route, mapped, remarks)?;
        let settings = route.settings.clone();
        if let Some(refusal) = self.stops(&route, remarks) {
            return Ok(refusal);
        }
        let path = Path::decode(self.request.path())?;
        let redirects = &settings.rules.redirects;
        let (request, host) = (self.request, self.host);
        if let Some(passage) =
            redirects::first_met(redirects, &path.bytes, request, host, &settings)
        {
            return Ok(passage);
        }
        if let Some(passage) = self.rewrite(&route, &path, remarks) {
            return Ok(passage);
        }
        self.change_fields(&route, remarks);
        Ok(Passage::To(route))
    }

    /// The route under the settings that hold for this very request (`<If>`), its variables set.
    fn settle(
        &self,
        mut route: Rc<Route>,
        mapped: Option<&[u8]>,
        remarks: &mut Remarks,
    ) -> Result<Rc<Route>, Problem> {
        let settings = route.settings.clone();
        self.set_variables(&settings, &route, remarks);
        if !settings.rules.conditionals.is_empty() {
            let notes = remarks.clone();
            let facts = self.facts(&route, &settings, notes.as_deref());
            let request = self.request;
            let again = crate::route::find_for(self.site, self.shared, request, mapped, &facts)?;
            route = Rc::new(again);
            self.set_variables(&route.settings.clone(), &route, remarks);
        }
        Ok(route)
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
        facts.set_env = &settings.set_env;
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
        let own = self.request.fields.iter();
        let mut fields: Vec<_> = own
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
        let notes = remarks.clone();
        let facts = self.facts(route, &route.settings, notes.as_deref());
        header_rules::change_request(rules, &mut fields, &facts);
        remarks.get_or_insert_with(Default::default).fields = Some(fields);
    }
}
