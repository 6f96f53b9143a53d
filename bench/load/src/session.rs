//! A session: what one visitor does, in order, on one connection of its own.
//! The bench's `--session`, httperf's `--wsess` and `--num-calls`, and replays are made of these.

use std::time::Duration;

/// A script of bursts. Each run of it opens a fresh connection and, when asked, a fresh cookie jar.
#[derive(Clone, Debug)]
pub struct Session {
    pub bursts: Vec<Burst>,
    /// Share of this session among the others of its plan when one is picked at random.
    pub weight: u32,
    /// Send back what `Set-Cookie` brought, within this run of the session.
    pub cookies: bool,
    /// An answer with this status counts as a failed call here (it is a `Sample` all the same).
    pub unwanted_status: Option<u16>,
    /// What a failed call means for the rest.
    pub on_failure: OnFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The session ends, failed.
    End,
    /// The next burst follows as if the call had been answered, on a new connection if need be.
    GoOn,
}

/// Calls sent together; the burst is over when all of them are answered.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    /// Indices into the plan's requests. More than one: pipelined (HTTP/1) or side by side (HTTP/2).
    pub calls: Vec<usize>,
    /// Wait this long after the burst before was answered.
    pub think: Duration,
    /// Not before this time since the session began (a replay's own timing).
    pub not_before: Option<Duration>,
}

impl Session {
    pub fn calls(&self) -> usize {
        self.bursts.iter().map(|burst| burst.calls.len()).sum()
    }

    /// A session of single calls with the same think time between them.
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
