//! Makes the responses of workers' sub-requests that come neither from Perl nor from a file: those
//! of back ends, listings, variants, reports, and paths to which rules lead.
//!
//! The worker prints the response (`mehari_pool`'s `page`). It has run the handlers of the place,
//! and has decided about access where they take part in the decision.

use super::lookups::look_up;
use super::steps::{InWorker, Steps, WorkersPage};
use super::{resolve, MapAnswers, Resolved, Verdict};
use crate::content::includes::page::Page;
use crate::content::{Answer, Content};
use crate::handlers::ssi::{self, MOST};
use crate::handlers::{report, Backend, BackendHead, Fault, HandlerOutcome};
use crate::pipeline::{filter, listing, negotiate, start};
use crate::request::owned::OwnedRequest;
use crate::request::rule_state::RuleState;
use crate::request::{Fields, Request};
use crate::routing::{Route, RouteOutcome};
use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_http::status::has_no_body;
use mehari_pool::{Body, Head, Origin, OwnedQuestion, PageAction, RenderedPage};
use std::future::poll_fn;
use std::rc::Rc;

/// The most bytes that are read from a back end at a time.
const ROOM: usize = 32 * 1024;

/// Begins the response.
pub fn begin(shared: &Rc<Shared>, question: OwnedQuestion) -> Box<dyn RenderedPage> {
    let steps = Rc::new(Steps::new(shared));
    let work = respond(shared.clone(), question, steps.clone());
    Box::new(WorkersPage::new(steps, work))
}

/// Makes the response. Returns 0, or the status of a failure.
async fn respond(shared: Rc<Shared>, question: OwnedQuestion, steps: Rc<Steps>) -> u16 {
    let mut answers = MapAnswers::default();
    loop {
        let mut begun = None;
        let Some(mut asked) = question.view() else {
            return 500;
        };
        asked.news.origin = Origin::Handled;
        let lookup = resolve(&shared, asked, &answers, &mut |resolved| {
            begun = Some(Response::of(&shared, &steps, &resolved));
        });
        answers = match (lookup, begun) {
            (Some(lookup), _) => look_up(&shared, lookup, answers).await,
            (None, Some(Ok(response))) => {
                return response.send().await.err().unwrap_or(0);
            }
            (None, Some(Err(status))) => return status,
            (None, None) => return 500,
        };
    }
}

/// A response that has begun.
struct Response {
    shared: Rc<Shared>,
    steps: Rc<Steps>,
    request: OwnedRequest,
    route: Rc<Route>,
    outcome: HandlerOutcome,
}

impl Response {
    /// Begins to respond. The error is the status of a refusal.
    fn of(
        shared: &Rc<Shared>,
        steps: &Rc<Steps>,
        resolved: &Resolved<'_>,
    ) -> Result<Response, u16> {
        let Resolved {
            request,
            route,
            verdict,
            ..
        } = resolved;
        let outcome = match verdict {
            // As in Apache, nothing else responds at a path that is redirected.
            Verdict::Refused(refused) if refused.status < 400 => return Err(403),
            Verdict::Refused(refused) => return Err(refused.status),
            Verdict::Led(to) => HandlerOutcome::Elsewhere(to.clone(), 200),
            Verdict::Open => {
                let kept = unconditional(request);
                let request = Request {
                    fields: Fields::Owned(&kept),
                    ..*request
                };
                outcome(shared, &request, route, steps)?
            }
        };
        Ok(Response {
            shared: shared.clone(),
            steps: steps.clone(),
            request: OwnedRequest::of(request, None),
            route: (*route).clone(),
            outcome,
        })
    }

    /// Has the worker print the response. The error is the status of a failure.
    async fn send(self) -> Result<(), u16> {
        let Response {
            shared,
            steps,
            request,
            route,
            outcome,
        } = self;
        let about = Subject {
            shared: &shared,
            steps: &steps,
            request: &request.request(),
            route: &route,
        };
        match outcome {
            HandlerOutcome::Answer(answer) => about.answer(answer).await,
            HandlerOutcome::Elsewhere(target, _) => about.lead(target),
            HandlerOutcome::Acted(acting) => about.lead(acting.target),
            HandlerOutcome::Backend(mut backend) => match await_head(&mut backend).await {
                Err(fault) => {
                    about.log(&fault.to_string());
                    Err(fault.status())
                }
                Ok(BackendHead::Response(head)) => about.response(head, backend).await,
                Ok(BackendHead::Answered(answer)) => about.answer(*answer).await,
                Ok(BackendHead::Page(status)) => Err(status),
                Ok(BackendHead::Elsewhere(target, _)) => about.lead(target),
                // No Perl code responds here, and a sub-request asks for no other protocol.
                Ok(BackendHead::Rules(_) | BackendHead::Declined(..) | BackendHead::Upgrade(_)) => {
                    Err(500)
                }
            },
        }
    }
}

/// Starts what responds at the place. The worker itself runs programs and sends files.
fn outcome(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    steps: &Rc<Steps>,
) -> Result<HandlerOutcome, u16> {
    let is_get = matches!(request.method, b"GET" | b"HEAD");
    let done = match &route.outcome {
        RouteOutcome::Proxied(path) => start::proxied(shared, request, route, path, Body::Empty),
        RouteOutcome::Listing if is_get => Ok(listing::begin(shared, request, route)),
        // As in Apache, the folder is a missing file for other methods.
        RouteOutcome::Listing => return Err(404),
        RouteOutcome::Report(report) => Ok(HandlerOutcome::Answer(report::answer(
            shared, request, *report,
        ))),
        RouteOutcome::Negotiated(variants) => {
            let subrequests = Box::new(InWorker(steps.clone()));
            Ok(negotiate::respond(
                shared,
                request,
                route,
                variants,
                subrequests,
            ))
        }
        RouteOutcome::Refused(problem) => Err(*problem),
        RouteOutcome::File(_)
        | RouteOutcome::Program
        | RouteOutcome::Acted(_)
        | RouteOutcome::Moved(_)
        | RouteOutcome::Indexed => return Err(403),
    };
    done.map_err(|problem| problem.status)
}

/// Returns the fields as the rules have changed them, without conditions. As in Apache, conditions
/// concern only the whole response.
fn unconditional(request: &Request<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    const CONDITIONS: [&[u8]; 5] = [
        b"if-match",
        b"if-none-match",
        b"if-modified-since",
        b"if-unmodified-since",
        b"if-range",
    ];
    let changed = request.rule_state.and_then(RuleState::changed_fields);
    let mut fields = changed.unwrap_or(request.fields).to_owned();
    fields.retain(|(name, _)| {
        let mut known = CONDITIONS.iter();
        !known.any(|known| name.eq_ignore_ascii_case(known))
    });
    fields
}

async fn await_head(backend: &mut Backend) -> Result<BackendHead, Fault> {
    poll_fn(|cx| {
        let said = backend.poll_head(cx);
        // An interim head is for a client.
        while backend.take_interim().is_some() {}
        said
    })
    .await
}

/// What a response is about.
struct Subject<'r> {
    shared: &'r Rc<Shared>,
    steps: &'r Rc<Steps>,
    request: &'r Request<'r>,
    route: &'r Route,
}

impl Subject<'_> {
    fn lead(&self, target: Vec<u8>) -> Result<(), u16> {
        let action = PageAction::lead(target).ok_or(414_u16)?;
        self.steps.say(action);
        Ok(())
    }

    /// Sends an answer of the front itself. As in Apache, a refusal has no page here.
    async fn answer(&self, answer: Answer) -> Result<(), u16> {
        if answer.status >= 400 {
            return Err(answer.status);
        }
        let lines = answer.lines().concat();
        self.steps.say(PageAction::head(answer.status, &lines));
        let bytes = match answer.content {
            Content::Bytes(bytes) => bytes,
            Content::Cached(resource) => resource.body().to_vec(),
            Content::Shared(bytes) => bytes.to_vec(),
            Content::File(_) => return Err(500),
        };
        self.steps.print_bytes(bytes).await;
        Ok(())
    }

    /// Sends the response of a back end. If the filter INCLUDES is set for its place, the response
    /// is a page with server-side includes.
    async fn response(&self, mut head: Head, mut backend: Backend) -> Result<(), u16> {
        let renders = filter::renders(self.request, self.route, &head);
        if renders {
            filter::change_head(self.route, &mut head);
        }
        self.steps.say(PageAction::head(head.status, &head.lines));
        if has_no_body(head.status) {
            return Ok(());
        }
        let mut gathered = Vec::new();
        let (mut length, mut goes_on) = (0, true);
        while goes_on {
            let mut bytes = Vec::new();
            goes_on = self.read(&mut backend, &mut bytes).await?;
            length += bytes.len();
            if length > MOST {
                self.log("the response of the sub-request becomes too long");
                return Err(500);
            }
            if renders {
                gathered.extend_from_slice(&bytes);
            } else {
                self.steps.print_bytes(bytes).await;
            }
        }
        if !renders {
            return Ok(());
        }
        drop(backend);
        let page = Page::parse(gathered.into(), self.route.settings.output.includes.legacy);
        let subrequests = Box::new(InWorker(self.steps.clone()));
        let (render, document) =
            ssi::begin_response(self.shared, self.request, self.route, subrequests);
        let render = Rc::new(render);
        self.steps.render_with(&render);
        self.steps.print(&render, &page, &document).await
    }

    /// Reads the next bytes of a back end's body. Returns false if the body has ended.
    async fn read(&self, backend: &mut Backend, bytes: &mut Vec<u8>) -> Result<bool, u16> {
        let read = poll_fn(|cx| backend.poll_body(cx, bytes, ROOM)).await;
        read.map_err(|fault| {
            self.log(&fault.to_string());
            fault.status()
        })
    }

    fn log(&self, text: &str) {
        let text = format!("{}: {text}", self.request.resource.escape_ascii());
        let origin = self.request.origin();
        let journal = &self.shared.journal;
        journal.error(self.route.host, LogLevel::Error, origin, &text);
    }
}
