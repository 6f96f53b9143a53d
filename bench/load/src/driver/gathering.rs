//! Short sleeps by which a closed loop lets answers gather, so that one wait on the event queue
//! finds several answers.
//!
//! A generator that is faster than its server wakes for every answer, and a wake-up costs both
//! sides about as much as the answer. The worker therefore calls this module once per turn. A sleep
//! delays the reading of an answer by up to the sleep and the next turn. Both together aim at
//! `LATEST` at most, and a sleep at a small part of an answer's time. The worker sleeps only if the
//! last turns predict several answers within the sleep.
#![allow(unsafe_code)]

use std::time::Duration;

use crate::moment::Moment;

/// The mean time in nanoseconds between an answer's arrival and its reading that sleeps aim at.
/// Measured times do not include this delay, but the user's next request is sent that much later.
const LATEST: u64 = 40_000;
/// The mean time of an answer divided by this number limits a sleep, so that the server keeps
/// enough to do.
const PART_OF_AN_ANSWER: u64 = 6;
/// A sleep that gathers fewer answers is not worth its cost.
const WORTHWHILE: u64 = 2;

/// The answers of the last turns, with the latest turns weighted most.
#[derive(Default)]
pub struct Gathering {
    turn_ended: Moment,
    /// The end of the last sleep.
    woken: Moment,
    completed: u64,
    /// Decaying sums in sixteenths, so that small counts do not vanish: nanoseconds, and the
    /// answers within them.
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
        // The next turn is assumed to be as long as the last.
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
    fn does_not_sleep_where_it_would_not_pay_or_would_show() {
        // Slow answers: hardly one of them would come during a sleep.
        assert_eq!(settled(25_000, 1, 32), 0);
        assert_eq!(settled(2_000_000, 4, 4), 0);
        // Few users: the answers come from the server's last work, not from a queue.
        assert_eq!(settled(6_000, 1, 11), 0);
        assert_eq!(settled(6_000, 1, 1), 0);
        // The turns are long without a sleep.
        assert_eq!(settled(50_000, 9, 32), 0);
        assert_eq!(settled(1_000, 0, 32), 0);
    }

    #[test]
    fn a_pause_of_the_server_ends_it() {
        let mut gathering = Gathering::default();
        for turn in 1..100 {
            gathering.turn(Moment(turn * 6_000), turn, 32);
        }
        assert!(gathering.turn(Moment(600_000), 100, 32) > 0);
        assert_eq!(gathering.turn(Moment(2_600_000), 101, 32), 0);
    }
}
