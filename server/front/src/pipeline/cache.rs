//! Runs the response cache's stage: before a program runs, and after the program has failed.
//!
//! `ask` looks a request up, `answer` turns a kept page into an answer, `receive` stores a
//! program's response, and `refresh` renews a page in the background.

mod answer;
mod ask;
mod receive;
mod refresh;

pub use receive::{receive, Received};

use super::client::{ClientStream, Gone};
use crate::cache::FillLock;
use crate::handlers::{BackendHead, Fault, HandlerOutcome};
use crate::pipeline::{RequestContext, RequestSource};
use crate::routing::Route;
use ask::Step;
use mehari_net::deadline::Phase;
use std::rc::Rc;
use std::time::Duration;

/// Returns the cache's answer for the request. `None`: the program must run.
pub async fn look_up<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    route: &Rc<Route>,
) -> Result<Option<HandlerOutcome>, Gone> {
    let lookup = ask::CacheLookup::of(client.shared(), &client.request(context), route);
    let Some(mut lookup) = lookup else {
        return Ok(None);
    };
    loop {
        let request = client.request(context);
        let step = ask::step(client.shared(), context, &request, route, &mut lookup);
        match step {
            Step::Pass => return Ok(None),
            Step::Answer(work) => {
                client.discard_body().await?;
                return Ok(Some(work));
            }
            Step::Wait(others) => {
                client.settle().await?;
                let clock = &client.shared().clock;
                client.guard().enter(clock, Phase::Work, Duration::MAX);
                others.await;
            }
            Step::Ask(mut fill_lock) => {
                let fields = fill_lock.fields(&client.request(context));
                fill_lock.change_fields(context, fields);
                context.cache.fill_lock = Some(fill_lock);
                return Ok(None);
            }
        }
    }
}

/// Returns the cache's answer after a failure of the program. The error is the fill lock, with
/// which the request continues: there was no failure, or the cache has no answer.
pub fn answer_after_failure<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    mut fill_lock: Box<FillLock>,
    said: &Result<BackendHead, Fault>,
) -> Result<HandlerOutcome, Box<FillLock>> {
    fill_lock.restore_fields(context);
    let failed = match said {
        Err(fault) => Some(fault.status()),
        Ok(BackendHead::Page(status)) if *status >= 500 => Some(*status),
        Ok(_) => None,
    };
    let work = failed.and_then(|status| {
        let request = client.request(context);
        receive::answer_after_failure(client.shared(), context, &request, &fill_lock, status)
    });
    work.ok_or(fill_lock)
}
