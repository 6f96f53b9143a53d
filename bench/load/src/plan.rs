//! Defines the plan of a load: requests, schedule, stop rule, connection. A command builds the
//! plan, `Plan::check` checks the plan once, and the driver's threads only read it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::plan_error::PlanError;
use crate::request::Request;
use crate::session::Session;

/// A whole load. Every mode is a value of this type.
#[derive(Clone, Debug)]
pub struct Plan {
    pub requests: Vec<Request>,
    /// The scripts for visitors. If there are none, each arrival is one request. Otherwise each
    /// arrival plays one session, whose calls are indices into `requests`.
    pub sessions: Vec<Session>,
    pub pick: Pick,
    pub schedule: Schedule,
    pub stop: Stop,
    /// Requests intended before this time are sent but not counted.
    pub warm_up: Duration,
    /// How long the run waits for the requests that are under way after the last planned request.
    /// `None` means the time-out of a request.
    pub drain: Option<Duration>,
    pub connection: Connection,
    /// The number of threads. `None` lets the driver choose the number from the cores and the
    /// connections.
    pub threads: Option<usize>,
    pub seed: u64,
    /// How often `Observer::tick` is called on each thread.
    pub tick: Duration,
}

/// How the next request or session is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// By weight, with the plan's seed.
    Random,
    /// In order, and again from the start. Thread k of n starts with the k-th request and takes
    /// every n-th request.
    InOrder,
}

#[derive(Clone, Debug)]
pub enum Schedule {
    /// A fixed number of users. Each user sends the next request after the answer to the previous
    /// request.
    Closed { connections: usize },
    /// Arrivals at times set by the clock, regardless of the server's speed.
    Open {
        /// Arrivals per second.
        rate: f64,
        arrivals: Arrivals,
        /// The most connections. An arrival without a free connection waits, and the wait is part
        /// of the response time.
        most_connections: usize,
    },
    /// Like `Open`, with a rate that follows the stages. The load ends with the last stage.
    Stages {
        stages: Vec<Stage>,
        arrivals: Arrivals,
        most_connections: usize,
    },
}

impl Schedule {
    /// Returns the highest rate in arrivals per second; 0 if users set the pace.
    pub fn highest_rate(&self) -> f64 {
        match self {
            Schedule::Closed { .. } => 0.0,
            Schedule::Open { rate, .. } => *rate,
            Schedule::Stages { stages, .. } => stages
                .iter()
                .map(|stage| stage.from.max(stage.to))
                .fold(0.0, f64::max),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    Constant,
    Poisson,
}

/// A stage: the rate moves linearly from `from` to `to` (arrivals per second) within `duration`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    pub duration: Duration,
    pub from: f64,
    pub to: f64,
}

/// The limits of a load: the limit reached first ends the planning of requests. Neither limit
/// includes the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// The number of arrivals: requests or, in a plan with sessions, sessions.
    pub arrivals: Option<u64>,
    pub time: Option<Duration>,
}

impl Stop {
    pub fn after_requests(count: u64) -> Stop {
        Stop {
            arrivals: Some(count),
            time: None,
        }
    }

    pub fn after_time(time: Duration) -> Stop {
        Stop {
            arrivals: None,
            time: Some(time),
        }
    }
}

/// How connections are made and kept.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Whether to reuse a connection if the response permits it.
    pub keep_alive: bool,
    /// Whether to close connections with a TCP reset, so the client's ports do not stay in
    /// TIME_WAIT.
    pub close_with_reset: bool,
    /// The most concurrent streams on an HTTP/2 connection. `None` means HTTP/1.
    pub http2_streams: Option<usize>,
    pub tls: Arc<TlsPolicy>,
    pub sources: Sources,
    /// The bytes per second that each connection reads. The client's small receive buffer makes the
    /// server wait, too.
    pub throttle: Option<u64>,
    /// The time from the start of a request, including its connect, to its last byte.
    pub timeout: Duration,
    pub receive_buffer: Option<usize>,
    pub send_buffer: Option<usize>,
}

impl Default for Connection {
    fn default() -> Connection {
        Connection {
            keep_alive: true,
            close_with_reset: false,
            http2_streams: None,
            tls: Arc::default(),
            sources: Sources::Automatic,
            throttle: None,
            timeout: Duration::from_secs(30),
            receive_buffer: None,
            send_buffer: None,
        }
    }
}

/// The source addresses of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sources {
    /// The kernel chooses. If the ports of a loopback address run out, the next loopback address is
    /// used.
    Automatic,
    /// These addresses in turn.
    Fixed(Vec<IpAddr>),
}

/// The PEM files by which a client identifies itself.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate chain.
    pub certificate: std::path::PathBuf,
    pub key: std::path::PathBuf,
}

/// The requirements of TLS connections.
#[derive(Clone, Debug, Default)]
pub struct TlsPolicy {
    /// Whether to accept any certificate.
    pub insecure: bool,
    /// PEM files of the trusted authorities; empty: the system's authorities.
    pub authorities: Vec<std::path::PathBuf>,
    pub identity: Option<Identity>,
    /// The server name to send and verify instead of the URL's host.
    pub server_name: Option<String>,
    /// Whether to send no server name.
    pub no_server_name: bool,
    /// Whether to make a full handshake on each connection.
    pub no_resumption: bool,
    pub versions: TlsVersions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    #[default]
    All,
    Only12,
    Only13,
}

impl Plan {
    /// Returns a plan with the defaults of the native command: 30 s time-out, no warm-up, seed 1.
    pub fn new(requests: Vec<Request>, schedule: Schedule, stop: Stop) -> Plan {
        Plan {
            requests,
            sessions: Vec::new(),
            pick: Pick::Random,
            schedule,
            stop,
            warm_up: Duration::ZERO,
            drain: None,
            connection: Connection::default(),
            threads: None,
            seed: 1,
            tick: Duration::from_millis(250),
        }
    }

    /// Returns the most arrivals under way at once.
    pub fn most_at_once(&self) -> usize {
        match &self.schedule {
            Schedule::Closed { connections } => *connections,
            Schedule::Open {
                most_connections, ..
            } => *most_connections,
            Schedule::Stages {
                most_connections, ..
            } => *most_connections,
        }
    }

    /// Checks the plan.
    ///
    /// # Errors
    /// [`PlanError`] with the first reason why the plan cannot be carried out.
    pub fn check(&self) -> Result<(), PlanError> {
        let refuse = |why: &str| Err(PlanError::new(why));
        if self.requests.is_empty() {
            return refuse("there is nothing to request: give at least one URL");
        }
        if self.most_at_once() == 0 {
            return refuse("0 connections can carry no request: at least 1 is needed");
        }
        if self.stop.arrivals == Some(0) {
            return refuse("0 requests are no load: at least 1 is needed");
        }
        if self.stop.time == Some(Duration::ZERO) {
            return refuse("a load of no duration sends nothing: the time must be more than 0");
        }
        if self.threads == Some(0) {
            return refuse("0 threads can do nothing: at least 1 is needed");
        }
        if self.connection.timeout.is_zero() {
            return refuse("with a time-out of 0 every request fails: it must be more than 0");
        }
        if self.connection.throttle == Some(0) || self.connection.http2_streams == Some(0) {
            return refuse("a throttle or a number of streams of 0 lets nothing pass");
        }
        if self.stop == Stop::default() && !matches!(self.schedule, Schedule::Stages { .. }) {
            return refuse("the load would never end: give a number of requests or a time");
        }
        self.check_rate()?;
        self.check_sessions()
    }

    fn check_rate(&self) -> Result<(), PlanError> {
        let usable = |rate: f64| rate.is_finite() && (0.0..=1e9).contains(&rate);
        let good = match &self.schedule {
            Schedule::Closed { .. } => true,
            Schedule::Open { rate, .. } => usable(*rate) && *rate > 0.0,
            Schedule::Stages { stages, .. } => {
                stages
                    .iter()
                    .all(|stage| usable(stage.from) && usable(stage.to))
                    && stages
                        .iter()
                        .any(|stage| !stage.duration.is_zero() && stage.from + stage.to > 0.0)
            }
        };
        if good {
            Ok(())
        } else {
            Err(PlanError::new(
                "the rate must be more than 0 and at most 1000000000 a second",
            ))
        }
    }

    fn check_sessions(&self) -> Result<(), PlanError> {
        for session in &self.sessions {
            let calls = || session.bursts.iter().flat_map(|burst| &burst.calls);
            if session.bursts.is_empty()
                || session.bursts.iter().any(|burst| burst.calls.is_empty())
            {
                return Err(PlanError::new("a session without calls does nothing"));
            }
            if let Some(call) = calls().find(|call| **call >= self.requests.len()) {
                return Err(PlanError::new(format!(
                    "a session calls request {call}, which is not there"
                )));
            }
        }
        let weights = || self.requests.iter().map(|request| request.weight);
        let of_sessions = || self.sessions.iter().map(|session| session.weight);
        let total: u64 = if self.sessions.is_empty() {
            weights().map(u64::from).sum()
        } else {
            of_sessions().map(u64::from).sum()
        };
        match total {
            0 => Err(PlanError::new(
                "all weights are 0: nothing would ever be picked",
            )),
            _ => Ok(()),
        }
    }
}
