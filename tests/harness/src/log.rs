//! Collects the output of a program under test line by line.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The lines of one stream. A clone costs little, and all clones see the same lines.
#[derive(Clone, Default)]
pub struct Log(Arc<(Mutex<Written>, Condvar)>);

#[derive(Default)]
struct Written {
    lines: Vec<String>,
    ended: bool,
}

impl Log {
    /// Collects the lines of `stream` until its end, on a thread of its own.
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
            writer.change(|written| written.ended = true);
        });
        log
    }

    fn push(&self, line: String) {
        self.change(|written| written.lines.push(line));
    }

    fn change(&self, change: impl FnOnce(&mut Written)) {
        let (written, changed) = &*self.0;
        change(&mut written.lock().expect("no panic under the lock"));
        changed.notify_all();
    }

    /// Waits until no process can write to the stream any more and all lines have arrived, but at
    /// most `patience`.
    pub fn wait_for_end(&self, patience: Duration) {
        let (written, changed) = &*self.0;
        let held = written.lock().expect("no panic under the lock");
        drop(changed.wait_timeout_while(held, patience, |written| !written.ended));
    }

    pub fn lines(&self) -> Vec<String> {
        let written = self.0 .0.lock().expect("no panic under the lock");
        written.lines.clone()
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Returns the number of lines that contain `words`.
    pub fn count(&self, words: &str) -> usize {
        let written = self.0 .0.lock().expect("no panic under the lock");
        let lines = written.lines.iter();
        lines.filter(|line| line.contains(words)).count()
    }

    /// Waits for a line for which `fits` returns true. Returns `None` after `patience`.
    pub fn wait_for(
        &self,
        patience: Duration,
        mut fits: impl FnMut(&str) -> bool,
    ) -> Option<String> {
        let deadline = Instant::now() + patience;
        let (written, changed) = &*self.0;
        let mut seen = 0;
        let mut held = written.lock().expect("no panic under the lock");
        loop {
            if let Some(line) = held.lines[seen..].iter().find(|line| fits(line)) {
                return Some(line.clone());
            }
            seen = held.lines.len();
            let left = deadline.checked_duration_since(Instant::now())?;
            held = changed
                .wait_timeout(held, left)
                .expect("no panic under the lock")
                .0;
        }
    }

    /// Waits for a line that contains `words`. If there is none, fails the test and prints the
    /// whole log.
    #[track_caller]
    pub fn expect(&self, words: &str) -> String {
        match self.wait_for(crate::PATIENCE, |line| line.contains(words)) {
            Some(line) => line,
            None => panic!("no line of the log has {words:?}:\n{}", self.text()),
        }
    }
}
