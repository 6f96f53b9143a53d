//! Samples a program that measures its own shares of time, and compares: processor time by sub and
//! by line, XS, the regex engine, and waiting.

use mehari_profile::{output, FrameKind, Profile, Sampler, SamplingPlan};
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

    /// Samples until the program has used so much processor time; the machine may be busy.
    fn sample(&self, cpu_seconds: f64) -> Profile {
        let plan = SamplingPlan {
            duration: Duration::from_secs(60),
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

/// Returns the percentage of processor time of the stacks that contain a frame for which `is_asked`
/// is true.
fn share(profile: &Profile, is_asked: impl Fn(&str, u32, FrameKind) -> bool) -> f64 {
    let asked = |frame: &u32| {
        let frame = &profile.frames[*frame as usize];
        is_asked(&frame.name, frame.line, frame.kind)
    };
    let running = profile.observations.iter().filter(|it| it.is_running);
    let counted = running.filter(|it| profile.stacks[it.stack as usize].iter().any(asked));
    100.0 * counted.count() as f64 / profile.running() as f64
}

#[test]
fn shares_are_those_that_the_program_measured_itself() {
    let program = Program::start("split.pl");
    let profile = program.sample(3.0);
    let said = program.stop();
    let report = output::text(&profile, 20);
    let mut words = said.split_ascii_whitespace();
    while let (Some(name), Some(percent)) = (words.next(), words.next()) {
        let truth: f64 = percent.trim_end_matches('%').parse().expect("a number");
        let sub = share(&profile, |sub, _, _| sub == format!("main::{name}"));
        assert!(
            (sub - truth).abs() < 6.0,
            "{name}: {sub:.1}, not {truth}\n{said}{report}"
        );
    }
    let xs = share(&profile, |name, _, kind| {
        kind == FrameKind::Xs && name == "Digest::MD5::md5"
    });
    let digests = share(&profile, |sub, _, _| sub == "main::digests");
    assert!(digests - xs < 6.0, "{xs:.1} of {digests:.1}\n{report}");
    assert!(
        share(&profile, |name, _, kind| kind == FrameKind::Regex
            && name == "CORE::match")
            > 2.0,
        "{report}"
    );
    let loops = share(&profile, |sub, line, _| sub == "main::loops" && line == 9);
    assert!(loops > 40.0, "line 9 has the loop's body\n{report}");
    let waits = profile
        .frames
        .iter()
        .any(|it| it.kind == FrameKind::Wait && it.name == "wait: sleep");
    assert!(waits, "{report}");
    println!("{said}{report}");
}
