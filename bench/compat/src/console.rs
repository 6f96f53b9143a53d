//! Defines the output of a tool: two byte streams, so tests can read what a terminal would show.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The standard output and standard error of a tool. The tool and its tally in the engine share
/// them.
#[derive(Clone)]
pub struct Console {
    streams: Arc<Mutex<Streams>>,
}

struct Streams {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
}

impl Console {
    pub fn new(out: impl Write + Send + 'static, err: impl Write + Send + 'static) -> Console {
        Console {
            streams: Arc::new(Mutex::new(Streams {
                out: Box::new(out),
                err: Box::new(err),
            })),
        }
    }

    /// Returns the process's own streams. They are written line by line to a terminal, and in
    /// blocks otherwise.
    pub fn of_process() -> Console {
        let out = io::stdout();
        if out.is_terminal() {
            Console::new(out, io::stderr())
        } else {
            Console::new(BufWriter::new(out), io::stderr())
        }
    }

    /// Prints to standard output. A closed pipe is ignored: it does not end the run.
    pub fn out(&self, text: impl AsRef<[u8]>) {
        let _ = self.streams().out.write_all(text.as_ref());
    }

    /// Prints to standard error.
    pub fn err(&self, text: impl AsRef<[u8]>) {
        let _ = self.streams().err.write_all(text.as_ref());
    }

    pub fn flush(&self) {
        let _ = self.streams().out.flush();
    }

    /// Locks the streams. They stay usable after a panic during printing.
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a tool ends before it sends anything: its exit status and its message.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: u8,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Refusal {
    pub fn to_stderr(status: u8, text: impl Into<Vec<u8>>) -> Refusal {
        Refusal {
            status,
            out: Vec::new(),
            err: text.into(),
        }
    }

    pub fn to_stdout(status: u8, text: impl Into<Vec<u8>>) -> Refusal {
        Refusal {
            status,
            out: text.into(),
            err: Vec::new(),
        }
    }

    pub fn print(&self, console: &Console) -> u8 {
        console.out(&self.out);
        console.err(&self.err);
        self.status
    }
}

/// Returns the system's text for an error, as `strerror` gives it.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}
