//! Deals the requests of a run: at random, but the same ones for the same seed.

use crate::dice::Dice;
use mehari_harness::Rung;

/// A process is rewound only while its script is asked again, so a script is asked up to this often
/// in a row.
const MOST_IN_A_ROW: usize = 50;
/// Of so many requests, the client of one leaves before it has the answer.
const ONE_LEAVES_IN: usize = 60;

/// Requests for one script in a row.
pub struct Turn {
    pub page: usize,
    pub rung: Rung,
    pub times: usize,
    /// The request whose client leaves, and whether it leaves within the request.
    pub leaves: Option<(usize, bool)>,
}

pub struct Dealer {
    dice: Dice,
    pages: usize,
    dealt: usize,
    /// How many requests there are in all; `None`: no end.
    requests: Option<usize>,
}

impl Dealer {
    /// Deals the requests after the first `skipped` ones.
    pub fn new(dice: Dice, pages: usize, skipped: usize, requests: Option<usize>) -> Dealer {
        let mut dealer = Dealer {
            dice,
            pages,
            dealt: 0,
            requests,
        };
        while dealer.dealt < skipped && dealer.deal().is_some() {}
        dealer
    }

    /// Returns the next requests. `None`: all have been dealt.
    pub fn deal(&mut self) -> Option<Turn> {
        let left = self.requests.map(|all| all.saturating_sub(self.dealt));
        if left == Some(0) {
            return None;
        }
        let page = self.dice.below(self.pages);
        let rung = [Rung::Rewind, Rung::Auto][self.dice.below(2)];
        let times = 1 + self.dice.below(MOST_IN_A_ROW);
        let leaves = (self.dice.below(ONE_LEAVES_IN), self.dice.below(2) == 0);
        let times = left.map_or(times, |left| times.min(left));
        self.dealt += times;
        Some(Turn {
            page,
            rung,
            times,
            leaves: Some(leaves).filter(|(at, _)| *at < times),
        })
    }
}
