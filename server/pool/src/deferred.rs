//! Takes calls that requests defer, until their requests are over.
//!
//! A call of a named sub waits in its team's list until `calling` gives it to a worker. Code that a
//! request defers runs in the request's worker. Here such code is only counted and limited.

mod calling;

use crate::call::{ResponseOutcome, TimeLimits};
use crate::deferral::{is_call, DeferredCall, DeferredStatus, Deferring};
use crate::inner::{Inner, Pool};
use crate::payload::Broken;
use crate::worker::Worker;
use mehari_config::LogLevel;
use mehari_observe::Origin;
use mehari_wire::layout::record;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most names in the line about dropped calls.
const NAMED_MOST: usize = 10;

impl Inner {
    /// Takes a worker's record about what its first request defers.
    pub fn take_defer(&mut self, index: usize, detail: u16, payload: &[u8]) -> Result<(), Broken> {
        if detail == record::DEFER_CALL {
            return self.take_call(index, payload);
        }
        if detail == record::DEFER_REFUSED {
            self.refuse_deferred(index, "the request keeps 100 code references already");
            return Ok(());
        }
        let limit = self.site.workers().deferred.timeout;
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let ran = worker.head_age(Instant::now());
        let Some(held) = worker.held.front_mut() else {
            return Ok(());
        };
        held.deferring.note(detail, &mut self.deferred.totals)?;
        if detail == record::DEFER_BEGUN {
            held.deferring.served_in.get_or_insert(ran);
            held.timeout = TimeLimits::hard(limit);
            worker.head_since = Instant::now();
            worker.waited = Duration::ZERO;
        }
        Ok(())
    }

    fn take_call(&mut self, index: usize, payload: &[u8]) -> Result<(), Broken> {
        let room = self.site.workers().deferred;
        let Some(held) = self.worker(index).and_then(|it| it.held.front_mut()) else {
            return Ok(());
        };
        let call = DeferredCall::read(payload, held.request_id, held.host)?;
        let bytes = self.deferred.bytes + call.bytes();
        let has_room = self.deferred.waiting < room.calls as usize && bytes as u64 <= room.bytes;
        if has_room {
            self.deferred.waiting += 1;
            self.deferred.bytes = bytes;
            self.deferred.totals.accepted += 1;
            if let Some(held) = self.worker(index).and_then(|it| it.held.front_mut()) {
                held.deferring.calls.push(call);
            }
        } else {
            self.refuse_deferred(index, "DeferredCalls or DeferredCallsMemory is reached");
        }
        if let Some(worker) = self.worker(index) {
            let outcome = ResponseOutcome {
                status: if has_room { 202 } else { 503 },
                ..ResponseOutcome::default()
            };
            crate::frame::put_outcome(outcome, worker.mailbox.answer_room());
            worker.mailbox.answer();
        }
        Ok(())
    }

    fn refuse_deferred(&mut self, index: usize, why: &str) {
        self.deferred.totals.refused += 1;
        let request = self.worker(index).and_then(Worker::running_request);
        let of = request.map_or(String::new(), |it| {
            format!(" of {} {}", it.method, it.target)
        });
        self.log.log_at_most_every(
            Duration::from_secs(60),
            "deferred calls are refused",
            LogLevel::Error,
            format_args!(
                "a deferred call{of} is refused: {why}; {} were refused so far",
                self.deferred.totals.refused
            ),
        );
    }

    /// Takes what a request has deferred when the request is over, in whatever way.
    pub fn release_deferred(&mut self, team: usize, pid: u32, deferring: Deferring) {
        if deferring.kept > 0 {
            let lost = u64::from(deferring.kept);
            self.deferred.totals.lost += lost;
            let origin = Origin {
                worker: Some(pid),
                ..Origin::default()
            };
            let line = format_args!("{lost} deferred calls of code are lost: their worker ended");
            self.log.log(LogLevel::Error, origin, line);
        }
        let place = if team < self.teams.len() { team } else { 0 };
        let team = &mut self.teams[place];
        let mark = team.mark;
        let calls = deferring.calls.into_iter();
        team.deferred
            .extend(calls.map(|call| DeferredCall { team: mark, ..call }));
        if !team.deferred.is_empty() {
            self.start_deferred(place);
        }
    }

    /// Forgets what a request has deferred, because another worker begins the request anew.
    pub fn forget_deferred(&mut self, deferring: Deferring) {
        let calls = deferring.calls.len();
        self.deferred.waiting -= calls;
        self.deferred.bytes -= deferring
            .calls
            .iter()
            .map(DeferredCall::bytes)
            .sum::<usize>();
        self.deferred.totals.accepted -= calls as u64 + u64::from(deferring.kept);
    }

    /// Counts kept code that its worker calls now and that has run for too long. Returns true if
    /// the worker's first request is such a call, or the call of a named sub.
    pub fn note_overdue_call(&mut self, index: usize) -> bool {
        let held = self.worker(index).and_then(|it| it.held.front_mut());
        let Some(held) = held else { return false };
        let is_named = is_call(held.request_id);
        let runs_code = std::mem::take(&mut held.deferring.runs_code);
        held.deferring.kept -= u32::from(runs_code);
        self.deferred.totals.timed_out += u64::from(runs_code);
        runs_code || is_named
    }

    pub fn deferred_status(&self) -> DeferredStatus {
        let of = |count: fn(&Deferring) -> usize| -> usize {
            let held = self.holding().flat_map(|(_, worker)| &worker.held);
            held.map(|held| count(&held.deferring)).sum()
        };
        DeferredStatus {
            waiting: self.deferred.waiting + of(Deferring::unbegun),
            waiting_bytes: self.deferred.bytes,
            running: self.deferred.running + of(|it| usize::from(it.runs_code)),
            totals: self.deferred.totals,
        }
    }

    /// Counts and logs the calls that the end of the server drops.
    pub fn drop_deferred(&mut self) {
        let mut names = BTreeMap::<String, u64>::new();
        let held = self.workers.iter_mut().flatten();
        let held = held.flat_map(|worker| worker.held.iter_mut());
        let of_requests = held.flat_map(|held| std::mem::take(&mut held.deferring.calls));
        let mut dropped: Vec<DeferredCall> = of_requests.collect();
        for team in &mut self.teams {
            dropped.extend(team.deferred.drain(..));
        }
        for call in &dropped {
            *names.entry(call.shown_name()).or_default() += 1;
        }
        (self.deferred.waiting, self.deferred.bytes) = (0, 0);
        self.deferred.totals.dropped += dropped.len() as u64;
        let running = self.deferred_status().running;
        if !dropped.is_empty() {
            let names = told(names);
            let count = dropped.len();
            self.log.error(format_args!(
                "{count} deferred calls are dropped, because the server ends: {names}"
            ));
        }
        if running > 0 {
            self.log.error(format_args!(
                "{running} deferred calls are cut off, because the server ends"
            ));
        }
    }
}

impl Pool {
    /// Waits until no worker has a cleanup, and no deferred call waits or runs.
    pub async fn finished_all(&self) {
        loop {
            {
                let inner = self.borrow();
                let status = inner.deferred_status();
                let ended =
                    |(_, worker): (usize, &Worker)| worker.held.front().is_some_and(|it| it.ended);
                if !inner.holding().any(ended) && status.waiting + status.running == 0 {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Returns names with their counts, the most frequent first.
fn told(names: BTreeMap<String, u64>) -> String {
    let mut names: Vec<(String, u64)> = names.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = names.len().saturating_sub(NAMED_MOST);
    let shown = names.iter().take(NAMED_MOST);
    let mut words: Vec<String> = shown
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if more > 0 {
        words.push(format!("{more} more subs"));
    }
    words.join(", ")
}
