//! Turns httperf's options into a plan of the engine: requests, sessions of bursts, arrivals.
//!
//! A connection with its calls is a session of the engine in every workload.

use super::options::{Arrival, Options};
use super::requests::Requests;
use super::templates::templates;
use crate::drawn;
use mehari_load::{Arrivals, Connection, Endpoint, Pick, Plan, Schedule, Session, Stop, TlsPolicy};
use std::sync::Arc;
use std::time::Duration;

/// The time-out without `--timeout`. httperf waits for ever; Mehari waits for one day.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// Returns the engine's plan.
///
/// # Errors
/// httperf's message, without the name before it.
pub fn plan(options: &Options, address: String) -> Result<Plan, String> {
    let (templates, count) = templates(options)?;
    let endpoint = Endpoint {
        host: address,
        port: options.port(),
        tls: options.ssl,
    };
    let mut requests = Requests::new(options, endpoint);
    let sessions: Vec<Session> = templates
        .iter()
        .map(|template| requests.session(template))
        .collect();
    let mut plan = Plan::new(
        requests.rendered,
        schedule(options, count),
        stop(options, count),
    );
    plan.sessions = sessions;
    plan.pick = Pick::InOrder;
    plan.seed = 1 + options.client.number;
    plan.tick = Duration::from_millis(100);
    plan.connection = connection(options);
    Ok(plan)
}

fn stop(options: &Options, count: u64) -> Stop {
    let whole: f64 = match &options.arrival {
        Arrival::Variable(pairs) => pairs.iter().map(|(_, lasts)| lasts).sum(),
        _ => 0.0,
    };
    let time = match (options.runtime > 0.0, whole > 0.0) {
        (true, _) => Some(options.runtime),
        (false, true) => Some(whole),
        (false, false) => None,
    };
    Stop {
        arrivals: Some(count),
        time: time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    }
}

fn schedule(options: &Options, count: u64) -> Schedule {
    let most_connections = match options.max_connections {
        0 => MANY,
        most => most as usize,
    };
    let open = |between: f64, arrivals| Schedule::Open {
        rate: 1.0 / between,
        arrivals,
        most_connections,
    };
    match &options.arrival {
        Arrival::Sequential => Schedule::Closed { connections: 1 },
        Arrival::Every(between) => open(*between, Arrivals::Constant),
        Arrival::Uniform(least, most) => Schedule::Stages {
            stages: drawn::stages(*least, *most, count, options.client.number),
            arrivals: Arrivals::Constant,
            most_connections,
        },
        Arrival::Exponential(mean) => open(*mean, Arrivals::Poisson),
        Arrival::Variable(pairs) => Schedule::Stages {
            stages: pairs
                .iter()
                .map(|&(between, lasts)| drawn::steady(between, lasts))
                .collect(),
            arrivals: Arrivals::Constant,
            most_connections,
        },
    }
}

fn connection(options: &Options) -> Connection {
    let timeout = options
        .timeout()
        .map(|seconds| seconds + options.think_timeout)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Connection {
        close_with_reset: options.close_with_reset,
        tls: Arc::new(TlsPolicy {
            insecure: true,
            no_resumption: options.ssl_no_reuse,
            server_name: Some(options.server.clone()),
            ..TlsPolicy::default()
        }),
        timeout: timeout.unwrap_or(FOR_EVER),
        send_buffer: Some(options.send_buffer as usize).filter(|bytes| *bytes > 0),
        receive_buffer: Some(options.receive_buffer as usize).filter(|bytes| *bytes > 0),
        ..Connection::default()
    }
}

/// The connection limit without `--max-connections`. Like httperf, opens as many connections as
/// there are descriptors.
const MANY: usize = u32::MAX as usize;
