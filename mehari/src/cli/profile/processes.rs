//! Finds the processes to sample: one, or all of a server.

use super::ProfileOptions;
use crate::cli::control;
use mehari_console::processes_below;

/// The processes to sample.
pub enum SampledProcesses {
    One(u32),
    /// All that the front has started, and what these have started.
    Server {
        front: u32,
        workers: Vec<u32>,
    },
}

impl SampledProcesses {
    pub fn of(options: &ProfileOptions) -> Result<SampledProcesses, String> {
        if let Some(pid) = options.pid {
            return Ok(SampledProcesses::One(pid));
        }
        let status = control::ask(options.control.as_deref(), "status")?;
        let workers = status["pool"]["workers"].as_array();
        let workers = workers.into_iter().flatten();
        let pid = |it: &serde_json::Value| it["pid"].as_u64().and_then(|pid| pid.try_into().ok());
        // A worker that is starting has no process yet.
        let workers: Vec<u32> = workers.filter_map(pid).filter(|pid| *pid > 0).collect();
        match options.worker {
            Some(worker) if workers.contains(&worker) => Ok(SampledProcesses::One(worker)),
            Some(worker) => Err(format!(
                "the server has no worker {worker}; it has {}",
                listed(&workers)
            )),
            None if workers.is_empty() => Err("the server has no worker yet".to_owned()),
            None => Ok(SampledProcesses::Server {
                front: pid(&status).unwrap_or_default(),
                workers,
            }),
        }
    }

    pub fn told(&self) -> String {
        match self {
            SampledProcesses::One(pid) => format!("process {pid}"),
            SampledProcesses::Server { front, workers } => {
                format!("{} workers of the server {front}", workers.len())
            }
        }
    }

    pub fn now(&self) -> Vec<u32> {
        match self {
            SampledProcesses::One(_) => Vec::new(),
            SampledProcesses::Server { front, .. } => processes_below(*front),
        }
    }
}

fn listed(workers: &[u32]) -> String {
    let words: Vec<String> = workers.iter().map(u32::to_string).collect();
    match words.len() {
        0 => "none".to_owned(),
        _ => words.join(", "),
    }
}
