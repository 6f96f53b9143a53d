//! Renders pages with server-side includes that are the responses of workers' sub-requests.
//!
//! The worker prints the page and runs its parts itself (`mehari_pool`'s `page`). The worker has
//! decided who may read the page, as for a file that Perl's handlers choose.

use super::peer_of;
use crate::content::includes::are_for;
use crate::content::stat::{is_file, stat};
use crate::content::FileTarget;
use crate::handlers::ssi::{self, Asking, Fetched, FilePage, Render, Subrequests};
use crate::pipeline::included::Inside;
use crate::pipeline::rules::Evaluation;
use crate::request::rule_state::{Destination, RuleState, User};
use crate::request::{Fields, Protocol, Request};
use crate::routing;
use crate::shared::Shared;
use mehari_pool::{NextActions, PageAction, PageRenderer, RenderedPage, SubrequestQuestion};
use std::cell::{Cell, RefCell};
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::Poll;

/// Returns what begins pages while the front lives.
pub fn page_renderer(shared: Weak<Shared>) -> PageRenderer {
    PageRenderer::new(move |question| begin(&shared.upgrade()?, question, None))
}

/// Begins a page. `outer`: the page of which it is a part. `None`: the file has no includes.
fn begin(
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
    let look = |path: &[u8]| stat(path).map(|(_, found)| found);
    let target = FileTarget::new(name, &found, look);
    let resource = target.resource(None, &place.settings, &shared.content.files);
    let resource = resource.ok()?;
    let is_read = matches!(request.method, b"GET" | b"HEAD" | b"POST");
    if !is_read || !are_for(&place.settings, &resource) {
        return None;
    }
    let route = place.to_file(file.to_vec(), target);
    request.rule_state = state.as_deref();
    let steps = outer.map_or_else(Rc::default, |outer| outer.steps.clone());
    let subrequests = Box::new(InWorker(steps.clone()));
    let (render, page) = ssi::begin_file(shared, &request, &route, resource, subrequests);
    // As in Apache, the pages that include one another have the same variables.
    let render = outer.map_or_else(|| Rc::new(render), |outer| outer.render.clone());
    let work = work(render.clone(), page, steps.clone());
    Some(Box::new(WorkersPage {
        render,
        steps,
        work: Box::pin(work),
        waits: false,
    }))
}

/// Renders the page. Returns 0, or the status with which the page fails.
async fn work(render: Rc<Render>, page: FilePage, steps: Rc<Steps>) -> u16 {
    let FilePage { resource, document } = page;
    let parsed = match ssi::read(&render.shared, &resource, &document.settings).await {
        Ok(parsed) => parsed,
        Err(status) => return status,
    };
    let mut printed = Vec::new();
    let done = render.page(&parsed, &document, &mut printed).await;
    steps.hand_over(&render, &mut printed);
    done.err().unwrap_or(0)
}

struct WorkersPage {
    render: Rc<Render>,
    steps: Rc<Steps>,
    work: Pin<Box<dyn Future<Output = u16>>>,
    /// Whether the page waits for a part.
    waits: bool,
}

impl RenderedPage for WorkersPage {
    fn next(&mut self, status: u16) -> NextActions<'_> {
        if std::mem::take(&mut self.waits) {
            self.steps.status.set(Some(status));
        }
        Box::pin(async move {
            let ended = poll_fn(|context| match self.work.as_mut().poll(context) {
                Poll::Ready(status) => Poll::Ready(Some(status)),
                Poll::Pending if self.steps.has_part.take() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            let ended = ended.await;
            self.waits = ended.is_none();
            let mut actions = self.steps.actions.take();
            actions.extend(ended.map(PageAction::end));
            actions
        })
    }

    fn include(&self, question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> {
        begin(&self.render.shared, question, Some(self))
    }
}

/// What pages that include one another say to the worker. Only the innermost one goes on.
#[derive(Default)]
struct Steps {
    actions: RefCell<Vec<PageAction>>,
    /// Whether the actions end with a part, for whose status the page waits.
    has_part: Cell<bool>,
    status: Cell<Option<u16>>,
}

impl Steps {
    /// Hands over the variables that the page has set, and what it has printed.
    fn hand_over(&self, render: &Render, printed: &mut Vec<u8>) {
        let mut actions = self.actions.borrow_mut();
        let mut variables = render.variables.borrow_mut();
        variables.take_changed(|name, value| actions.extend(PageAction::set(name, value)));
        if !printed.is_empty() {
            actions.push(PageAction::print(std::mem::take(printed)));
        }
    }
}

/// Implements [`Subrequests`] for pages that a worker prints.
struct InWorker(Rc<Steps>);

impl Subrequests for InWorker {
    fn fetch<'r>(
        &self,
        render: &'r Render,
        target: Vec<u8>,
        printed: &'r mut Vec<u8>,
    ) -> Asking<'r, Fetched> {
        let steps = self.0.clone();
        Box::pin(async move {
            let part = PageAction::run(target).ok_or(414_u16)?;
            steps.hand_over(render, printed);
            steps.actions.borrow_mut().push(part);
            steps.has_part.set(true);
            let status = poll_fn(|_| steps.status.take().map_or(Poll::Pending, Poll::Ready));
            match status.await {
                0 => Ok(Fetched::Sent),
                status => Err(status),
            }
        })
    }

    fn file_of<'r>(&self, render: &'r Render, target: Vec<u8>) -> Asking<'r, Vec<u8>> {
        Inside.file_of(render, target)
    }
}
