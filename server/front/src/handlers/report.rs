//! Answers with reports about the server: status, configuration, metrics, liveness, readiness, and
//! the progress of uploads.

mod info;
mod metrics;
mod status;
mod uploads;

use crate::content::{Answer, Content};
use crate::request::Request;
use crate::shared::Shared;
use mehari_config::Report;
use mehari_pool::TeamStatus;

pub fn answer(shared: &Shared, request: &Request<'_>, report: Report) -> Answer {
    if request.method != b"GET" && request.method != b"HEAD" {
        return Answer::new(405, "Allow: GET, HEAD\r\n");
    }
    match report {
        Report::Live => text(200, "text/plain; charset=utf-8", "alive\n".into()),
        Report::Ready => ready(shared),
        Report::Metrics => metrics::answer(shared, request),
        Report::Uploads(format) => uploads::answer(shared, request, format),
        Report::Status => status::answer(shared, request),
        Report::Info => info::answer(&shared.site()),
    }
}

/// Tells a load balancer whether to send requests. The server is ready if it is not stopping and
/// each team that may have workers has one, rests until a request comes, or is a pool in a crash
/// loop.
fn ready(shared: &Shared) -> Answer {
    let has_workers = match shared.backends.pool.status() {
        Some(pool) => {
            // The other applications go on while a pool is in a crash loop.
            let is_given_up = |team: &TeamStatus| team.pool && team.crash_loop.is_some();
            let serves = |team: &TeamStatus| {
                let has_workers = team.busy + team.idle > 0;
                has_workers || team.rests || team.plan.max == 0 || is_given_up(team)
            };
            pool.teams.iter().all(serves)
        }
        None => true,
    };
    let connections = &shared.connections;
    // A process that another one has replaced answers for the server, which does not stop.
    let is_stopping = connections.stopping.get() && !connections.is_replaced.get();
    let (status, said) = match (is_stopping, has_workers) {
        (false, true) => (200, "ready\n"),
        (true, _) => (503, "stopping\n"),
        (false, false) => (503, "no worker is ready\n"),
    };
    text(status, "text/plain; charset=utf-8", said.into())
}

fn text(status: u16, media_type: &str, body: String) -> Answer {
    Answer {
        status,
        lines: format!("Content-Type: {media_type}\r\nCache-Control: no-store\r\n").into(),
        content: Content::Bytes(body.into_bytes()),
    }
}
