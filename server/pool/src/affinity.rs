//! Chooses the worker for a script on the rungs `rewind` and `auto`. A worker lends its mailbox to
//! the rewound process of one script, so a request goes to a worker whose mailbox a process of the
//! same script has. Any other worker would first have to take its mailbox back from the process of
//! another script.

use crate::inner::Inner;
use crate::queued::Queued;
use crate::script::Script;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The number of requests at an end of a queue among which a request of the worker's script is
/// searched.
const SEARCHED: usize = 16;
/// A request that has waited this long comes next, even if another script is wanted.
const PATIENCE: Duration = Duration::from_millis(10);

impl Inner {
    /// Returns a worker for a request of this script. An idle worker is taken off the idle list.
    /// `None`: every worker that is not slow is full.
    pub fn pick_for(&mut self, script: Script, team: usize, now: Instant) -> Option<usize> {
        let place = self
            .idle_with(team, Some(script))
            .or_else(|| self.idle_with(team, None));
        if place.is_none() || self.cores_are_busy() {
            if let Some(awake) = self.awake_for(script, team, now) {
                return Some(awake);
            }
        }
        // The worker that has been idle longest is the least likely to get another request of its
        // script.
        let longest = (!self.teams[team].idle.is_empty()).then_some(0);
        match place.or(longest) {
            Some(place) => self.take_idle(team, place),
            None => self.shortest(team, now, |_| true),
        }
    }

    /// Returns an awake worker that already runs the script, if requests are packed.
    fn awake_for(&mut self, script: Script, team: usize, now: Instant) -> Option<usize> {
        let awake = self.shortest(team, now, |worker| worker.script == Some(script))?;
        if !self.teams[team].packing.may_pack() {
            return None;
        }
        self.teams[team].packing.packed();
        Some(awake)
    }

    /// Returns a worker's place on the idle list. The worker has this script; `None`: it has no
    /// script. If several workers match, the worker used last is chosen.
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
}

/// Returns the place of the request that comes next: the first one of the script near the front of
/// the queue, unless the oldest request has waited too long.
pub fn oldest_with(queue: &VecDeque<Queued>, script: Option<Script>, now: Instant) -> usize {
    let is_patient = |oldest: &Queued| oldest.waited(now) < PATIENCE;
    match script {
        Some(_) if queue.front().is_some_and(is_patient) => {
            let mut first = queue.iter().take(SEARCHED);
            let place = first.position(|queued| queued.script == script);
            place.unwrap_or(0)
        }
        _ => 0,
    }
}

/// Returns the place of the newest request of the script among the newest requests.
pub fn newest_with(queue: &VecDeque<Queued>, script: Option<Script>) -> Option<usize> {
    let script = script?;
    let newest = queue.iter().enumerate().rev().take(SEARCHED);
    let mut of_script = newest.filter(|(_, queued)| queued.script == Some(script));
    of_script.next().map(|(place, _)| place)
}
