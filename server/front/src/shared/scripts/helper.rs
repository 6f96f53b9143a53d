//! Runs a long script on a thread of its own, so that other requests go on meanwhile.

use super::disk::PlainDisk;
use super::limits;
use mehari_config::Settings;
use mehari_edge::{Edge, Failure, ScriptDecision, Step, Visit};
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A script's run. The visit knows everything about the request.
pub struct Job {
    pub file: PathBuf,
    /// The time of the front's clock.
    pub now: Duration,
    pub settings: Arc<Settings>,
    pub visit: Box<Visit>,
    /// The number of reloads until now.
    pub reloads: u64,
}

/// The end of a run.
pub struct HelperResult {
    pub result: Result<ScriptDecision, Failure>,
    pub visit: Box<Visit>,
    /// Whether the run has taken several slices.
    pub was_long: bool,
}

/// The interpreter of a thread.
struct Helper {
    edge: Edge,
    disk: Rc<PlainDisk>,
    reloads: u64,
}

thread_local! {
    static HELPER: RefCell<Option<Helper>> = const { RefCell::new(None) };
}

impl Job {
    /// Runs the script to its end on the calling thread. `None`: the script asked for counters, so
    /// the front's own thread must run the script.
    pub fn run(self) -> Option<HelperResult> {
        HELPER.with_borrow_mut(|helper| {
            let helper = match helper {
                Some(helper) => helper,
                None => match Helper::new() {
                    Ok(made) => helper.insert(made),
                    Err(failure) => return Some(failed(failure)),
                },
            };
            helper.run(self)
        })
    }
}

impl Helper {
    fn new() -> Result<Helper, Failure> {
        let disk = Rc::<PlainDisk>::default();
        Ok(Helper {
            edge: Edge::helping(disk.clone())?,
            disk,
            reloads: 0,
        })
    }

    fn run(&mut self, job: Job) -> Option<HelperResult> {
        if std::mem::replace(&mut self.reloads, job.reloads) != job.reloads {
            self.edge.forget();
        }
        let limits = limits(&job.settings.lua);
        self.disk.look_for(job.settings);
        let mut run = match self.edge.start(&job.file, job.now, limits, job.visit) {
            Ok(run) => run,
            Err(failure) => return Some(failed(failure)),
        };
        let result = loop {
            if let Step::Done(result) = run.step(None) {
                break result;
            }
        };
        if run.missed_counters() {
            return None;
        }
        Some(HelperResult {
            result,
            was_long: run.was_long(),
            visit: run.into_visit(),
        })
    }
}

/// The end of a script that does not start.
fn failed(failure: Failure) -> HelperResult {
    HelperResult {
        result: Err(failure),
        visit: Box::default(),
        was_long: true,
    }
}

/// The failure of a script whose thread has failed.
pub fn lost(file: &Path, error: &io::Error) -> Failure {
    Failure {
        status: 500,
        text: format!(
            "{}: the thread of the script failed: {error}",
            file.display()
        ),
    }
}
