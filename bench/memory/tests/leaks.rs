//! Plants leaks in a perl and finds each by its variable, file and line.

use mehari_memory::{leaks, Heap, Leak};
use mehari_profile::PerlProcess;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

struct Leaking {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Leaking {
    fn start() -> Leaking {
        let file = format!("{}/tests/perl/leaks.pl", env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("perl");
        command
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("perl runs");
        let output = BufReader::new(child.stdout.take().expect("it was piped"));
        let mut leaking = Leaking { child, output };
        assert_eq!(leaking.line(), "ready\n");
        leaking
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line
    }

    /// Has the perl handle a hundred requests.
    fn requests(&mut self) {
        let input = self.child.stdin.as_mut().expect("it was piped");
        input.write_all(b"go\n").expect("it reads");
        assert_eq!(self.line(), "done\n");
    }

    fn leaks(&mut self, times: usize) -> Vec<Leak> {
        self.requests();
        let process = PerlProcess::open(self.child.id()).expect("a perl");
        let before = Heap::of(&process).expect("a look");
        (0..times).for_each(|_| self.requests());
        let after = Heap::of(&process).expect("a look");
        assert!(!before.memory.is_torn && !after.memory.is_torn, "it waited");
        leaks(&before, &after)
    }
}

impl Drop for Leaking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_planted_leak_is_named_with_its_line() {
    let found = Leaking::start().leaks(5);
    let planted = include_str!("perl/Shop.pm").lines().zip(1..);
    let planted = planted.filter_map(|(text, line)| Some((text.split_once("# grows: ")?.1, line)));
    let planted: Vec<(&str, u32)> = planted.collect();
    assert_eq!(planted.len(), 10);
    let mut missing = Vec::new();
    for (name, line) in planted {
        let is_named = |leak: &&Leak| leak.name.contains(name);
        let leak = found.iter().find(is_named);
        let has_line = leak.is_some_and(|leak| {
            leak.sites
                .iter()
                .any(|site| site.line == line && site.file.ends_with("Shop.pm"))
        });
        if !has_line {
            missing.push(format!("{name} at {line}: {leak:?}"));
        }
    }
    assert!(
        missing.is_empty(),
        "{}\n\nall: {found:#?}",
        missing.join("\n")
    );
}

#[test]
fn perl_that_does_nothing_has_no_leak() {
    let found = Leaking::start().leaks(0);
    assert!(found.is_empty(), "{found:?}");
}
