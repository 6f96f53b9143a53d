//! Short sleeps by which a closed loop lets answers gather, so that one look at the event queue finds many.
//!
//! A generator faster than its server otherwise wakes for every answer, and a wake-up costs both sides
//! about as much as the answer itself. The worker asks once a turn. An answer is then read late by up to
//! the sleep and the turn after it; both together are meant to last `LATEST` at most, and a sleep to a small part of
//! what an answer takes. None is begun unless the last turns say that several answers will come within it.
#![allow(unsafe_code)]

use std::time::Duration;

use crate::moment::Moment;

/// Nanoseconds from an answer's coming to its reading that sleeps aim at, on average. No time holds them, but the
/// user asks again so much later.
const LATEST: u64 = 40_000;
/// A sleep is at most this part of the mean time of an answer: the server keeps enough to do meanwhile.
const PART_OF_AN_ANSWER: u64 = 6;
/// Fewer answers than these are not worth a sleep.
const WORTHWHILE: u64 = 2;

/// What the last turns brought, the latest counting most.
#[derive(Default)]
pub struct Gathering {
    turn_ended: Moment,
    /// When the last sleep was over.
    woken: Moment,
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
        // The turn to come is taken to be as long as the last.
        let sleep = part.min(LATEST.saturating_sub(awake));
        match sleep >= interval.saturating_mul(WORTHWHILE) {
            true => sleep,
            false => 0,
        }
    }

    pub fn woke(&mut self, now: Moment) {
        self.woken = now;
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
        // 32 users, an answer each 6 µs: it takes 192 µs, a sixth of which is 32 µs.
        let sleep = settled(6_000, 1, 32);
        assert!((31_000..=33_000).contains(&sleep), "{sleep} ns");
        // An answer each 3 µs takes 96 µs.
        let sleep = settled(6_000, 2, 32);
        assert!((15_000..=17_000).contains(&sleep), "{sleep} ns");
    }

    #[test]
    fn a_sleep_and_the_turn_after_it_stay_within_the_bound() {
        let mut gathering = Gathering::default();
        let (mut now, mut completed) = (0, 0);
        for _ in 0..1000 {
            let sleep = gathering.turn(Moment(now), completed, 320);
            gathering.woke(Moment(now + sleep));
            // The server ends one each 3 µs, each costs us 2 µs.
            let answers = sleep.div_ceil(3_000).max(1);
            let work = 2_000 * answers;
            assert!(sleep + work <= 70_000, "{sleep} + {work} ns");
            (now, completed) = (now + sleep + work, completed + answers);
        }
    }

    #[test]
    fn does_not_sleep_where_it_would_not_pay_or_would_show() {
        // Slow answers: hardly one would come meanwhile.
        assert_eq!(settled(25_000, 1, 32), 0);
        assert_eq!(settled(2_000_000, 4, 4), 0);
        // Few users: what one waits for comes from the server's last work, not from a queue.
        assert_eq!(settled(6_000, 1, 11), 0);
        assert_eq!(settled(6_000, 1, 1), 0);
        // The turns are long without.
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
