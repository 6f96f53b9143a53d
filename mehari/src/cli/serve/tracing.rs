//! Answers `trace` on the control socket: a line when the tracing has begun, then a line for each
//! request. The tracing ends after the wanted number of requests, or when the asker leaves.

use super::reload::Reloader;
use crate::cli::control::Reply;
use mehari_front::{TraceFilter, Tracing};
use mehari_observe::trace::Timeline;
use serde_json::{json, Value};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The most requests that one order traces.
const MOST: u32 = 10_000;

/// Obeys `COUNT location PATH`, `COUNT url TARGET` or `COUNT client PORT`.
pub async fn answer(mut stream: UnixStream, order: &str, reloader: &Reloader) -> io::Result<()> {
    let Some((count, filter)) = parse(order) else {
        let reason = "expected trace COUNT location|url|client and what to trace";
        let reply = Reply::failed(reason.to_owned());
        return stream.write_all(reply.to_json().as_bytes()).await;
    };
    let tracing = reloader.trace(filter, count);
    let begun = Reply::done("tracing".to_owned()).to_json();
    stream.write_all(begun.as_bytes()).await?;
    let (mut asker, mut out) = stream.into_split();
    let mut nothing = [0];
    tokio::select! {
        told = tell(tracing, count, &mut out) => told,
        // The asker writes nothing more, so it has left.
        _ = asker.read(&mut nothing) => Ok(()),
    }
}

async fn tell(
    mut tracing: Tracing,
    count: u32,
    out: &mut (impl AsyncWriteExt + Unpin),
) -> io::Result<()> {
    for _ in 0..count {
        let Some(timeline) = tracing.next().await else {
            return Ok(());
        };
        let line = format!("{}\n", to_json(&timeline));
        out.write_all(line.as_bytes()).await?;
    }
    Ok(())
}

fn parse(order: &str) -> Option<(u32, TraceFilter)> {
    let (count, rest) = order.split_once(' ')?;
    let (kind, what) = rest.split_once(' ')?;
    let count = count.parse().ok().filter(|it| (1..=MOST).contains(it))?;
    let filter = match kind {
        "location" => TraceFilter::Location(what.to_owned()),
        "url" => TraceFilter::Url(what.to_owned()),
        "client" => TraceFilter::Client(what.parse().ok()?),
        _ => return None,
    };
    Some((count, filter))
}

fn to_json(timeline: &Timeline) -> Value {
    let front = timeline
        .front
        .iter()
        .map(|part| json!({ "name": part.name, "until": part.until, "waits": part.waits }));
    let queued = timeline
        .queued
        .iter()
        .map(|wait| json!({ "from": wait.from, "until": wait.until, "worker": wait.worker }));
    let perl = timeline.perl.iter().map(|part| {
        json!({
            "kind": part.kind,
            "name": part.name,
            "from": part.from,
            "until": part.until,
            "busy": part.busy,
            "count": part.count,
            "rows": part.rows,
            "pid": part.pid,
        })
    });
    json!({
        "request_id": timeline.request_id,
        "method": timeline.method,
        "target": timeline.target,
        "client": timeline.client,
        "status": timeline.status,
        "began": timeline.began,
        "front": front.collect::<Vec<_>>(),
        "queued": queued.collect::<Vec<_>>(),
        "perl": perl.collect::<Vec<_>>(),
        "left_out": timeline.left_out,
    })
}
