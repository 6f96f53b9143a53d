//! Plays sessions. The calls of a burst are sent together. The next burst follows when all calls
//! are answered and the think time is over. A session has its own connections, which are closed at
//! its end.

use crate::moment::Moment;
use crate::observe::{Observer, SessionEnd};
use crate::session::OnFailure;

use super::super::link::{Flight, Job};
use super::super::timers::Due;
use super::super::visit::Visit;
use super::{Arrival, Worker, PAUSE_AFTER_REFUSAL};

impl<O: Observer> Worker<'_, O> {
    pub(super) fn begin_visit(&mut self, arrival: Arrival, now: Moment) {
        let session = self.supply.pick();
        let cookies = self.plan.sessions[session].cookies;
        let visit = Visit::new(session, cookies, arrival.intended, arrival.permitted);
        let burst = &self.plan.sessions[session].bursts[0];
        let wanted = arrival
            .intended
            .after(burst.think.max(burst.not_before.unwrap_or_default()));
        let index = self.visits.add(visit);
        if wanted > now {
            self.timers.add(wanted, Due::Burst(index))
        } else {
            self.play_burst(index, arrival.intended.max(wanted), now)
        }
    }

    /// Sends the calls of the visit's present burst.
    pub(super) fn play_burst(&mut self, index: u32, intended: Moment, now: Moment) {
        let plan = self.plan;
        let Some(visit) = self.visits.get(index) else {
            return;
        };
        let calls = &plan.sessions[visit.session].bursts[visit.burst].calls;
        visit.outstanding = calls.len();
        let permitted = match visit.burst {
            0 => visit.permitted.max(intended),
            _ => intended,
        };
        self.requests_in_flight += calls.len() as u64;
        self.totals.planned += calls.len() as u64;
        self.totals.most_in_flight = self.totals.most_in_flight.max(self.requests_in_flight);
        for call in calls {
            let job = Job {
                request: *call,
                visit: Some(index),
                intended,
                permitted,
            };
            self.dispatch_for_visit(index, job, now);
        }
    }

    fn dispatch_for_visit(&mut self, visit_index: u32, job: Job, now: Moment) {
        let endpoint = self.prepared.rendered[job.request].endpoint;
        let keep_alive = self.plan.connection.keep_alive;
        let Some(visit) = self.visits.get(visit_index) else {
            return;
        };
        let known = visit
            .links
            .iter()
            .find(|(of, _)| *of == endpoint)
            .map(|(_, token)| *token);
        let index = known
            .filter(|_| keep_alive)
            .and_then(|token| self.links.index(token));
        match index {
            Some(index) => self.begin(index, job, now, false),
            None => self.open(endpoint, job, now),
        }
    }

    /// Remembers a connection that was opened for the visit.
    pub(super) fn visit_opened(&mut self, index: u32, endpoint: usize, token: u64) {
        let Some(visit) = self.visits.get(index) else {
            return;
        };
        visit.connections += 1;
        visit.links.retain(|(of, _)| *of != endpoint);
        visit.links.push((endpoint, token));
    }

    /// Returns the visit's cookies for this request; `None` if the visit keeps none.
    pub(super) fn cookies(&mut self, job: &Job) -> Option<String> {
        let visit = self.visits.get(job.visit?)?;
        let url = self.prepared.rendered[job.request].url.as_ref()?;
        visit.jar.as_ref()?.value_for(url)
    }

    /// Handles the answer to a visit's call.
    pub(super) fn visit_answered(&mut self, flight: &Flight, status: u16, now: Moment) {
        let Some(index) = flight.job.visit else {
            return;
        };
        let Some(visit) = self.visits.get(index) else {
            return;
        };
        let session = &self.plan.sessions[visit.session];
        visit.answered += 1;
        visit.outstanding -= 1;
        if session.unwanted_status == Some(status) {
            visit.failed += 1;
            visit.ending |= session.on_failure == OnFailure::End;
        }
        if visit.outstanding > 0 {
            return;
        }
        if visit.ending {
            self.end_visit(index, false, now)
        } else {
            self.next_burst(index, now, false)
        }
    }

    /// Handles the failure of a visit's call. A timer does the next step, so a failure opens no
    /// connection at once.
    pub(super) fn visit_failed(&mut self, index: u32, refused: bool, now: Moment) {
        let Some(visit) = self.visits.get(index) else {
            return;
        };
        visit.failed += 1;
        visit.outstanding -= 1;
        visit.refused |= refused;
        visit.ending |= self.plan.sessions[visit.session].on_failure == OnFailure::End;
        if visit.outstanding > 0 {
            return;
        }
        if visit.ending {
            self.end_visit(index, false, now)
        } else {
            self.next_burst(index, now, true)
        }
    }

    /// Ends the burst and starts the next burst, now or after its think time.
    fn next_burst(&mut self, index: u32, now: Moment, by_timer: bool) {
        let end = self.supply.end();
        let Some(visit) = self.visits.get(index) else {
            return;
        };
        visit.burst += 1;
        let Some(burst) = self.plan.sessions[visit.session].bursts.get(visit.burst) else {
            return self.end_visit(index, true, now);
        };
        let not_before = visit.intended.after(burst.not_before.unwrap_or_default());
        let intended = now.after(burst.think).max(not_before);
        if intended >= end {
            return self.end_visit(index, false, now);
        }
        if intended > now || by_timer {
            self.timers.add(intended, Due::Burst(index))
        } else {
            self.play_burst(index, intended, now)
        }
    }

    pub(super) fn end_visit(&mut self, index: u32, complete: bool, now: Moment) {
        let Some(visit) = self.visits.remove(index) else {
            return;
        };
        for (_, token) in &visit.links {
            if let Some(link) = self.links.index(*token) {
                self.close(link, now);
            }
        }
        self.observer.session_ended(&SessionEnd {
            session: visit.session,
            intended: visit.intended,
            at: now,
            calls_answered: visit.answered,
            calls_failed: visit.failed,
            connections: visit.connections,
            complete,
            measured: self.supply.measures(visit.intended),
        });
        if visit.refused && !self.supply.is_open() {
            self.timers.add(now.after(PAUSE_AFTER_REFUSAL), Due::Permit)
        } else {
            self.give_permit(now)
        }
    }
}
