//! How many workers: the plan a generation starts with, and the round that keeps spare ones.

use crate::inner::{Inner, Pool};
use crate::team::{Of, Team};
use crate::worker::State;
use mehari_config::{Site, WorkerPolicy};
use std::time::{Duration, Instant};

/// The numbers in force, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    pub start: u32,
    pub min_spare: u32,
    pub max_spare: u32,
    pub max: u32,
    /// One line for the log.
    pub reasoning: String,
}

/// What the machine gives this process.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Cores by affinity and the cgroup's cpu.max; at least 1.
    pub cores: u32,
    /// Bytes free by the cgroup's limit and the kernel's estimate.
    pub memory: u64,
    /// How many teams share it that no maximum is configured for; at least 1.
    pub shared_by: u32,
}

/// A worker this busy with one request counts as taken: a faster one is as good as spare.
const TAKEN: Duration = Duration::from_millis(10);
/// A worker's private memory until one has been measured: a mid-sized application's.
const ASSUMED_PRIVATE: u64 = 32 << 20;

/// A worker that has not served yet has hardly unshared anything: it is counted as this much.
const LEAST_PRIVATE: u64 = 8 << 20;

impl Plan {
    /// From the configuration and what it leaves open. `private` is a measured worker's private memory.
    pub fn new(policy: &WorkerPolicy, machine: Machine, private: Option<u64>) -> Plan {
        let each = private.unwrap_or(ASSUMED_PRIVATE).max(LEAST_PRIVATE);
        let shared_by = machine.shared_by.max(1);
        let by_memory = machine.memory / 2 / each / u64::from(shared_by);
        let by_memory = u32::try_from(by_memory).unwrap_or(u32::MAX).max(1);
        let by_cores = machine.cores * 8;
        let max = policy.max.unwrap_or_else(|| by_cores.min(by_memory)).max(1);
        let at_start = (machine.cores * 2 / shared_by).max(1);
        let start = policy.start.unwrap_or(at_start).clamp(1, max);
        let min_spare = policy.min_spare.unwrap_or(1).min(max);
        let max_spare = policy
            .max_spare
            .unwrap_or(start.max(min_spare + 1))
            .max(min_spare + 1);
        let reasoning = format!(
            "{}: {} cores x 8 and half of {} MiB{} at {} MiB a worker ({}) allow {}; start {start}, spare {min_spare} to {max_spare}, at most {max}",
            if policy.max.is_some() { "workers as configured" } else { "workers auto" },
            machine.cores,
            machine.memory >> 20,
            match shared_by {
                1 => String::new(),
                teams => format!(" for {teams} pools"),
            },
            each >> 20,
            if private.is_some() { "measured" } else { "assumed" },
            by_cores.min(by_memory),
        );
        Plan {
            start,
            min_spare,
            max_spare,
            max,
            reasoning,
        }
    }

    /// One a team of the site's, in their order.
    pub fn all(site: &Site) -> Vec<Plan> {
        let policies: Vec<WorkerPolicy> = site.teams.iter().map(|it| site.policy(it)).collect();
        let machine = Machine::look().shared(&policies);
        let plans = policies.iter();
        plans.map(|it| Plan::new(it, machine, None)).collect()
    }
}

impl Machine {
    pub fn look() -> Machine {
        let affinity = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let cores = read("/sys/fs/cgroup/cpu.max")
            .and_then(|text| quota(&text))
            .map_or(affinity, |quota| quota.min(affinity))
            .max(1);
        let free = read("/proc/meminfo")
            .and_then(|text| available(&text))
            .unwrap_or(1 << 30);
        let limit =
            read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
        let used =
            read("/sys/fs/cgroup/memory.current").and_then(|text| text.trim().parse::<u64>().ok());
        let memory = match (limit, used) {
            (Some(limit), Some(used)) => free.min(limit.saturating_sub(used)),
            _ => free,
        };
        Machine {
            cores,
            memory,
            shared_by: 1,
        }
    }

    /// The same, for teams with these policies.
    fn shared<'p>(self, policies: impl IntoIterator<Item = &'p WorkerPolicy>) -> Machine {
        let open = policies.into_iter().filter(|policy| policy.max.is_none());
        Machine {
            shared_by: open.count().max(1) as u32,
            ..self
        }
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `cpu.max`: quota and period in microseconds, or `max`.
fn quota(text: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words.next()?.parse().ok()?;
    u32::try_from(quota.div_ceil(period.max(1))).ok()
}

fn available(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib << 10)
}

impl Pool {
    /// How many workers each team has, and why: lines for the log.
    pub fn reasoning(&self) -> Vec<String> {
        let inner = self.borrow();
        let teams = inner.teams.iter();
        teams.map(|team| team.says(&team.plan)).collect()
    }

    /// Plans anew with what the workers' private memory really is; a changed plan is logged.
    pub async fn measure(&self) {
        let teams: Vec<Vec<u32>> = {
            let inner = self.borrow();
            let pids = |team: usize| {
                let workers = inner.workers.iter().flatten();
                let mine = workers.filter(move |worker| worker.team == team);
                mine.map(|worker| worker.pid).collect()
            };
            (0..inner.teams.len()).map(pids).collect()
        };
        let looked = tokio::task::spawn_blocking(move || {
            let private: Vec<_> = teams.iter().map(|pids| largest_private(pids)).collect();
            (Machine::look(), private)
        });
        let Ok((machine, private)) = looked.await else {
            return;
        };
        let Inner { teams, log, .. } = &mut *self.borrow();
        let machine = machine.shared(teams.iter().map(|team| &team.policy));
        for (team, private) in teams.iter_mut().zip(private) {
            let Some(private) = private else { continue };
            let plan = Plan::new(&team.policy, machine, Some(private));
            if plan.max != team.plan.max {
                log.notice(team.says(&plan));
            }
            // `start` has had its effect, and what is spare now stays spare: memory decides the maximum only.
            team.plan.max = plan.max;
            team.plan.reasoning = plan.reasoning;
        }
    }
}

/// The largest Private_Dirty of these processes, bytes.
fn largest_private(pids: &[u32]) -> Option<u64> {
    pids.iter()
        .filter_map(|pid| read(&format!("/proc/{pid}/smaps_rollup")))
        .filter_map(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("Private_Dirty:"))?;
            line.trim()
                .trim_end_matches(" kB")
                .trim()
                .parse::<u64>()
                .ok()
        })
        .max()
        .map(|kib| kib << 10)
}

impl Inner {
    /// Requests a new worker serves: the configured number, +-20 %, so that they do not all go at once.
    pub fn request_limit(&mut self, configured: Option<u32>) -> Option<u64> {
        let configured = u64::from(configured.filter(|limit| *limit > 0)?);
        let spread = configured / 5;
        if spread == 0 {
            return Some(configured);
        }
        Some(configured - spread + self.random() % (2 * spread + 1))
    }

    /// After each request of a worker: is it to be replaced, or may it go?
    pub fn after_request(&mut self, index: usize, asks_to_retire: bool) {
        let Some(worker) = self.worker(index) else {
            return;
        };
        let (generation, team) = (worker.generation, worker.team);
        if worker.state == State::Retiring {
            if worker.held.is_empty() {
                worker.dismiss();
            }
            return;
        }
        if asks_to_retire {
            self.retire(index);
            self.fork_worker(generation, team);
            return;
        }
        // The replacement is forked before the old one goes: see `retire_replaced`.
        let worn = worker.limit.is_some_and(|limit| worker.served >= limit);
        if worn && !worker.replacement_asked {
            worker.replacement_asked = true;
            self.fork_worker(generation, team);
        }
    }

    /// Keeps the number of spare workers of each team between its bounds.
    pub fn keep_workers(&mut self, now: Instant) {
        for team in 0..self.teams.len() {
            self.keep_team(team, now);
        }
    }

    fn keep_team(&mut self, index: usize, now: Instant) {
        let current = self.current;
        let team = &self.teams[index];
        if current == 0 || self.stopping || team.false_starts.hold_back(now) {
            return;
        }
        let (mut total, mut starting, mut spare) = (0u32, 0u32, 0u32);
        for worker in self
            .workers
            .iter()
            .flatten()
            .filter(|worker| worker.generation == current && worker.team == index)
        {
            match worker.state {
                State::Retiring => continue,
                State::Starting => starting += 1,
                State::Serving if worker.head_age(now) < TAKEN => spare += 1,
                State::Serving => {}
            }
            total += 1;
        }
        let ready = spare + starting;
        let (plan, is_queued) = (&team.plan, !team.queue.is_empty());
        if ready < plan.min_spare || total == 0 {
            let missing = plan.min_spare.saturating_sub(ready);
            let missing = missing.max(u32::from(total == 0));
            let room = plan.max.saturating_sub(total);
            // As Apache: one, then two, then four ... a round, so that a burst is not answered by a storm.
            let many = match team.false_starts.is_cautious() {
                true => 1,
                false => missing.max(starting * 2),
            };
            for _ in 0..many.min(room) {
                self.fork_worker(current, index);
            }
            if room == 0 && spare == 0 && is_queued {
                self.warn_of_max(index);
            }
        } else if spare > plan.max_spare && starting == 0 && !is_queued {
            self.retire_coldest(index, now);
        }
    }

    fn warn_of_max(&self, team: usize) {
        let Team { name, plan, .. } = &self.teams[team];
        self.log.log_at_most_every(
            Duration::from_secs(60),
            &format!("max-clients {name}"),
            mehari_config::LogLevel::Error,
            format_args!(
                "server reached MaxClients setting{}, consider raising the MaxClients setting (MaxRequestWorkers {})",
                Of(name),
                plan.max
            ),
        );
    }

    /// The bottom of the idle list has waited longest. One a second: a lull is no reason to forget.
    fn retire_coldest(&mut self, team: usize, now: Instant) {
        let Some(&index) = self.teams[team].idle.first() else {
            return;
        };
        let rested = self.worker(index).is_some_and(|worker| {
            now.saturating_duration_since(worker.head_since) > Duration::from_secs(1)
        });
        if rested {
            self.retire(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::WorkerPolicy;

    const MACHINE: Machine = Machine {
        cores: 2,
        memory: 8 << 30,
        shared_by: 1,
    };

    #[test]
    fn auto_takes_the_smaller_of_cores_and_memory() {
        assert_eq!(Plan::new(&WorkerPolicy::default(), MACHINE, None).max, 16);
        let tight = Machine {
            memory: 256 << 20,
            ..MACHINE
        };
        assert_eq!(Plan::new(&WorkerPolicy::default(), tight, None).max, 4);
        assert_eq!(
            Plan::new(&WorkerPolicy::default(), tight, Some(64 << 20)).max,
            2
        );
    }

    #[test]
    fn pools_that_share_a_machine_share_its_memory_and_its_start() {
        let open = WorkerPolicy::default();
        let set = WorkerPolicy {
            max: Some(3),
            ..WorkerPolicy::default()
        };
        let machine = Machine {
            memory: 1 << 30,
            ..MACHINE
        };
        let machine = machine.shared([&open, &set, &open]);
        let plan = Plan::new(&open, machine, None);
        assert_eq!((plan.start, plan.max), (2, 8), "{}", plan.reasoning);
        assert!(
            plan.reasoning.contains("1024 MiB for 2 pools"),
            "{}",
            plan.reasoning
        );
        assert_eq!(Plan::new(&set, machine, None).max, 3);
    }

    #[test]
    fn configured_numbers_are_kept_within_the_maximum() {
        let policy = WorkerPolicy {
            start: Some(10),
            max: Some(4),
            ..WorkerPolicy::default()
        };
        let plan = Plan::new(&policy, MACHINE, None);
        assert_eq!((plan.start, plan.max), (4, 4));
    }

    #[test]
    fn a_cgroup_quota_is_rounded_up_to_cores() {
        assert_eq!(quota("150000 100000\n"), Some(2));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(
            available("MemTotal: 5 kB\nMemAvailable:   2048 kB\n"),
            Some(2 << 20)
        );
    }
}
