//! Reads the machine from /proc: processors, run queue, memory, pressure, disks and network.
//!
//! Counts are totals since the machine began. Whoever shows rates keeps the last look.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;

#[derive(Debug, Default, Serialize)]
pub struct Machine {
    pub host: String,
    pub up_s: f64,
    /// The mean run queue of the last 1, 5 and 15 minutes.
    pub load: [f64; 3],
    /// The tasks that run or could run, and all tasks.
    pub runnable: u64,
    pub tasks: u64,
    pub cores: u64,
    pub cpu: CpuTicks,
    pub memory: MachineMemory,
    pub pressure: BTreeMap<&'static str, Pressure>,
    pub disks: Vec<DiskCounts>,
    pub interfaces: Vec<InterfaceCounts>,
}

/// Time of all cores together, in ticks.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuTicks {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub wait: u64,
    pub interrupts: u64,
    pub stolen: u64,
}

/// Bytes.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct MachineMemory {
    pub total: u64,
    pub available: u64,
    pub free: u64,
    pub shared: u64,
    pub buffers: u64,
    pub cached: u64,
    pub swap_total: u64,
    pub swap_free: u64,
}

/// The share of the last ten seconds, in percent, in which some or all tasks waited.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Pressure {
    pub some: f64,
    pub full: f64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct DiskCounts {
    pub name: String,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub busy_ms: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceCounts {
    pub name: String,
    pub mtu: u64,
    pub received_bytes: u64,
    pub received_errors: u64,
    pub sent_bytes: u64,
    pub sent_errors: u64,
}

/// The size of the sectors in which the kernel counts, whatever the disk has.
const SECTOR: u64 = 512;

impl Machine {
    /// Reads what the kernel tells. A part that the kernel does not tell stays empty.
    pub fn read() -> Machine {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let mut machine = Machine {
            host: text("/proc/sys/kernel/hostname").trim().to_owned(),
            memory: memory(&text("/proc/meminfo")),
            disks: disks(&text("/proc/diskstats")),
            interfaces: interfaces(&text("/proc/net/dev")),
            ..Machine::default()
        };
        let stat = text("/proc/stat");
        machine.cpu = cpu(&stat);
        let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        machine.cores = stat.lines().filter(is_core).count() as u64;
        let up = text("/proc/uptime");
        machine.up_s = up.split(' ').next().map_or(0.0, float);
        load(&text("/proc/loadavg"), &mut machine);
        for what in ["cpu", "memory", "io"] {
            let told = text(&format!("/proc/pressure/{what}"));
            if !told.is_empty() {
                machine.pressure.insert(what, pressure(&told));
            }
        }
        machine
    }
}

fn float(text: &str) -> f64 {
    text.parse().unwrap_or_default()
}

fn load(text: &str, machine: &mut Machine) {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    for (place, word) in machine.load.iter_mut().zip(&words) {
        *place = float(word);
    }
    let tasks = words.get(3).and_then(|word| word.split_once('/'));
    if let Some((runnable, all)) = tasks {
        machine.runnable = runnable.parse().unwrap_or_default();
        machine.tasks = all.parse().unwrap_or_default();
    }
}

fn numbers(words: &str) -> Vec<u64> {
    let words = words.split_ascii_whitespace();
    words.map(|word| word.parse().unwrap_or_default()).collect()
}

fn cpu(stat: &str) -> CpuTicks {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    let ticks = numbers(line.unwrap_or_default());
    let tick = |index: usize| ticks.get(index).copied().unwrap_or_default();
    CpuTicks {
        user: tick(0),
        nice: tick(1),
        system: tick(2),
        idle: tick(3),
        wait: tick(4),
        interrupts: tick(5) + tick(6),
        stolen: tick(7),
    }
}

fn memory(meminfo: &str) -> MachineMemory {
    let bytes = |name: &str| {
        let mut values = meminfo.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix(':')?;
            rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        values.next().unwrap_or_default() << 10
    };
    MachineMemory {
        total: bytes("MemTotal"),
        available: bytes("MemAvailable"),
        free: bytes("MemFree"),
        shared: bytes("Shmem"),
        buffers: bytes("Buffers"),
        cached: bytes("Cached"),
        swap_total: bytes("SwapTotal"),
        swap_free: bytes("SwapFree"),
    }
}

fn pressure(text: &str) -> Pressure {
    let share = |kind: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(kind));
        let line = lines.next()?;
        let mut words = line
            .split(' ')
            .filter_map(|word| word.strip_prefix("avg10="));
        words.next().map(float)
    };
    Pressure {
        some: share("some").unwrap_or_default(),
        full: share("full").unwrap_or_default(),
    }
}

fn disks(diskstats: &str) -> Vec<DiskCounts> {
    let disk = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        let name = *words.get(2)?;
        let is_shown = !["loop", "ram", "zram"]
            .iter()
            .any(|it| name.starts_with(it));
        let counts = DiskCounts {
            name: name.to_owned(),
            read_bytes: number(5)? * SECTOR,
            written_bytes: number(9)? * SECTOR,
            busy_ms: number(12)?,
        };
        (is_shown && counts.busy_ms > 0).then_some(counts)
    };
    diskstats.lines().filter_map(disk).collect()
}

fn interfaces(dev: &str) -> Vec<InterfaceCounts> {
    let interface = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let (name, counts) = (name.trim(), numbers(counts));
        let mtu = fs::read_to_string(format!("/sys/class/net/{name}/mtu")).unwrap_or_default();
        Some(InterfaceCounts {
            name: name.to_owned(),
            mtu: mtu.trim().parse().unwrap_or_default(),
            received_bytes: *counts.first()?,
            received_errors: *counts.get(2)?,
            sent_bytes: *counts.get(8)?,
            sent_errors: *counts.get(10)?,
        })
    };
    dev.lines().filter_map(interface).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_texts_are_read_by_their_columns() {
        let ticks = cpu("cpu  1 2 3 4 5 6 7 8 9\ncpu0 1 1 1 1\n");
        assert_eq!((ticks.user, ticks.wait, ticks.interrupts), (1, 5, 13));
        assert_eq!(ticks.stolen, 8);
        let meminfo = memory("MemTotal:  4 kB\nSwapTotal: 0 kB\nCached: 3 kB\nSwapCached: 1 kB\n");
        assert_eq!((meminfo.total, meminfo.cached), (4 << 10, 3 << 10));
        let told = pressure("some avg10=1.50 avg60=0 total=1\nfull avg10=0.25 avg60=0 total=1\n");
        assert_eq!((told.some, told.full), (1.5, 0.25));
        let all = disks("8 0 sda 1 0 2 0 3 0 4 0 0 5 6\n7 0 loop0 1 0 2 0 3 0 4 0 0 5 6\n");
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].read_bytes, all[0].written_bytes), (1024, 2048));
        assert_eq!(all[0].busy_ms, 5);
        let dev = "Inter-| x\n face |bytes\n lo: 1 2 3 4 5 6 7 8 9 10 11 12\n";
        let all = interfaces(dev);
        assert_eq!((all[0].received_bytes, all[0].received_errors), (1, 3));
        assert_eq!((all[0].sent_bytes, all[0].sent_errors), (9, 11));
        let mut machine = Machine::default();
        load("0.50 1.00 2.00 3/400 5\n", &mut machine);
        assert_eq!(
            (machine.load, machine.runnable, machine.tasks),
            ([0.5, 1.0, 2.0], 3, 400)
        );
        for empty in ["", "x"] {
            assert_eq!(cpu(empty), CpuTicks::default());
            assert_eq!(disks(empty), []);
            assert_eq!(pressure(empty), Pressure::default());
        }
    }

    #[test]
    fn this_machine_has_memory_cores_and_a_loopback() {
        let machine = Machine::read();
        assert!(machine.memory.total > 0 && machine.cores > 0 && machine.up_s > 0.0);
        assert!(machine.interfaces.iter().any(|it| it.name == "lo"));
    }
}
