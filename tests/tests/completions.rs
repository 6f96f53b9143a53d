//! Loads the completions into bash, zsh and fish, and asks the shells what they offer.

use mehari_harness::{binary, needs};
use std::process::Command;

/// Returns the folder in which `mehari manual` has written its files.
fn manual() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(binary::mehari());
    let output = command.arg("manual").arg(folder.path()).output();
    assert!(output.expect("mehari runs").status.success());
    folder
}

/// Runs a shell's script in an empty folder, so that no file is offered.
fn said(shell: &str, words: &[&str], script: &str) -> String {
    let empty = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(shell);
    command.args(words).arg("-c").arg(script);
    // fish offers nothing for a program that it does not find.
    let mut folders = vec![binary::mehari().parent().expect("a folder").to_owned()];
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    let output = command
        .current_dir(empty.path())
        .env("HOME", empty.path())
        .env("PATH", std::env::join_paths(folders).expect("a list"))
        .output();
    let output = output.expect("the shell runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{script}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What is typed, and words that must be offered and must not be offered.
const TYPED: &[(&str, &[&str], &str)] = &[
    ("mehari se", &["serve"], "status"),
    ("mehari serve --po", &["--port"], "--watch"),
    ("mehari serve --rung r", &["registry", "rewind"], "fork"),
    (
        "mehari directives KeepA",
        &["KeepAlive", "KeepAliveTimeout"],
        "Listen",
    ),
    ("mehari certificate rev", &["revoke"], "--out"),
];

fn check(shell: &str, offered: impl Fn(&str) -> String) {
    for (line, expected, other) in TYPED {
        let text = offered(line);
        let words: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        for word in *expected {
            assert!(words.contains(word), "{shell}: {line}: {text}");
        }
        assert!(!words.contains(other), "{shell}: {line}: {text}");
    }
}

#[test]
fn bash_offers_commands_options_and_values() {
    let folder = manual();
    let file = folder.path().join("bash-completion/completions/mehari");
    check("bash", |line| {
        let words: Vec<&str> = line.split(' ').collect();
        let script = format!(
            "source {}; COMP_WORDS=({line}); COMP_CWORD={}; COMPREPLY=(); \
             _mehari mehari '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            file.display(),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        said("bash", &["--norc"], &script)
    });
}

#[test]
fn fish_offers_commands_options_and_values() {
    needs!("fish");
    let folder = manual();
    let path = folder.path().join("fish/vendor_completions.d");
    check("fish", |line| {
        let script = format!(
            "set -p fish_complete_path {}; complete -C '{line}'",
            path.display()
        );
        said("fish", &["--no-config"], &script)
    });
}

#[test]
fn zsh_loads_its_function_for_the_program() {
    needs!("zsh");
    let folder = manual();
    let path = folder.path().join("zsh/site-functions");
    let script = format!(
        "fpath=({} $fpath); autoload -Uz compinit && compinit -u -d dump; \
         print $_comps[mehari]; autoload +X _mehari && whence -v _mehari",
        path.display()
    );
    let told = said("zsh", &["-f"], &script);
    assert!(told.starts_with("_mehari\n"), "{told}");
    assert!(told.contains("_mehari is a shell function"), "{told}");
}
