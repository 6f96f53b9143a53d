//! Supplies a thread's arrivals: decides when the next arrival starts, which request it sends, and
//! when the plan ends.

use crate::arrivals::{planned_end, Timetable};
use crate::moment::Moment;
use crate::plan::{Pick, Plan};
use crate::random::Random;

use super::quota;
use super::worker::Share;

pub struct Supply {
    timetable: Option<Timetable>,
    /// The intended start of the open loop's next arrival; `NEVER` after the last arrival.
    next: Moment,
    closed_over: bool,
    warm_up: Moment,
    /// No arrival is planned at or after this moment.
    end: Moment,
    quota: quota::Share,
    picker: Picker,
}

impl Supply {
    pub fn new(plan: &Plan, share: Share, quota: quota::Share) -> Supply {
        let warm_up = Moment::ZERO.after(plan.warm_up);
        let weights: Vec<u32> = if plan.sessions.is_empty() {
            plan.requests.iter().map(|request| request.weight).collect()
        } else {
            plan.sessions.iter().map(|session| session.weight).collect()
        };
        let mut supply = Supply {
            timetable: Timetable::new(&plan.schedule, plan.seed, share.thread, share.threads),
            next: Moment::NEVER,
            closed_over: false,
            warm_up,
            end: planned_end(plan),
            quota,
            picker: Picker::new(&weights, plan.pick, plan.seed, share),
        };
        supply.move_on();
        supply
    }

    pub fn is_open(&self) -> bool {
        self.timetable.is_some()
    }

    /// Returns the intended start of the open loop's next arrival; `NEVER` if there is none.
    pub fn next_open(&self) -> Moment {
        self.next
    }

    /// Takes the open loop's next arrival.
    pub fn take_open(&mut self) -> Moment {
        let taken = self.next;
        self.move_on();
        taken
    }

    fn move_on(&mut self) {
        let next = self
            .timetable
            .as_mut()
            .and_then(Iterator::next)
            .filter(|next| *next < self.end);
        self.next = match next {
            Some(next) if next < self.warm_up || self.quota.claim_dealt() => next,
            _ => Moment::NEVER,
        };
    }

    /// Claims an arrival for a user of the closed loop. Returns false if the plan is over.
    pub fn take_closed(&mut self, now: Moment) -> bool {
        self.closed_over |= now >= self.end || (now >= self.warm_up && !self.quota.claim());
        !self.closed_over
    }

    /// Returns whether nothing further will be planned. Planned arrivals may still wait for a
    /// connection.
    pub fn is_over(&self, now: Moment) -> bool {
        now >= self.end
            || if self.is_open() {
                self.is_empty()
            } else {
                self.closed_over
            }
    }

    /// Returns whether no planned arrival waits.
    pub fn is_empty(&self) -> bool {
        if self.is_open() {
            self.next == Moment::NEVER
        } else {
            true
        }
    }

    pub fn measures(&self, intended: Moment) -> bool {
        intended >= self.warm_up
    }

    /// Returns the time at which the stop rule or the stages end the plan; `NEVER` without such a
    /// time.
    pub fn end(&self) -> Moment {
        self.end
    }

    /// Chooses the next request or session, and returns its index.
    pub fn pick(&mut self) -> usize {
        self.picker.pick()
    }
}

struct Picker {
    /// Running sums of the weights.
    sums: Vec<u64>,
    random: Option<Random>,
    next: usize,
    stride: usize,
}

impl Picker {
    fn new(weights: &[u32], pick: Pick, seed: u64, share: Share) -> Picker {
        let sums = weights
            .iter()
            .scan(0, |sum, weight| {
                *sum += u64::from(*weight);
                Some(*sum)
            })
            .collect();
        let own_seed = seed ^ (share.thread as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Picker {
            sums,
            random: (pick == Pick::Random).then(|| Random::new(own_seed)),
            next: share.thread,
            stride: share.threads,
        }
    }

    fn pick(&mut self) -> usize {
        let count = self.sums.len();
        if count == 1 {
            return 0;
        }
        match &mut self.random {
            Some(random) => {
                let point = random.below(self.sums[count - 1]);
                self.sums.partition_point(|sum| *sum <= point)
            }
            None => {
                let picked = self.next % count;
                self.next += self.stride;
                picked
            }
        }
    }
}
