//! Checks what a test needs. A test that lacks something prints SKIPPED with the reason and ends.
//! `tests/all` counts this test as skipped and not as passed. If `CI` is set, a missing package
//! fails the test, because `packaging/needs` lists the packages.

use std::collections::HashSet;
use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;

/// The variable with the path of a file. Each skipped test adds a line with its name and the
/// reason. `tests/all` sets the variable.
const LIST: &str = "MEHARI_TESTS_SKIPPED";

/// The name in this file for a thread that a test has started.
const UNNAMED: &str = "a test";

/// Ends the test as skipped unless these Debian packages are installed.
#[macro_export]
macro_rules! needs {
    ($($package:expr),+ $(,)?) => {
        if !$crate::needs::packages(&[$($package),+]) {
            return;
        }
    };
}

/// Ends the test as skipped unless the machine allows the test: `needs_machine!(is_root(), "only
/// root may")`.
#[macro_export]
macro_rules! needs_machine {
    ($is_so:expr, $reason:expr) => {
        if !$crate::needs::machine($is_so, $reason) {
            return;
        }
    };
}

/// Returns whether these packages are installed. If not, the test counts as skipped.
///
/// # Panics
///
/// If a package is missing and `CI` is set.
#[track_caller]
pub fn packages(names: &[&str]) -> bool {
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !is_installed(name))
        .collect();
    if missing.is_empty() {
        return true;
    }
    let reason = format!("not installed: {}", missing.join(" "));
    assert!(
        !is_ci(),
        "{reason}; with CI set no test is skipped for that"
    );
    skip(&reason);
    false
}

/// Returns `is_so`, which says whether the machine allows the test. If not, the test counts as
/// skipped, even if `CI` is set.
pub fn machine(is_so: bool, reason: &str) -> bool {
    if !is_so {
        skip(reason);
    }
    is_so
}

/// Returns whether the perl under test has threads.
///
/// # Panics
///
/// If there is no perl.
pub fn perl_has_threads() -> bool {
    let mut perl = Command::new("perl");
    perl.args(["-e", "use Config; exit !$Config{usethreads}"]);
    perl.status().expect("perl runs").success()
}

/// Returns whether Debian's package is installed. A system without dpkg is assumed to have all
/// packages.
pub fn is_installed(package: &str) -> bool {
    static INSTALLED: OnceLock<Option<HashSet<String>>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(installed);
    installed
        .as_ref()
        .is_none_or(|installed| installed.contains(package))
}

fn installed() -> Option<HashSet<String>> {
    let asked = Command::new("dpkg-query")
        .args(["-W", "-f", "${db:Status-Status} ${Package}\n"])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&asked.stdout).into_owned();
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("installed "));
    Some(names.map(str::to_owned).collect())
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or(UNNAMED));
    eprint!("SKIPPED: {line}");
    let Some(list) = std::env::var_os(LIST) else {
        return;
    };
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(list);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the list of skipped tests can be written");
}
