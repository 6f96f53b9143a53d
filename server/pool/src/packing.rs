//! Whether a request goes behind one that a worker runs although another worker is idle.
//!
//! More workers awake than there are cores run nothing sooner: waking one more costs two system calls and two changes of
//! context, as much as a short script itself. So once the cores are busy a request goes into the mailbox of a worker that is awake
//! anyway. That was wrong where the request ahead is slow (it waits for a database, say): the take-back timer mends it
//! after [`SLOW`](crate::dispatch::SLOW), and a team for which it is wrong often stops.

/// One in probability, in the units below.
const ALWAYS: u32 = 1 << 16;
/// The last so many requests are remembered, the older the less.
const MEMORY: u32 = 128;
/// Taken back more often than this, packing does not pay. Where the cores are full, a few always are: their worker
/// has to wait for its core in the middle of a short request.
const TOO_OFTEN: u32 = ALWAYS / 4;
/// So rarely a team that stopped tries again: how else would it know.
const TRIAL: u32 = 64;

/// What a team has learned about packing.
#[derive(Debug, Default)]
pub(crate) struct Packing {
    /// How many take-backs there were of late for a packed request; of [`ALWAYS`].
    regrets: u32,
    /// Requests since the last trial.
    since_trial: u32,
}

impl Packing {
    /// Whether requests are packed; the trials do not count.
    pub fn is_on(&self) -> bool {
        self.regrets <= TOO_OFTEN
    }

    /// Whether the next request may be packed.
    pub fn allows(&mut self) -> bool {
        if self.is_on() {
            return true;
        }
        self.since_trial = (self.since_trial + 1) % TRIAL;
        self.since_trial == 0
    }

    pub fn packed(&mut self) {
        self.regrets -= self.regrets.div_ceil(MEMORY);
    }

    /// What was packed behind a request had to be taken back.
    pub fn regret(&mut self) {
        self.regrets = (self.regrets + ALWAYS / MEMORY).min(ALWAYS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs `count` requests, every `nth` of which is taken back.
    fn after(count: u32, nth: u32) -> Packing {
        let mut packing = Packing::default();
        for number in 1..=count {
            if packing.allows() {
                packing.packed();
                if number % nth == 0 {
                    packing.regret();
                }
            }
        }
        packing
    }

    #[test]
    fn a_request_in_a_thousand_that_is_slow_changes_nothing() {
        // Three wait behind it.
        assert!(after(100_000, 333).is_on());
    }

    #[test]
    fn a_team_of_slow_requests_stops_soon_and_tries_now_and_then() {
        let mut slow = after(60, 1);
        assert!(!slow.is_on());
        let trials = (0..TRIAL * 10).filter(|_| slow.allows()).count();
        assert_eq!(trials, 10);
    }

    #[test]
    fn a_team_that_has_become_quick_begins_again() {
        let mut team = after(1_000, 1);
        for _ in 0..TRIAL * MEMORY * 8 {
            if team.allows() {
                team.packed();
            }
        }
        assert!(team.is_on());
        assert_eq!(after(1, 2).regrets, 0, "nothing to regret at the begin");
    }
}
