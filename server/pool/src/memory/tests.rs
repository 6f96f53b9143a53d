use super::*;

const KIB: u64 = 1 << 10;

const ROLLUP: &str = "\
55d1c0000000-7ffd1a9f2000 ---p 00000000 00:00 0                          [rollup]
Rss:               12000 kB
Pss:                4000 kB
Pss_Dirty:          3000 kB
Shared_Clean:       5000 kB
Shared_Dirty:       4000 kB
Private_Clean:       500 kB
Private_Dirty:      2500 kB
Referenced:        12000 kB
Anonymous:          6000 kB
";

#[test]
fn rollup_of_the_kernel_is_read() {
    let memory = ProcessMemory::parse(ROLLUP).expect("all lines are there");
    let expected = ProcessMemory {
        rss: 12000 * KIB,
        pss: 4000 * KIB,
        private: 3000 * KIB,
        shared: 9000 * KIB,
        private_dirty: 2500 * KIB,
        anonymous: 6000 * KIB,
    };
    assert_eq!(memory, expected);
    assert_eq!(ProcessMemory::parse(""), None);
    assert_eq!(
        ProcessMemory::parse(&ROLLUP.replace("12000 kB", "many kB")),
        None
    );
    assert!(ProcessMemory::of(std::process::id()).is_some_and(|it| it.rss >= it.private));
}

/// The memory of a process that shared 10 MiB at its start, has written `unshared` of them, and has
/// got `new` bytes.
fn memory(unshared: u64, new: u64) -> ProcessMemory {
    ProcessMemory {
        private_dirty: unshared + new,
        anonymous: (10 << 20) + new,
        ..ProcessMemory::default()
    }
}

#[test]
fn leak_is_told_from_memory_that_becomes_unshared() {
    let mut history = MemoryHistory::default();
    for served in (0..=10_000).step_by(100) {
        // Half of the shared memory is written early, and a cache fills.
        let unshared = (served * 5 * KIB).min(5 << 20);
        let cache = (served * 40 * KIB).min(8 << 20);
        history.add(served, memory(unshared, cache + served * 2 * KIB));
    }
    assert!(history.looks.len() <= LOOKS);
    let report = history.report().expect("looks were made");
    assert_eq!(report.unshared, 5 << 20);
    assert_eq!(report.growth_per_request, Some(2 * KIB));
}

#[test]
fn few_requests_show_no_growth() {
    let mut history = MemoryHistory::default();
    assert_eq!(history.report(), None);
    for served in [0, 300, 700] {
        history.add(served, memory(0, served * 2 * KIB));
    }
    assert_eq!(history.report().and_then(|it| it.growth_per_request), None);
}

#[test]
fn formula_counts_shared_memory_once() {
    let worker = ProcessMemory {
        rss: 10 << 20,
        pss: 4 << 20,
        shared: 8 << 20,
        ..ProcessMemory::default()
    };
    let total = PoolMemory::of(&[worker; 4]);
    assert_eq!((total.processes, total.pss), (4, 16 << 20));
    assert_eq!(total.formula, (8 + 4 * 2) << 20);
    assert_eq!(PoolMemory::of(&[]), PoolMemory::default());
}
