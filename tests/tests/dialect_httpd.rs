//! Tests the command line of httpd, as init scripts and test tools use it.

use mehari_harness::{binary, eventually, PATIENCE};
use std::process::{Command, Output};

fn mehari(words: &[&str]) -> Output {
    let mut command = Command::new(binary::mehari());
    command.args(words).stdin(std::process::Stdio::null());
    command.output().expect("mehari can be run")
}

#[test]
fn options_that_tools_use_to_examine_httpd_are_answered() {
    let version = String::from_utf8(mehari(&["-v"]).stdout).expect("text");
    assert!(
        version.starts_with("Server version: Apache/2.4."),
        "{version}"
    );
    let settings = String::from_utf8(mehari(&["-V", "-d", "/srv"]).stdout).expect("text");
    assert!(
        settings.contains("Server MPM:     prefork") && settings.contains("-D HTTPD_ROOT=\"/srv\""),
        "{settings}"
    );
    let modules = String::from_utf8(mehari(&["-l"]).stdout).expect("text");
    assert!(
        modules.starts_with("Compiled in modules:\n  ") && modules.contains("  mod_perl.c\n"),
        "{modules}"
    );
    assert_eq!(mehari(&["-Z"]).status.code(), Some(2));
    assert_eq!(mehari(&["-k"]).status.code(), Some(1));
}

#[test]
fn if_version_compares_with_the_version_that_is_printed() {
    let said = String::from_utf8(mehari(&["-v"]).stdout).expect("text");
    let version = said
        .strip_prefix("Server version: Apache/")
        .and_then(|rest| rest.split_once(' '))
        .map(|(version, _)| version)
        .expect("a version");
    let folder = tempfile::tempdir().expect("a folder");
    let conf = folder.path().join("one.conf");
    std::fs::write(
        &conf,
        format!("<IfVersion = {version}>\nNonsense\n</IfVersion>\n"),
    )
    .expect("written");
    let checked = mehari(&["-t", "-f", &conf.display().to_string()]);
    let problem = String::from_utf8_lossy(&checked.stderr);
    assert!(
        problem.contains("there is no directive `Nonsense`"),
        "{version}: {problem}"
    );
}

#[test]
fn server_starts_in_the_background_reloads_and_stops_by_its_pid_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display().to_string();
    std::fs::create_dir_all(folder.path().join("logs")).expect("a folder");
    std::fs::create_dir_all(folder.path().join("htdocs")).expect("a folder");
    std::fs::write(
        folder.path().join("site.conf"),
        "Listen 127.0.0.1:0\nErrorLog logs/error_log\n<IfDefine !OK>\nNonsense\n</IfDefine>\n",
    )
    .expect("written");
    let face = |more: &[&str]| {
        let mut words = vec!["-d", root.as_str(), "-f", "site.conf"];
        words.extend_from_slice(more);
        mehari(&words)
    };
    let wrong = face(&["-t"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr)
        .contains("site.conf:4:1: there is no directive `Nonsense`"));
    let right = face(&["-D", "OK", "-t"]);
    assert_eq!(
        (
            right.status.code(),
            String::from_utf8_lossy(&right.stderr).trim()
        ),
        (Some(0), "Syntax OK")
    );
    assert_eq!(face(&["-D", "OK", "-k", "stop"]).status.code(), Some(1));
    let started = Command::new(binary::mehari())
        .args(["-d", &root, "-f", "site.conf", "-D", "OK", "-k", "start"])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .expect("mehari can be run");
    assert_eq!(started.code(), Some(0));
    let log = || std::fs::read_to_string(folder.path().join("logs/error_log")).unwrap_or_default();
    assert_eq!(face(&["-D", "OK", "-k", "graceful"]).status.code(), Some(0));
    assert!(
        eventually(PATIENCE, || log().contains("HUP: generation 2 serves")),
        "{}",
        log()
    );
    assert_eq!(face(&["-D", "OK", "-k", "stop"]).status.code(), Some(0));
    let pid_file = folder.path().join("logs/httpd.pid");
    assert!(eventually(PATIENCE, || !pid_file.exists()), "{}", log());
}
