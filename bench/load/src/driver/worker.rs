//! Runs one thread's event loop: takes arrivals from the supply, sends their requests over links,
//! and calls the observer.
//!
//! A turn handles timers first, then due arrivals, then the sockets. After a response the next
//! request follows on the same connection, within the same turn.

mod exchange;
mod failure;
mod multiplexed;
mod opening;
mod reading;
mod visiting;

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::moment::{Clock, Moment};
use crate::observe::Observer;
use crate::outcome::{ThreadOutcome, Totals};
use crate::plan::Plan;
use crate::plan_error::PlanError;

use super::epoll::Epoll;
use super::gathering::{self, Gathering};
use super::link::{Job, Links};
use super::prepared::Prepared;
use super::socket::Source;
use super::supply::Supply;
use super::timers::{Due, Timers};
use super::usage::Usage;
use super::visit::Visits;
use super::wall::Wall;
use super::{quota, Control};

/// The number of this thread and the number of all threads.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub thread: usize,
    pub threads: usize,
}

pub struct Worker<'p, O> {
    plan: &'p Plan,
    prepared: &'p Prepared<'p>,
    control: &'p Control,
    clock: Clock,
    wall: Wall,
    observer: O,
    supply: Supply,
    epoll: Epoll,
    gathering: Gathering,
    links: Links,
    /// Open idle connections by endpoint, with the last used connection at the end.
    idle: Vec<Vec<u64>>,
    timers: Timers,
    visits: Visits,
    source: Source,
    /// The TLS configuration, if an endpoint uses TLS.
    tls: Option<Arc<ClientConfig>>,
    /// How many more arrivals may start now, in addition to those under way.
    permits: usize,
    /// When a permit last became free while no permit was free.
    starved_until: Moment,
    requests_in_flight: u64,
    serial: u64,
    /// The HTTP/2 link whose bytes are being read. The link sends nothing until its bytes are read.
    reading: Option<usize>,
    /// No request times out before this moment.
    next_deadline: Moment,
    totals: Totals,
    untold: Untold,
}

/// The answers and failures that were not yet added to the counts of `Control`.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    completed: u64,
    failed: u64,
}

/// An arrival that is due and has a permit.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    intended: Moment,
    permitted: Moment,
}

/// How long a user of a closed loop waits after a failed connection. Otherwise a refusing server
/// would get a hundred thousand requests per second.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(10);
const RECEIVE_BYTES: usize = 128 * 1024;
/// The longest sleep of a thread, so the thread notices a stop by another thread.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

impl<'p, O: Observer> Worker<'p, O> {
    pub fn new(
        prepared: &'p Prepared<'p>,
        control: &'p Control,
        clock: Clock,
        share: Share,
        quota: quota::Share,
        observer: O,
    ) -> Result<Worker<'p, O>, PlanError> {
        let plan = prepared.plan;
        let epoll = Epoll::new()
            .map_err(|error| PlanError::new(format!("the system gives no event queue: {error}")))?;
        let secure = prepared
            .endpoints
            .iter()
            .any(|target| target.server_name.is_some());
        let http2 = plan.connection.http2_streams.is_some();
        let tls = if secure {
            Some(super::tls::configuration(&plan.connection.tls, http2)?)
        } else {
            None
        };
        let streams = plan.connection.http2_streams.unwrap_or(1);
        let connections = (plan.most_at_once() + share.threads - 1 - share.thread) / share.threads;
        // A session takes one permit, however many calls it sends at once.
        let permits = connections * if plan.sessions.is_empty() { streams } else { 1 };
        Ok(Worker {
            plan,
            prepared,
            control,
            clock,
            wall: Wall::default(),
            observer,
            supply: Supply::new(plan, share, quota),
            epoll,
            gathering: Gathering::default(),
            links: Links::default(),
            idle: prepared.endpoints.iter().map(|_| Vec::new()).collect(),
            timers: Timers::default(),
            visits: Visits::default(),
            source: Source::new(&plan.connection.sources, share.thread),
            tls,
            permits,
            starved_until: Moment::ZERO,
            requests_in_flight: 0,
            serial: 0,
            reading: None,
            next_deadline: Moment::NEVER,
            totals: Totals::default(),
            untold: Untold::default(),
        })
    }

    pub fn run(mut self) -> ThreadOutcome<O> {
        let before = Usage::of_this_thread();
        gathering::wake_on_time();
        std::thread::sleep(self.clock.until_origin());
        let mut buffer = vec![0; RECEIVE_BYTES].into_boxed_slice();
        let mut next_tick = Moment::ZERO.after(self.plan.tick);
        let mut planning_ended = None;
        loop {
            let mut now = self.clock.now();
            self.handle_due(now, &mut buffer);
            if self.supply.is_over(now) {
                // The clock is read again: `now` is older than the start of the last request, and
                // this request may wait as long as all other requests.
                let since = *planning_ended.get_or_insert_with(|| self.clock.now());
                let drain = self.plan.drain.unwrap_or(self.plan.connection.timeout);
                let quiet = self.requests_in_flight == 0 && self.visits.active == 0;
                if (quiet && self.supply.is_empty()) || now > since.after(drain) {
                    break;
                }
            }
            if self.control.is_stopped() || self.observer.gives_up() {
                self.control.stop();
                break;
            }
            if now >= next_tick {
                self.tell_progress();
                self.observer.tick(now);
                next_tick = now.after(self.plan.tick);
            }
            now = self.clock.now();
            let until = self.next_wake(now).min(next_tick);
            now = self.gather(now, until);
            let ready = self.epoll.wait(now, until);
            self.wall.look(&self.clock);
            for index in 0..ready {
                let event = self.epoll.event(index);
                self.on_event(event, &mut buffer);
            }
        }
        self.finish(before)
    }

    /// Lets answers gather in a closed loop if nothing is due before `until`. Returns the time
    /// after the sleep.
    fn gather(&mut self, now: Moment, until: Moment) -> Moment {
        if self.supply.is_open() {
            return now;
        }
        let completed = self.totals.completed;
        let sleep = self.gathering.turn(now, completed, self.requests_in_flight);
        if sleep == 0 || until.since(now) <= sleep {
            return now;
        }
        gathering::sleep(sleep);
        let woken = self.clock.now();
        self.gathering.note_wake(woken);
        woken
    }

    /// Handles everything that is due: time-outs, timers and arrivals.
    fn handle_due(&mut self, now: Moment, buffer: &mut [u8]) {
        if now >= self.next_deadline {
            self.time_out(now);
        }
        while let Some((at, due)) = self.timers.take(now) {
            match due {
                Due::Permit => self.give_permit(now),
                Due::Burst(visit) => self.play_burst(visit, at, now),
                Due::Read(token) => self.read_on(token, buffer),
            }
        }
        self.begin_arrivals(now);
    }

    /// Starts the due arrivals as far as there are permits. If several arrivals are due, the later
    /// ones start with a delay. This delay is the generator's own, so the clock is read for each
    /// start.
    fn begin_arrivals(&mut self, mut now: Moment) {
        if self.plan.sessions.is_empty() {
            while let Some(job) = self.next_job(now) {
                self.dispatch(job, now);
                now = self.clock.now();
            }
        } else {
            while let Some(arrival) = self.next_arrival(now) {
                self.begin_visit(arrival, now);
                now = self.clock.now();
            }
        }
    }

    fn next_wake(&self, now: Moment) -> Moment {
        let arrival = match self.permits {
            0 => Moment::NEVER,
            _ => self.supply.next_open(),
        };
        let closing = if self.supply.is_open() {
            Moment::NEVER
        } else {
            self.supply.end()
        };
        let sooner = arrival.min(self.timers.next()).min(self.next_deadline);
        let later = now.after(LONGEST_WAIT);
        if closing > now {
            sooner.min(later).min(closing)
        } else {
            sooner.min(later)
        }
    }

    /// Takes the next due arrival and its permit.
    fn next_arrival(&mut self, now: Moment) -> Option<Arrival> {
        if self.permits == 0 {
            return None;
        }
        let (intended, permitted) = if self.supply.is_open() {
            if self.supply.next_open() > now {
                return None;
            }
            let intended = self.supply.take_open();
            (intended, intended.max(self.starved_until))
        } else {
            if !self.supply.take_closed(now) {
                return None;
            }
            (now, now)
        };
        self.permits -= 1;
        Some(Arrival {
            intended,
            permitted,
        })
    }

    /// Takes the next due arrival as a single request.
    fn next_job(&mut self, now: Moment) -> Option<Job> {
        let Arrival {
            intended,
            permitted,
        } = self.next_arrival(now)?;
        self.requests_in_flight += 1;
        self.totals.planned += 1;
        self.totals.most_in_flight = self.totals.most_in_flight.max(self.requests_in_flight);
        Some(Job {
            request: self.supply.pick(),
            visit: None,
            intended,
            permitted,
        })
    }

    /// Returns the most concurrent requests on an HTTP/2 connection.
    fn streams(&self) -> usize {
        self.plan.connection.http2_streams.unwrap_or(1)
    }

    fn give_permit(&mut self, now: Moment) {
        if self.permits == 0 {
            self.starved_until = now;
        }
        self.permits += 1;
    }

    fn tell_progress(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        self.control.count(untold.completed, untold.failed);
    }

    fn finish(mut self, before: Usage) -> ThreadOutcome<O> {
        let now = self.clock.now();
        self.report_unfinished(now);
        self.tell_progress();
        self.observer.tick(now);
        self.totals.source_changes = self.source.changes;
        let after = Usage::of_this_thread();
        ThreadOutcome {
            observer: self.observer,
            totals: self.totals,
            cpu_user: after.user.saturating_sub(before.user),
            cpu_system: after.system.saturating_sub(before.system),
            run_queue_delay: after.run_queue_delay.saturating_sub(before.run_queue_delay),
            preemptions: after.preemptions.saturating_sub(before.preemptions),
            ended: now,
        }
    }
}
