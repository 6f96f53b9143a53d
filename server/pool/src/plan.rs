//! Computes the number of workers of a team from the configuration, the cores and the memory.

use mehari_config::{Site, WorkerPolicy};

/// The numbers of workers that are in force, and the reasons for them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    pub start: u32,
    pub min_spare: u32,
    pub max_spare: u32,
    pub max: u32,
    /// One line for the log.
    pub reasoning: String,
}

/// The machine's resources for this process.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// The number of cores, limited by the CPU affinity and the cgroup's cpu.max. At least 1.
    pub cores: u32,
    /// Free memory in bytes: the smaller of the cgroup's limit and the kernel's estimate.
    pub memory: u64,
    /// How many teams without a configured maximum share the machine. At least 1.
    pub shared_by: u32,
}

/// The private memory in bytes that is assumed before a worker was measured: the private memory of
/// a mid-sized application.
const ASSUMED_PRIVATE: u64 = 32 << 20;

/// The least private memory of a worker, in bytes. A worker that has not served yet shares nearly
/// all its memory, so its measured figure is too low.
const LEAST_PRIVATE: u64 = 8 << 20;

impl Plan {
    /// Plans from the configuration and the machine. `private` is the measured private memory of a
    /// worker.
    pub fn new(policy: &WorkerPolicy, machine: Machine, private: Option<u64>) -> Plan {
        let each = private.unwrap_or(ASSUMED_PRIVATE).max(LEAST_PRIVATE);
        let shared_by = machine.shared_by.max(1);
        let by_memory = machine.memory / 2 / each / u64::from(shared_by);
        let by_memory = u32::try_from(by_memory).unwrap_or(u32::MAX).max(1);
        let by_cores = machine.cores * 8;
        let max = policy.max.unwrap_or_else(|| by_cores.min(by_memory)).max(1);
        let at_start = (machine.cores * 2 / shared_by).max(1);
        let least = u32::from(!policy.may_start_empty());
        let start = policy.start.unwrap_or(at_start).clamp(least, max);
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

    /// Returns one plan per team of the site, in the same order.
    pub fn all(site: &Site) -> Vec<Plan> {
        let policies: Vec<WorkerPolicy> = site.teams.iter().map(|it| site.policy(it)).collect();
        let machine = Machine::detect().shared(&policies);
        let plans = policies.iter();
        plans.map(|it| Plan::new(it, machine, None)).collect()
    }
}

impl Machine {
    pub fn detect() -> Machine {
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

    /// Returns the resources of this machine, shared by the teams with these policies.
    pub fn shared<'p>(self, policies: impl IntoIterator<Item = &'p WorkerPolicy>) -> Machine {
        let open = policies.into_iter().filter(|policy| policy.max.is_none());
        Machine {
            shared_by: open.count().max(1) as u32,
            ..self
        }
    }
}

pub fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Reads `cpu.max`: quota and period in microseconds, or `max`.
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
    fn configured_numbers_are_limited_by_the_maximum() {
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
