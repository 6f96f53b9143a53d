//! Crash loops: a team whose zygote or workers end again and again before they serve. The next
//! starts come after growing pauses (`false_starts`), and the team's requests are refused at once
//! while it has no worker. Other teams are not concerned.

use crate::call::Fault;
use crate::generation::Loaded;
use crate::inner::Inner;
use crate::worker::WorkerState;
use std::time::{Duration, Instant};

/// The number of ends in a row from which on a zygote that has served is in a crash loop.
const CHANCE: u32 = 2;
/// The bounds of Retry-After, in seconds.
const RETRY: (u64, u64) = (1, 30);

/// A team's crash loop, for `mehari status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct CrashLoop {
    /// What ends: `zygote` or `worker`.
    pub what: &'static str,
    /// How many have ended in a row, or could not be started.
    pub in_a_row: u32,
    /// Milliseconds until the next start.
    pub next_ms: u64,
}

impl Loaded {
    /// Returns the crash loop of the zygote itself.
    fn crash_loop(&self, now: Instant) -> Option<CrashLoop> {
        let in_a_row = self.restarts.in_a_row;
        let is_loop = in_a_row >= CHANCE || (!self.has_been_ready && in_a_row > 0);
        (self.zygote.is_none() && is_loop).then(|| CrashLoop {
            what: "zygote",
            in_a_row,
            next_ms: self.restarts.left(now).as_millis() as u64,
        })
    }
}

impl Inner {
    /// Returns the crash loop that a team is in.
    pub fn crash_loop(&self, team: usize, now: Instant) -> Option<CrashLoop> {
        let of = self.teams.get(team)?;
        let of_zygote = self.serving_zygote(of.perl);
        if let Some(crash_loop) = of_zygote.and_then(|loaded| loaded.crash_loop(now)) {
            return Some(crash_loop);
        }
        let starts = &of.false_starts;
        starts.is_cautious().then(|| CrashLoop {
            what: "worker",
            in_a_row: starts.in_a_row,
            next_ms: starts.left(now).as_millis() as u64,
        })
    }

    /// Returns why a request for a team without a worker is refused at once.
    pub fn crash_fault(&self, team: usize, now: Instant) -> Option<Fault> {
        let crash_loop = self.crash_loop(team, now)?;
        let number = self.serving(team);
        let lives = self.count(number, |worker| {
            worker.team == team && worker.state != WorkerState::Retiring
        });
        if lives > 0 {
            return None;
        }
        let left = Duration::from_millis(crash_loop.next_ms).as_secs() + 1;
        Some(Fault::CrashLoop(left.clamp(RETRY.0, RETRY.1) as u16))
    }
}
