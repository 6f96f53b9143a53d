//! Tests that a test without its package is skipped and counted, and fails if `CI` is set.

use mehari_harness::needs;
use std::process::{Command, Output};

/// Only the test below runs this test.
#[test]
#[ignore = "lacks a package"]
fn lacking() {
    needs!("perl-base", "no-such-package");
    panic!("it went on without its package");
}

fn run_lacking(list: &std::path::Path, ci: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--ignored", "--exact", "lacking"])
        .env("MEHARI_TESTS_SKIPPED", list)
        .env_remove("CI");
    command.envs(ci.map(|value| ("CI", value)));
    command.output().expect("it runs")
}

#[test]
fn test_without_its_package_is_skipped_and_with_ci_set_it_fails() {
    mehari_harness::needs_machine!(
        Command::new("dpkg-query").arg("--version").output().is_ok(),
        "no dpkg: each package is taken to be there"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("skipped");
    let skipped = run_lacking(&list, None);
    let said = std::fs::read_to_string(&list).expect("it was written");
    assert!(skipped.status.success(), "{skipped:?}");
    assert_eq!(said, "lacking: not installed: no-such-package\n");
    let failed = run_lacking(&list, Some("true"));
    let told = String::from_utf8_lossy(&failed.stdout).into_owned()
        + &String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success(), "{told}");
    assert!(told.contains("not installed: no-such-package"), "{told}");
    let again = std::fs::read_to_string(&list).expect("it is there");
    assert_eq!(again, said, "a failed test is not skipped too");
}
