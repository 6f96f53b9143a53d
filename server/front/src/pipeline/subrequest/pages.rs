//! Renders pages with server-side includes that are the responses of workers' sub-requests.
//!
//! The worker prints the page and runs its parts itself (`mehari_pool`'s `page`). The worker has
//! decided who may read the page, as for a file that Perl's handlers choose.

use super::peer_of;
use super::steps::{InWorker, Steps, WorkersPage};
use crate::content::includes::are_for;
use crate::content::stat::{is_file, stat};
use crate::content::FileTarget;
use crate::handlers::ssi::{self, FilePage, Render};
use crate::pipeline::rules::Evaluation;
use crate::request::rule_state::{Destination, RuleState, User};
use crate::request::{Fields, Protocol, Request};
use crate::routing;
use crate::shared::Shared;
use mehari_pool::{RenderedPage, SubrequestQuestion};
use std::rc::Rc;

/// Begins a page. `outer`: the page of which it is a part. `None`: the file has no includes.
pub(super) fn begin(
    shared: &Rc<Shared>,
    question: SubrequestQuestion<'_>,
    outer: Option<&WorkersPage>,
) -> Option<Box<dyn RenderedPage>> {
    let site = shared.site();
    let peer = peer_of(&question.asker);
    let (file, news) = (question.file?, question.news);
    let changed = news.changes.fields.as_deref().map(Fields::Owned);
    let fields = changed.unwrap_or(Fields::List(&question.asker.fields));
    let mut request = Request {
        method: question.method,
        asked_method: question.asker.method,
        target: question.asker.target,
        resource: question.target,
        redirect: None,
        protocol: Protocol::Http11,
        fields,
        host: fields.get("host").unwrap_or_default(),
        virtual_host: question.server,
        peer: &peer,
        rule_state: None,
        id: 0,
        trace: None,
    };
    let mut state = RuleState {
        inherited: news.changes.variables,
        is_within: true,
        ..RuleState::default()
    };
    state.mapping.destination = Some(Destination::File(file.to_vec()));
    let htaccess = &shared.routing.htaccess;
    let found = routing::find_for(&site, htaccess, &request, &state.mapping, None).ok()?;
    state.identity.user = news.user.map(|user| User::named(user, &found.settings));
    let mut state = Some(Box::new(state));
    let evaluation = Evaluation::new(shared, &request, &site);
    let place = evaluation.settle(Rc::new(found), &mut state).ok()?;
    let (name, found) = stat(file).filter(|(_, found)| is_file(found))?;
    let target = FileTarget::new(name, &found);
    let resource = target.resource(None, &place.settings, &shared.content.files);
    let resource = resource.ok()?;
    let is_read = matches!(request.method, b"GET" | b"HEAD" | b"POST");
    if !is_read || !are_for(&place.settings, &resource) {
        return None;
    }
    let route = place.to_file(file.to_vec(), target);
    request.rule_state = state.as_deref();
    // As in Apache, the pages that include one another have the same variables.
    let render = outer.and_then(|outer| outer.steps.render());
    let steps = match (&render, outer) {
        (Some(_), Some(outer)) => outer.steps.clone(),
        _ => Rc::new(Steps::new(shared)),
    };
    let subrequests = Box::new(InWorker(steps.clone()));
    let (new, page) = ssi::begin_file(shared, &request, &route, resource, subrequests);
    let render = render.unwrap_or_else(|| Rc::new(new));
    steps.render_with(&render);
    let work = work(render, page, steps.clone());
    Some(Box::new(WorkersPage::new(steps, work)))
}

/// Renders the page. Returns 0, or the status with which the page fails.
async fn work(render: Rc<Render>, page: FilePage, steps: Rc<Steps>) -> u16 {
    let FilePage { resource, document } = page;
    let parsed = match ssi::read(&render.shared, &resource, &document.settings).await {
        Ok(parsed) => parsed,
        Err(status) => return status,
    };
    let done = steps.print(&render, &parsed, &document).await;
    done.err().unwrap_or(0)
}
