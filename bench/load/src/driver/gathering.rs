//! Short sleeps by which a closed loop lets answers gather, so that one look at the event queue finds many.
//!
//! A generator faster than its server otherwise wakes for every answer, and a wake-up costs both sides
//! about as much as the answer itself. The worker asks once a turn. A sleep makes readings late by up to
//! its length; so it is at most `LONGEST`, a small part of what an answer takes, and not begun unless the
//! last turns say that several answers will come within it.
#![allow(unsafe_code)]

use std::time::Duration;

use crate::moment::Moment;

/// Less than half of the 50 µs within which figures are to be true.
const LONGEST: u64 = 20_000;
/// A sleep is at most this part of the mean time of an answer: the server keeps enough to do meanwhile.
const PART_OF_AN_ANSWER: u64 = 8;
/// Fewer answers than these are not worth a sleep.
const WORTHWHILE: u64 = 2;
/// A turn with more than this part of all answers outstanding has enough to do without.
const PART_OF_A_TURN: u64 = 4;

/// What the last turns brought, the latest counting most.
#[derive(Default)]
pub struct Gathering {
    turn_begun: Moment,
    completed: u64,
    /// Decaying sums, in sixteenths lest small counts vanish: nanoseconds, and answers within them.
    time: u64,
    answers: u64,
}

impl Gathering {
    /// A turn is over with so many answers completed since the start and so many outstanding; answers
    /// the nanoseconds to sleep before the next, mostly none.
    pub fn turn(&mut self, now: Moment, completed: u64, outstanding: u64) -> u64 {
        let answered = completed - self.completed;
        let elapsed = now.since(self.turn_begun);
        self.completed = completed;
        self.turn_begun = now;
        self.time = (self.time - self.time / 8).saturating_add(elapsed.saturating_mul(16));
        self.answers = self.answers - self.answers / 8 + answered * 16;
        if self.answers == 0 || answered > outstanding / PART_OF_A_TURN {
            return 0;
        }
        let interval = self.time / self.answers;
        let sleep = (interval.saturating_mul(outstanding) / PART_OF_AN_ANSWER).min(LONGEST);
        match sleep >= interval.saturating_mul(WORTHWHILE) {
            true => sleep,
            false => 0,
        }
    }
}

/// Lets the calling thread's sleeps end when they should, not up to 50 µs later. Where that is refused
/// they end as they did.
pub fn wake_on_time() {
    // SAFETY: no pointers; this option takes one number, nanoseconds.
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

    /// The sleeps after a hundred equal turns that bring `answered` of `outstanding` answers in `time`.
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
        // 32 users, an answer each 6 µs: it takes 192 µs, an eighth of which would be 24 µs.
        assert_eq!(settled(6_000, 1, 32), LONGEST);
        // An answer each 3 µs takes 96 µs.
        let sleep = settled(6_000, 2, 32);
        assert!((11_000..=13_000).contains(&sleep), "{sleep} ns");
    }

    #[test]
    fn does_not_sleep_where_it_would_not_pay_or_would_show() {
        // Slow answers: hardly one would come meanwhile.
        assert_eq!(settled(15_000, 1, 32), 0);
        assert_eq!(settled(2_000_000, 4, 4), 0);
        // Few users: what one waits for comes from the server's last work, not from a queue.
        assert_eq!(settled(6_000, 1, 15), 0);
        assert_eq!(settled(6_000, 1, 1), 0);
        // The turns are full without.
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
