//! Describes the machine of a generator, and the cost of generating the load.

use serde::{Deserialize, Serialize};

/// The machine of a generator. The facts may later explain a number of the record. Unknown facts
/// stay empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    pub host: String,
    pub processor: String,
    /// Processors available to this process.
    pub processors: u64,
    pub memory_bytes: u64,
    pub kernel: String,
    /// The time in which a cache line passes from one core to another, before and after the run.
    /// Zero if not known.
    pub core_crossing_ns: [u64; 2],
    /// The program that generated the load, such as `mehari 0.1.0`.
    pub generator: String,
    pub cost: GeneratorCost,
    /// The processes that took the machine's cores during the run, the greatest first. Empty if not
    /// known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores_taken: Vec<CoreUse>,
}

/// The processes of one name, and the share of all cores that they took together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreUse {
    pub name: String,
    pub processes: u64,
    /// From 0 to 1.
    pub share: f64,
}

/// The cost of the whole generator process during the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratorCost {
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    /// The processor time of intended busy waiting. `cpu_user_us` and `cpu_system_us` include this
    /// time.
    pub cpu_spin_us: u64,
    pub involuntary_switches: u64,
    /// How long the threads were ready to run but had no core.
    pub run_queue_us: u64,
    pub peak_memory_bytes: u64,
}

/// If the two values of `core_crossing_ns` differ by this factor, the cores were moved. Noise is
/// far smaller.
const MOVED: u64 = 2;

impl Machine {
    /// Returns whether the host moved the machine's virtual cores to other physical cores during
    /// the run.
    pub fn cores_moved(&self) -> bool {
        let [before, after] = self.core_crossing_ns;
        before > 0 && after > 0 && (before / MOVED >= after || after / MOVED >= before)
    }

    /// Returns a remark such as ` (63 ns from core to core)`, with both figures if the cores moved.
    /// Returns an empty text if the figures are not known.
    pub fn crossing_words(&self) -> String {
        match self.core_crossing_ns {
            [0, 0] => String::new(),
            [before, after] if self.cores_moved() => {
                format!(" ({before} ns from core to core, {after} ns at the end)")
            }
            [before, after] => format!(" ({} ns from core to core)", before.max(after)),
        }
    }

    /// Returns who took the cores, such as `Of 2 cores, 3 x perl took 61 %, mehari 20 %.`
    pub fn cores_words(&self) -> String {
        if self.cores_taken.is_empty() {
            return String::new();
        }
        let parts = self.cores_taken.iter().enumerate().map(|(place, used)| {
            let count = match used.processes {
                0 | 1 => String::new(),
                many => format!("{many} x "),
            };
            let took = if place == 0 { " took" } else { "" };
            format!("{count}{}{took} {:.0} %", used.name, 100.0 * used.share)
        });
        let parts: Vec<String> = parts.collect();
        format!("Of {} cores, {}.", self.processors, parts.join(", "))
    }

    /// Reads the facts of this machine from /proc. `generator` names the program and its version.
    pub fn here(generator: &str) -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Machine {
            host: read("/proc/sys/kernel/hostname").trim().to_owned(),
            processor: value_of(&read("/proc/cpuinfo"), "model name"),
            processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            core_crossing_ns: [0; 2],
            generator: generator.to_owned(),
            cost: GeneratorCost::default(),
            cores_taken: Vec::new(),
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
