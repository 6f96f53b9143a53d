//! The response cache's stage: before a program is asked, and when it has failed.
//!
//! `ask` looks a request up, `answer` turns a kept page into an answer, `receive` keeps what a program
//! says, and `refresh` asks for a page anew behind the client's back.

mod answer;
mod ask;
mod receive;
mod refresh;

pub use receive::receive;

use super::client::{ClientStream, Gone};
use crate::cache::Lease;
use crate::handlers::{Fault, HandlerOutcome, Said};
use crate::pipeline::RequestContext;
use crate::request::Request;
use crate::routing::Route;
use ask::Step;
use mehari_net::deadline::Phase;
use std::rc::Rc;
use std::time::Duration;

/// What the cache has for the request; `None`: the program is asked.
pub async fn consult<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    route: &Rc<Route>,
) -> Result<Option<HandlerOutcome>, Gone> {
    let question = |request: &Request<'_>| ask::Question::of(client.shared(), request, route);
    let Some(mut question) = client.with_request(context, question) else {
        return Ok(None);
    };
    loop {
        let step = client.with_request(context, |request| {
            ask::step(client.shared(), context, request, route, &mut question)
        });
        match step {
            Step::Pass => return Ok(None),
            Step::Answer(work) => {
                client.discard_body().await?;
                return Ok(Some(work));
            }
            Step::Wait(others) => {
                client.settle().await?;
                let clock = &client.shared().clock;
                client.seat().enter(clock, Phase::Work, Duration::MAX);
                others.await;
            }
            Step::Ask(mut lease) => {
                let fields = client.with_request(context, |request| lease.fields(request));
                lease.change_fields(context, fields);
                context.lease = Some(lease);
                return Ok(None);
            }
        }
    }
}

/// What the cache has where the program failed; else the lease, to go on with.
pub fn rescue<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    mut lease: Box<Lease>,
    said: &Result<Said, Fault>,
) -> Result<HandlerOutcome, Box<Lease>> {
    lease.restore_fields(context);
    let failed = match said {
        Err(fault) => Some(fault.status()),
        Ok(Said::Page(status)) if *status >= 500 => Some(*status),
        Ok(_) => None,
    };
    let work = failed.and_then(|status| {
        client.with_request(context, |request| {
            receive::rescue(client.shared(), context, request, &lease, status)
        })
    });
    work.ok_or(lease)
}
