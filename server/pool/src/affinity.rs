//! Chooses the worker for a script on the rungs `rewind` and `auto`. A worker lends its mailbox to
//! the rewound process of one script, so a request goes to a worker whose mailbox a process of the
//! same script has. Any other worker would first have to take its mailbox back from the process of
//! another script. A worker without a template of the script would also have to start one, which
//! costs as much as many requests.

use crate::dispatch::SLOW;
use crate::inner::Inner;
use crate::queued::Queued;
use crate::script::{Readiness, Script, Templates};
use crate::worker::Worker;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The number of requests at an end of a queue among which a request of the worker's scripts is
/// searched.
const SEARCHED: usize = 16;
/// A request that has waited this long comes next, even if another script is wanted.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long a request waits behind another one for a worker with a template, while the cores have
/// more work than they can do. Starting one more template takes 5 to 30 ms of a core, and stays
/// without a use if the worker with a template is free again soon.
const TEMPLATE_PATIENCE: Duration = Duration::from_millis(100);

impl Inner {
    /// Returns a worker for a request of this script. An idle worker is taken off the idle list.
    /// `None`: every worker that is not slow is full.
    /// `waited`: how long the request has waited.
    pub fn pick_for(
        &mut self,
        script: Script,
        team: usize,
        waited: Duration,
        now: Instant,
    ) -> Option<usize> {
        let place = self.idle_with(team, script);
        let may_wait = place.is_none() && self.may_wait(waited, now);
        if place.is_none() || self.cores_are_busy() {
            if let Some(awake) = self.awake_with(script, team, may_wait, now) {
                return Some(awake);
            }
        }
        // The worker that has been idle longest is the least likely to get another request of its
        // scripts.
        let unused = || self.idle_without_template(team);
        let longest = || (!self.teams[team].idle.is_empty()).then_some(0);
        match place.or_else(unused).or_else(longest) {
            Some(place) => self.take_idle(team, place),
            None => self.shortest(team, now, SLOW, |_| true),
        }
    }

    /// Whether a request rather waits for a worker with a template of its script than has another
    /// worker start one.
    fn may_wait(&self, waited: Duration, now: Instant) -> bool {
        waited < TEMPLATE_PATIENCE && self.contention.is_high(now)
    }

    /// Returns an awake worker with a process or a template of the script. `may_wait`: the worker
    /// may be slow.
    fn awake_with(
        &mut self,
        script: Script,
        team: usize,
        may_wait: bool,
        now: Instant,
    ) -> Option<usize> {
        let limit = if may_wait { TEMPLATE_PATIENCE } else { SLOW };
        let with = |wanted| {
            let test = |it: &Worker| it.templates.readiness(script) == wanted;
            self.shortest(team, now, limit, test)
        };
        let awake = with(Readiness::HasProcess).or_else(|| with(Readiness::HasTemplate))?;
        if !may_wait && !self.teams[team].packing.may_pack() {
            return None;
        }
        self.teams[team].packing.packed();
        Some(awake)
    }

    /// Returns the place on the idle list of a worker with the script's process, or else with its
    /// template. If several workers match, the worker used last is chosen.
    fn idle_with(&self, team: usize, script: Script) -> Option<usize> {
        let idle = self.teams[team].idle.iter().enumerate();
        let readiness = idle.filter_map(|(place, index)| {
            let worker = self.workers.get(*index).and_then(Option::as_ref)?;
            Some((worker.templates.readiness(script), place))
        });
        let ready = readiness.filter(|(readiness, _)| *readiness > Readiness::WithoutTemplate);
        ready.max().map(|(_, place)| place)
    }

    /// Returns the place on the idle list of the worker without templates that was used last.
    fn idle_without_template(&self, team: usize) -> Option<usize> {
        self.teams[team].idle.iter().rposition(|index| {
            let worker = self.workers.get(*index).and_then(Option::as_ref);
            worker.is_some_and(|worker| worker.templates.is_empty())
        })
    }

    /// Returns how long a worker's first request may run before its next requests go elsewhere. A
    /// request waits longer for a worker that has a template of its script, if any other worker
    /// would have to start one.
    pub fn limit_of(&self, worker: &Worker, now: Instant) -> Duration {
        let may_wait = worker.held.back().is_some_and(|held| {
            let waits = |script| self.idle_with(worker.team, script).is_none();
            held.script.is_some_and(waits) && self.may_wait(held.waited(now), now)
        });
        if may_wait {
            TEMPLATE_PATIENCE
        } else {
            SLOW
        }
    }

    fn take_idle(&mut self, team: usize, place: usize) -> Option<usize> {
        let index = self.teams[team].idle.remove(place);
        let worker = self.worker(index)?;
        worker.in_idle = false;
        worker.is_serving().then_some(index)
    }
}

/// Returns the readiness of a worker with these templates for a waiting request.
fn readiness(templates: &Templates, queued: &Queued) -> Readiness {
    let script = queued.script;
    script.map_or(Readiness::WithoutTemplate, |it| templates.readiness(it))
}

/// Returns the place of the request that comes next: among the requests near the front of the
/// queue, the first one for which the worker is prepared best, unless the oldest request has waited
/// too long.
pub fn oldest_for(templates: &Templates, queue: &VecDeque<Queued>, now: Instant) -> usize {
    let is_patient = |oldest: &Queued| oldest.waited(now) < PATIENCE;
    if !queue.front().is_some_and(is_patient) {
        return 0;
    }
    let first = queue.iter().take(SEARCHED).enumerate();
    let best = first.max_by_key(|(place, queued)| (readiness(templates, queued), Reverse(*place)));
    best.map_or(0, |(place, _)| place)
}

/// Returns the place of the newest request for which the worker is prepared best, among the newest
/// requests. `None`: the worker is prepared for none.
pub fn newest_for(templates: &Templates, queue: &VecDeque<Queued>) -> Option<usize> {
    let newest = queue.iter().enumerate().rev().take(SEARCHED);
    let prepared = newest.map(|(place, queued)| (readiness(templates, queued), place));
    let best = prepared.filter(|(readiness, _)| *readiness > Readiness::WithoutTemplate);
    best.max().map(|(_, place)| place)
}
