//! Draws the live view of a run: progress, rate, percentiles, errors. The view is drawn on stderr,
//! and only if stdout and stderr are terminals.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mehari_load::live::{Glance, Window};
use mehari_load::Plan;
use mehari_record::figures::{count, duration, significant};

use super::arguments::Arguments;

pub fn is_wanted(arguments: &Arguments) -> bool {
    !arguments.quiet && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

pub struct View {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

const INTERVAL: Duration = Duration::from_millis(500);

impl View {
    pub fn start(window: Window, plan: &Plan) -> View {
        let ended = Arc::new(AtomicBool::new(false));
        let (seen, stop, warm_up) = (Arc::clone(&ended), plan.stop, plan.warm_up);
        let thread = std::thread::spawn(move || {
            let total = stop.time.map(|time| (time + warm_up).as_millis() as u64);
            let bar = bar(total.or(stop.arrivals));
            // The measurement of the ceiling comes first, so the run begins with the first answers.
            let mut began: Option<Instant> = None;
            let (mut last, mut done, mut troubles) = (Instant::now(), 0, 0);
            while !seen.load(Ordering::Relaxed) {
                std::thread::park_timeout(INTERVAL);
                let glance = window.take();
                done += glance.completed + glance.failed;
                troubles += glance.failed + glance.errors;
                if done > 0 {
                    began.get_or_insert(last);
                }
                bar.set_position(match total {
                    Some(_) => began.map_or(0, |began| began.elapsed().as_millis() as u64),
                    None => done,
                });
                bar.set_message(line(&glance, last.elapsed(), troubles));
                last = Instant::now();
            }
            bar.finish_and_clear();
        });
        View { ended, thread }
    }

    pub fn finish(self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // Even if the view has failed, the report is printed.
        let _ = self.thread.join();
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let template = match total {
        Some(_) => "{elapsed_precise} {bar:24} {percent:>3}%  {msg}",
        None => "{elapsed_precise} {spinner}  {msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar
}

fn line(glance: &Glance, took: Duration, troubles: u64) -> String {
    let rate = glance.completed as f64 / took.as_secs_f64().max(1e-3);
    let at = |percentile| duration(glance.response.value_at_percentile(percentile));
    format!(
        "{}/s  p50 {}  p99 {}  max {}  errors {}",
        significant(rate),
        at(50.0),
        at(99.0),
        duration(glance.response.max()),
        count(troubles)
    )
}
