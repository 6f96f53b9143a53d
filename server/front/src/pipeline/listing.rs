//! Lists a folder without an index, where `Options Indexes` is set.
//!
//! Like Apache's mod_autoindex, asks the rules for each entry as for a sub-request, and leaves out
//! what they refuse to the client. `start` and `subrequest` begin the listing. Other requests run
//! between the entries.

use super::rules::{needs, Evaluation, Placed};
use super::RequestContext;
use crate::content::Answer;
use crate::handlers::{Backend, HandlerOutcome};
use crate::request::owned::OwnedRequest;
use crate::request::rule_state::{Destination, IndexedFolder, RuleState};
use crate::request::Request;
use crate::routing::listing::{self, SettingsOfFiles};
use crate::routing::{self, Route, RouteOutcome};
use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_http::problem::Problem;
use mehari_pool::Origin;
use mehari_text::percent;
use std::rc::Rc;

/// The number of entries after which other requests run.
const AT_ONCE: usize = 32;

/// Begins the listing of a route's folder.
pub fn begin(shared: &Rc<Shared>, request: &Request<'_>, route: &Route) -> HandlerOutcome {
    let listing = Listing {
        shared: shared.clone(),
        request: OwnedRequest::of(request, None),
        folder: IndexedFolder {
            path: route.script_name.clone(),
            file: route.file.clone(),
            settings: route.settings.clone(),
        },
    };
    HandlerOutcome::Backend(Backend::Deferred(Box::pin(listing.answer())))
}

struct Listing {
    shared: Rc<Shared>,
    request: OwnedRequest,
    folder: IndexedFolder,
}

impl Listing {
    async fn answer(self) -> Result<Answer, u16> {
        let file = self.folder.file.clone();
        let readers = &self.shared.content.files.readers;
        let found = readers.find(move || listing::entries(&file)).await;
        let Some(found) = found.flatten() else {
            self.log("the folder may not be read");
            return Err(403);
        };
        let mut context = self.context();
        let site = self.shared.site();
        let host = site.host(context.host);
        let htaccess = &self.shared.routing.htaccess;
        let like_folder = SettingsOfFiles::of(&self.folder, (&site, host), htaccess);
        let mut shown = Vec::new();
        for (number, entry) in found.into_iter().enumerate() {
            if number % AT_ONCE == AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            if self.ignores(&entry.name) {
                continue;
            }
            let like_folder = like_folder.as_ref();
            if like_folder.is_some_and(|like| like.hold_for(host, &entry))
                || self.shows(&mut context, &entry.name).await
            {
                shown.push(entry);
            }
        }
        Ok(listing::page(&self.folder.path, &shown))
    }

    /// Returns the context in which the rules of entries are evaluated.
    fn context(&self) -> RequestContext {
        let request = self.request.request();
        let mut state = self.request.state();
        let root = state.mapping.document_root.take();
        state.leave_resource();
        state.is_within = true;
        state.mapping.document_root = root;
        state.mapping.index_of = Some(self.folder.clone());
        let mut context = RequestContext::unbegun();
        context.id = request.id;
        context.host = request.virtual_host;
        context.address = request.peer.remote_addr;
        context.rule_state = Some(Box::new(state));
        context
    }

    fn ignores(&self, name: &[u8]) -> bool {
        let listings = &self.folder.settings.files.listings;
        listings.ignores(name.strip_suffix(b"/").unwrap_or(name))
    }

    /// Whether the listing has an entry. A name and a password that the rules have found out count
    /// for the next entries too.
    async fn shows(&self, context: &mut RequestContext, name: &[u8]) -> bool {
        let listings = &self.folder.settings.files.listings;
        if let Some(state) = &mut context.rule_state {
            // Each entry may ask the programs of `RewriteMap`.
            state.looked_up.clear();
        }
        loop {
            let mut state = context.rule_state.clone();
            let status = match self.placed(name, &mut state) {
                Err(problem) => problem.status,
                Ok((route, Placed::Here)) => self.status_at(&route, &state),
                Ok((_, Placed::Led(_))) => 200,
                Ok((_, Placed::Answered(answer))) => answer.status,
                Ok((_, Placed::Refused(status))) => status,
                Ok((_, Placed::Needs(need))) => {
                    let asked = self.request.request().target.to_vec();
                    match needs::meet(&self.shared, context, &asked, need).await {
                        Ok(()) => continue,
                        Err(refusal) => refusal.status,
                    }
                }
            };
            return status < 400 || (listings.shows_forbidden && matches!(status, 401 | 403));
        }
    }

    /// Evaluates the rules for an entry, without those of the server.
    fn placed(
        &self,
        name: &[u8],
        state: &mut Option<Box<RuleState>>,
    ) -> Result<(Rc<Route>, Placed), Problem> {
        let shared = &self.shared;
        let file = [&self.folder.file[..], name].concat();
        let state_of_entry = state.get_or_insert_with(Default::default);
        state_of_entry.mapping.destination = Some(Destination::File(file));
        let target = percent::encode_path(&[&self.folder.path[..], name].concat());
        let request = Request {
            resource: &target,
            ..self.request.request()
        };
        let (site, mapping) = (shared.site(), &state_of_entry.mapping);
        let route = routing::find_for(&site, &shared.routing.htaccess, &request, mapping, None)?;
        let evaluation = Evaluation::new(shared, &request, &site);
        let (route, placed) = evaluation.place(Rc::new(route), state, Origin::Within)?;
        Ok(match evaluation.refuses_before_perl(&route, state) {
            Some(_) => (route, Placed::Refused(403)),
            None => (route, placed),
        })
    }

    /// Returns the status of an entry that the rules of its place do not refuse.
    fn status_at(&self, route: &Route, state: &Option<Box<RuleState>>) -> u16 {
        let (own, folder) = (&route.settings, &self.folder.settings);
        // A worker would have to decide, and no worker is asked here.
        if own.is_decided_after_perl() && !own.guards_as(folder) {
            return 403;
        }
        if own.tls.required && self.request.request().peer.tls.is_none() {
            return 403;
        }
        match &route.outcome {
            RouteOutcome::Refused(problem) if routing::is_found_by_walk(problem) => problem.status,
            _ => state.as_ref().map_or(0, |state| state.access.status),
        }
    }

    fn log(&self, text: &str) {
        let request = self.request.request();
        let place = self.folder.file.escape_ascii();
        let text = format!("{}: {text}: {place}", request.target.escape_ascii());
        let journal = &self.shared.journal;
        journal.error(
            request.virtual_host,
            LogLevel::Error,
            request.origin(),
            &text,
        );
    }
}
