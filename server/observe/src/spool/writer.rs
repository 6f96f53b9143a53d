//! Runs the thread that writes a spool's chunks and reports lost lines.

use super::{Complaint, Late, Reopening, Shared, Sink, Sleep, SpoolState, CHUNK, SLACK};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// The number of empty chunks kept for later lines.
const KEEP: usize = 4;
const COMPLAIN_EVERY: Duration = Duration::from_secs(1);

pub struct Writer {
    shared: Arc<Shared>,
    sink: Sink,
    patience: Duration,
    late: Option<Box<dyn Late>>,
    complaint: Complaint,
    /// The number of lines lost since the last complaint. The next field holds the reason.
    lost: u64,
    why: String,
    complained: Option<Instant>,
    /// Whether the last write ended inside a line.
    torn: bool,
}

/// The work that the writer takes under one lock.
struct Load {
    bytes: Vec<u8>,
    /// The number of lines appended up to the end of `bytes`. `None` while further bytes wait.
    covers: Option<u64>,
    dropped: u64,
    reopen: Option<Reopening>,
    last: bool,
}

impl Writer {
    pub fn new(
        shared: Arc<Shared>,
        sink: Sink,
        patience: Duration,
        late: Option<Box<dyn Late>>,
        complaint: Complaint,
    ) -> Writer {
        Writer {
            shared,
            sink,
            patience,
            late,
            complaint,
            lost: 0,
            why: String::new(),
            complained: None,
            torn: false,
        }
    }

    pub fn run(mut self) {
        loop {
            let mut load = self.next_load();
            if let Some(reopening) = load.reopen.take() {
                self.reopen(reopening);
            }
            self.write(&load.bytes);
            if load.dropped > 0 {
                self.count_lost(load.dropped, "the disk does not keep up");
            }
            load.bytes.clear();
            load.bytes.shrink_to(CHUNK + SLACK);
            self.give_back(load.bytes, load.covers);
            self.complain(load.last);
            if load.last {
                self.shared.lock().ended = true;
                self.shared.written.notify_all();
                return;
            }
        }
    }

    fn next_load(&self) -> Load {
        let mut state = self.wait_for_work();
        let reopen = std::mem::take(&mut state.reopen);
        let dropped = std::mem::take(&mut state.dropped);
        let bytes = match state.full.pop_front() {
            Some(chunk) => chunk,
            None => {
                let empty = state.free.pop().unwrap_or_default();
                std::mem::replace(&mut state.active, empty)
            }
        };
        let all = state.full.is_empty() && state.active.is_empty();
        if all {
            state.hurry = false;
        }
        Load {
            bytes,
            covers: all.then_some(state.appended),
            dropped,
            reopen,
            last: all && state.closed,
        }
    }

    /// Waits for a full chunk, for a caller's request, or until a started chunk is older than
    /// `patience`.
    fn wait_for_work(&self) -> MutexGuard<'_, SpoolState> {
        let mut state = self.shared.lock();
        let mut since = None;
        loop {
            let now = Instant::now();
            let next_late = match &self.late {
                Some(late) => late.due(now, &mut state.active),
                None => None,
            };
            let complaint_due =
                (self.lost > 0).then(|| self.complained.map_or(now, |at| at + COMPLAIN_EVERY));
            let asked = state.reopen.is_some() || state.hurry || state.closed || state.dropped > 0;
            let mut until = earliest(next_late, complaint_due);
            if !state.active.is_empty() {
                let begun = *since.get_or_insert(now);
                until = earliest(until, Some(begun + self.patience));
            }
            if asked || !state.full.is_empty() || until.is_some_and(|until| until <= now) {
                state.sleep = Sleep::No;
                return state;
            }
            state.sleep = if state.active.is_empty() {
                Sleep::UntilAnything
            } else {
                Sleep::UntilFull
            };
            let limit = until.map(|until| until - now);
            state = self.shared.wait(&self.shared.work, state, limit);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.torn {
            self.torn = self.sink.write(b"\n").is_err();
        }
        if let Err((done, error)) = self.sink.write(bytes) {
            self.torn |= done > 0 && bytes[done - 1] != b'\n';
            let lines = bytes[done..].iter().filter(|&&b| b == b'\n').count();
            self.count_lost(lines as u64, &error.to_string());
        }
    }

    fn reopen(&mut self, Reopening(opened): Reopening) {
        if let Err(error) = self.sink.reopen(opened) {
            (self.complaint)(&format!("not reopened, the old file stays in use: {error}"));
        }
    }

    fn give_back(&self, chunk: Vec<u8>, covers: Option<u64>) {
        let mut state = self.shared.lock();
        if state.free.len() < KEEP {
            state.free.push(chunk);
        }
        if let Some(covers) = covers {
            state.done = covers;
            self.shared.written.notify_all();
        }
    }

    fn count_lost(&mut self, lines: u64, why: &str) {
        self.lost += lines;
        self.why.clear();
        self.why.push_str(why);
    }

    fn complain(&mut self, last: bool) {
        let recently = self
            .complained
            .is_some_and(|at| at.elapsed() < COMPLAIN_EVERY);
        if self.lost == 0 || (recently && !last) {
            return;
        }
        let text = format!(
            "{}: {} lines dropped: {}",
            self.sink.name(),
            self.lost,
            self.why
        );
        (self.complaint)(&text);
        self.lost = 0;
        self.complained = Some(Instant::now());
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
