//! Reads a running server: its answers on the control socket, and its processes in /proc.

use crate::inspection;
use crate::machine::Machine;
use crate::memory::{self, ProcessPages};
use crate::processes::{self, ProcessFacts, UserNames};
use crate::sizes::SizeLooks;
use crate::stack;
use serde_json::{json, Value};

/// Sends a line to the server's control socket and returns the answer.
pub type Question = Box<dyn Fn(&str) -> Result<Value, String> + Send + Sync>;

pub struct WatchedServer {
    ask: Question,
    sizes: SizeLooks,
    users: UserNames,
}

impl WatchedServer {
    pub fn new(ask: Question) -> WatchedServer {
        WatchedServer {
            ask,
            sizes: SizeLooks::default(),
            users: UserNames::read(),
        }
    }

    /// Returns what the server says of itself, without a look at its memory.
    ///
    /// # Errors
    /// No server answers, or the server refuses.
    pub fn status(&self) -> Result<Value, String> {
        self.answer("watch")
    }

    fn answer(&self, word: &str) -> Result<Value, String> {
        let answer = (self.ask)(word)?;
        if answer["ok"] == true {
            return Ok(answer);
        }
        let reason = answer["message"].as_str().unwrap_or("no reason is given");
        Err(format!("the server refuses: {reason}"))
    }

    /// Returns one of the server's lists: `places`, `errors`, `history` or `reports`.
    ///
    /// # Errors
    /// As [`WatchedServer::status`].
    pub fn list(&self, word: &str) -> Result<Value, String> {
        self.answer(word)
    }

    /// Returns the status with the sizes of each worker's process, and the machine.
    ///
    /// # Errors
    /// As [`WatchedServer::status`].
    pub fn now(&self) -> Result<Value, String> {
        let mut status = self.status()?;
        status["processes"] = json!(self.sizes.of(&workers(&status)));
        status["machine"] = json!(Machine::read());
        Ok(status)
    }

    /// Returns the memory of each process of the server: shared, private and proportional.
    ///
    /// # Errors
    /// As [`WatchedServer::status`].
    pub fn memory(&self) -> Result<Value, String> {
        let mut status = self.status()?;
        let front = number(&status["pid"]).unwrap_or_default();
        status["processes_of_server"] = json!(memory::of_tree(front));
        Ok(status)
    }

    /// Returns the machine, its file systems, and all its processes.
    pub fn machine(&self) -> Value {
        json!({
            "machine": Machine::read(),
            "file_systems": crate::filesystems::mounted(),
            "processes": processes::all(&self.users),
        })
    }

    /// Looks into a Perl process. `whom`: `any`, `zygote` or a process's number.
    ///
    /// # Errors
    /// The question is wrong, or the process does not answer it.
    pub fn inspect(&self, whom: &str, view: &str, name: &str) -> Result<Value, String> {
        inspection::check(whom, view, name)?;
        let read: fn(u32) -> Option<Value> = match view {
            "limits" => inspection::limits,
            "descriptors" => inspection::descriptors,
            _ => return self.ask_process(&format!("inspect {whom} {view} {name}")),
        };
        let answers = self.ask_process(&format!("inspect {whom} process"))?;
        let pid = number(&answers["pid"]).unwrap_or_default();
        read(pid).ok_or_else(|| format!("process {pid} has ended"))
    }

    fn ask_process(&self, line: &str) -> Result<Value, String> {
        let answer = (self.ask)(line.trim_end())?;
        if answer["ok"] == true {
            return Ok(answer);
        }
        let reason = answer["message"].as_str().unwrap_or("no reason is given");
        Err(inspection::printable(reason))
    }

    /// Returns everything about one worker: its process, memory, request and Perl stack.
    ///
    /// # Errors
    /// The process is no worker of the server.
    pub fn worker(&self, pid: u32) -> Result<Value, String> {
        let status = self.status()?;
        let all = status["pool"]["workers"].as_array().into_iter().flatten();
        let mut found = all.filter(|worker| worker["pid"] == pid);
        let Some(worker) = found.next() else {
            return Err(format!("the server has no worker {pid} any more"));
        };
        Ok(json!({
            "worker": worker,
            "process": ProcessFacts::of(pid, &self.users),
            "memory": ProcessPages::of(pid),
            "libraries": processes::libraries(pid),
            "stack": stack::of(pid),
        }))
    }
}

/// Returns the process numbers of the workers in a status.
fn workers(status: &Value) -> Vec<u32> {
    let all = status["pool"]["workers"].as_array().into_iter().flatten();
    all.filter_map(|worker| number(&worker["pid"])).collect()
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64()?.try_into().ok().filter(|pid| *pid > 0)
}
