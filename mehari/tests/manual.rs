//! Tests `mehari manual`: every command, option and directive stands in the manual, and every
//! command and option in the shells' completions.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn mehari(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mehari"));
    let output = command.args(arguments).output().expect("mehari runs");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn manual() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    mehari(&["manual", &folder.path().display().to_string()]);
    folder
}

/// Returns the text of a manual page without roff's escapes and requests.
fn page(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join(name)).expect(name);
    ["\\-", "\\fB", "\\fI", "\\fR", "\\&"]
        .iter()
        .zip(["-", "", "", "", ""])
        .fold(text, |text, (escape, plain)| text.replace(escape, plain))
}

/// Returns the commands that `mehari --help` lists, and the subcommands of `mehari bench`.
fn commands() -> Vec<String> {
    let help = mehari(&["--help"]);
    let listed = help.lines().filter_map(|line| line.strip_prefix("  "));
    let mut names: Vec<String> = listed
        .filter_map(|line| line.split_whitespace().next())
        .map(String::from)
        .collect();
    assert!(names.len() > 15, "{help}");
    names.extend(
        [
            "bench merge",
            "bench export",
            "bench machine",
            "cache purge",
        ]
        .map(String::from),
    );
    names
}

/// Returns the words of a help text that begin like an option.
fn options(help: &str) -> BTreeSet<String> {
    let words =
        help.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_".contains(letter)));
    let is_option = |word: &&str| {
        let name = word.trim_start_matches('-');
        word.starts_with('-') && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
    };
    words.filter(is_option).map(String::from).collect()
}

#[test]
fn every_command_of_the_help_has_a_manual_page_with_all_options() {
    let folder = manual();
    for command in commands() {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let name = format!("man/man1/mehari-{}.1", command.replace(' ', "-"));
        let page = page(folder.path(), &name);
        for option in options(&mehari(&words)) {
            assert!(page.contains(&option), "{name} lacks {option}");
        }
        let head = format!("mehari-{} - ", command.replace(' ', "-"));
        assert!(page.contains(&head), "{name} has no NAME section");
    }
    let first = page(folder.path(), "man/man1/mehari.1");
    for command in commands().iter().filter(|name| !name.contains(' ')) {
        assert!(first.contains(&format!("mehari-{command}(1)")), "{command}");
    }
}

#[test]
fn the_page_of_the_configuration_holds_every_directive_and_section() {
    let folder = manual();
    let page = page(folder.path(), "man/man5/mehari.conf.5");
    let mut lines: BTreeSet<&str> = page.lines().collect();
    lines.extend(page.lines().flat_map(|line| line.split(", "))); // names with one reason
    let table: serde_json::Value =
        serde_json::from_str(&mehari(&["directives", "--json"])).expect("JSON");
    let rows = table["directives"].as_array().expect("rows");
    assert!(rows.len() > 300, "{}", rows.len());
    for row in rows {
        let head = if row["ignored"].is_null() {
            &row["usage"]
        } else {
            &row["name"]
        };
        let head = head.as_str().expect("text");
        assert!(lines.contains(head), "{head}");
    }
    for section in table["sections"].as_array().expect("sections") {
        let usage = section["usage"].as_str().expect("text");
        assert!(lines.contains(usage), "{usage}");
    }
}

#[test]
fn every_command_and_long_option_is_completed_in_each_shell() {
    let folder = manual();
    for name in [
        "bash-completion/completions/mehari",
        "zsh/site-functions/_mehari",
        "fish/vendor_completions.d/mehari.fish",
    ] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect(name);
        for command in commands() {
            let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
            let last = words[words.len() - 2];
            assert!(text.contains(last), "{name}: {command}");
            // The old tools read their arguments themselves; their options are not completed.
            if ["ab", "httperf", "http_load", "crashme"].contains(&last) {
                continue;
            }
            let help = mehari(&words);
            let described = help.split("Options:").nth(1).expect("options");
            let described = described.split("Example").next().expect("a text");
            let heads = described
                .lines()
                .filter(|line| line.trim_start().starts_with('-'));
            for option in heads.flat_map(|line| {
                options(
                    line.split("  ")
                        .find(|part| !part.trim().is_empty())
                        .expect("an option"),
                )
            }) {
                let fish = option.trim_start_matches('-').to_string();
                let option = if name.ends_with("fish") { fish } else { option };
                assert!(text.contains(&option), "{name}: {command} {option}");
            }
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mehari"));
    let output = command.args(["manual", "/dev/null"]).output();
    let output = output.expect("mehari runs");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.starts_with("mehari manual: /dev/null/man/"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}
