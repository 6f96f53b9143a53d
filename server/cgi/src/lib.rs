//! Implements the rung `cgi`: runs any executable as CGI/1.1 (RFC 3875), with one process per
//! request.
//!
//! [`Cgi::start`] takes a complete request and returns an [`CgiExchange`] like the pool's. Each
//! process has a task. The task starts the process outside the front's thread, logs its stderr, and
//! reaps it. The task stops the process group when the time is over or the client has gone. The
//! caller does routing, framing and error pages.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

use keeper::{Keeper, Work};
use mehari_observe::{ErrorLog, Origin};
use mehari_pool::variables::Surroundings;
use mehari_pool::{script_head, Body, Call, NamedContent};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, OwnedSemaphorePermit, Semaphore};

mod arguments;
pub(crate) mod descriptors;
mod exchange;
mod keeper;
mod launch;
mod process_limits;
mod reader;
mod spawn;

pub use exchange::CgiExchange;
pub use process_limits::ResourceLimit;
pub use script_head::ScriptHead;
use spawn::Launch;

/// The limits of CGI programs.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest number of programs at once.
    pub processes: usize,
    /// The largest number of requests that wait for a program to end. The next field is the longest
    /// time that they wait.
    pub queue: usize,
    pub queue_timeout: Duration,
}

/// One program to run.
#[derive(Debug)]
pub struct Program<'a> {
    /// The request. Its `task` names the file of SCRIPT_FILENAME.
    pub call: Call<'a>,
    /// The executable. It runs in its own folder.
    pub file: &'a Path,
    /// The variable SERVER_ADMIN.
    pub admin: Option<&'a [u8]>,
    /// The variable REMOTE_USER. The next field is AUTH_TYPE.
    pub user: Option<&'a [u8]>,
    pub auth_type: Option<&'a [u8]>,
    /// Whether the program sees the field Authorization (`CGIPassAuth On`).
    pub authorization: bool,
    /// The limits of the process (`RLimitCPU` and the like).
    pub limits: Vec<ResourceLimit>,
}

/// Why a program does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("there is no such program")]
    NotFound,
    #[error("the file is not an executable program")]
    Forbidden,
    #[error("the request contains a NUL byte, which an environment cannot contain")]
    BadRequest,
    #[error("too many requests are waiting for a program to end")]
    Busy,
    #[error("the program cannot get the request's body: {0}")]
    Stdin(std::io::Error),
}

impl StartError {
    /// Returns the status for the client.
    pub fn status(&self) -> u16 {
        match self {
            StartError::NotFound => 404,
            StartError::Forbidden => 403,
            StartError::BadRequest => 400,
            StartError::Busy => 503,
            StartError::Stdin(_) => 500,
        }
    }
}

/// All CGI programs of a site. The value is cheap to clone, and must stay on the front's runtime.
#[derive(Clone)]
pub struct Cgi {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    log: ErrorLog,
    software: Vec<u8>,
    instance: Vec<u8>,
    /// PATH and TZ of the server's environment.
    passed: Vec<(Vec<u8>, Vec<u8>)>,
    /// The leaders of the running process groups.
    groups: Mutex<HashSet<u32>>,
}

impl Cgi {
    /// Prepares to run programs. `software` is the variable SERVER_SOFTWARE. All open descriptors
    /// become close-on-exec, so programs inherit none by accident.
    pub fn new(limits: Limits, software: &str, log: ErrorLog) -> Cgi {
        descriptors::close_on_exec();
        Cgi {
            shared: Arc::new(Shared {
                limits,
                permits: Arc::new(Semaphore::new(limits.processes.max(1))),
                waiting: AtomicUsize::new(0),
                log,
                software: software.as_bytes().to_vec(),
                instance: instance(),
                passed: passed_environment(),
                groups: Mutex::default(),
            }),
        }
    }

    /// Starts the program, or lets the request wait until another program has ended. Call this
    /// function inside the front's runtime.
    ///
    /// # Errors
    ///
    /// [`StartError`] if the program cannot be started or too many requests wait.
    pub fn start(&self, program: Program<'_>) -> Result<CgiExchange, StartError> {
        let origin = origin(&program.call);
        let timeout = program.call.timeout.hard;
        let (file, nph) = (
            program.file.to_path_buf(),
            is_nph(program.file.as_os_str().as_encoded_bytes()),
        );
        let content = NamedContent::of(&program.call.path);
        let launch = self.prepare(program)?;
        let turn = self.take_turn()?;
        let (tell, started) = oneshot::channel();
        let (verdict, awaited) = oneshot::channel();
        let work = Work {
            launch,
            file: file.clone(),
            origin,
            timeout,
            turn,
        };
        tokio::spawn(Keeper::new(self.shared.clone(), work, awaited).run(tell));
        let form = if nph {
            script_head::Form::StatusLine
        } else {
            script_head::Form::Parsed
        };
        let about = exchange::ProgramOutput {
            log: self.shared.log.clone(),
            file,
            origin,
            form,
            content,
        };
        Ok(CgiExchange::new(about, started, verdict, timeout))
    }

    /// Returns the sources of variables besides the request.
    pub fn surroundings<'a>(&'a self, admin: Option<&'a [u8]>) -> Surroundings<'a> {
        Surroundings {
            software: &self.shared.software,
            admin,
            instance: &self.shared.instance,
            ..Surroundings::default()
        }
    }

    /// Kills every running program and its group at once. The server calls this when it ends.
    pub fn kill_all(&self) {
        for &leader in self.shared.groups().iter() {
            keeper::signal(leader, rustix::process::Signal::Kill);
        }
    }

    /// Gives the program a place among the running programs or in the queue.
    fn take_turn(&self) -> Result<Turn, StartError> {
        match self.shared.permits.clone().try_acquire_owned() {
            Ok(permit) => Ok(Turn::Now(permit)),
            Err(_) => QueuedStart::take(&self.shared).map(Turn::Later),
        }
    }

    fn prepare(&self, mut program: Program<'_>) -> Result<Launch, StartError> {
        let passed: Vec<(&[u8], &[u8])> = self
            .shared
            .passed
            .iter()
            .map(|(name, value)| (&name[..], &value[..]))
            .collect();
        let around = Surroundings {
            passed: &passed,
            software: &self.shared.software,
            admin: program.admin,
            user: program.user,
            auth_type: program.auth_type,
            instance: &self.shared.instance,
            authorization: program.authorization,
        };
        let command = launch::command(&program, &around)?;
        let body = std::mem::replace(&mut program.call.body, Body::Empty);
        Ok(Launch {
            command,
            stdin: launch::stdin(body).map_err(StartError::Stdin)?,
            limits: program.limits,
        })
    }
}

impl Shared {
    fn groups(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Turn {
    Now(OwnedSemaphorePermit),
    Later(QueuedStart),
}

/// A place in the queue. The place is free again when the program runs or is given up.
struct QueuedStart(Arc<Shared>);

impl QueuedStart {
    fn take(shared: &Arc<Shared>) -> Result<QueuedStart, StartError> {
        let waiting = shared.waiting.fetch_add(1, Ordering::Relaxed);
        let place = QueuedStart(shared.clone());
        if waiting < shared.limits.queue {
            Ok(place)
        } else {
            Err(StartError::Busy)
        }
    }
}

impl Drop for QueuedStart {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the origin of lines of the error log about the request.
fn origin(call: &Call<'_>) -> Origin {
    let client = std::str::from_utf8(call.connection.remote_addr).unwrap_or_default();
    Origin {
        request: Some(call.request_id),
        client: client.parse().ok(),
        host: u32::from(call.server),
        level: call.log_level,
        ..Origin::default()
    }
}

/// Returns whether the name begins with `nph-`. Such a program sends the whole response itself (RFC
/// 3875 section 5).
pub fn is_nph(file: &[u8]) -> bool {
    let name = file.rsplit(|&byte| byte == b'/').next();
    name.is_some_and(|name| name.starts_with(b"nph-"))
}

/// Returns the start time and the process number in hexadecimal. This text is unique among the
/// server processes of a machine.
fn instance() -> Vec<u8> {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("{:x}-{:x}", since.as_micros(), std::process::id()).into_bytes()
}

fn passed_environment() -> Vec<(Vec<u8>, Vec<u8>)> {
    use std::os::unix::ffi::OsStringExt;
    ["PATH", "TZ"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?.into_vec())))
        .collect()
}

#[cfg(test)]
mod tests;
