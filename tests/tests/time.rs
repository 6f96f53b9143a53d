//! Tests `mehari time`: bad input ends with one clear line, and the figures are those of the subs.

use mehari_harness::binary;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Half a dozen short blocks: enough for what does not depend on the speed.
const SHORT: &[&str] = &["--blocks", "6", "--slice", "2ms"];

struct Folder(TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn time(&self, words: &[&str]) -> Output {
        let mut command = Command::new(binary::mehari());
        command.current_dir(self.0.path()).arg("time").args(words);
        command.output().expect("mehari can be run")
    }

    fn text(&self, words: &[&str]) -> String {
        let output = self.time(words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn file_that_cannot_be_timed_is_refused_in_one_line() {
    for (text, expected) in [
        ("my $x = 1;\n", "has no sub to time: expected `sub NAME` in the package main, and a name that does not begin with `_`"),
        ("sub _helper { 1 }\n", "has no sub to time: expected `sub NAME` in the package main, and a name that does not begin with `_`"),
        ("sub one {\n", "cannot be loaded: Missing right curly or square bracket at ROOT/bad.pl line 1, at end of line"),
        ("die \"no data\\n\";\n", "cannot be loaded: no data"),
        ("use No::Such;\n", "cannot be loaded: Can't locate No/Such.pm in @INC"),
        ("exit 2;\n", "ends perl while it is loaded (exit status: 2)"),
        ("1 while 1;\n", "the code outside of subs has not ended within 1 s (--limit)"),
        ("sub one { die \"no row\\n\" }\n", "one dies: no row"),
        ("sub one { exit 3 }\n", "one ends its process (exit 3)"),
        ("sub one { kill 'KILL', $$ }\n", "one ends its process (signal 9)"),
        ("sub one { 1 while 1 }\n", "one has not returned within 1 s (--limit)"),
        ("sub one { sleep 60 }\n", "one has not returned within 1 s (--limit)"),
        ("sub one { system 'sleep 60' }\n", "one has not returned within 1 s (--limit)"),
        ("sub one { }\n", "one costs no more than an empty sub: let the sub do its work several times (--wall times subs that wait)"),
        ("# published: one\nsub one { 1 }\n", "expected `# published: NAME 3.44`, not `one`"),
    ] {
        let folder = Folder::with(&[("bad.pl", text)]);
        let words = [SHORT, &["--limit", "1s", "bad.pl"]].concat();
        let output = folder.time(&words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let root = folder.0.path().display().to_string();
        let expected = expected.replace("ROOT", &root);
        assert_eq!(told.lines().count(), 1, "{text}: {told}");
        assert!(told.starts_with("mehari time: "), "{text}: {told}");
        assert!(told.contains(&expected), "{text}: {told}");
        assert_eq!(output.status.code(), Some(1), "{text}: {told}");
        assert!(output.stdout.is_empty(), "{text}");
    }
}

#[test]
fn missing_file_and_missing_perl_are_named() {
    let folder = Folder::with(&[("good.pl", "sub one { 1 }\n")]);
    for (words, expected) in [
        (&["no.pl"][..], "no.pl: No such file or directory"),
        (
            &["--perl", "/no/perl", "good.pl"],
            "/no/perl cannot be run: No such file",
        ),
        (
            &["--perl", "true", "good.pl"],
            "good.pl ends perl while it is loaded",
        ),
    ] {
        let output = folder.time(words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            told.starts_with(&format!("mehari time: {expected}")),
            "{told}"
        );
        assert_eq!(output.status.code(), Some(1), "{told}");
    }
    let output = folder.time(&["--blocks", "5", "good.pl"]);
    assert_eq!(output.status.code(), Some(2));
    let empty = Folder::with(&[]);
    let told = empty.time(&["."]).stderr;
    assert_eq!(told, b"mehari time: .: expected files that end in .pl\n");
}

/// What a sub prints, warns and reads disturbs nothing; helpers and other packages are no
/// candidates.
#[test]
fn table_shows_each_sub_of_the_file_and_nothing_else() {
    let text = "# Ways to talk\n# (a test)\n\n# published: twice 4.5\n# published: once 3\n\
                use POSIX;\nuse constant ANSWER => 42;\n\
                sub _say { print STDOUT 'x' x 99; warn 'careful'; <STDIN> }\n\
                sub twice { _say(); _say() }\nsub once { _say() }\n\
                package Other; sub third { 1 }\n";
    let folder = Folder::with(&[("talk.pl", text)]);
    let shown = folder.text(&[SHORT, &["talk.pl"]].concat());
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[..3],
        ["talk.pl", "Ways to talk", "(a test)"],
        "{shown}"
    );
    let rows: Vec<Vec<&str>> = lines[3..]
        .iter()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["sub", "once", "twice"], "{shown}");
    assert!(lines[5].ends_with("slower        4.5  1.500"), "{shown}");
}

/// Ends the driver, and each sub's process with it.
#[test]
fn no_process_stays_behind_an_endless_sub() {
    let folder = Folder::with(&[(
        "pid.pl",
        "sub one { open my $f, '>', \"$0.pid\"; print $f $$; close $f; 1 while 1 }\n",
    )]);
    let output = folder.time(&["--limit", "500ms", "pid.pl"]);
    assert_eq!(output.status.code(), Some(1));
    let pid = std::fs::read_to_string(folder.path("pid.pl.pid")).expect("the sub ran");
    let gone = || !PathBuf::from(format!("/proc/{pid}/exe")).exists();
    assert!(
        mehari_harness::eventually(mehari_harness::PATIENCE, gone),
        "{pid}"
    );
}

#[test]
fn json_has_the_figures_of_the_table() {
    let folder = Folder::with(&[
        ("a.pl", "sub one { my $x = join ',', 1 .. 50 }\n"),
        ("b.pl", "sub two { my $x = 'y' x 99 }\n"),
    ]);
    let shown = folder.text(&[SHORT, &["--json", "."]].concat());
    let report: Value = serde_json::from_str(&shown).expect("JSON");
    let files = report["files"].as_array().expect("a list");
    let names: Vec<&str> = files
        .iter()
        .filter_map(|file| file["fastest"].as_str())
        .collect();
    assert_eq!(names, ["one", "two"], "{report}");
    for file in files {
        let candidate = &file["candidates"][0];
        let number = |name: &str| candidate[name].as_f64().expect(name);
        assert!(number("ns") > 1.0 && number("calls") > 10.0, "{candidate}");
        let interval = &candidate["interval"];
        let (low, high) = (interval["low"].as_f64(), interval["high"].as_f64());
        assert!(
            low < Some(number("ns")) && high > Some(number("ns")),
            "{candidate}"
        );
    }
}
