//! Keeps the front's time: a `Date` line made once per second, and a coarse tick for deadlines.
//!
//! Only the sweep of the module `deadline` advances the tick, so arming a deadline costs no system
//! call.

use http::HeaderValue;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub struct Clock {
    start: Instant,
    tick: Cell<Duration>,
    /// The second that the date line names: its beginning and its end.
    second: Cell<(SystemTime, SystemTime)>,
    date: RefCell<[u8; DATE_LINE]>,
    value: RefCell<(u64, HeaderValue)>,
}

/// The length of a line such as `Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n`.
const DATE_LINE: usize = 37;

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            start: Instant::now(),
            tick: Cell::new(Duration::ZERO),
            second: Cell::new((UNIX_EPOCH, UNIX_EPOCH)),
            date: RefCell::new([0; DATE_LINE]),
            value: RefCell::new((u64::MAX, HeaderValue::from_static(""))),
        }
    }

    /// Returns the time from the front's start to the last sweep.
    #[inline]
    pub fn tick(&self) -> Duration {
        self.tick.get()
    }

    pub fn advance(&self) {
        self.tick.set(self.start.elapsed());
    }

    /// Returns the value of the field `Date`, for HTTP/2.
    pub fn date(&self, now: SystemTime) -> HeaderValue {
        let second = seconds(now);
        let mut known = self.value.borrow_mut();
        if known.0 != second {
            let text = httpdate::fmt_http_date(now);
            // This cannot fail, because a date is ASCII.
            let value = HeaderValue::try_from(text);
            *known = (second, value.unwrap_or(HeaderValue::from_static("")));
        }
        known.1.clone()
    }

    /// Appends the `Date` line of `now`.
    pub fn push_date(&self, now: SystemTime, into: &mut Vec<u8>) {
        let (from, until) = self.second.get();
        if now < from || until <= now {
            self.second.set(second_of(now));
            let text = format!("Date: {}\r\n", httpdate::fmt_http_date(now));
            self.date.borrow_mut().copy_from_slice(text.as_bytes());
        }
        into.extend_from_slice(&*self.date.borrow());
    }
}

/// Returns the beginning and the end of the second in which `time` lies.
fn second_of(time: SystemTime) -> (SystemTime, SystemTime) {
    let from = UNIX_EPOCH + Duration::from_secs(seconds(time));
    (from, from + Duration::from_secs(1))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_changes_with_each_second() {
        let clock = Clock::new();
        let mut lines = Vec::new();
        for second in [784_111_777, 784_111_777, 784_111_778] {
            clock.push_date(UNIX_EPOCH + Duration::from_secs(second), &mut lines);
        }
        let expected = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".repeat(2)
            + "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n";
        assert_eq!(String::from_utf8(lines).expect("ASCII"), expected);
    }
}
