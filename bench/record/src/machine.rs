//! The machine a generator ran on, and what generating cost it.

use serde::{Deserialize, Serialize};

/// Facts that explain a number later; unknown ones are left empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    pub host: String,
    pub processor: String,
    /// Processors this process may run on.
    pub processors: u64,
    pub memory_bytes: u64,
    pub kernel: String,
    /// The program that generated the load: `mehari 0.1.0`.
    pub generator: String,
    pub cost: GeneratorCost,
}

/// Of the whole generator process, during the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratorCost {
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    /// Processor time spent waiting for the clock on purpose, part of the two above.
    pub cpu_spin_us: u64,
    pub involuntary_switches: u64,
    /// Time its threads were ready to run and did not.
    pub run_queue_us: u64,
    pub peak_memory_bytes: u64,
}

impl Machine {
    /// This machine, from /proc; `generator` names the program and its version.
    pub fn here(generator: &str) -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Machine {
            host: read("/proc/sys/kernel/hostname").trim().to_owned(),
            processor: value_of(&read("/proc/cpuinfo"), "model name"),
            processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            generator: generator.to_owned(),
            cost: GeneratorCost::default(),
        }
    }
}

fn value_of(text: &str, key: &str) -> String {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
        .unwrap_or_default()
}

fn memory_bytes(meminfo: &str) -> u64 {
    value_of(meminfo, "MemTotal")
        .split_whitespace()
        .next()
        .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes * 1024)
}
