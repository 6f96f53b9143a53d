//! Starting scripts and stepping them to their end.

use crate::faces::{self, Current};
use crate::interpreter::{Allowance, Break, Interpreter};
use crate::scripts::{Script, Scripts};
use crate::visit::{Visit, World};
use mlua::{Error, Function, Thread, ThreadStatus};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// What one script may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub instructions: u64,
    /// Bytes, in Lua and of what it wants sent.
    pub memory: usize,
}

/// What a script decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nothing about the request's end: it goes on, with what was changed.
    GoOn,
    /// An interim response (1xx), and on.
    Interim(u16),
    /// The request is answered with this status.
    Answer(u16),
    /// The request begins again, with what was changed.
    Restart,
}

/// Why a script came to nothing: a status and a line for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    pub status: u16,
    pub text: String,
}

/// What a step came to.
#[derive(Debug)]
pub enum Step {
    /// Others may have their turn; then step again.
    Again,
    Done(Result<Ended, Failure>),
}

/// One interpreter with its scripts: one a thread.
pub struct Edge(Rc<Core>);

struct Core {
    interpreter: Rc<Interpreter>,
    scripts: Scripts,
    current: Rc<Current>,
    /// Runs a script's function in an environment of its own.
    run: Function,
}

/// A script at work on one request.
pub struct Run {
    core: Rc<Core>,
    script: Rc<Script>,
    function: Option<Function>,
    thread: Thread,
    visit: Box<Visit>,
    allowance: Allowance,
    begun: bool,
}

impl Edge {
    /// For scripts that run between other work: fenced in, and interrupted.
    pub fn new(world: Rc<dyn World>) -> Result<Edge, Failure> {
        Edge::with(Interpreter::fenced(), world)
    }

    /// For scripts that have a process for themselves: all of Lua, compiled, and globals that stay. Limits do not
    /// hold here.
    pub fn unfenced(world: Rc<dyn World>) -> Result<Edge, Failure> {
        Edge::with(Interpreter::unfenced(), world)
    }

    fn with(interpreter: mlua::Result<Interpreter>, world: Rc<dyn World>) -> Result<Edge, Failure> {
        let made = || -> mlua::Result<Core> {
            let interpreter = Rc::new(interpreter?);
            let current = Rc::new(Current::new(world));
            let run = faces::install(&interpreter, &current)?;
            Ok(Core {
                interpreter,
                scripts: Scripts::default(),
                current,
                run,
            })
        };
        made().map(|core| Edge(Rc::new(core))).map_err(internal)
    }

    /// Starts the script of a file. `now` is a clock that may be coarse: a changed file is noticed a second later.
    pub fn start(
        &self,
        file: &Path,
        now: Duration,
        limits: Limits,
        mut visit: Box<Visit>,
    ) -> Result<Run, Failure> {
        let lua = self.0.interpreter.lua();
        let script = self.0.scripts.script(lua, file, now)?;
        let function = script.take(lua).map_err(internal)?;
        let thread = lua.create_thread(self.0.run.clone()).map_err(internal)?;
        visit.room = limits.memory;
        Ok(Run {
            core: self.0.clone(),
            script,
            function: Some(function),
            thread,
            visit,
            allowance: Allowance::new(limits.instructions, limits.memory),
            begun: false,
        })
    }

    /// Forgets compiled scripts, as after a reload.
    pub fn forget(&self) {
        self.0.scripts.clear();
    }
}

impl Run {
    /// Lets the script work for a slice.
    pub fn step(&mut self) -> Step {
        let core = self.core.clone();
        let begins = !std::mem::replace(&mut self.begun, true);
        core.current.lend(&mut self.visit);
        let resume = || match (begins, &self.function) {
            (true, Some(function)) => self.thread.resume::<Option<i64>>(function),
            _ => self.thread.resume::<Option<i64>>(()),
        };
        let (result, broke) = core.interpreter.slice(&mut self.allowance, resume);
        core.current.lend(&mut self.visit);
        match result {
            Ok(_) if self.thread.status() == ThreadStatus::Resumable => match broke {
                Break::Slice => Step::Again,
                Break::Exhausted => Step::Done(Err(
                    self.failure(503, "took more than LuaInstructionLimit allows")
                )),
                Break::None => {
                    Step::Done(Err(self.failure(500, "yields, and nothing waits for that")))
                }
            },
            Ok(code) => Step::Done(Ok(ended(code))),
            Err(error) => {
                core.tidy();
                Step::Done(Err(self.judge(&error, broke)))
            }
        }
    }

    /// The request with what the script has made of it.
    pub fn into_visit(mut self) -> Box<Visit> {
        std::mem::take(&mut self.visit)
    }

    fn judge(&self, error: &Error, broke: Break) -> Failure {
        if broke == Break::Exhausted {
            return self.failure(503, "took more than LuaInstructionLimit allows");
        }
        match root(error) {
            Error::MemoryError(_) => self.failure(503, "took more than LuaMemoryLimit allows"),
            _ => Failure::of_script(error, Path::new(self.script.file())),
        }
    }

    fn failure(&self, status: u16, what: &str) -> Failure {
        Failure {
            status,
            text: format!("{}: {what}", self.script.file()),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A coroutine that is dropped is never resumed, so its function is free again.
        if let Some(function) = self.function.take() {
            self.script.give_back(function);
        }
    }
}

impl Core {
    /// After a script that died: what it left is collected before the next one can add to it.
    fn tidy(&self) {
        const PLENTY: isize = 64 * 1024 * 1024;
        if self.interpreter.used() > PLENTY {
            // What cannot be collected is in use.
            let _ = self.interpreter.lua().gc_collect();
        }
    }
}

fn ended(code: Option<i64>) -> Ended {
    match code {
        Some(99) => Ended::Restart,
        Some(status @ 100..=199) => Ended::Interim(status as u16),
        Some(status @ 200..=999) => Ended::Answer(status as u16),
        _ => Ended::GoOn,
    }
}

impl Failure {
    /// What Lua says of a script, on one line that names file and line.
    pub(crate) fn of_script(error: &Error, file: &Path) -> Failure {
        let file = file.display().to_string();
        let text = match error {
            Error::CallbackError { traceback, cause } => {
                let message = match root(cause) {
                    Error::RuntimeError(text) => first_line(text),
                    other => first_line(&other.to_string()),
                };
                match place(traceback, &file) {
                    Some(place) => format!("{place}: {message}"),
                    None => message,
                }
            }
            Error::RuntimeError(text) | Error::SyntaxError { message: text, .. } => {
                first_line(text)
            }
            other => first_line(&other.to_string()),
        };
        let text = match text.contains(last_part(&file)) {
            true => text,
            false => format!("{file}: {text}"),
        };
        Failure { status: 500, text }
    }
}

/// What was thrown, below what mlua says about where.
fn root(error: &Error) -> &Error {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => root(cause),
        other => other,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

fn last_part(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The first place in a traceback that is in this file: `FILE:LINE`.
fn place(traceback: &str, file: &str) -> Option<String> {
    let mut lines = traceback.lines().map(str::trim);
    let line = lines.find(|line| line.contains(last_part(file)))?;
    let at = line.find(last_part(file))? + last_part(file).len();
    let number: String = line[at..]
        .strip_prefix(':')?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Some(format!("{file}:{number}"))
}

fn internal(error: Error) -> Failure {
    let text = match root(&error) {
        Error::MemoryError(_) => "no memory is left for Lua".to_string(),
        other => first_line(&other.to_string()),
    };
    Failure { status: 503, text }
}
