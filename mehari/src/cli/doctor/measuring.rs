//! Measures on this machine: means with their intervals, pieces of work in a perl, and the kernel's
//! own counts of a process.

use mehari_record::statistics::{mean_and_deviation, t_quantile, Comparison};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const WORK: &str = include_str!("work.pl");

/// A mean, and half of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredMean {
    pub mean: f64,
    pub interval: f64,
}

impl MeasuredMean {
    pub fn of(values: &[f64]) -> MeasuredMean {
        let (mean, deviation) = mean_and_deviation(values);
        let count = values.len() as f64;
        let interval = match values.len() {
            0 | 1 => f64::INFINITY,
            _ => deviation / count.sqrt() * t_quantile(0.975, count - 1.0),
        };
        MeasuredMean { mean, interval }
    }
}

/// A perl with switches, and the value of PERL5OPT.
#[derive(Debug, Clone)]
pub struct PerlRun {
    pub perl: PathBuf,
    pub switches: Vec<String>,
    pub options: String,
}

impl PerlRun {
    /// Returns the output of a program in this perl, or `None` if it fails.
    pub fn output(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let mut file = tempfile::NamedTempFile::new().ok()?;
        file.write_all(program.as_bytes()).ok()?;
        let output = Command::new(&self.perl)
            .args(&self.switches)
            .arg(file.path())
            .args(arguments)
            .env("PERL5OPT", &self.options)
            .env("PERLDB_OPTS", "NonStop=1 LineInfo=/dev/null")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// Returns the microseconds of processor time of a fixed piece of work.
    fn work_us(&self) -> Option<f64> {
        let output = self.output(WORK, &[])?;
        output.split(' ').next()?.parse().ok()
    }
}

/// Compares the time of the same work in two perls, which take turns: the ratio is `b` / `a`.
pub fn compare_work(a: &PerlRun, b: &PerlRun, rounds: usize) -> Option<Comparison> {
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        pairs.push((a.work_us()?, b.work_us()?));
    }
    Comparison::paired(&pairs).ok()
}

/// What the kernel counts of the server and of its control group.
#[derive(Debug, Clone, Default)]
pub struct KernelCounts {
    pub open_files: u64,
    /// The soft limit of open files.
    pub open_files_limit: Option<u64>,
    /// Connections that the kernel refused because a listening socket's queue was full.
    pub overflows: u64,
    pub somaxconn: u64,
    /// Microseconds in which the control group had to wait for its next quota of processor time.
    pub throttled_us: Option<u64>,
    /// The file that limits the control group's processor time.
    pub cpu_limit: Option<PathBuf>,
    /// The limit of the control group's memory, its file, and how often it was reached.
    pub memory_limit_file: Option<PathBuf>,
    pub memory_limit: Option<u64>,
    pub memory_hits: u64,
}

impl KernelCounts {
    /// Reads the counts of a process. What the kernel does not tell stays empty.
    pub fn of(pid: u32) -> KernelCounts {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let files = fs::read_dir(format!("/proc/{pid}/fd"));
        let groups = text(&format!("/proc/{pid}/cgroup"));
        let path = |controller: &str, files: [&str; 2]| -> Option<PathBuf> {
            let folder = group_folder(&groups, controller)?;
            let mut files = files.into_iter().map(|file| folder.join(file));
            files.find(|file| file.is_file())
        };
        let group = |controller: &str, file: &str| -> String {
            let file = path(controller, [file, file]);
            file.map(|file| text(&file.to_string_lossy()))
                .unwrap_or_default()
        };
        let limit_file = path("memory", ["memory.max", "memory.limit_in_bytes"]);
        let cpu = group("cpu", "cpu.stat");
        let throttled = count_of(&cpu, "throttled_usec")
            .or_else(|| count_of(&cpu, "throttled_time").map(|ns| ns / 1_000));
        let limit = limit_file
            .as_ref()
            .map(|file| text(&file.to_string_lossy()));
        let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
        KernelCounts {
            open_files: files.map_or(0, |files| files.count() as u64),
            open_files_limit: soft_limit(&text(&format!("/proc/{pid}/limits")), "Max open files"),
            overflows: listen_overflows(&text(&format!("/proc/{pid}/net/netstat"))),
            somaxconn: text("/proc/sys/net/core/somaxconn")
                .trim()
                .parse()
                .unwrap_or(0),
            throttled_us: throttled,
            cpu_limit: path("cpu", ["cpu.max", "cpu.cfs_quota_us"]),
            memory_limit_file: limit_file,
            // Version 1 says a number near 2^63 for no limit.
            memory_limit: limit.filter(|limit| *limit < 1 << 60),
            memory_hits: count_of(&group("memory", "memory.events"), "max").unwrap_or_default(),
        }
    }
}

/// Returns the folder of a process's control group, of version 2 or of a controller of version 1.
fn group_folder(groups: &str, controller: &str) -> Option<PathBuf> {
    let folder = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let has = controllers.split(',').any(|known| known == controller);
        let base = match (controllers, has) {
            ("", _) => PathBuf::from("/sys/fs/cgroup"),
            (_, true) => Path::new("/sys/fs/cgroup").join(controllers),
            _ => return None,
        };
        Some(base.join(path.trim_start_matches('/')))
    };
    let mut folders: Vec<PathBuf> = groups.lines().filter_map(folder).collect();
    // A line of version 1 names the controller itself.
    folders.sort_by_key(|folder| folder.components().nth(4).is_none());
    folders.into_iter().find(|folder| folder.is_dir())
}

fn count_of(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.find_map(|rest| rest.trim().parse().ok())
}

fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Finds `ListenOverflows`: a line of names is followed by a line of numbers.
fn listen_overflows(netstat: &str) -> u64 {
    let mut lines = netstat.lines();
    while let (Some(names), Some(numbers)) = (lines.next(), lines.next()) {
        let mut pairs = names.split(' ').zip(numbers.split(' '));
        if let Some((_, number)) = pairs.find(|(name, _)| *name == "ListenOverflows") {
            return number.parse().unwrap_or_default();
        }
    }
    0
}

/// Writes milliseconds for people.
pub fn ms(microseconds: f64) -> String {
    match microseconds / 1e3 {
        small if small < 1.0 => format!("{small:.3} ms"),
        middle if middle < 100.0 => format!("{middle:.1} ms"),
        large => format!("{large:.0} ms"),
    }
}

/// Writes bytes for people.
pub fn bytes(count: f64) -> String {
    crate::cli::status::size(&serde_json::json!(count.max(0.0).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_texts_are_read() {
        let netstat = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 7 9\n";
        assert_eq!(listen_overflows(netstat), 7);
        assert_eq!(listen_overflows("TcpExt: A\n"), 0);
        let limits =
            "Limit  Soft\nMax open files            1024                 524288     files\n";
        assert_eq!(soft_limit(limits, "Max open files"), Some(1024));
        assert_eq!(
            count_of("nr_periods 3\nthrottled_usec 42\n", "throttled_usec"),
            Some(42)
        );
        assert_eq!(group_folder("", "cpu"), None);
        let own = KernelCounts::of(std::process::id());
        assert!(own.open_files > 2 && own.somaxconn > 0, "{own:?}");
    }

    #[test]
    fn interval_of_a_mean_needs_two_values() {
        assert_eq!(MeasuredMean::of(&[3.0]).interval, f64::INFINITY);
        let measured = MeasuredMean::of(&[9.0, 10.0, 11.0]);
        assert_eq!(measured.mean, 10.0);
        assert!((2.4..2.6).contains(&measured.interval), "{measured:?}");
    }

    #[test]
    fn work_of_a_perl_is_timed() {
        let perl = PerlRun {
            perl: PathBuf::from("perl"),
            switches: Vec::new(),
            options: String::new(),
        };
        assert!(perl.work_us().is_some_and(|us| us > 1000.0));
        let none = PerlRun {
            perl: PathBuf::from("/no/such/perl"),
            ..perl
        };
        assert_eq!(none.work_us(), None);
    }
}
