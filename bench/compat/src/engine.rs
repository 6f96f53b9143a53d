//! Runs the engine for a tool: with a single thread and one observer, which is returned at the end.
//!
//! The originals have one thread and print as events happen. One thread keeps their lines in order.

use mehari_load::{run, Control, Observer, Plan, PlanError};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The result of a run besides its observer.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    pub elapsed: Duration,
    /// Processor time of the run's thread.
    pub user: Duration,
    pub system: Duration,
    /// Ctrl-C ended the run.
    pub interrupted: bool,
}

/// Runs `plan`.
///
/// # Errors
///
/// The plan cannot be carried out. Nothing was sent.
pub fn run_plan<O: Observer>(mut plan: Plan, observer: O) -> Result<(O, Ran), PlanError> {
    plan.threads = Some(1);
    let control = Control::new();
    let interrupted = stop_on_interrupt(&control);
    let slot = Cell::new(Some(observer));
    let outcome = run(&plan, &control, |_thread| {
        slot.take().expect("one thread asks for one observer")
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
