//! Takes a request from its head to its log line, whichever protocol carries the request.
//!
//! A codec (`codec::h1`, `codec::h2`) reads a head and calls [`run`] with its [`ClientStream`]. The
//! stages follow each other:
//!
//! 1. [`admit`] checks the head and the limits;
//! 2. [`rewrite`] applies the server's rules to the path (Apache's translate phase);
//! 3. [`route`] finds the file and the handler;
//! 4. [`access`] decides who may come;
//! 5. [`negotiate`] chooses among the variants of a resource;
//! 6. [`fixups`] applies the rules of the place;
//! 7. [`cache`] asks the response cache;
//! 8. [`handle`] reads the body, and [`start`] starts the handler;
//! 9. [`program`] interprets the head that a program sends;
//! 10. [`filter`] and [`headers`] change the response;
//! 11. [`respond`] sends the head, and [`response_body`] moves a program's body;
//! 12. [`log`] writes the access line.
//!
//! [`rules`] takes a request through stages 2 to 6. If a rule leads to another path, these stages
//! begin again. [`scripts`] run before and after these stages, and before the head is sent.
//!
//! Framing, flow control and everything else that depends on the protocol stay in the codecs.

mod access;
mod admit;
mod cache;
mod client;
mod context;
mod declined;
mod development;
mod filter;
mod fixups;
mod handle;
mod headers;
mod included;
mod index;
mod listing;
mod log;
mod managed;
mod negotiate;
mod program;
mod respond;
mod response_body;
mod rewrite;
mod route;
mod rules;
mod scripts;
mod spelling;
mod start;
mod status_page;
pub mod subrequest;

pub use admit::{at_once, check, TargetForm};
pub use client::{
    BodyLength, ClientStream, Framing, Gathered, Gone, RequestHead, RequestSource, ResponseHead,
    TOO_LARGE,
};
pub use context::RequestContext;
pub use log::SentHead;
pub use respond::{answer, start_answer};
pub use response_body::send_page;

use crate::content::Answer;
use crate::handlers::HandlerOutcome;
use crate::request::Protocol;
use crate::shared::tracer::BegunRequest;
use mehari_net::proxied;
use mehari_observe::trace::Trace;
use std::rc::Rc;

/// Begins a request: counts it and finds its host.
#[inline(always)]
pub fn begin<C: ClientStream>(client: &C, context: &mut RequestContext, protocol: Protocol) {
    let shared = client.shared();
    shared.take_file_changes();
    let is_head = client.method() == b"HEAD";
    context.start(shared, protocol, is_head);
    context.address = client.peer().remote_addr;
    context.host = shared.host(client.peer(), client.host());
    let site = shared.site();
    if let Some(rule) = &site.remote_address {
        let fields = client.fields().table();
        let fields = fields.iter().copied();
        context.client = proxied::client(rule, client.peer(), fields).map(Box::new);
    }
    if shared.tracer.must_look_at_next(client.peer()) {
        begin_trace(client, context);
    }
    if site.times_stages && context.trace.is_none() {
        context.trace = Some(Rc::new(Trace::untold()));
    }
}

#[cold]
fn begin_trace<C: ClientStream>(client: &C, context: &mut RequestContext) {
    context.trace = client.shared().tracer.begin(&BegunRequest {
        id: context.id,
        method: client.method(),
        target: client.target(),
        host: client.host(),
        protocol: context.protocol,
        fields: client.fields(),
        peer: client.peer(),
        client: context.client(client.peer()),
    });
}

/// Answers a request.
pub async fn run<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
) -> Result<(), Gone> {
    let work = match admit::check(client, context) {
        Err(problem) => handle::refuse_unread(client, context, problem).await?,
        Ok(TargetForm::Asterisk) => {
            client.discard_body().await?;
            HandlerOutcome::Answer(server_options())
        }
        Ok(TargetForm::Origin) => match at_once(client, context) {
            Some(work) => work,
            None => handle::begin(client, context).await?,
        },
    };
    finish(client, context, work).await
}

/// Answers the request with this outcome. If the outcome leads to another handler, repeats this.
pub async fn finish<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    mut work: HandlerOutcome,
) -> Result<(), Gone> {
    loop {
        work = match work {
            HandlerOutcome::Answer(answer) => {
                return respond::answer(client, context, answer).await
            }
            HandlerOutcome::Elsewhere(target, status) => {
                context.end_listening(status);
                handle::redirect_internally(client, context, target, status).await
            }
            HandlerOutcome::Acted(acting) => {
                context.end_listening(200);
                handle::act(client, context, *acting).await
            }
            HandlerOutcome::Backend(mut backend) => {
                let done = program::answer(client, context, &mut backend).await;
                context.note_log_report(&backend);
                match done {
                    Ok(None) => return Ok(()),
                    Ok(Some(work)) => {
                        let before = filter::before_perl(client, context, &backend, &work);
                        context.report_to_worker(backend, work, before)
                    }
                    Err(gone) => {
                        context.note_backend(&mut backend);
                        return Err(gone);
                    }
                }
            }
        }
    }
}

/// Returns the answer to `OPTIONS *`.
fn server_options() -> Answer {
    Answer::new(200, "Allow: GET, HEAD, POST, OPTIONS\r\n")
}
