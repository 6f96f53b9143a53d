//! What a program under test writes, collected line by line while it runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The lines of one stream. Cheap to clone; every clone sees the same lines.
#[derive(Clone, Default)]
pub struct Log(Arc<(Mutex<Vec<String>>, Condvar)>);

impl Log {
    /// Collects from `stream` until its end, on a thread of its own.
    pub fn follow(stream: impl Read + Send + 'static) -> Log {
        let log = Log::default();
        let writer = log.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line);
                writer.push(text.trim_end_matches('\n').to_owned());
                line.clear();
            }
        });
        log
    }

    fn push(&self, line: String) {
        let (lines, arrived) = &*self.0;
        lines.lock().expect("no panic under the lock").push(line);
        arrived.notify_all();
    }

    pub fn lines(&self) -> Vec<String> {
        self.0 .0.lock().expect("no panic under the lock").clone()
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// How many lines have `words` in them.
    pub fn count(&self, words: &str) -> usize {
        self.lines()
            .iter()
            .filter(|line| line.contains(words))
            .count()
    }

    /// Waits for a line that `fits`; `None` after `patience`.
    pub fn wait_for(
        &self,
        patience: Duration,
        mut fits: impl FnMut(&str) -> bool,
    ) -> Option<String> {
        let deadline = Instant::now() + patience;
        let (lines, arrived) = &*self.0;
        let mut seen = 0;
        let mut held = lines.lock().expect("no panic under the lock");
        loop {
            if let Some(line) = held[seen..].iter().find(|line| fits(line)) {
                return Some(line.clone());
            }
            seen = held.len();
            let left = deadline.checked_duration_since(Instant::now())?;
            held = arrived
                .wait_timeout(held, left)
                .expect("no panic under the lock")
                .0;
        }
    }

    /// Waits for a line with `words` in it, or fails the test with the whole log.
    #[track_caller]
    pub fn expect(&self, words: &str) -> String {
        match self.wait_for(crate::PATIENCE, |line| line.contains(words)) {
            Some(line) => line,
            None => panic!("no line of the log has {words:?}:\n{}", self.text()),
        }
    }
}
