//! Defines sessions. A session is the ordered calls of one visitor on a connection of its own.
//! `mehari bench --session`, `mehari httperf` (`--wsess`, `--num-calls`) and `mehari replay` use
//! sessions.

use std::time::Duration;

/// A script of bursts. Each visitor plays the script with a new connection and, if wanted, an empty
/// cookie jar.
#[derive(Clone, Debug)]
pub struct Session {
    pub bursts: Vec<Burst>,
    /// The weight of this session when sessions are chosen at random.
    pub weight: u32,
    /// Whether a visitor sends back the cookies that answers of the same visit have set.
    pub cookies: bool,
    /// An answer with this status counts as a failed call of the session. The observer still
    /// receives the answer as a `Sample`.
    pub unwanted_status: Option<u16>,
    /// The effect of a failed call on the rest of the session.
    pub on_failure: OnFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The session ends as failed.
    End,
    /// The next burst follows as it would after an answer, on a new connection if necessary.
    GoOn,
}

/// Calls that are sent together. The burst is over when all calls are answered.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    /// Indices into the plan's requests. HTTP/1 pipelines several calls, HTTP/2 multiplexes them.
    pub calls: Vec<usize>,
    /// The pause between the last answer of the previous burst and this burst.
    pub think: Duration,
    /// The earliest start of the burst, measured from the start of the session. A replay keeps the
    /// recorded timing with it.
    pub not_before: Option<Duration>,
}

impl Session {
    pub fn calls(&self) -> usize {
        self.bursts.iter().map(|burst| burst.calls.len()).sum()
    }

    /// Returns a session of single calls with equal think times between them.
    pub fn of_calls(calls: impl IntoIterator<Item = usize>, think: Duration) -> Session {
        let bursts = calls
            .into_iter()
            .enumerate()
            .map(|(place, call)| Burst {
                calls: vec![call],
                think: if place == 0 { Duration::ZERO } else { think },
                not_before: None,
            })
            .collect();
        Session {
            bursts,
            weight: 1,
            cookies: false,
            unwanted_status: None,
            on_failure: OnFailure::End,
        }
    }
}
