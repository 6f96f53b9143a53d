//! Describes a plan in the words and fields of a record, for `measure`.

use mehari_record as record;

use crate::plan::{Arrivals, Plan, Schedule};

pub fn plan(plan: &Plan, threads: usize) -> record::Plan {
    let request = &plan.requests[0];
    let first = String::from_utf8_lossy(
        request
            .head
            .split(|byte| *byte == b' ')
            .next()
            .unwrap_or_default(),
    );
    let urls = urls(plan);
    let (schedule, arrivals, rate, stages) = match &plan.schedule {
        Schedule::Closed { .. } => ("closed", None, None, Vec::new()),
        Schedule::Open { rate, arrivals, .. } => ("open", Some(*arrivals), Some(*rate), Vec::new()),
        Schedule::Stages {
            stages, arrivals, ..
        } => ("open", Some(*arrivals), None, stages.clone()),
    };
    let arrivals = arrivals.map(|arrivals| match arrivals {
        Arrivals::Constant => "constant".to_string(),
        Arrivals::Poisson => "poisson".to_string(),
    });
    record::Plan {
        words: words(plan, &urls),
        urls,
        method: first.into_owned(),
        schedule: if plan.sessions.is_empty() {
            schedule
        } else {
            "sessions"
        }
        .into(),
        seed: arrivals.as_ref().map(|_| plan.seed),
        arrivals,
        rate,
        stages: stages
            .iter()
            .map(|stage| record::Stage {
                seconds: stage.duration.as_secs_f64(),
                from: stage.from,
                to: stage.to,
            })
            .collect(),
        connections: plan.most_at_once() as u64,
        threads: threads as u64,
        requests: plan.stop.arrivals,
        seconds: plan.stop.time.map(|time| time.as_secs_f64()),
        warm_up_seconds: plan.warm_up.as_secs_f64(),
        timeout_seconds: Some(plan.connection.timeout.as_secs_f64()),
        protocol: match plan.connection.http2_streams {
            Some(_) => "h2".into(),
            None => "http/1.1".into(),
        },
        tls: plan.requests.iter().any(|request| request.endpoint.tls),
        keep_alive: plan.connection.keep_alive,
        think_seconds: None,
        throttle: plan.connection.throttle.map(|rate| rate as f64),
        other: Default::default(),
    }
}

fn urls(plan: &Plan) -> Vec<String> {
    plan.requests
        .iter()
        .take(MOST_URLS)
        .map(|request| {
            let scheme = if request.endpoint.tls {
                "https"
            } else {
                "http"
            };
            format!(
                "{scheme}://{}{}",
                request.endpoint.authority(),
                request.path()
            )
        })
        .collect()
}

/// The most URLs that a record names.
const MOST_URLS: usize = 100;

fn words(plan: &Plan, urls: &[String]) -> String {
    let what = match plan.requests.len() {
        1 => urls[0].clone(),
        count => format!("{count} requests, the first {}", urls[0]),
    };
    let who = match &plan.schedule {
        Schedule::Closed { connections: 1 } => "closed loop, 1 connection".into(),
        Schedule::Closed { connections } => format!("closed loop, {connections} connections"),
        Schedule::Open { rate, arrivals, .. } => format!(
            "open loop, {} {arrivals:?} arrivals/s",
            record::figures::plain(*rate)
        )
        .to_lowercase(),
        Schedule::Stages {
            stages, arrivals, ..
        } => format!("open loop, {} stages, {arrivals:?} arrivals", stages.len()).to_lowercase(),
    };
    let how = match (plan.connection.http2_streams, plan.connection.keep_alive) {
        (Some(_), _) => "HTTP/2",
        (None, true) => "HTTP/1.1 keep-alive",
        (None, false) => "HTTP/1.1, a connection for each request",
    };
    let mut text = format!("{what} · {who}, {how}");
    if !plan.sessions.is_empty() {
        text.push_str(&format!(", {} session scripts", plan.sessions.len()));
    }
    if let Some(rate) = plan.connection.throttle {
        text.push_str(&format!(", slow clients of {rate} bytes/s"));
    }
    text
}
