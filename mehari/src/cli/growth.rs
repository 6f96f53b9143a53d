//! Looks at the variables of workers twice and tells what has grown. Which worker serves next is
//! not known before, so the first look is at several, and the second at the one that served most
//! in between.

use mehari_memory::{leaks, Heap, Leak};
use mehari_profile::PerlProcess;
use serde_json::Value;

/// The first look ends when it has seen so many workers, or holds so many values.
const MOST_WORKERS: usize = 8;
const MOST_VALUES: usize = 2_000_000;

/// What the two looks at a process saw.
pub struct Growth {
    pub pid: u32,
    /// The requests between the looks. `None`: the process is no worker of a server.
    pub requests: Option<u64>,
    pub values: [usize; 2],
    /// Whether the process ran during a look.
    pub is_torn: bool,
    pub leaks: Vec<Leak>,
}

/// A process, and the requests that it had served if it is a worker.
pub struct Counted {
    pub pid: u32,
    pub served: Option<u64>,
}

/// Returns the workers of a server's status, those that have served most first.
pub fn busiest(status: &Value) -> Vec<Counted> {
    let workers = status["pool"]["workers"].as_array().into_iter().flatten();
    let counted = workers.filter_map(|worker| {
        Some(Counted {
            pid: worker["pid"].as_u64()?.try_into().ok()?,
            served: Some(worker["served"].as_u64()?),
        })
    });
    let mut counted: Vec<Counted> = counted.collect();
    counted.sort_by_key(|worker| std::cmp::Reverse(worker.served));
    counted
}

/// Returns the requests that a worker has served. `None`: the server has no such worker.
pub fn served_by(status: &Value, pid: u32) -> Option<u64> {
    let worker = busiest(status).into_iter().find(|it| it.pid == pid);
    worker?.served
}

struct FirstLook {
    counted: Counted,
    process: PerlProcess,
    heap: Heap,
}

/// The first look, at one process or more.
pub struct FirstLooks(Vec<FirstLook>);

impl FirstLooks {
    /// Looks at the processes in their order. A worker that cannot be read is passed over if
    /// another can be.
    ///
    /// # Errors
    ///
    /// No process is given, or none can be read.
    pub fn at(processes: Vec<Counted>) -> Result<FirstLooks, String> {
        let mut looks = Vec::new();
        let mut values = 0;
        let mut refused = "the server has no worker yet".to_owned();
        for counted in processes.into_iter().take(MOST_WORKERS) {
            let process = PerlProcess::open(counted.pid).map_err(|error| error.to_string());
            match process.and_then(|process| {
                Ok((
                    Heap::of(&process).map_err(|error| error.to_string())?,
                    process,
                ))
            }) {
                Ok((heap, process)) => {
                    values += heap.values.len();
                    looks.push(FirstLook {
                        counted,
                        process,
                        heap,
                    });
                }
                Err(why) => refused = why,
            }
            if values > MOST_VALUES {
                break;
            }
        }
        if looks.is_empty() {
            Err(refused)
        } else {
            Ok(FirstLooks(looks))
        }
    }

    /// Tells which processes were looked at, and how many values they hold.
    pub fn told(&self) -> String {
        let values: usize = self.0.iter().map(|look| look.heap.values.len()).sum();
        match &self.0[..] {
            [look] => format!("{values} values in process {}", look.counted.pid),
            looks => format!("{values} values in {} processes", looks.len()),
        }
    }

    /// Looks again at the worker that has served most since the first look.
    ///
    /// # Errors
    ///
    /// All processes of the first look have ended, or the process cannot be read.
    pub fn again(self, status: &Value) -> Result<Growth, String> {
        let first = self.0.first().map(|look| look.counted.pid);
        let between = |look: &FirstLook| match look.counted.served {
            Some(before) => {
                let served = served_by(status, look.counted.pid)?;
                Some(Some(served.saturating_sub(before)))
            }
            None => Some(None),
        };
        let looks = self.0.into_iter();
        let alive = looks.filter_map(|look| Some((between(&look)?, look)));
        // Of equals, the first in the order given.
        let most = alive.reduce(|most, next| if next.0 > most.0 { next } else { most });
        let ended = || format!("worker {} has ended meanwhile", first.unwrap_or_default());
        let (requests, look) = most.ok_or_else(ended)?;
        let after = Heap::of(&look.process).map_err(|error| error.to_string())?;
        Ok(Growth {
            pid: look.counted.pid,
            requests,
            values: [look.heap.values.len(), after.values.len()],
            is_torn: look.heap.memory.is_torn || after.memory.is_torn,
            leaks: leaks(&look.heap, &after),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn workers_are_ordered_by_what_they_served() {
        let status = json!({"pool": {"workers": [
            {"pid": 10, "served": 2}, {"pid": 11, "served": 7}, {"pid": 12}, {"served": 9},
        ]}});
        let pids: Vec<u32> = busiest(&status).iter().map(|it| it.pid).collect();
        assert_eq!(pids, [11, 10]);
        assert_eq!(served_by(&status, 10), Some(2));
        assert_eq!(served_by(&status, 12), None);
        assert!(busiest(&json!({})).is_empty());
    }
}
