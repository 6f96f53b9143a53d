//! Answers the orders of watchers, which change nothing: `watch`, `places`, `errors`, `history`,
//! `reports` and `inspect`. They come over the control socket, and from the console's process.

use super::reload::Reloader;
use crate::cli::control::Reply;
use mehari_config::Site;
use mehari_front::{HistoryPoint, PlaceReport};
use mehari_observe::ErrorGroup;
use serde_json::{json, Value};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The most bytes of the answer to an inspection, and its longest time. The process that answers
/// has less time.
const LONGEST_INSPECTION: u64 = 64 << 20;
const INSPECTION_TIME: Duration = Duration::from_secs(30);

/// The answer to an order of a watcher.
pub enum LookAnswer {
    Text(String),
    /// An inspected process writes its answer to this stream.
    Inspected(UnixStream),
}

/// Carries out an order. `None`: the order is none of a watcher.
pub async fn look(order: &str, reloader: &Reloader) -> Option<LookAnswer> {
    let reply = match order {
        "watch" => {
            let began = processor_time();
            let (pool, front, back_ends, watched) = reloader.watch();
            let text = Reply::status(pool, front, back_ends)
                .with_watched(watched)
                .to_json();
            let cost = processor_time().saturating_sub(began);
            return Some(LookAnswer::Text(with_cost(&text, cost)));
        }
        "places" => return Some(LookAnswer::Text(places_text(reloader).await)),
        "errors" => reloader.errors(),
        "history" => reloader.history(),
        "reports" => Reply::list("reports", reloader.exact_reports.all()),
        other => match reloader.inspect(other.strip_prefix("inspect ")?).await {
            Ok(answer) => return Some(LookAnswer::Inspected(answer)),
            Err(reason) => Reply::failed(reason),
        },
    };
    Some(LookAnswer::Text(reply.to_json()))
}

/// Writes the places in another thread, because ten thousand of them take longer than a request
/// may wait.
async fn places_text(reloader: &Reloader) -> String {
    let began = processor_time();
    let (site, places) = reloader.places();
    let taken = processor_time().saturating_sub(began);
    let written = tokio::task::spawn_blocking(move || {
        let began = processor_time();
        let text = self::places(&site, places).to_json();
        with_cost(&text, taken + processor_time().saturating_sub(began))
    });
    let failed = |_| Reply::failed("the places could not be written".to_owned()).to_json();
    written.await.unwrap_or_else(failed)
}

/// Adds the processor time that an answer has taken.
fn with_cost(text: &str, cost: Duration) -> String {
    let rest = text.strip_prefix('{').unwrap_or(text);
    format!("{{\"cost_us\":{},{rest}", cost.as_micros())
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

impl LookAnswer {
    pub async fn write_to(self, mut stream: UnixStream) -> io::Result<()> {
        match self {
            LookAnswer::Text(text) => stream.write_all(text.as_bytes()).await,
            LookAnswer::Inspected(answer) => relay(answer, stream).await,
        }
    }
}

/// Passes the answer of an inspected process on.
async fn relay(answer: UnixStream, mut to: UnixStream) -> io::Result<()> {
    let mut limited = answer.take(LONGEST_INSPECTION);
    let copied = tokio::io::copy(&mut limited, &mut to);
    if let Ok(Ok(0)) = tokio::time::timeout(INSPECTION_TIME, copied).await {
        let reason = "the process ended before it answered, or reached the limit of 20 seconds";
        to.write_all(Reply::failed(reason.to_owned()).to_json().as_bytes())
            .await?;
    }
    Ok(())
}

pub fn places(site: &Site, places: Vec<PlaceReport>) -> Reply {
    // The number of a host is 0 for the main server. A reload may have removed a host.
    let hosts: Vec<Option<&str>> = site
        .all_hosts()
        .map(|host| host.names.server_name.as_deref())
        .collect();
    let place = |place: PlaceReport| {
        let host = hosts.get(place.host as usize).copied().flatten();
        json!({
            "host": host.unwrap_or_default(),
            "path": place.path,
            "requests": place.requests,
            "bytes": place.bytes,
            "client_errors": place.client_errors,
            "server_errors": place.server_errors,
            "cache_hits": place.cache_hits,
            "took_us": place.took_us,
            "queued_us": place.queued_us,
            "p50_us": place.p50_us,
            "p99_us": place.p99_us,
        })
    };
    Reply::list("places", places.into_iter().map(place).collect())
}

pub fn errors(groups: Vec<ErrorGroup>) -> Reply {
    let group = |group: ErrorGroup| {
        json!({
            "level": group.level,
            "place": group.place,
            "message": group.message,
            "count": group.count,
            "first": seconds(group.first),
            "last": seconds(group.last),
            "request": group.request,
            "request_id": group.origin.request,
            "worker": group.origin.worker,
        })
    };
    Reply::list("errors", groups.into_iter().map(group).collect())
}

pub fn history(points: Vec<HistoryPoint>) -> Reply {
    let point = |point: HistoryPoint| {
        json!({
            "at": point.at,
            "requests": point.requests,
            "bytes": point.bytes,
            "server_errors": point.server_errors,
            "connections": point.connections,
            "busy": point.busy,
            "idle": point.idle,
            "queue": point.queue,
            "memory": point.memory,
        })
    };
    Reply::list("history", points.into_iter().map(point).collect())
}

fn seconds(time: SystemTime) -> Value {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs()).into()
}
