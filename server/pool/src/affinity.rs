//! The worker for a script on the rungs `rewind` and `auto`. A rewound process keeps its worker's
//! mailbox for its script, so a request goes to a worker whose mailbox the script's process has.
//! With any other worker the mailbox changes hands first.

use crate::inner::Inner;
use crate::queued::Queued;
use crate::script::Script;
use std::time::{Duration, Instant};

/// So many requests at the front of a queue are searched for one of a worker's script.
const SEARCHED: usize = 16;
/// A request that has waited this long is the next, whatever its script is.
const PATIENCE: Duration = Duration::from_millis(10);

impl Inner {
    /// The worker for a request of this script; an idle one is taken off the idle list. `None`: all
    /// that are quick are full.
    pub fn pick_for(&mut self, script: Script, team: usize, now: Instant) -> Option<usize> {
        let place = self
            .idle_with(team, Some(script))
            .or_else(|| self.idle_with(team, None));
        if place.is_none() || self.cores_are_busy() {
            if let Some(awake) = self.awake_for(script, team, now) {
                return Some(awake);
            }
        }
        // The idle worker that has waited longest gives up the least.
        let longest = (!self.teams[team].idle.is_empty()).then_some(0);
        match place.or(longest) {
            Some(place) => self.take_idle(team, place),
            None => self.shortest(team, now, |_| true),
        }
    }

    /// A worker that runs the script already, if requests are packed.
    fn awake_for(&mut self, script: Script, team: usize, now: Instant) -> Option<usize> {
        let awake = self.shortest(team, now, |worker| worker.script == Some(script))?;
        if !self.teams[team].packing.allows() {
            return None;
        }
        self.teams[team].packing.packed();
        Some(awake)
    }

    /// The place on the idle list of the worker used last that has this script, or has none.
    fn idle_with(&self, team: usize, script: Option<Script>) -> Option<usize> {
        self.teams[team].idle.iter().rposition(|index| {
            let worker = self.workers.get(*index).and_then(Option::as_ref);
            worker.is_some_and(|worker| worker.script == script)
        })
    }

    fn take_idle(&mut self, team: usize, place: usize) -> Option<usize> {
        let index = self.teams[team].idle.remove(place);
        let worker = self.worker(index)?;
        worker.in_idle = false;
        worker.is_serving().then_some(index)
    }

    /// The next of the team's queue for a worker: one of its own script, unless the first has waited too long for that.
    pub fn next_queued(&mut self, index: usize, team: usize, now: Instant) -> Option<Queued> {
        let script = self.worker(index).and_then(|worker| worker.script);
        let queue = &mut self.teams[team].queue;
        let is_patient = queue.front()?.waited(now) < PATIENCE;
        let mut first = queue.iter().take(SEARCHED);
        let place = match script {
            Some(_) if is_patient => first.position(|queued| queued.script == script),
            _ => None,
        };
        queue.remove(place.unwrap_or(0))
    }
}
