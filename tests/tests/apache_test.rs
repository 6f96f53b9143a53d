//! Tests that Apache::Test can run Mehari in place of httpd: `-v`, `-V`, `-l`, a generated
//! configuration, PidFile and TERM. `tests/apache_test` is a suite in the style of Apache::Test.
//! Each handler in the suite checks one part of the API.

use mehari_harness::binary::{is_open_to_others, mehari};
use mehari_harness::{needs, needs_machine};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user number of `nobody`. Apache::Test refuses to run as root: if root starts it, it becomes
/// `nobody`.
const NOBODY: u32 = 65534;

fn copy(from: &Path, to: &Path, is_root: bool) {
    fs::create_dir_all(to).expect("a folder");
    give(to, is_root);
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target, is_root);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
            give(&target, is_root);
        }
    }
}

fn give(path: &Path, is_root: bool) {
    if is_root {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("given away");
    }
}

#[test]
fn a_suite_of_apache_test_passes() {
    // This package contains Apache::Test.
    needs!("libapache2-mod-perl2");
    let is_root = rustix::process::geteuid().is_root();
    needs_machine!(
        !is_root || is_open_to_others(),
        "the checkout lies where other users may not go"
    );
    let folder = tempfile::Builder::new()
        .prefix("mehari-test-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .expect("a folder");
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("apache_test/t");
    copy(&suite, &folder.path().join("t"), is_root);
    give(folder.path(), is_root);
    // The owner of the checkout builds the Perl side, because `nobody` may not write there.
    let built = Command::new("perl")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../perl/build.pl"))
        .output();
    assert!(
        built.is_ok_and(|built| built.status.success()),
        "perl/build.pl"
    );
    let mut run = Command::new("perl");
    run.current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.path())
        .args(["t/TEST.PL", "-port", "select", "-httpd"])
        .arg(mehari());
    if is_root {
        run.uid(NOBODY).gid(NOBODY);
    }
    let ran = run.output().expect("perl");
    let said =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    let log = fs::read_to_string(folder.path().join("t/logs/error_log")).unwrap_or_default();
    let wrong: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("[info]"))
        .collect();
    assert!(
        ran.status.success() && said.contains("Result: PASS"),
        "{said}\n{}",
        wrong.join("\n")
    );
}
