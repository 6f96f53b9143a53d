//! Computes short sleeps for a closed loop. Answers gather during a sleep, so the next wait on the
//! event queue finds several answers.
//!
//! Without sleeps, a generator that is faster than its server wakes for every answer, and a wake-up
//! costs both sides about as much as the answer. The worker therefore calls `turn` in each turn of
//! its event loop. An answer may wait for the rest of the sleep and for the turn after it. The
//! sleep is so short that this wait stays near `LATEST`. The sleep is also limited to a small part
//! of an answer's time. The worker sleeps only if the last turns predict several answers within the
//! sleep.
#![allow(unsafe_code)]

use std::time::Duration;

use crate::moment::Moment;

/// The most nanoseconds, on average, that an answer shall wait until the generator reads it.
/// Measured times do not include this wait, but the user's next request is sent that much later.
const LATEST: u64 = 40_000;
/// A sleep is at most the mean response time divided by this number, so the server always has
/// requests to work on.
const PART_OF_AN_ANSWER: u64 = 6;
/// The fewest answers that are worth a sleep.
const WORTHWHILE: u64 = 2;

/// Counts the answers of the last turns. Later turns have more weight.
#[derive(Default)]
pub struct Gathering {
    turn_ended: Moment,
    /// The end of the last sleep.
    woken: Moment,
    completed: u64,
    /// The nanoseconds of the last turns and the answers in them. Both are decaying sums in units
    /// of 1/16, so small counts do not vanish.
    time: u64,
    answers: u64,
}

impl Gathering {
    /// Notes the end of a turn. `completed` counts the answers since the start, `outstanding` the
    /// requests under way. Returns the nanoseconds to sleep before the next turn, mostly 0.
    pub fn turn(&mut self, now: Moment, completed: u64, outstanding: u64) -> u64 {
        let answered = completed - self.completed;
        let elapsed = now.since(self.turn_ended);
        let awake = now.since(self.turn_ended.max(self.woken));
        self.completed = completed;
        self.turn_ended = now;
        self.time = (self.time - self.time / 8).saturating_add(elapsed.saturating_mul(16));
        self.answers = self.answers - self.answers / 8 + answered * 16;
        if self.answers == 0 {
            return 0;
        }
        let interval = self.time / self.answers;
        let part = interval.saturating_mul(outstanding) / PART_OF_AN_ANSWER;
        // The next turn will probably be as long as this turn.
        let sleep = part.min(LATEST.saturating_sub(awake));
        if sleep >= interval.saturating_mul(WORTHWHILE) {
            sleep
        } else {
            0
        }
    }

    pub fn note_wake(&mut self, now: Moment) {
        self.woken = now;
    }
}

/// Lets the sleeps of the calling thread end on time instead of up to 50 µs later. If the kernel
/// refuses, the sleeps stay as they were.
pub fn wake_on_time() {
    // SAFETY: the call takes no pointers. The option takes one number of nanoseconds.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

pub fn sleep(nanoseconds: u64) {
    std::thread::sleep(Duration::from_nanos(nanoseconds));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sleep after a hundred equal turns that each bring `answered` of `outstanding`
    /// answers in `time`.
    fn settled(time: u64, answered: u64, outstanding: u64) -> u64 {
        let mut gathering = Gathering::default();
        let (mut now, mut completed, mut sleep) = (Moment::ZERO, 0, 0);
        for _ in 0..100 {
            now = Moment(now.0 + time);
            completed += answered;
            sleep = gathering.turn(now, completed, outstanding);
        }
        sleep
    }

    #[test]
    fn sleeps_while_answers_come_fast_and_few_at_a_time() {
        // 32 users and an answer each 6 µs: an answer takes 192 µs, and a sixth of that is 32 µs.
        let sleep = settled(6_000, 1, 32);
        assert!((31_000..=33_000).contains(&sleep), "{sleep} ns");
        // With an answer each 3 µs, an answer takes 96 µs.
        let sleep = settled(6_000, 2, 32);
        assert!((15_000..=17_000).contains(&sleep), "{sleep} ns");
    }

    #[test]
    fn a_sleep_and_the_turn_after_it_stay_within_the_bound() {
        let mut gathering = Gathering::default();
        let (mut now, mut completed) = (0, 0);
        for _ in 0..1000 {
            let sleep = gathering.turn(Moment(now), completed, 320);
            gathering.note_wake(Moment(now + sleep));
            // The server sends an answer each 3 µs, and each answer costs the client 2 µs.
            let answers = sleep.div_ceil(3_000).max(1);
            let work = 2_000 * answers;
            assert!(sleep + work <= 70_000, "{sleep} + {work} ns");
            (now, completed) = (now + sleep + work, completed + answers);
        }
    }

    #[test]
    fn does_not_sleep_without_gain_or_when_answers_would_wait_long() {
        // The answers are slow: hardly an answer would come during a sleep.
        assert_eq!(settled(25_000, 1, 32), 0);
        assert_eq!(settled(2_000_000, 4, 4), 0);
        // There are few users: the server has no queue of requests, so it would have to wait.
        assert_eq!(settled(6_000, 1, 11), 0);
        assert_eq!(settled(6_000, 1, 1), 0);
        // The turns are long without a sleep.
        assert_eq!(settled(50_000, 9, 32), 0);
        assert_eq!(settled(1_000, 0, 32), 0);
    }

    #[test]
    fn a_pause_of_the_server_ends_the_sleeps() {
        let mut gathering = Gathering::default();
        for turn in 1..100 {
            gathering.turn(Moment(turn * 6_000), turn, 32);
        }
        assert!(gathering.turn(Moment(600_000), 100, 32) > 0);
        assert_eq!(gathering.turn(Moment(2_600_000), 101, 32), 0);
    }
}
