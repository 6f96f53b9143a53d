//! Counts the instructions of a sub, and the calls by which it allocates memory, with valgrind.
//!
//! Two perls under callgrind load the file and call the sub, the second perl more often. The
//! difference of the two counts is the count of the further calls. The counts hardly vary between
//! runs and do not depend on the machine's other work.

use crate::driver::{words_of, Job, EMPTY};
use crate::error::TimeError;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Calls before the counted ones: the first calls do what later ones need not do again.
const WARM: u64 = 10;
/// The counted calls take about this long without valgrind, which makes them 50 times slower.
const COUNTED_NS: f64 = 2e6;

/// What a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counted {
    pub instructions: f64,
    /// Calls of malloc, calloc and realloc. perl takes values from arenas of its own: a value
    /// without a buffer is no allocation.
    pub allocations: f64,
}

impl Counted {
    /// Counts a call of the sub, which takes about `ns` nanoseconds. Without a name, it counts the
    /// call of an empty sub.
    ///
    /// # Errors
    /// valgrind is missing or cannot run this perl, or the sub does not return.
    pub fn of(job: &Job, sub: Option<&str>, ns: f64) -> Result<Counted, TimeError> {
        let calls = (COUNTED_NS / ns).clamp(5.0, 10_000.0) as u64;
        a_call(job, sub.unwrap_or(EMPTY), calls)
    }

    /// Returns the counts less those of an empty sub.
    pub fn less(&self, empty: &Counted) -> Counted {
        Counted {
            instructions: self.instructions - empty.instructions,
            allocations: (self.allocations - empty.allocations).max(0.0),
        }
    }
}

fn a_call(job: &Job, sub: &str, calls: u64) -> Result<Counted, TimeError> {
    let (few, many) = (run(job, sub, WARM)?, run(job, sub, WARM + calls)?);
    let by_call = |few: u64, many: u64| (many as f64 - few as f64) / calls as f64;
    Ok(Counted {
        instructions: by_call(few.instructions, many.instructions),
        allocations: by_call(few.allocations, many.allocations),
    })
}

/// The counts of a whole process.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    instructions: u64,
    allocations: u64,
}

fn run(job: &Job, sub: &str, calls: u64) -> Result<Counts, TimeError> {
    let told = |cause: std::io::Error| TimeError::NotCounted(cause.to_string());
    let file = tempfile::NamedTempFile::new().map_err(told)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.path().display()))
        .arg(&job.perl)
        .args(words_of(job))
        .arg(sub)
        .arg(calls.to_string())
        .env("PERL_HASH_SEED", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| TimeError::NotCounted(format!("valgrind cannot be run: {cause}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = said.lines().last().unwrap_or_default().to_owned();
        return Err(TimeError::NotCounted(format!(
            "{sub} cannot be counted ({}): {last}",
            output.status
        )));
    }
    counts(file.path())
}

fn counts(file: &Path) -> Result<Counts, TimeError> {
    let text = std::fs::read(file).map_err(|cause| TimeError::NotCounted(cause.to_string()))?;
    let counts = parsed(&String::from_utf8_lossy(&text));
    counts.ok_or_else(|| TimeError::NotCounted("callgrind has written no totals".into()))
}

/// Reads callgrind's format: `cfn=(12) malloc` names a called function, from then on by its number
/// alone, and the line `calls=3 ...` that follows has the count.
fn parsed(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut allocating: HashSet<&str> = HashSet::new();
    let mut has_totals = false;
    let mut called = "";
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("totals: ") {
            counts.instructions = number.trim().parse().ok()?;
            has_totals = true;
        } else if let Some(name) = line.strip_prefix("cfn=").or(line.strip_prefix("fn=")) {
            let (number, name) = name.split_once(' ').unwrap_or((name, ""));
            if matches!(name, "malloc" | "calloc" | "realloc") {
                allocating.insert(number);
            }
            called = if line.starts_with("cfn=") { number } else { "" };
        } else if let Some(words) = line.strip_prefix("calls=") {
            if allocating.contains(called) {
                let count = words.split(' ').next()?;
                counts.allocations += count.parse::<u64>().ok()?;
            }
        }
    }
    has_totals.then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_malloc_are_summed_by_the_number_of_the_name() {
        let text = "events: Ir\nfn=(1) main\n0 5\ncfn=(2) malloc\ncalls=3 0 \n0 9\n\
                    cfn=(3) free\ncalls=7 0\n0 1\n\nfn=(2)\n0 2\n\
                    fn=(4) again\ncfn=(2)\ncalls=4 0\n0 9\ntotals: 1234\n";
        let expected = Counts {
            instructions: 1234,
            allocations: 7,
        };
        assert_eq!(parsed(text), Some(expected));
        assert_eq!(parsed("events: Ir\n"), None);
    }
}
