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
Pss_Anon:           2000 kB
Pss_File:           1500 kB
Pss_Shmem:           500 kB
VmPTE:	     100 kB
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
        pss_of_files: 1500 * KIB,
        pss_of_memory_files: 500 * KIB,
        tables: 100 * KIB,
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
    let total = PoolMemory::of(&[worker; 4], &MemoryFiles::default());
    assert_eq!((total.processes, total.pss), (4, 16 << 20));
    assert_eq!(total.formula, (8 + 4 * 2) << 20);
    let none = PoolMemory::of(&[], &MemoryFiles::default());
    assert_eq!(none, PoolMemory::default());
}

#[test]
fn end_of_processes_frees_no_pages_of_files_but_tables_and_unmapped_memory_files() {
    let one = ProcessMemory::parse(ROLLUP).expect("all lines are there");
    let mut files = MemoryFiles {
        mapped_by_front: 200 * KIB,
        open: HashMap::new(),
    };
    // 4000 without 1500 of files and 500 of memory files, and 100 of tables.
    let own = 2 * (2100 * KIB + KERNEL_MEMORY);
    let freed = |files: &MemoryFiles| PoolMemory::of(&[one; 2], files).freed;
    assert_eq!(freed(&files), own + 1200 * KIB);
    // The processes have copies of the pages of a picture, and map few of the picture itself.
    files.open.insert((1, 7), 9000 * KIB);
    assert_eq!(freed(&files), own + 9000 * KIB);
}

#[test]
fn memory_file_of_two_processes_is_counted_once() {
    let file = rustix::fs::memfd_create("picture", rustix::fs::MemfdFlags::CLOEXEC);
    let file = std::fs::File::from(file.expect("memory files"));
    std::os::unix::fs::FileExt::write_at(&file, &[1; 3 << 12], 0).expect("memory");
    let own = std::process::id();
    let files = MemoryFiles::of(own, [own, own].into_iter());
    let about = file.metadata().expect("a file");
    let bytes = files.open.get(&(about.dev(), about.ino()));
    assert_eq!(bytes, Some(&(3 << 12)));
}
