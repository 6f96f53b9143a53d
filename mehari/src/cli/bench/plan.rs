//! Makes a plan from the options: requests, schedule, stop rule, connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mehari_load::{
    Arrivals, Builder, Plan, PlanError, Request, Schedule, Sources, Stop, TlsPolicy, Url,
};

use super::arguments::{Arguments, ArrivalsName};

pub fn from(arguments: &Arguments) -> Result<Plan, PlanError> {
    let builder = builder(arguments)?;
    let script = arguments.session_file.as_deref();
    let (requests, sessions) = match script {
        Some(path) => {
            mehari_load::script::read(&text_of(path)?, &name_of(path), &arguments.urls, &builder)?
        }
        None => (requests(arguments, &builder)?, Vec::new()),
    };
    let mut plan = Plan::new(requests, schedule(arguments), stop(arguments));
    plan.sessions = sessions;
    plan.warm_up = arguments.warm_up;
    plan.threads = arguments.threads;
    plan.seed = arguments.seed;
    let connection = &mut plan.connection;
    connection.keep_alive = !arguments.no_keep_alive;
    connection.http2_streams = arguments.http2.then_some(arguments.streams);
    connection.timeout = arguments.timeout;
    connection.throttle = arguments.throttle;
    connection.sources = if arguments.sources.is_empty() {
        Sources::Automatic
    } else {
        Sources::Fixed(arguments.sources.clone())
    };
    connection.tls = Arc::new(TlsPolicy {
        insecure: arguments.insecure,
        authorities: arguments.cacert.iter().cloned().collect(),
        no_resumption: arguments.no_resumption,
        ..TlsPolicy::default()
    });
    check(arguments, &plan)?;
    Ok(plan)
}

/// Checks the plan, and what the plan itself does not check.
fn check(arguments: &Arguments, plan: &Plan) -> Result<(), PlanError> {
    plan.check()?;
    if let (Some(connections), Some(requests)) = (arguments.connections, arguments.requests) {
        if connections as u64 > requests {
            return Err(PlanError::new(format!(
                "-c {connections} is greater than -n {requests}: some connections would have nothing to send"
            )));
        }
    }
    if arguments.no_keep_alive && arguments.http2 {
        return Err(PlanError::new(
            "--no-keep-alive and --http2 exclude each other",
        ));
    }
    Ok(())
}

fn builder(arguments: &Arguments) -> Result<Builder, PlanError> {
    let body = match (&arguments.body, &arguments.body_file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => std::fs::read(path).map_err(|error| unreadable(path, &error))?,
        (None, None) => Vec::new(),
    };
    if arguments
        .basic
        .as_ref()
        .is_some_and(|pair| !pair.contains(':'))
    {
        return Err(PlanError::new("--basic needs USER:PASSWORD"));
    }
    let has_body = arguments.body.is_some() || arguments.body_file.is_some();
    let default_method = if has_body { "POST" } else { "GET" };
    Ok(Builder {
        method: arguments
            .method
            .clone()
            .unwrap_or_else(|| default_method.into()),
        fields: arguments.headers.clone(),
        cookies: arguments.cookies.clone(),
        basic: arguments.basic.clone(),
        body,
        keep_alive: !arguments.no_keep_alive,
    })
}

fn requests(arguments: &Arguments, builder: &Builder) -> Result<Vec<Request>, PlanError> {
    let mut requests = Vec::new();
    for url in &arguments.urls {
        requests.push(builder.build(&Url::parse(url)?)?);
    }
    if let Some(path) = &arguments.url_file {
        requests.extend(mehari_load::script::read_list(
            &text_of(path)?,
            &name_of(path),
            builder,
        )?);
    }
    Ok(requests)
}

fn schedule(arguments: &Arguments) -> Schedule {
    let arrivals = match arguments.arrivals {
        ArrivalsName::Constant => Arrivals::Constant,
        ArrivalsName::Poisson => Arrivals::Poisson,
    };
    let most_connections = arguments.connections.unwrap_or(MOST_CONNECTIONS);
    match (arguments.rate, arguments.stages.is_empty()) {
        (Some(rate), _) => Schedule::Open {
            rate,
            arrivals,
            most_connections,
        },
        (None, false) => Schedule::Stages {
            stages: arguments.stages.clone(),
            arrivals,
            most_connections,
        },
        (None, true) => Schedule::Closed {
            connections: arguments.connections.unwrap_or(1),
        },
    }
}

/// The default of `--connections` in an open loop.
const MOST_CONNECTIONS: usize = 1000;

fn stop(arguments: &Arguments) -> Stop {
    let by_default = arguments.requests.is_none() && arguments.stages.is_empty();
    Stop {
        arrivals: arguments.requests,
        time: arguments
            .duration
            .or(by_default.then_some(Duration::from_secs(10))),
    }
}

fn text_of(path: &Path) -> Result<String, PlanError> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> PlanError {
    PlanError::new(format!("cannot read {}: {error}", path.display()))
}

fn name_of(path: &Path) -> String {
    path.display().to_string()
}
