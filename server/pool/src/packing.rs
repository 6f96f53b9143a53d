//! Decides when a team packs requests. Packing is giving a request to a busy worker although
//! another worker is idle.
//!
//! Waking more workers than there are cores makes no request finish sooner. Each wake costs two
//! system calls and two context switches, as much as a short script. While the cores are busy, a
//! request therefore goes into the mailbox of a worker that is awake. If the request ahead is slow
//! (for example, waits for a database), the take-back timer moves the packed request to another
//! worker after [`SLOW`](crate::dispatch::SLOW). A team whose packed requests are often taken back
//! stops packing.

/// The number that stands for the probability 1 in this file.
const ALWAYS: u32 = 1 << 16;
/// The number of packed requests that the average covers. Older requests weigh less.
const MEMORY: u32 = 128;
/// Above this rate of take-backs packing costs more than it saves. On busy cores some take-backs
/// are normal, because a worker may wait for its core in the middle of a short request.
const TOO_OFTEN: u32 = ALWAYS / 4;
/// A team that has stopped packing makes one trial per this many requests.
const TRIAL: u32 = 64;

/// A team's experience with packing.
#[derive(Debug, Default)]
pub(crate) struct Packing {
    /// The recent rate of take-backs per packed request, as a fraction of [`ALWAYS`].
    regrets: u32,
    /// Requests since the last trial.
    since_trial: u32,
}

impl Packing {
    /// Whether requests are packed even without a trial.
    pub fn is_packing(&self) -> bool {
        self.regrets <= TOO_OFTEN
    }

    /// Whether the next request may be packed.
    pub fn may_pack(&mut self) -> bool {
        if self.is_packing() {
            return true;
        }
        self.since_trial = (self.since_trial + 1) % TRIAL;
        self.since_trial == 0
    }

    pub fn packed(&mut self) {
        self.regrets -= self.regrets.div_ceil(MEMORY);
    }

    /// Records that a packed request was taken back.
    pub fn note_taken_back(&mut self) {
        self.regrets = (self.regrets + ALWAYS / MEMORY).min(ALWAYS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs `count` requests, of which every `nth` is taken back.
    fn after(count: u32, nth: u32) -> Packing {
        let mut packing = Packing::default();
        for number in 1..=count {
            if packing.may_pack() {
                packing.packed();
                if number % nth == 0 {
                    packing.note_taken_back();
                }
            }
        }
        packing
    }

    #[test]
    fn one_slow_request_in_a_thousand_does_not_stop_packing() {
        // Three requests wait behind the slow one.
        assert!(after(100_000, 333).is_packing());
    }

    #[test]
    fn a_team_of_slow_requests_stops_packing_soon_and_then_makes_trials() {
        let mut slow = after(60, 1);
        assert!(!slow.is_packing());
        let trials = (0..TRIAL * 10).filter(|_| slow.may_pack()).count();
        assert_eq!(trials, 10);
    }

    #[test]
    fn a_team_that_has_become_quick_packs_again() {
        let mut team = after(1_000, 1);
        for _ in 0..TRIAL * MEMORY * 8 {
            if team.may_pack() {
                team.packed();
            }
        }
        assert!(team.is_packing());
        assert_eq!(after(1, 2).regrets, 0, "no take-back has happened yet");
    }
}
