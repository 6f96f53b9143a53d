//! Implements a process of the Lua pool. The process runs scripts that may block, one request at a
//! time.
//!
//! The server starts and watches these processes as FastCGI programs (`FastCgiServer`), and sends
//! the requests of `SetHandler lua` to them. Like lua-fastcgi-magnet, this crate is a FastCGI
//! responder on standard input.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod alarm;
mod answer;
mod record;
mod request;

use mehari_edge::{Edge, Failure, Limits, Run, ScriptDecision, Status, Step, Visit, World};
use request::{Received, Request};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A script has the process for itself, so only its time is limited.
const LIMITS: Limits = Limits {
    instructions: i64::MAX as u64,
    memory: isize::MAX as usize,
};

/// Serves requests until accept(2) fails for good. A script that takes longer than `timeout` ends
/// the process.
///
/// # Errors
///
/// The error of accept(2), or of starting the Lua interpreter.
#[allow(unsafe_code)]
pub fn serve(timeout: Duration) -> io::Result<()> {
    // SAFETY: the starter of a FastCGI program passes its listening socket as descriptor 0, and no
    // other code here uses this descriptor.
    let listener = unsafe { UnixListener::from(OwnedFd::from_raw_fd(0)) };
    let edge = Edge::unlimited(Rc::new(Disk)).map_err(io::Error::other)?;
    let pool = Pool {
        edge,
        timeout,
        began: Instant::now(),
    };
    loop {
        let connection = accept(&listener)?;
        // A broken connection or invalid FastCGI ends only this connection.
        let _ = pool.attend(connection);
    }
}

/// The pause between two attempts to accept a connection.
const NEXT_ATTEMPT: Duration = Duration::from_millis(100);

/// Accepts the next connection. A lack of descriptors or memory, or a client that has left, does
/// not end the process. The process then logs one line and tries again.
///
/// # Errors
///
/// The error of accept(2) if the listening socket itself is unusable.
fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
    let mut is_told = false;
    loop {
        let error = match listener.accept() {
            Ok((connection, _)) => return Ok(connection),
            Err(error) if is_of_socket(&error) => return Err(error),
            Err(error) => error,
        };
        if !is_told {
            eprintln!("mehari lua-pool: accepting a connection: {error}; trying again");
            is_told = true;
        }
        std::thread::sleep(NEXT_ATTEMPT);
    }
}

/// Returns whether the listening socket is at fault, so that no later attempt can succeed.
fn is_of_socket(error: &io::Error) -> bool {
    let wrong = [libc::EBADF, libc::EINVAL, libc::ENOTSOCK, libc::EOPNOTSUPP];
    error
        .raw_os_error()
        .is_some_and(|number| wrong.contains(&number))
}

struct Pool {
    edge: Edge,
    timeout: Duration,
    began: Instant,
}

impl Pool {
    /// Serves the requests of one connection one after another.
    fn attend(&self, connection: UnixStream) -> io::Result<()> {
        let mut input = io::BufReader::with_capacity(record::LARGEST, connection.try_clone()?);
        let mut output = connection;
        while let Received::Request(request) = request::receive(&mut input)? {
            let keeps = request.keeps_connection;
            alarm::set(self.timeout);
            let answered = self.answer(request, &mut output);
            alarm::clear();
            answered?;
            if !keeps {
                break;
            }
        }
        Ok(())
    }

    fn answer(&self, request: Request, output: &mut UnixStream) -> io::Result<()> {
        let number = request.number;
        let file = request.script();
        let mut reply = record::Writer::new(output, number);
        if !Path::new(&file).is_file() {
            reply.output(
                b"Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\n404 Not Found\n",
            )?;
            return reply.end();
        }
        let run = self.edge.start(
            Path::new(&file),
            self.began.elapsed(),
            LIMITS,
            request.into_visit(),
        );
        match run.map(finish) {
            Ok((Ok(ended), visit)) => answer::write(&mut reply, ended, &visit)?,
            Ok((Err(failure), _)) | Err(failure) => answer::failed(&mut reply, &failure)?,
        }
        reply.end()
    }
}

fn finish(mut run: Run) -> (Result<ScriptDecision, Failure>, Box<Visit>) {
    loop {
        if let Step::Done(done) = run.step(None) {
            return (done, run.into_visit());
        }
    }
}

/// The file system for scripts. It has no cache, because the process serves no other request
/// meanwhile.
struct Disk;

impl World for Disk {
    fn stat(&self, path: &Path) -> Option<Status> {
        let metadata = std::fs::metadata(path).ok()?;
        let stamp = (metadata.mtime(), metadata.mtime_nsec());
        let etag = format!("\"{:x}-{:x}.{:x}\"", metadata.size(), stamp.0, stamp.1);
        Some(Status::of(&metadata, etag, String::new()))
    }
}
