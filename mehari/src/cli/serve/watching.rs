//! Writes the answers that only the console asks for: places, errors and history.

use crate::cli::control::Reply;
use mehari_config::Site;
use mehari_front::{HistoryPoint, PlaceReport};
use mehari_observe::ErrorGroup;
use serde_json::{json, Value};
use std::time::{SystemTime, UNIX_EPOCH};

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
