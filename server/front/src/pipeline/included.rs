//! Makes requests for server-side includes: requests another path of this server under all rules
//! that apply to a client.

use crate::content::includes::are_for;
use crate::content::includes::page::Page;
use crate::content::spool::Spooled;
use crate::content::{Answer, Content};
use crate::handlers::ssi::{bytes, read, Asking, Document, Fetched, Render, Subrequests, MOST};
use crate::handlers::{through, Backend, BackendHead, HandlerOutcome};
use crate::pipeline::filter::renders;
use crate::pipeline::rules::{self, Admission};
use crate::pipeline::{declined, start, RequestContext, RequestSource};
use crate::request::owned::OwnedRequest;
use crate::request::{Protocol, Redirect, RedirectCause, Request};
use crate::routing::{Route, RouteOutcome};
use crate::shared::Shared;
use mehari_pool::{Body, Declined, Head};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The most bytes that are read from a program at a time.
const ROOM: usize = 64 * 1024;

/// Counts a request while it runs.
struct Counted {
    shared: Rc<Shared>,
    context: RequestContext,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.stats.request_ends(0);
    }
}

/// Implements [`Subrequests`] for pages.
pub struct Inside;

impl Subrequests for Inside {
    fn fetch<'r>(
        &self,
        render: &'r Render,
        target: Vec<u8>,
        _printed: &'r mut Vec<u8>,
    ) -> Asking<'r, Fetched> {
        Box::pin(async move { IncludedRequest { render }.fetch(target).await })
    }

    fn file_of<'r>(&self, render: &'r Render, target: Vec<u8>) -> Asking<'r, Vec<u8>> {
        Box::pin(async move { IncludedRequest { render }.file_of(target).await })
    }
}

/// The request for one part of a page.
struct IncludedRequest<'r> {
    render: &'r Render,
}

impl IncludedRequest<'_> {
    /// Requests the part. The error is the status of a refusal.
    async fn fetch(&self, target: Vec<u8>) -> Result<Fetched, u16> {
        let (mut counted, route) = self.admitted(target).await?;
        if route.settings.runs_phases() || route.is_filtered() {
            self.answered(&mut counted.context, &route).await
        } else {
            self.file_or_answer(&mut counted.context, &route).await
        }
    }

    /// Requests a part for which no Perl handlers run, or for which they have run already.
    async fn file_or_answer(
        &self,
        context: &mut RequestContext,
        route: &Rc<Route>,
    ) -> Result<Fetched, u16> {
        let RouteOutcome::File(file) = &route.outcome else {
            return self.answered(context, route).await;
        };
        let files = &self.render.shared.content.files;
        let resource = file.resource(None, &route.settings, files);
        let resource = resource.map_err(|problem| problem.status)?;
        if !are_for(&route.settings, &resource) {
            let bytes = bytes(files, &resource).await?;
            return Ok(Fetched::Bytes(bytes.to_vec()));
        }
        let page = read(&self.render.shared, &resource, &route.settings).await?;
        let target = context.redirect.as_ref().map(|to| &to.target[..]);
        let document = Document::of(target.unwrap_or_default(), route);
        Ok(Fetched::Page(page, document))
    }

    /// Returns the file of a path if this request may see it. The page shows its size and date.
    async fn file_of(&self, target: Vec<u8>) -> Result<Vec<u8>, u16> {
        let (_counted, route) = self.admitted(target).await?;
        match &route.outcome {
            RouteOutcome::Refused(problem) => Err(problem.status),
            // A worker decides about access, and no worker is asked here.
            _ if route.settings.runs_phases() && route.settings.is_guarded() => Err(403),
            _ => Ok(route.file.clone()),
        }
    }

    async fn admitted(&self, target: Vec<u8>) -> Result<(Counted, Rc<Route>), u16> {
        let context = RequestContext::begin(&self.render.shared, Protocol::Http11, false);
        let mut counted = Counted {
            shared: self.render.shared.clone(),
            context,
        };
        let context = &mut counted.context;
        context.host = self.render.base.host();
        context.address = self.render.base.request().peer.remote_addr;
        let mut state = self.render.base.state();
        state.leave_resource();
        state.is_within = true;
        for (name, value) in self.render.variables.borrow().own() {
            state.set(name, value.to_vec());
        }
        context.rule_state = Some(Box::new(state));
        let asked = self.render.base.request().target.to_vec();
        context.redirect = Some(Redirect {
            target,
            from: None,
            status: 200,
            count: 0,
            cause: RedirectCause::Rule,
        });
        let admission = rules::apply(&self.render.shared, context, &asked, self).await;
        match admission.map_err(|problem| problem.status)? {
            Admission::To(route) if is_for_tls_only(&route, &self.render.base) => Err(403),
            Admission::To(route) => {
                context.settings = Some(route.settings.clone());
                Ok((counted, route))
            }
            Admission::Status(status) => Err(status),
            Admission::Answer(answer) => Err(answer.status),
        }
    }

    /// Returns the response of a program, a back end or the server itself.
    async fn answered(
        &self,
        context: &mut RequestContext,
        route: &Rc<Route>,
    ) -> Result<Fetched, u16> {
        let shared = &self.render.shared;
        let mut work = start::begin(shared, &self.request(context), route, Body::Empty);
        loop {
            work = match work {
                HandlerOutcome::Answer(answer) => return whole(answer).map(Fetched::Bytes),
                // A script's redirect becomes the refusal 302.
                HandlerOutcome::Elsewhere(..) | HandlerOutcome::Acted(_) => return Err(302),
                HandlerOutcome::Backend(mut backend) => match poll_fn(|cx| backend.poll_head(cx))
                    .await
                {
                    Err(fault) => return Err(fault.status()),
                    Ok(BackendHead::Response(head)) if (300..400).contains(&head.status) => {
                        return Err(head.status)
                    }
                    Ok(BackendHead::Response(head)) => {
                        let bytes = body(&mut backend).await?;
                        return Ok(self.rendered(context, route, &head, bytes));
                    }
                    Ok(BackendHead::Answered(answer)) => return whole(*answer).map(Fetched::Bytes),
                    Ok(BackendHead::Page(status)) => return Err(status),
                    Ok(BackendHead::Rules(left)) => {
                        context.note_backend(&mut backend);
                        let asked = self.render.base.request().target.to_vec();
                        rules::answer_worker(shared, context, &asked, self, (&backend, left)).await;
                        HandlerOutcome::Backend(backend)
                    }
                    // Perl leaves the file to the front, which includes it like any other.
                    Ok(BackendHead::Declined(declined, _))
                        if is_left_alone(&declined) && is_file(route) =>
                    {
                        let found = Box::pin(self.file_or_answer(context, route)).await?;
                        return self.filtered(backend, found).await;
                    }
                    Ok(BackendHead::Declined(declined, body)) => {
                        let page = declined::route_to_page(route);
                        if let Some(page) = page.filter(|_| is_left_alone(&declined)) {
                            let page = Rc::new(page);
                            let found = Box::pin(self.file_or_answer(context, &page)).await?;
                            return self.filtered(backend, found).await;
                        }
                        self.declined(context, backend, *declined, body)
                    }
                    Ok(BackendHead::Elsewhere(..) | BackendHead::Upgrade(_)) => return Err(302),
                },
            };
        }
    }

    /// Returns the response of a program or a back end. If the filter INCLUDES is set for its
    /// place, the response is a page itself.
    fn rendered(
        &self,
        context: &RequestContext,
        route: &Route,
        head: &Head,
        bytes: Vec<u8>,
    ) -> Fetched {
        let request = self.request(context);
        if !renders(&request, route, head) {
            return Fetched::Bytes(bytes);
        }
        let legacy = route.settings.output.includes.legacy;
        let page = Page::parse(bytes.into(), legacy);
        Fetched::Page(Rc::new(page), Document::of(request.resource, route))
    }

    /// Passes an included file through Perl's output filters, if the worker waits for it. A page
    /// passes none, because the worker would wait for others that run the page's parts.
    async fn filtered(&self, backend: Backend, found: Fetched) -> Result<Fetched, u16> {
        let (exchange, bytes) = match (backend, found) {
            (Backend::Perl(exchange, _), Fetched::Bytes(bytes)) if exchange.has_fetch() => {
                (exchange, bytes)
            }
            (_, found) => return Ok(found),
        };
        let answer = Answer {
            status: 200,
            lines: Vec::new(),
            content: Content::Bytes(bytes),
        };
        let Ok(HandlerOutcome::Backend(mut filters)) =
            through::begin(exchange, HandlerOutcome::Answer(answer), None)
        else {
            return Err(500);
        };
        match poll_fn(|cx| filters.poll_head(cx)).await {
            Ok(BackendHead::Response(head)) if head.status < 300 => {
                body(&mut filters).await.map(Fetched::Bytes)
            }
            Ok(BackendHead::Response(head)) => Err(head.status),
            Ok(_) => Err(500),
            Err(fault) => Err(fault.status()),
        }
    }

    /// Goes on with a request that Perl's handlers have left to the front.
    fn declined(
        &self,
        context: &RequestContext,
        backend: Backend,
        declined: Declined,
        body: Option<Box<Spooled>>,
    ) -> HandlerOutcome {
        let (request, settings) = (self.request(context), context.settings.as_deref());
        let shared = &self.render.shared;
        let work = declined::continue_declined(shared, &request, settings, declined, body);
        match backend {
            Backend::Perl(exchange, _) => {
                through::begin(exchange, work, None).unwrap_or_else(|(_, unfiltered)| unfiltered)
            }
            _ => work,
        }
    }
}

impl RequestSource for IncludedRequest<'_> {
    fn request<'t>(&'t self, context: &'t RequestContext) -> Request<'t> {
        let base = self.render.base.request();
        let redirect = context.redirect.as_ref();
        Request {
            resource: redirect.map_or(base.resource, |redirect| &redirect.target),
            redirect,
            virtual_host: context.host,
            rule_state: context.rule_state.as_deref(),
            ..base
        }
    }
}

/// Whether `SSLRequireSSL` of the part's place refuses a request without TLS.
fn is_for_tls_only(route: &Route, base: &OwnedRequest) -> bool {
    route.settings.tls.required && base.request().peer.tls.is_none()
}

/// Whether the handlers have left the routed file as it is.
fn is_left_alone(declined: &Declined) -> bool {
    declined.status == 0 && declined.file.is_none() && declined.target.is_none()
}

fn is_file(route: &Route) -> bool {
    matches!(route.outcome, RouteOutcome::File(_))
}

fn whole(answer: Answer) -> Result<Vec<u8>, u16> {
    if answer.status >= 300 {
        return Err(answer.status);
    }
    match answer.content {
        Content::Bytes(bytes) => Ok(bytes),
        Content::Cached(resource) => Ok(resource.body().to_vec()),
        Content::Shared(bytes) => Ok(bytes.to_vec()),
        // The answer is too large for a page.
        Content::File(_) => Err(500),
    }
}

async fn body(backend: &mut Backend) -> Result<Vec<u8>, u16> {
    let mut whole = Vec::new();
    let mut reader = Reader(Some(backend));
    poll_fn(|cx| loop {
        let Some(backend) = &mut reader.0 else {
            return Poll::Ready(Ok(()));
        };
        let outcome = match backend.poll_body(cx, &mut whole, ROOM) {
            Poll::Ready(Ok(true)) if whole.len() <= MOST => continue,
            Poll::Ready(Ok(true)) => return Poll::Ready(Err(500)),
            Poll::Ready(Ok(false)) => Ok(()),
            Poll::Ready(Err(fault)) => Err(fault.status()),
            Poll::Pending => return Poll::Pending,
        };
        reader.0 = None;
        return Poll::Ready(outcome);
    })
    .await?;
    Ok(whole)
}

/// The reader of a part's body. If it is dropped before the end of the body, the client of the page
/// has left, or the part is too long. Nobody then gets what a script still prints.
struct Reader<'b>(Option<&'b mut Backend>);

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(backend) = &self.0 {
            backend.note_departure();
        }
    }
}
