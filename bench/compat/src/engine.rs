//! Runs the load engine for a tool. The engine has one thread and one observer, and the tool gets
//! the observer back at the end.
//!
//! The original tools have one thread and print as events happen. With one thread Mehari prints the
//! same lines in the same order.

use mehari_load::{run, Control, Observer, Plan, PlanError};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The costs of a run.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    pub elapsed: Duration,
    /// Processor time of the run's thread.
    pub user: Duration,
    pub system: Duration,
    /// Whether Ctrl-C ended the run.
    pub interrupted: bool,
}

/// Runs `plan`. Returns the observer and the costs.
///
/// # Errors
/// [`PlanError`] if the plan cannot be carried out. No request was sent then.
pub fn run_plan<O: Observer>(mut plan: Plan, observer: O) -> Result<(O, Ran), PlanError> {
    plan.threads = Some(1);
    let control = Control::new();
    let interrupted = stop_on_interrupt(&control);
    let slot = Cell::new(Some(observer));
    let outcome = run(&plan, &control, |_thread| {
        slot.take()
            .expect("a run with one thread needs one observer")
    })?;
    let ran = Ran {
        elapsed: outcome.elapsed,
        user: outcome.threads.iter().map(|thread| thread.cpu_user).sum(),
        system: outcome.threads.iter().map(|thread| thread.cpu_system).sum(),
        interrupted: interrupted.load(Ordering::Relaxed),
    };
    let thread = outcome.threads.into_iter().next();
    let observer = thread.expect("a run has a thread").observer;
    Ok((observer, ran))
}

/// Lets Ctrl-C end the run instead of the process, so the report is still printed. A second Ctrl-C
/// ends the process. If the signal cannot be handled, the system's default stays.
fn stop_on_interrupt(control: &Control) -> Arc<AtomicBool> {
    let came = Arc::new(AtomicBool::new(false));
    let (told, control) = (came.clone(), control.clone());
    let Ok(mut signals) = Signals::new([SIGINT]) else {
        return came;
    };
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if told.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            control.stop();
        }
    });
    came
}
