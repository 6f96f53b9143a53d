//! Runs a plan on several threads and collects the results.
//!
//! `run` prepares the data that all threads share (addresses, rendered bytes), starts the threads
//! with one common time origin, and joins the threads. The module `worker` does the rest, with one
//! event loop per thread.

mod cookies;
mod epoll;
mod gathering;
mod http2;
mod link;
mod prepared;
mod quota;
mod receive;
mod socket;
mod supply;
mod timers;
mod tls;
mod usage;
mod visit;
mod wall;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::moment::Clock;
use crate::observe::Observer;
use crate::outcome::RunOutcome;
use crate::plan::{Plan, Schedule};
use crate::plan_error::PlanError;
pub(crate) use epoll::Epoll;
use prepared::Prepared;
use worker::Worker;

/// A handle to a run for other threads. The handle ends the run and reads its progress.
#[derive(Clone, Debug, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    completed: AtomicU64,
    failed: AtomicU64,
    start_at: AtomicU64,
}

impl Control {
    pub fn new() -> Control {
        Control::default()
    }

    /// Ends the run at once. Requests under way are reported as unfinished.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Returns the numbers of requests answered and failed so far, including the warm-up. The
    /// numbers may lack the latest events.
    pub fn progress(&self) -> (u64, u64) {
        (
            self.shared.completed.load(Ordering::Relaxed),
            self.shared.failed.load(Ordering::Relaxed),
        )
    }

    /// Lets the run start at this wall-clock time instead of at once.
    pub fn start_at(&self, time: SystemTime) {
        let since = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self.shared
            .start_at
            .store(crate::moment::nanoseconds(since), Ordering::Relaxed);
    }

    fn lead(&self) -> Duration {
        let at = Duration::from_nanos(self.shared.start_at.load(Ordering::Relaxed));
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        at.saturating_sub(now).max(TIME_TO_READY_THREADS)
    }

    fn count(&self, completed: u64, failed: u64) {
        self.shared
            .completed
            .fetch_add(completed, Ordering::Relaxed);
        self.shared.failed.fetch_add(failed, Ordering::Relaxed);
    }
}

/// The time from the call of `run` to the origin. The threads must be ready by then.
const TIME_TO_READY_THREADS: Duration = Duration::from_millis(3);

/// Runs `plan` and blocks until its end. `observer` makes one observer per thread.
///
/// # Errors
/// [`PlanError`] if the plan cannot be carried out. No request was sent then.
pub fn run<O: Observer>(
    plan: &Plan,
    control: &Control,
    observer: impl Fn(usize) -> O,
) -> Result<RunOutcome<O>, PlanError> {
    plan.check()?;
    let prepared = Prepared::new(plan)?;
    socket::raise_descriptor_limit();
    let _stamping = receive::keep_stamping();
    let threads = threads(plan);
    let quota = quota::Quota::new(plan.stop.arrivals, threads);
    let lead = control.lead();
    let clock = Clock::starting_in(lead);
    let began = SystemTime::now() + lead;
    let workers = (0..threads)
        .map(|thread| {
            let share = worker::Share { thread, threads };
            let mut observer = observer(thread);
            observer.begins(began);
            Worker::new(
                &prepared,
                control,
                clock,
                share,
                quota.share(thread),
                observer,
            )
        })
        .collect::<Result<Vec<_>, _>>()?;
    let finished = std::thread::scope(|scope| {
        let running: Vec<_> = workers
            .into_iter()
            .map(|worker| scope.spawn(move || worker.run()))
            .collect();
        running
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect::<Vec<_>>()
    });
    let elapsed = finished
        .iter()
        .map(|thread| thread.ended.duration())
        .max()
        .unwrap_or_default();
    let interrupted = control.is_stopped();
    Ok(RunOutcome {
        threads: finished,
        addresses: prepared.addresses,
        began,
        elapsed,
        interrupted,
    })
}

/// Returns the number of threads: the requested number, but at most one thread for each connection.
fn threads(plan: &Plan) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = plan.threads.unwrap_or(match plan.schedule {
        Schedule::Closed { connections } => cores.min(connections.div_ceil(CONNECTIONS_A_THREAD)),
        _ => cores.min(threads_for_rate(plan)),
    });
    wanted.clamp(1, plan.most_at_once())
}

/// Returns the number of threads for an open loop. The number is small, because a server on the
/// same machine needs cores, too.
fn threads_for_rate(plan: &Plan) -> usize {
    let secure = plan.requests.iter().any(|request| request.endpoint.tls);
    if secure {
        // No rule of thumb covers the cost of TLS handshakes.
        return usize::MAX;
    }
    let calls = plan.sessions.iter().map(|session| session.calls());
    let calls = calls.max().unwrap_or(1);
    (plan.schedule.highest_rate() * calls as f64 / RATE_A_THREAD).ceil() as usize
}

/// Requests per second that one thread sends on time with about a fifth of a core.
const RATE_A_THREAD: f64 = 25_000.0;

/// The connections that justify one more thread. One thread serves few connections at lower cost
/// than two threads, because it finds more connections ready at once.
const CONNECTIONS_A_THREAD: usize = 64;
