//! Samples a program that measures its own shares of time, and compares: processor time by sub and
//! by line, XS, the regex engine, and waiting.

use mehari_profile::{output, FrameKind, FrameLabel, Profile, Sampler, SamplingPlan};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(name: &str) -> Program {
        let file = format!("{}/tests/perl/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("perl");
        let mut child = command
            .arg(file)
            .stdout(Stdio::piped())
            .spawn()
            .expect("perl runs");
        let mut output = BufReader::new(child.stdout.take().expect("it was piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Program { child, output }
    }

    /// Samples until the program has used this processor time, because the machine may be busy.
    fn sample(&self, cpu_seconds: f64) -> Profile {
        let plan = SamplingPlan {
            duration: Duration::from_secs(600),
            rate: 1000.0,
            ..SamplingPlan::default()
        };
        let sampler = Sampler::new(&[self.child.id()]).expect("a perl");
        let end = self.cpu_seconds() + cpu_seconds;
        sampler.run(&plan, &mut Vec::new, &|| self.cpu_seconds() > end)
    }

    fn cpu_seconds(&self) -> f64 {
        let file = format!("/proc/{}/schedstat", self.child.id());
        let text = std::fs::read_to_string(file).expect("a process");
        let cpu = text
            .split(' ')
            .next()
            .and_then(|word| word.parse::<f64>().ok());
        cpu.expect("nanoseconds") / 1e9
    }

    /// Ends the program and returns its last output.
    fn stop(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::Term).expect("it lives");
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("text");
        assert!(self.child.wait().expect("its end").success(), "{said}");
        said
    }
}

/// The shares in percent that the program has measured itself, by sub.
fn truth(said: &str) -> HashMap<&str, f64> {
    let lines = said.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(sub, percent)| (sub, percent.parse().expect("a number")))
        .collect()
}

/// Counts the looks whose stack has a frame for which `is_asked` is true.
fn looks(profile: &Profile, is_running: bool, is_asked: impl Fn(&FrameLabel) -> bool) -> f64 {
    let asked = |frame: &u32| is_asked(&profile.frames[*frame as usize]);
    let seen = profile.observations.iter();
    let seen = seen.filter(|it| it.is_running || !is_running);
    seen.filter(|it| profile.stacks[it.stack as usize].iter().any(asked))
        .count() as f64
}

/// The subs that compute, each with the line of its only statement.
const PARTS: [(&str, u32); 3] = [("loops", 10), ("matches", 14), ("digests", 17)];

/// Says how far a share may be from the truth, in percentage points.
struct Comparison {
    tolerance: f64,
    report: String,
}

impl Comparison {
    fn compare(&self, what: &str, share: f64, truth: f64) {
        println!("{what}: {share:.2} %, in truth {truth:.2} %");
        assert!(
            (share - truth).abs() <= self.tolerance,
            "{what}: {share:.2}, not {truth:.2}\n{}",
            self.report
        );
    }
}

#[test]
fn shares_are_near_those_that_the_program_measured_itself() {
    compare_with_truth(3.0, 6.0);
}

#[test]
#[ignore = "takes 12 seconds of processor time, and a machine with a core for the program"]
fn shares_are_within_two_points_of_those_that_the_program_measured_itself() {
    compare_with_truth(12.0, 2.0);
}

fn compare_with_truth(cpu_seconds: f64, tolerance: f64) {
    let program = Program::start("split.pl");
    let profile = program.sample(cpu_seconds);
    let said = program.stop();
    let truth = truth(&said);
    let comparison = Comparison {
        tolerance,
        report: output::text(&profile, 20),
    };
    let is_sub = |name: &str| {
        let sub = format!("main::{name}");
        move |frame: &FrameLabel| frame.name == sub
    };
    let all: f64 = PARTS
        .map(|(name, _)| looks(&profile, true, is_sub(name)))
        .iter()
        .sum();
    for (name, line) in PARTS {
        let of_sub = looks(&profile, true, is_sub(name));
        comparison.compare(name, 100.0 * of_sub / all, truth[name]);
        let at_line = |frame: &FrameLabel| frame.line == line && frame.name.ends_with(name);
        let of_line = looks(&profile, true, at_line);
        let what = format!("line {line}");
        comparison.compare(&what, 100.0 * of_line / all, truth[name]);
    }
    let xs = looks(&profile, true, |frame| {
        frame.kind == FrameKind::Xs && frame.name == "Digest::MD5::md5"
    });
    // The program does not measure what its subs do beside the XS sub and the regex.
    let digests = looks(&profile, true, is_sub("digests"));
    comparison.compare("md5 (xs)", 100.0 * xs / all, 100.0 * digests / all);
    let regex = looks(&profile, true, |frame| {
        frame.kind == FrameKind::Regex && frame.name == "CORE::match"
    });
    let matches = looks(&profile, true, is_sub("matches"));
    comparison.compare("the regex", 100.0 * regex / all, 100.0 * matches / all);
    let waits = looks(&profile, false, is_sub("waits"));
    let waits = 100.0 * waits / profile.samples() as f64;
    comparison.compare("waits (wall)", waits, truth["waits"]);
    let names_sleep = |it: &FrameLabel| it.kind == FrameKind::Wait && it.name == "wait: sleep";
    let report = &comparison.report;
    assert!(looks(&profile, false, names_sleep) > 0.0, "{report}");
    println!("{report}");
}
