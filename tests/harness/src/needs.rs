//! What a test cannot run without. A test that lacks something says SKIPPED with the reason and ends; `tests/all` takes
//! it from those that passed and counts it as skipped. With `CI` set a missing package fails the test instead: what
//! tests use stands in `packaging/needs`.

use std::collections::HashSet;
use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;

/// Where a test that is skipped leaves its name and the reason, one line each; `tests/all` sets it.
const LIST: &str = "MEHARI_TESTS_SKIPPED";

/// What a thread that a test started is called in the list.
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

/// Ends the test as skipped unless the machine lets it do what it has to: `needs_machine!(is_root(), "root alone may")`.
#[macro_export]
macro_rules! needs_machine {
    ($is_so:expr, $reason:expr) => {
        if !$crate::needs::machine($is_so, $reason) {
            return;
        }
    };
}

/// Whether these packages are installed; the test counts as skipped when one is not.
///
/// # Panics
/// When one is not and `CI` is set.
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

/// Whether the machine lets the test run; it counts as skipped when not, with `CI` set as well.
pub fn machine(is_so: bool, reason: &str) -> bool {
    if !is_so {
        skip(reason);
    }
    is_so
}

/// Whether Debian's package is installed. A system without dpkg is taken to have all.
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
