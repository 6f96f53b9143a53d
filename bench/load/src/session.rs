//! A session: the ordered calls of one visitor on a connection of its own. The bench's `--session`,
//! httperf's `--wsess` and `--num-calls`, and replays use sessions.

use std::time::Duration;

/// A script of bursts. Each run opens a fresh connection and, if requested, a fresh cookie jar.
#[derive(Clone, Debug)]
pub struct Session {
    pub bursts: Vec<Burst>,
    /// The weight of this session when sessions are chosen at random.
    pub weight: u32,
    /// Send back the cookies of `Set-Cookie` within this run of the session.
    pub cookies: bool,
    /// An answer with this status counts as a failed call here. The answer is still a `Sample`.
    pub unwanted_status: Option<u16>,
    /// The effect of a failed call on the rest of the session.
    pub on_failure: OnFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The session ends as failed.
    End,
    /// The next burst follows as after an answer, on a new connection if necessary.
    GoOn,
}

/// Calls that are sent together. The burst is over when all calls are answered.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    /// Indices into the plan's requests. Several calls are pipelined (HTTP/1) or multiplexed
    /// (HTTP/2).
    pub calls: Vec<usize>,
    /// The pause after the previous burst is answered.
    pub think: Duration,
    /// The earliest start since the start of the session, for a replay's own timing.
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
