//! Runs many concurrent clients, each on its own thread, and counts failures.

use crate::client::Connection;
use crate::Answer;
use crate::{Request, PATIENCE};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

/// A load: the number of requests and of clients.
pub struct Crowd {
    pub address: SocketAddr,
    pub clients: usize,
    pub requests: usize,
    /// Whether a client sends all its requests on one connection, and not each on a new one.
    pub keep_alive: bool,
}

/// The result of a load.
#[derive(Debug, Default)]
pub struct LoadOutcome {
    pub succeeded: usize,
    /// The failures. Only the first few have a text.
    pub failures: Vec<String>,
    pub failed: usize,
    /// How often a client opened a new connection because a response had closed the old one.
    pub reopened: usize,
}

impl Crowd {
    /// Sends `request(number)` for each number and checks every response with `is_right`. A missing
    /// response is a failure: the client does not repeat the request.
    pub fn run(
        &self,
        request: impl Fn(usize) -> Request + Sync,
        is_right: impl Fn(usize, &Answer) -> bool + Sync,
    ) -> LoadOutcome {
        let next = AtomicUsize::new(0);
        let total = Mutex::new(LoadOutcome::default());
        std::thread::scope(|scope| {
            for _ in 0..self.clients {
                scope.spawn(|| {
                    let outcome = self.one_client(&next, &request, &is_right);
                    total.lock().expect("no panic under the lock").add(outcome);
                });
            }
        });
        total.into_inner().expect("no panic under the lock")
    }

    /// Repeats the load until `is_enough` returns true, for a test that does something during the
    /// load. On a fast machine the load therefore does not end too early.
    pub fn run_until(
        &self,
        is_enough: impl Fn() -> bool,
        request: impl Fn(usize) -> Request + Sync,
        is_right: impl Fn(usize, &Answer) -> bool + Sync,
    ) -> LoadOutcome {
        let mut total = self.run(&request, &is_right);
        let deadline = Instant::now() + PATIENCE;
        while !is_enough() && Instant::now() < deadline {
            total.add(self.run(&request, &is_right));
        }
        total
    }

    fn one_client(
        &self,
        next: &AtomicUsize,
        request: &(impl Fn(usize) -> Request + Sync),
        is_right: &(impl Fn(usize, &Answer) -> bool + Sync),
    ) -> LoadOutcome {
        let mut outcome = LoadOutcome::default();
        let mut connection: Option<Connection> = None;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.requests {
                return outcome;
            }
            let mut request = request(number);
            if !self.keep_alive {
                request = request.closing();
            }
            let open = match connection.take() {
                Some(open) => Ok(open),
                None => Connection::try_open(self.address),
            };
            let answer = open.and_then(|mut open| {
                let answer = open.send(&request)?;
                let closes = answer
                    .field("connection")
                    .is_some_and(|value| value.eq_ignore_ascii_case("close"));
                if !closes && self.keep_alive {
                    connection = Some(open);
                } else if self.keep_alive {
                    outcome.reopened += 1;
                }
                Ok(answer)
            });
            match answer {
                Ok(answer) if answer.complete && is_right(number, &answer) => {
                    outcome.succeeded += 1
                }
                Ok(answer) => outcome.fail(format!(
                    "{} {}: {} complete={} {}",
                    request.method,
                    request.target,
                    answer.status,
                    answer.complete,
                    answer.text().chars().take(200).collect::<String>()
                )),
                Err(error) => {
                    outcome.fail(format!("{} {}: {error}", request.method, request.target))
                }
            }
        }
    }
}

impl LoadOutcome {
    fn fail(&mut self, why: String) {
        self.failed += 1;
        if self.failures.len() < 10 {
            self.failures.push(why);
        }
    }

    fn add(&mut self, other: LoadOutcome) {
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.reopened += other.reopened;
        self.failures.extend(other.failures);
        self.failures.truncate(10);
    }
}
