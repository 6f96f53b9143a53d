//! Holds one back end: its limits, its recent failures, and its idle connections.

use crate::connection::Connection;
use crate::trust::{BackEndTls, Trust};
use crate::Fault;
use mehari_config::{BackEnd, BackEndAddress, Standing};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The pause after the first failure. Each further failure doubles the pause, up to `retry=`.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The share of its load factor with which a member starts after it has come back.
const SLOWEST: f64 = 0.05;
/// The weight of the newest request in the mean response time.
const FRESH: f64 = 0.1;

pub struct Member {
    pub name: String,
    /// The hash of the member's name.
    pub(crate) point: u64,
    settings: RefCell<Rc<BackEnd>>,
    /// The real address. For a program it is the program's socket, which is not in the
    /// configuration.
    pub(crate) address: RefCell<BackEndAddress>,
    /// The TLS settings for connections to this member.
    tls: RefCell<Option<BackEndTls>>,
    pub(crate) active_requests: Cell<usize>,
    idle: RefCell<Vec<Connection>>,
    /// The number of failures since the last response.
    failures: Cell<u32>,
    down_until: Cell<Instant>,
    /// Whether a request is testing if the member is back.
    pub(crate) probing: Cell<bool>,
    /// Whether the health checks have found the member unwell.
    pub(crate) unwell: Cell<bool>,
    /// The number of health checks in a row that contradict `unwell`.
    pub(crate) row: Cell<u32>,
    back_since: Cell<Option<Instant>>,
    /// Whether the member gets no new requests. The control socket sets this.
    pub(crate) drained: Cell<bool>,
    /// The mean time to the head of a response, in seconds. 0 before the first response.
    mean: Cell<f64>,
    /// The member's credit for the method that chooses members in turn.
    pub(crate) credit: Cell<f64>,
    pub(crate) requests: Cell<u64>,
    pub(crate) failed: Cell<u64>,
    pub(crate) connections: Cell<u64>,
}

impl Member {
    pub fn new(settings: BackEnd) -> Member {
        let name = settings.name();
        Member {
            point: crate::hash::hash(name.as_bytes()),
            name,
            address: RefCell::new(settings.address.clone()),
            settings: RefCell::new(Rc::new(settings)),
            tls: RefCell::default(),
            active_requests: Cell::new(0),
            idle: RefCell::default(),
            failures: Cell::new(0),
            down_until: Cell::new(Instant::now()),
            probing: Cell::new(false),
            unwell: Cell::new(false),
            row: Cell::new(0),
            back_since: Cell::new(None),
            drained: Cell::new(false),
            mean: Cell::new(0.0),
            credit: Cell::new(0.0),
            requests: Cell::new(0),
            failed: Cell::new(0),
            connections: Cell::new(0),
        }
    }

    pub fn settings(&self) -> Rc<BackEnd> {
        self.settings.borrow().clone()
    }

    /// Returns the TLS settings for a connection, or `None` for clear text. An `https://` member
    /// never uses clear text.
    pub(crate) fn tls(&self) -> Result<Option<BackEndTls>, Fault> {
        match &*self.tls.borrow() {
            None if self.settings.borrow().secure => Err(Fault::Untrusted("nothing says by whom")),
            tls => Ok(tls.clone()),
        }
    }

    pub(crate) fn trust(&self, trust: &Option<Trust>) {
        let settings = self.settings();
        if !settings.secure {
            return;
        }
        // The certificate of an old connection may no longer be trusted.
        self.close_idle();
        let tls = trust.as_ref();
        self.tls.replace(tls.and_then(|trust| trust.tls(&settings)));
    }

    /// Takes over a new configuration of the same back end and keeps its state.
    pub(crate) fn reconfigure(&self, settings: BackEnd) {
        self.settings.replace(Rc::new(settings));
    }

    /// Returns whether the member normally gets requests.
    pub(crate) fn standing(&self) -> Standing {
        if self.drained.get() {
            Standing::Draining
        } else {
            self.settings.borrow().standing
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        let max = self.settings.borrow().max;
        max == 0 || self.active_requests.get() < max
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.failures.get() > 0
    }

    /// Returns whether the member is up as far as is known, or due for a test. Only one request
    /// makes the test.
    pub(crate) fn is_up(&self, now: Instant) -> bool {
        let due = || now >= self.down_until.get() && !self.probing.get();
        !self.unwell.get() && (!self.is_failing() || due())
    }

    /// Returns the time until the next test.
    pub(crate) fn time_to_next_test(&self, now: Instant) -> Duration {
        self.down_until.get().saturating_duration_since(now)
    }

    /// Returns the load factor, which is reduced during a slow start.
    pub(crate) fn weight(&self, now: Instant) -> f64 {
        let settings = self.settings.borrow();
        let Some(since) = self.back_since.get() else {
            return settings.weight;
        };
        let part = (now - since).as_secs_f64() / settings.slow_start.as_secs_f64();
        if part >= 1.0 {
            self.back_since.set(None);
            return settings.weight;
        }
        settings.weight * part.max(SLOWEST)
    }

    /// Returns the expected seconds to a response if no other request runs.
    pub(crate) fn mean(&self) -> f64 {
        self.mean.get()
    }

    pub(crate) fn answered(&self, took: Duration) {
        let (took, mean) = (took.as_secs_f64(), self.mean.get());
        self.mean.set(if mean == 0.0 {
            took
        } else {
            mean + FRESH * (took - mean)
        });
    }

    /// Notes that the member works. Returns true if the member did not work before.
    pub(crate) fn note_success(&self) -> bool {
        let came = self.failures.replace(0) > 0;
        if came {
            self.start_slowly();
        }
        came
    }

    /// Notes that the member passes its health check after a failure, or for the first time.
    pub(crate) fn note_health(&self) {
        self.unwell.set(false);
        self.start_slowly();
    }

    fn start_slowly(&self) {
        if !self.settings.borrow().slow_start.is_zero() {
            self.back_since.set(Some(Instant::now()));
        }
    }

    /// Avoids the member for a while. Returns the length of this pause. Many simultaneous failures
    /// count as one failure.
    pub(crate) fn note_failure(&self) -> Option<Duration> {
        let failures = self.failures.get().min(16);
        self.avoid(FIRST_PAUSE.saturating_mul(1 << failures))
    }

    /// Avoids the member for the time of `retry=`.
    pub(crate) fn note_refusal(&self) -> Option<Duration> {
        self.avoid(Duration::MAX)
    }

    fn avoid(&self, pause: Duration) -> Option<Duration> {
        let retry = self.settings.borrow().retry;
        let now = Instant::now();
        self.failed.set(self.failed.get() + 1);
        if retry.is_zero() || (self.is_failing() && now < self.down_until.get()) {
            return None;
        }
        self.failures.set(self.failures.get() + 1);
        let pause = pause.min(retry);
        self.down_until.set(now + pause);
        self.idle.borrow_mut().clear();
        Some(pause)
    }

    /// Returns the most recently used idle connection that is still open.
    pub(crate) fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(mut connection) = idle.pop() {
            if !connection.is_stale() {
                return Some(connection);
            }
        }
        None
    }

    pub(crate) fn keep_idle(&self, mut connection: Connection, now: Instant) {
        let settings = self.settings.borrow();
        let mut idle = self.idle.borrow_mut();
        if settings.reuse && idle.len() < settings.idle && !self.is_failing() {
            connection.rest(now);
            idle.push(connection);
        }
    }

    /// Closes connections that have been idle too long or that the back end has closed.
    pub(crate) fn sweep(&self, now: Instant) {
        let longest = self.settings.borrow().idle_time;
        let mut idle = self.idle.borrow_mut();
        idle.retain_mut(|one| now - one.idle_since < longest && !one.is_stale());
    }

    pub(crate) fn idle(&self) -> usize {
        self.idle.borrow().len()
    }

    pub(crate) fn close_idle(&self) {
        self.idle.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::Speech;

    fn member(change: impl FnOnce(&mut BackEnd)) -> Member {
        let address = BackEndAddress::Tcp("127.0.0.1".into(), 8080);
        let mut settings = BackEnd::new(Speech::Http, address, "localhost".into());
        change(&mut settings);
        Member::new(settings)
    }

    #[test]
    fn simultaneous_failures_count_once_and_pauses_grow_up_to_the_limit() {
        let member = member(|settings| settings.retry = Duration::from_millis(300));
        let mut pauses = Vec::new();
        for _ in 0..4 {
            pauses.extend(member.note_failure());
            assert_eq!(member.note_failure(), None, "it is down already");
            assert!(!member.is_up(Instant::now()));
            member.down_until.set(Instant::now());
            assert!(member.is_up(Instant::now()), "it may be tried");
        }
        let expected = [100, 200, 300, 300].map(Duration::from_millis);
        assert_eq!(pauses, expected);
        assert!(member.note_success());
        assert!(!member.note_success(), "it was back already");
        assert_eq!(member.note_failure(), Some(FIRST_PAUSE));
    }

    #[test]
    fn a_member_with_retry_zero_is_never_avoided() {
        let member = member(|settings| settings.retry = Duration::ZERO);
        assert_eq!(member.note_failure(), None);
        assert!(member.is_up(Instant::now()));
    }

    #[test]
    fn only_one_request_tests_a_failed_member() {
        let member = member(|_| {});
        member.note_failure();
        member.down_until.set(Instant::now());
        member.probing.set(true);
        assert!(!member.is_up(Instant::now()));
    }

    #[test]
    fn a_member_that_was_unwell_at_first_starts_slowly() {
        let member = member(|settings| settings.slow_start = Duration::from_secs(10));
        member.unwell.set(true);
        member.note_health();
        let back = member.back_since.get().expect("it starts slowly");
        assert!(member.weight(back + Duration::from_secs(5)) < 1.0);
        assert!(member.is_up(back));
    }

    #[test]
    fn a_returned_member_gets_its_share_gradually() {
        let member = member(|settings| {
            settings.weight = 2.0;
            settings.slow_start = Duration::from_secs(10);
        });
        let now = Instant::now();
        assert_eq!(member.weight(now), 2.0, "it was never away");
        member.note_failure();
        member.note_success();
        let back = member.back_since.get().expect("it starts slowly");
        for (seconds, expected) in [(0.0, 2.0 * SLOWEST), (2.5, 0.5), (5.0, 1.0), (10.0, 2.0)] {
            let weight = member.weight(back + Duration::from_secs_f64(seconds));
            assert!(
                (weight - expected).abs() < 1e-6,
                "after {seconds} s: {weight}"
            );
        }
        assert_eq!(member.back_since.get(), None, "it has started");
    }
}
