//! Holds an interpreter, a folder of scripts, and a request on which the scripts run.

use mehari_edge::{
    Attribute, Edge, Failure, Limits, Piece, ScriptDecision, Stage, Status, Step, Visit, World,
};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

pub const LIMITS: Limits = Limits {
    instructions: 2_000_000,
    memory: 4 * 1024 * 1024,
};

struct Disk;

impl World for Disk {
    fn stat(&self, path: &Path) -> Option<Status> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Status::of(&metadata, "\"1\"".into(), "text/x-lua".into()))
    }
}

pub struct Bench {
    pub edge: Edge,
    folder: tempfile::TempDir,
    pub now: Duration,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            edge: Edge::new(Rc::new(Disk)).expect("an interpreter"),
            folder: tempfile::tempdir().expect("a folder"),
            now: Duration::ZERO,
        }
    }

    /// Makes the interpreter of another thread.
    pub fn helper() -> Edge {
        Edge::helping(Rc::new(Disk)).expect("an interpreter")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn visit() -> Box<Visit> {
        let mut visit = Box::new(Visit::new(Stage::RawUrl));
        visit.set_attribute(Attribute::UriPath, b"/a b");
        visit.set_attribute(Attribute::UriQuery, b"x=1");
        visit.set_attribute(Attribute::RequestMethod, b"GET");
        visit.request.push(b"Host", b"www.example");
        visit.request.push(b"Cookie", b"a=1; b=\"2\"");
        visit
    }

    /// Runs a file. Returns the result, the visit, and the number of steps.
    pub fn run_file(&mut self, name: &str) -> (Result<ScriptDecision, Failure>, Box<Visit>, usize) {
        self.now += Duration::from_secs(2);
        let file = self.file(name);
        let mut run = match self.edge.start(&file, self.now, LIMITS, Bench::visit()) {
            Ok(run) => run,
            Err(failure) => return (Err(failure), Bench::visit(), 0),
        };
        for steps in 1..10_000 {
            if let Step::Done(done) = run.step(None) {
                return (done, run.into_visit(), steps);
            }
        }
        panic!("{name} goes on for ever");
    }

    pub fn run(&mut self, source: &str) -> (Result<ScriptDecision, Failure>, Box<Visit>, usize) {
        std::fs::write(self.file("script.lua"), source).expect("written");
        self.run_file("script.lua")
    }

    /// Runs a script and returns the text of its answer.
    pub fn text(&mut self, source: &str) -> String {
        let (done, visit, _) = self.run(source);
        assert_eq!(done, Ok(ScriptDecision::Answer(200)), "{source}");
        body(&visit)
    }

    pub fn failure(&mut self, source: &str) -> (u16, String) {
        let (done, ..) = self.run(source);
        let failure = done.expect_err(source);
        let file = self.file("script.lua").display().to_string();
        (failure.status, failure.text.replace(&file, "FILE"))
    }
}

pub fn body(visit: &Visit) -> String {
    match visit.body.as_deref() {
        Some([Piece::Bytes(bytes)]) => String::from_utf8(bytes.clone()).expect("text"),
        other => panic!("{other:?}"),
    }
}

/// Makes a script that answers with the text of an expression.
pub fn expression(text: &str) -> String {
    format!("lighty.content = {{ tostring({text}) }} return 200")
}
