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

/// The code that a file gives to Benchmark is timed in place of being run.
#[test]
fn file_that_uses_benchmark_is_timed_as_it_stands() {
    let text = "use Benchmark qw(:all);\n\
                sub helper { 'x' x $_[0] }\n\
                cmpthese(1_000_000_000, { long => sub { helper(9_000) }, short => q{ helper(90) } });\n\
                my $times = timethese(-10, { one => sub { helper(10) } });\n\
                print timestr(timediff(Benchmark->new, Benchmark->new));\n\
                cmpthese($times);\n";
    let folder = Folder::with(&[("bench.pl", text)]);
    let shown = folder.text(&[SHORT, &["--json", "bench.pl"]].concat());
    let report: Value = serde_json::from_str(&shown).expect("JSON");
    let names = candidates(&report["files"][0]);
    assert_eq!(names.len(), 3, "{names:?}");
    for name in ["long", "short", "2. one"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
}

#[test]
fn subs_with_different_results_are_refused_where_the_file_wants_equal_ones() {
    for (text, expected) in [
        (
            "sub one { (1, 'x') }\nsub two { (1, 'y') }\n",
            "two gives {\"prints\" => \"\",\"returns\" => [1,\"y\"]}, \
             but one gives {\"prints\" => \"\",\"returns\" => [1,\"x\"]} (`# results: equal`)",
        ),
        (
            "sub one { print 'x'; 1 }\nsub two { print 'y'; 1 }\n",
            "two gives {\"prints\" => \"y\"",
        ),
        ("sub one { die \"no\\n\" }\n", "one dies: no"),
        ("sub one { exit 3 }\n", "one ends its process (exit 3)"),
    ] {
        let folder = Folder::with(&[("r.pl", &format!("# results: equal\n{text}"))]);
        let output = folder.time(&[SHORT, &["r.pl"]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            told.starts_with(&format!("mehari time: r.pl: {expected}")),
            "{told}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(output.status.code(), Some(1), "{told}");
    }
    let equal =
        "# results: equal\nsub one { print 5; 'x' x 3 }\nsub two { print '5'; 'xxx' . '' }\n";
    let folder = Folder::with(&[("r.pl", equal)]);
    assert!(folder.text(&[SHORT, &["r.pl"]].concat()).contains("two"));
}

/// Ten times the loop takes ten times the instructions; a string that lasts is an allocation.
#[test]
fn instructions_and_allocations_are_counted() {
    mehari_harness::needs!("valgrind");
    let text = "sub ten { my $x = 0; $x += $_ for 1 .. 100; push @main::kept, 'x' x 99 }\n\
                sub all { my $x = 0; $x += $_ for 1 .. 1000; push @main::kept, 'x' x 99 }\n";
    let folder = Folder::with(&[("count.pl", text)]);
    let words = [SHORT, &["--instructions", "--json", "count.pl"]].concat();
    let report: Value = serde_json::from_str(&folder.text(&words)).expect("JSON");
    let counted = |at: usize, what: &str| {
        let candidate = &report["files"][0]["candidates"][at]["counted"];
        candidate[what].as_f64().expect(what)
    };
    let ratio = counted(1, "instructions") / counted(0, "instructions");
    assert!((7.0..10.5).contains(&ratio), "{report}");
    for at in [0, 1] {
        let allocations = counted(at, "allocations");
        assert!((1.0..1.5).contains(&allocations), "{report}");
    }
}

fn candidates(file: &Value) -> Vec<String> {
    let all = file["candidates"].as_array().expect("a list");
    let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
    all.iter().map(name).collect()
}

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/time")
}

/// Each comparison of the documents runs, and its subs compute the same.
#[test]
fn examples_run_and_their_tables_name_all_subs() {
    mehari_harness::needs!("libcgi-pm-perl", "libdbd-sqlite3-perl");
    let folder = Folder::with(&[]);
    let path = examples().canonicalize().expect("examples/time");
    let words = [SHORT, &["--limit", "1m", "--json"]].concat();
    let shown = folder.text(&[words, vec![path.to_str().expect("a path")]].concat());
    let report: Value = serde_json::from_str(&shown).expect("JSON");
    let files = report["files"].as_array().expect("a list");
    let count = std::fs::read_dir(&path).expect("a folder").count();
    assert_eq!(files.len(), count);
    for file in files {
        let name = file["file"].as_str().expect("a file");
        let text = std::fs::read_to_string(name).expect("an example");
        let mut named = candidates(file);
        named.sort();
        let subs = text.lines().filter_map(|line| line.strip_prefix("sub "));
        let names = subs.map(|line| line.split_whitespace().next().expect("a name"));
        let mut expected: Vec<&str> = names.filter(|it| !it.starts_with('_')).collect();
        expected.retain(|it| *it != "price");
        expected.sort_unstable();
        assert_eq!(named, expected, "{name}");
        for line in ["# Answers: ", "# Learn: ", "# results: "] {
            assert!(text.contains(&format!("\n{line}")), "{name}: no `{line}`");
        }
        for figure in text
            .lines()
            .filter_map(|it| it.strip_prefix("# published: "))
        {
            let sub = figure.split(' ').next().expect("a name");
            assert!(expected.contains(&sub), "{name}: {figure}");
        }
    }
}

/// Loops whose work has a known ratio: the intervals hold it, and equal loops are never different.
#[test]
#[ignore = "takes minutes: cargo test --test time -- --ignored --nocapture"]
fn intervals_cover_known_ratios() {
    let loops = |count: f64| format!("my $x = 0; $x += $_ & 7 for 1 .. {count};");
    let pair = |ratio: f64| {
        let (one, other) = (loops(4000.0), loops((4000.0 * ratio).round()));
        format!("sub one {{ {one} }}\nsub other {{ {other} }}\n")
    };
    let measured = |ratio: f64| {
        let folder = Folder::with(&[("pair.pl", &pair(ratio))]);
        let shown = folder.text(&["--json", "--limit", "1m", "pair.pl"]);
        let report: Value = serde_json::from_str(&shown).expect("JSON");
        let rows = report["files"][0]["rows"].clone();
        let row = rows[1].clone();
        let is_first = row["name"] == "other";
        let bound = |name: &str| row["difference"]["interval"][name].as_f64().expect(name);
        let (low, high) = if is_first {
            (bound("low"), bound("high"))
        } else {
            (1.0 / bound("high"), 1.0 / bound("low"))
        };
        let conclusion = row["difference"]["conclusion"].to_string();
        println!("{ratio:.2}: {low:.4} to {high:.4} {conclusion}");
        ((low..=high).contains(&ratio), conclusion)
    };
    let ratios = [1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.25, 1.5, 1.75, 2.0];
    let covered = ratios.iter().filter(|ratio| measured(**ratio).0).count();
    let differs = |conclusion: &str| conclusion.contains("lower") || conclusion.contains("aster");
    let wrong = (0..20).filter(|_| differs(&measured(1.0).1)).count();
    println!("covered {covered} of 10; equal subs called different in {wrong} of 20");
    assert!(covered >= 9, "{covered}");
    assert_eq!(wrong, 0);
}
