//! Starts scripts and runs each script slice by slice to its end.

use crate::current::Current;
use crate::faces;
use crate::failure::{internal, is_of_memory, Failure};
use crate::interpreter::{Allowance, Break, Interpreter};
use crate::runner::{Runner, Stop};
use crate::scripts::{Length, Script, Scripts};
use crate::visit::{Source, Visit, World};
use mlua::{Error, Function};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The limits of one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub instructions: u64,
    /// The largest number of bytes for Lua's memory and the body that the script wants sent.
    pub memory: usize,
}

/// The decision of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptDecision {
    /// The request goes on with the script's changes.
    GoOn,
    /// The server sends an interim response (1xx) and goes on.
    Interim(u16),
    /// The request is answered with this status.
    Answer(u16),
    /// The request starts again with the script's changes.
    Restart,
}

/// The result of a step.
#[derive(Debug)]
pub enum Step {
    /// The slice is over. Other work may run before the next step.
    Again,
    Done(Result<ScriptDecision, Failure>),
}

/// An interpreter with its compiled scripts. Each thread has its own.
pub struct Edge(Rc<Core>);

struct Core {
    interpreter: Rc<Interpreter>,
    scripts: Scripts,
    current: Rc<Current>,
    /// The Lua function that turns a script into its runner (see `faces/world.lua`).
    make: Function,
}

/// A script at work on one request.
pub struct Run {
    core: Rc<Core>,
    script: Rc<Script>,
    /// `None` after the end of the run.
    runner: Option<Box<Runner>>,
    visit: Box<Visit>,
    allowance: Allowance,
    /// Whether the run has been interrupted.
    is_long: bool,
}

impl Edge {
    /// Makes an interpreter for scripts that run between other work. The scripts are limited and
    /// interrupted.
    ///
    /// # Errors
    ///
    /// The error of starting the Lua interpreter.
    pub fn new(world: Rc<dyn World>) -> Result<Edge, Failure> {
        Edge::with(Interpreter::limited(), world, true)
    }

    /// Makes an interpreter like that of [`Edge::new`] for another thread, which runs long scripts.
    /// It has no counters. If a script asks for them, [`Run::missed_counters`] says so.
    ///
    /// # Errors
    ///
    /// The error of starting the Lua interpreter.
    pub fn helping(world: Rc<dyn World>) -> Result<Edge, Failure> {
        Edge::with(Interpreter::limited(), world, false)
    }

    /// Makes an interpreter for scripts that have a process for themselves. The interpreter has all
    /// Lua libraries, the compiler, and lasting globals. No limits apply.
    ///
    /// # Errors
    ///
    /// The error of starting the Lua interpreter.
    pub fn unlimited(world: Rc<dyn World>) -> Result<Edge, Failure> {
        Edge::with(Interpreter::unlimited(), world, true)
    }

    fn with(
        interpreter: mlua::Result<Interpreter>,
        world: Rc<dyn World>,
        has_counters: bool,
    ) -> Result<Edge, Failure> {
        let made = || -> mlua::Result<Core> {
            let interpreter = Rc::new(interpreter?);
            let current = Rc::new(Current::new(world, has_counters));
            let make = faces::install(&interpreter, &current)?;
            Ok(Core {
                interpreter,
                scripts: Scripts::default(),
                current,
                make,
            })
        };
        made().map(|core| Edge(Rc::new(core))).map_err(internal)
    }

    /// Starts the script of a file. `now` may come from a coarse clock, because scripts are checked
    /// for changes only once a second.
    ///
    /// # Errors
    ///
    /// The failure to read or compile the script.
    pub fn start(
        &self,
        file: &Path,
        now: Duration,
        limits: Limits,
        mut visit: Box<Visit>,
    ) -> Result<Run, Failure> {
        let lua = self.0.interpreter.lua();
        let script = self.0.scripts.script(lua, file, now)?;
        let runner = script.take(lua, &self.0.make).map_err(internal)?;
        visit.room = limits.memory;
        self.0.current.take_missed_counters();
        Ok(Run {
            core: self.0.clone(),
            script,
            runner: Some(runner),
            visit,
            allowance: Allowance::new(limits.instructions, limits.memory),
            is_long: false,
        })
    }

    /// Forgets the compiled scripts, for example after a reload.
    pub fn forget(&self) {
        self.0.scripts.clear();
    }
}

impl Run {
    /// Runs the script for one slice. Lua functions ask `source` for values that the visit does not
    /// know yet. If the script goes on after this slice, the visit first copies all values from
    /// `source`.
    pub fn step(&mut self, source: Option<&dyn Source>) -> Step {
        let Some(mut runner) = self.runner.take() else {
            return Step::Done(Err(self.failure(500, "is over")));
        };
        let Core {
            interpreter,
            current,
            ..
        } = &*self.core;
        let (stop, broke) = current.with_visit(&mut self.visit, source, || {
            interpreter.slice(&mut self.allowance, || runner.resume(interpreter.lua()))
        });
        match (stop, broke) {
            (Stop::Returned, _) => {
                self.note_length(self.is_long);
                let end = current.end();
                if end.is_clean {
                    self.script.give_back(runner);
                }
                Step::Done(Ok(ended(end.code)))
            }
            (Stop::Yielded, Break::Slice) => {
                self.runner = Some(runner);
                self.is_long = true;
                self.learn(source);
                Step::Again
            }
            (Stop::Yielded, Break::None) => Step::Done(Err(
                self.failure(500, "yields outside of a coroutine of its own")
            )),
            (Stop::Yielded, Break::Exhausted) => Step::Done(Err(self.exhausted())),
            (Stop::Failed(error), broke) => {
                drop(runner);
                self.core.collect_garbage();
                Step::Done(Err(self.classify(&error, broke)))
            }
        }
    }

    /// Copies all values from `source` into the visit.
    pub fn learn(&mut self, source: Option<&dyn Source>) {
        self.visit.learn_attributes(source);
        self.visit.learn_fields(source);
        self.visit.learn_body(source);
    }

    /// Whether the script's last run was long, and another interpreter may run the script.
    pub fn is_for_helpers(&self) -> bool {
        self.script.length.get() == Length::Long
    }

    /// Whether this run has been interrupted.
    pub fn was_long(&self) -> bool {
        self.is_long
    }

    /// Returns the request, for a run on another interpreter.
    pub fn visit(&self) -> &Visit {
        &self.visit
    }

    /// Whether the script asked for counters that this interpreter does not keep. The run then has
    /// no result, and the interpreter with the counters must run the script.
    pub fn missed_counters(&self) -> bool {
        self.core.current.take_missed_counters()
    }

    /// Notes that another interpreter has missed the counters.
    pub fn stay(&self) {
        self.script.length.set(Length::Counting);
    }

    /// Ends a run that another interpreter has run to its end instead. `was_long` is what that run
    /// says of itself.
    pub fn ended_elsewhere(mut self, was_long: bool) {
        self.note_length(was_long);
        if let Some(runner) = self.runner.take() {
            self.script.give_back(runner);
        }
    }

    fn note_length(&self, is_long: bool) {
        let length = match (self.script.length.get(), is_long) {
            (Length::Counting, _) => Length::Counting,
            (_, true) => Length::Long,
            (_, false) => Length::Short,
        };
        self.script.length.set(length);
    }

    /// Returns the request with the script's changes.
    pub fn into_visit(self) -> Box<Visit> {
        self.visit
    }

    fn classify(&self, error: &Error, broke: Break) -> Failure {
        if broke == Break::Exhausted {
            return self.exhausted();
        }
        if is_of_memory(error) {
            self.failure(503, "took more than LuaMemoryLimit allows")
        } else {
            Failure::of_script(error, Path::new(self.script.file()))
        }
    }

    fn exhausted(&self) -> Failure {
        self.failure(503, "took more than LuaInstructionLimit allows")
    }

    fn failure(&self, status: u16, what: &str) -> Failure {
        Failure {
            status,
            text: format!("{}: {what}", self.script.file()),
        }
    }
}

impl Core {
    /// Collects the garbage of a failed script before the next script adds to it.
    fn collect_garbage(&self) {
        const PLENTY: isize = 64 * 1024 * 1024;
        if self.interpreter.used() > PLENTY {
            // A failure is harmless. The memory that remains is in use.
            let _ = self.interpreter.lua().gc_collect();
        }
    }
}

fn ended(code: Option<i64>) -> ScriptDecision {
    match code {
        Some(99) => ScriptDecision::Restart,
        Some(status @ 100..=199) => ScriptDecision::Interim(status as u16),
        Some(status @ 200..=999) => ScriptDecision::Answer(status as u16),
        _ => ScriptDecision::GoOn,
    }
}
