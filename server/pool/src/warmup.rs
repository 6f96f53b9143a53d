//! Warms up a zygote (`ZygoteWarmup`): requests run in the zygote itself before it forks its first
//! worker. `loading` starts the zygote, and `rollover` calls this module.
//!
//! The zygote gets a mailbox as a worker does. Its requests come from the configuration, never from
//! a client, so they are in no access log and no count. If the zygote dies or takes too long, the
//! caller throws it away with everything that the requests have left.

use crate::arrived::{Arrived, Owed};
use crate::call::{Call, Fault, ResponseOutcome, Task, WarmupResolver};
use crate::exchange::WorkerExchange;
use crate::inner::{Inner, Pool};
use crate::measure::memory_of;
use crate::script_head::ScriptHead;
use crate::team::Of;
use crate::warmup_report::WarmupReport;
use crate::zygote::Zygote;
use mehari_config::{Rung, Site, WarmupUrl};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first request number. The front's own numbers never come near it.
const FIRST_REQUEST: u64 = 1 << 63;
/// The time that a zygote has to write its Perl stack before it is killed.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// The interval at which the end of a request's cleanup is looked for.
const GLANCE: Duration = Duration::from_millis(1);

/// Why a warmed zygote cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WarmupError {
    #[error("the warm-up took longer than {0} s (ZygoteWarmupTimeout) at {1}")]
    TimedOut(u64, String),
    #[error("the process ended at {0}")]
    Died(String),
    #[error("{0}")]
    Refused(String),
}

/// A warming zygote as a place among the workers.
pub(crate) struct Warming<'a> {
    pub pool: &'a Pool,
    pub site: &'a Arc<Site>,
    pub perl: usize,
    pub zygote: &'a Zygote,
    pub resolver: WarmupResolver,
    /// The request that runs, in words.
    pub now: RefCell<String>,
}

/// The result of one request.
enum Outcome {
    Answered(u16),
    Failed(Fault),
    /// No process of workers answers the request. The text says why.
    Skipped(&'static str),
}

impl Warming<'_> {
    /// Runs the requests, and completes when the zygote has been told to go on. Await the function
    /// together with the zygote's messages, which tell of its end.
    pub async fn run(&self) -> Result<WarmupReport, WarmupError> {
        let settings = &self.site.perls[self.perl].warmup;
        let pid = self.zygote.pid().unwrap_or_default();
        let launcher = || self.zygote.launcher().cloned();
        let before = memory_of(pid, launcher()).await;
        let slot = self.pool.borrow().open_warming(self.zygote);
        let slot = slot.map_err(|error| WarmupError::Refused(error.to_string()))?;
        let place = Place(self.pool.clone(), slot);
        let requests = self.run_rounds(slot);
        let report = match tokio::time::timeout(settings.timeout(), requests).await {
            Ok(report) => report?,
            Err(_) => {
                self.pool.borrow().ask_warming_for_stack(slot);
                tokio::time::sleep(LAST_WORDS).await;
                let seconds = settings.timeout().as_secs();
                return Err(WarmupError::TimedOut(seconds, self.now.borrow().clone()));
            }
        };
        let after = memory_of(pid, launcher()).await;
        place.dismiss();
        let grown = match (before, after) {
            (Some(before), Some(after)) => after.grown_since(&before),
            _ => 0,
        };
        Ok(WarmupReport {
            memory: grown,
            ..report
        })
    }

    async fn run_rounds(&self, slot: usize) -> Result<WarmupReport, WarmupError> {
        let settings = &self.site.perls[self.perl].warmup;
        let mut report = WarmupReport::default();
        for round in 0..settings.rounds() {
            let begun = Instant::now();
            let mut requests = 0;
            for url in &settings.urls {
                *self.now.borrow_mut() = url.to_string();
                let outcome = self.request(slot, url, report.requests).await;
                if let Outcome::Skipped(_) = outcome {
                    if round > 0 {
                        continue;
                    }
                } else {
                    requests += 1;
                    report.requests += 1;
                }
                self.judge(url, &outcome, round, &mut report)?;
            }
            report.last_us = begun.elapsed().as_micros() as u64;
            if round == 0 {
                report.first_us = report.last_us;
            }
            if requests == 0 {
                break;
            }
        }
        Ok(report)
    }

    /// Logs what is wrong with the result of a request, once for each URL.
    fn judge(
        &self,
        url: &WarmupUrl,
        outcome: &Outcome,
        round: u32,
        report: &mut WarmupReport,
    ) -> Result<(), WarmupError> {
        let (what, is_failure) = match outcome {
            Outcome::Answered(status) if *status < 400 => return Ok(()),
            Outcome::Answered(status) => (format!("the status is {status}"), *status >= 500),
            Outcome::Failed(fault) => (fault.to_string(), true),
            Outcome::Skipped(why) => ((*why).to_owned(), false),
        };
        report.failed += 1;
        let of = Of(self.site.owner_of(self.perl).unwrap_or_default()).to_string();
        if is_failure && self.site.perls[self.perl].warmup.refuses() {
            return Err(WarmupError::Refused(format!("{url}: {what}")));
        }
        if round == 0 {
            let inner = self.pool.borrow();
            let line = format_args!("ZygoteWarmup{of}: {url}: {what}");
            if is_failure {
                inner.log.error(line)
            } else {
                inner.log.warn(line)
            }
        }
        Ok(())
    }

    /// Runs one request in the zygote, with its cleanup.
    async fn request(&self, slot: usize, url: &WarmupUrl, number: u32) -> Outcome {
        let Some(host) = self.site.warmup_host(self.perl, url) else {
            return Outcome::Skipped("no host of this Perl has the name");
        };
        let named = &self.site.host(host).names.server_name;
        let name = url.host.as_deref().or(named.as_deref());
        let fields = [
            (&b"Host"[..], name.unwrap_or("localhost").as_bytes()),
            (b"User-Agent", b"Mehari-ZygoteWarmup"),
        ];
        let mut sent = Err("no path of the site");
        (self.resolver)(self.site, host, url, &mut |mut call| {
            let is_ours = self
                .site
                .teams
                .iter()
                .any(|team| (team.mark, team.perl) == (call.team, self.perl));
            let fits = if is_ours {
                fits(&call.task)
            } else {
                Err("the workers of another Perl serve this path")
            };
            sent = fits.map(|()| {
                call.request_id = FIRST_REQUEST + u64::from(number);
                call.fields = &fields;
                self.pool.submit_to(slot, call)
            });
        });
        let exchange = match sent {
            Ok(exchange) => exchange,
            Err(why) => return Outcome::Skipped(why),
        };
        let outcome = answer(exchange).await;
        while self.pool.borrow().is_warming_busy(slot) {
            tokio::time::sleep(GLANCE).await;
        }
        outcome
    }
}

/// Whether workers themselves run the task. All other tasks begin in processes of their own.
fn fits(task: &Task<'_>) -> Result<(), &'static str> {
    match task {
        Task::Script {
            rung: Rung::Registry | Rung::PerlRun,
            ..
        } => Ok(()),
        Task::Script { .. } => {
            Err("a script on this rung begins in a clean process, so a warm-up has no effect on it")
        }
        Task::Handler { rewound: true, .. } | Task::Psgi { rewound: true, .. } => Err(
            "`PerlIsolation rewind` begins in a clean process, so a warm-up has no effect on it",
        ),
        Task::Handler { .. } | Task::Psgi { .. } => Ok(()),
        Task::Front { .. } | Task::Connection | Task::Deferred { .. } => {
            Err("Perl does not answer this path")
        }
    }
}

/// Reads the response to its end and drops it.
async fn answer(mut exchange: WorkerExchange) -> Outcome {
    let head = loop {
        match poll_fn(|cx| exchange.poll_head(cx)).await {
            Ok(ScriptHead::Rules(_)) => exchange.answer_rules(None),
            Ok(head) => break head,
            Err(fault) => return Outcome::Failed(fault),
        }
    };
    let status = match &head {
        ScriptHead::Response(head) => head.status,
        ScriptHead::LocalRedirect { .. } => 302,
        ScriptHead::Declined(declined) => declined.status,
        ScriptHead::Rules(_) => 0,
    };
    let status = if status == 0 { 200 } else { status };
    exchange.report_outcome(ResponseOutcome {
        status,
        ..ResponseOutcome::default()
    });
    let mut body = Vec::new();
    if let ScriptHead::Declined(_) = head {
        return Outcome::Answered(status);
    }
    loop {
        body.clear();
        match poll_fn(|cx| exchange.poll_body(cx, &mut body, 1 << 16)).await {
            Ok(true) => {}
            Ok(false) => return Outcome::Answered(status),
            Err(fault) => return Outcome::Failed(fault),
        }
    }
}

/// Frees the zygote's place among the workers when it is dropped, and then kills what the zygote
/// has started, unless the warm-up has been dismissed.
struct Place(Pool, usize);

impl Place {
    fn dismiss(self) {
        self.0.borrow().close_warming(self.1, false);
        std::mem::forget(self);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.borrow().close_warming(self.1, true);
    }
}

impl Pool {
    /// Gives a request to a warming zygote.
    fn submit_to(&self, slot: usize, call: Call<'_>) -> WorkerExchange {
        let prints_head = call.environment.parse_headers;
        let content = call.named_content();
        let shared = Rc::new(RefCell::new(Arrived::new(Instant::now())));
        let mut inner = self.borrow();
        inner.active_requests += 1;
        inner.place_call(slot, Owed::of(&shared), call, Instant::now());
        drop(inner);
        WorkerExchange {
            pool: self.clone(),
            shared,
            tap: None,
            prints_head,
            content,
        }
    }
}

impl Inner {
    fn is_warming_busy(&mut self, slot: usize) -> bool {
        self.worker(slot).is_some_and(|it| !it.held.is_empty())
    }

    fn ask_warming_for_stack(&mut self, slot: usize) {
        if let Some(worker) = self.worker(slot) {
            worker.signal(libc::SIGRTMAX() - 3);
        }
    }

    fn close_warming(&mut self, slot: usize, kills: bool) {
        self.holding.remove(slot);
        let worker = self.workers.get_mut(slot).and_then(Option::take);
        if let Some(mut worker) = worker {
            worker.dismiss();
            if kills {
                worker.kill();
            }
        }
    }
}
