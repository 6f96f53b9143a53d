//! Makes deferred calls of named subs: an idle worker gets each as a request of its own, for which
//! no client waits.
//!
//! A call is made at most once. If its worker dies after the start, the call is lost, and the log
//! says so.

use crate::arrived::{Arrived, Owed, Shared};
use crate::call::{
    AccessResult, Body, Call, ConnectionFacts, Fault, Login, MappedPath, PerlSettings, RequestLine,
    ScriptEnvironment, Task, TimeLimits,
};
use crate::deferral::{is_call, number_of_call, DeferredCall};
use crate::exchange::WorkerExchange;
use crate::inner::{Inner, Pool};
use crate::worker::Worker;
use mehari_config::LogLevel;
use mehari_observe::Origin;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A team is divided by this number. The result is how many of its workers may make deferred calls
/// of named subs at once.
const PART: u32 = 4;
/// A call that has waited for this time goes before the waiting requests.
const OVERDUE: Duration = Duration::from_secs(5);
/// The pseudo-method of a deferred call in logs and in `mehari status`.
const METHOD: &[u8] = b"DEFERRED";

impl Inner {
    /// Gives waiting calls to idle workers of a team, as far as the part of the team that may make
    /// such calls at once allows it.
    pub fn start_deferred(&mut self, team: usize) {
        while self.has_room_for_deferred(team) && self.teams[team].queue.is_empty() {
            let Some(index) = self.pick_idle(team) else {
                return;
            };
            self.start_deferred_on(index, team);
        }
    }

    /// Whether a call of the team waits and may be made now.
    fn has_room_for_deferred(&self, team: usize) -> bool {
        let of_team = &self.teams[team];
        if of_team.deferred.is_empty() || self.stopping {
            return false;
        }
        let makes_call = |worker: &&Worker| {
            let first = worker.held.front();
            worker.team == team && first.is_some_and(|held| is_call(held.request_id))
        };
        let running = self.holding().map(|(_, worker)| worker).filter(makes_call);
        running.count() < (of_team.plan.max / PART).max(1) as usize
    }

    /// Notes which teams have a call that has waited for too long. Called at each round of time
    /// limits.
    pub fn note_overdue_calls(&mut self, now: Instant) {
        for team in &mut self.teams {
            let oldest = team.deferred.front();
            let waited = oldest.map(|call| now.saturating_duration_since(call.deferred));
            team.has_overdue_call = waited.is_some_and(|waited| waited > OVERDUE);
        }
    }

    /// Gives the oldest call to a worker that has finished a request although other requests wait,
    /// if the call has waited for too long. Returns true if the worker gets no request now: it has
    /// got the call, or has to finish the requests in its mailbox first.
    pub fn serves_overdue(&mut self, index: usize, team: usize) -> bool {
        if !self.teams[team].has_overdue_call || !self.has_room_for_deferred(team) {
            return false;
        }
        if self.worker(index).is_some_and(|it| it.held.is_empty()) {
            self.start_deferred_on(index, team);
        }
        true
    }

    fn start_deferred_on(&mut self, index: usize, team: usize) {
        self.teams[team].has_overdue_call = false;
        let Some(call) = self.teams[team].deferred.pop_front() else {
            return;
        };
        self.deferred.waiting -= 1;
        self.deferred.bytes -= call.bytes();
        self.deferred.running += 1;
        self.active_requests += 1;
        let now = Instant::now();
        let shared = Rc::new(RefCell::new(Arrived::new(now)));
        let timeout = TimeLimits::hard(self.site.workers().deferred.timeout);
        self.place_call(index, Owed::of(&shared), request_of(&call, timeout), now);
        self.deferred.begun.push((call, shared));
        self.deferred.changed.notify_one();
    }

    fn note_end(&mut self, call: DeferredCall, outcome: Result<(), Fault>) {
        self.deferred.running -= 1;
        let totals = &mut self.deferred.totals;
        match outcome {
            Ok(()) => totals.done += 1,
            // The worker has logged the error.
            Err(Fault::Status(_)) => totals.failed += 1,
            Err(Fault::TimedOut) => totals.timed_out += 1,
            Err(fault) if is_unbegun(fault) => {
                self.deferred.waiting += 1;
                self.deferred.bytes += call.bytes();
                let team = self.team_of(call.team);
                self.teams[team].deferred.push_front(call);
                self.start_deferred(team);
            }
            Err(fault) => {
                totals.lost += 1;
                let origin = Origin {
                    request: Some(call.request_id),
                    host: call.host,
                    ..Origin::default()
                };
                let name = call.shown_name();
                let line = format_args!("the deferred call of {name} is lost: {fault}");
                self.log.log(LogLevel::Error, origin, line);
            }
        }
    }
}

impl Pool {
    /// Follows each deferred call to its end. Runs as a task of the front.
    pub(crate) async fn follow_deferred(self) {
        let changed = self.borrow().deferred.changed.clone();
        loop {
            changed.notified().await;
            let begun = std::mem::take(&mut self.borrow().deferred.begun);
            for (call, shared) in begun {
                tokio::task::spawn_local(follow(self.clone(), call, shared));
            }
        }
    }
}

async fn follow(pool: Pool, call: DeferredCall, shared: Shared) {
    let mut exchange = WorkerExchange {
        pool: pool.clone(),
        shared,
        tap: None,
        prints_head: false,
        content: None,
    };
    let outcome = poll_fn(|cx| exchange.poll_head(cx)).await.map(drop);
    drop(exchange);
    pool.borrow().note_end(call, outcome);
}

/// Whether the fault says that no worker has started the request.
fn is_unbegun(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::QueueFull | Fault::QueueTimedOut | Fault::Overloaded(_) | Fault::NotReady
    )
}

/// Returns the call as a request for a worker.
fn request_of(call: &DeferredCall, timeout: TimeLimits) -> Call<'_> {
    Call {
        task: Task::Deferred { name: &call.name },
        line: RequestLine {
            method: METHOD,
            target: &call.name,
            query: b"",
            protocol: b"",
        },
        path: MappedPath {
            script_name: b"",
            path_info: b"",
            path_translated: b"",
            document_root: b"",
            media_type: b"",
            coding: b"",
            languages: b"",
            folder: b"",
            folder_file: b"",
            folder_settings: b"",
            file_mark: 0,
            has_includes: false,
        },
        connection: ConnectionFacts {
            scheme: b"",
            server_name: b"",
            server_port: 0,
            server_addr: b"",
            remote_addr: b"",
            remote_port: 0,
            number: 0,
            kept: 0,
        },
        fields: &[],
        environment: ScriptEnvironment {
            variables: &[],
            set_env_count: 0,
            perl_set_env_count: 0,
            parse_headers: false,
            cgi_world: false,
        },
        settings: PerlSettings::default(),
        access: AccessResult {
            status: 0,
            known: 0,
            login: &Login::Unasked,
            challenge: b"",
        },
        led: Default::default(),
        server: u16::try_from(call.host).unwrap_or(0),
        team: Default::default(),
        timeout,
        request_id: number_of_call(call.request_id),
        body: Body::Memory(&call.arguments),
        trace: None,
        log_level: None,
    }
}
