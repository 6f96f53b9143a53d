//! Keeps a repeated message from filling the log. The first few copies within a second are written,
//! and the other copies are counted.
//!
//! When the second is over, the count is written as one line. The spool's thread writes this line
//! even if no further message arrives.

use super::{word, Form, Origin};
use crate::escape;
use crate::sink::Sink;
use crate::spool::{Late, Spool};
use mehari_config::LogLevel;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How many copies of one message are written within [`WINDOW`].
pub const LIMIT: u64 = 10;
const WINDOW: Duration = Duration::from_secs(1);
/// The largest number of distinct messages that are counted within a window. Further messages are
/// written without a limit.
const MOST: usize = 256;
/// The number of a message's bytes that its summary shows.
const SHOWN: usize = 200;

pub struct Guard {
    form: Form,
    state: Mutex<FloodState>,
}

#[derive(Default)]
struct FloodState {
    seen: HashMap<u64, Repetition>,
    keys: HashMap<String, Instant>,
    /// The messages that the spool's thread has about the log itself.
    notes: Vec<String>,
}

struct Repetition {
    since: Instant,
    count: u64,
    level: LogLevel,
    shown: Vec<u8>,
}

/// Starts a spool that writes messages at once. The spool also writes the guard's summaries when
/// they are due.
pub fn guarded(guard: &Arc<Guard>, sink: Sink) -> io::Result<Spool> {
    let (late, notes) = (guard.clone(), guard.clone());
    let on_stderr = matches!(sink, Sink::Stderr);
    let complaint = Arc::new(move |what: &str| {
        if !on_stderr {
            eprintln!("mehari: error log {what}");
        }
        notes.lock().notes.push(what.to_string());
    });
    Spool::start(
        "error-log",
        sink,
        Duration::ZERO,
        Some(Box::new(Summaries(late))),
        complaint,
    )
}

impl Guard {
    pub fn new(form: Form) -> Guard {
        Guard {
            form,
            state: Mutex::default(),
        }
    }

    /// Counts the message. Returns false if the message came too often within the last second.
    pub fn admits(&self, level: LogLevel, message: &[u8], now: Instant) -> bool {
        let mut hasher = DefaultHasher::new();
        (level as u8, message).hash(&mut hasher);
        let mut state = self.lock();
        if state.seen.len() >= MOST {
            state
                .seen
                .retain(|_, seen| seen.count > LIMIT || now < seen.since + WINDOW);
            if state.seen.len() >= MOST {
                return true;
            }
        }
        let seen = state
            .seen
            .entry(hasher.finish())
            .or_insert_with(|| Repetition {
                since: now,
                count: 0,
                level,
                shown: message[..message.len().min(SHOWN)].to_vec(),
            });
        if seen.count <= LIMIT && now >= seen.since + WINDOW {
            seen.since = now;
            seen.count = 0;
        }
        seen.count += 1;
        seen.count <= LIMIT
    }

    /// Ends all windows, so that all summaries are due now. The server calls this when it ends.
    pub fn end_windows(&self) {
        for seen in self.lock().seen.values_mut() {
            seen.since = seen.since.checked_sub(WINDOW).unwrap_or(seen.since);
        }
    }

    /// Returns true once within `pause` for each key.
    pub fn is_due(&self, key: &str, pause: Duration, now: Instant) -> bool {
        let mut state = self.lock();
        let due = state.keys.get(key).is_none_or(|last| now >= *last + pause);
        if due {
            state.keys.insert(key.to_owned(), now);
        }
        due
    }

    fn lock(&self) -> MutexGuard<'_, FloodState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Summaries(Arc<Guard>);

impl Late for Summaries {
    fn due(&self, now: Instant, into: &mut Vec<u8>) -> Option<Instant> {
        let mut state = self.0.lock();
        let form = self.0.form;
        for note in std::mem::take(&mut state.notes) {
            write_message(into, LogLevel::Error, form, note.as_bytes());
        }
        let mut next: Option<Instant> = None;
        state.seen.retain(|_, seen| {
            let end = seen.since + WINDOW;
            if now < end {
                if seen.count >= LIMIT {
                    next = Some(next.map_or(end, |next| next.min(end)));
                }
                return true;
            }
            if seen.count > LIMIT {
                let more = seen.count - LIMIT;
                let mut text = format!("the same {} came {more} more times: ", word(seen.level));
                text.push_str(&String::from_utf8_lossy(&seen.shown));
                write_message(into, seen.level, form, text.as_bytes());
            }
            false
        });
        next
    }
}

fn write_message(into: &mut Vec<u8>, level: LogLevel, form: Form, message: &[u8]) {
    let mut clock = form.clock();
    let time = clock.text(SystemTime::now());
    form.prefix(into, time, level, Origin::default());
    escape::message(into, message);
    into.push(b'\n');
}
