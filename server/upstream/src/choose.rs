//! Chooses a member among those that are available, by the group's method.

use crate::hash::mix;
use crate::member::Member;
use mehari_config::Method;
use std::cell::Cell;
use std::rc::Rc;
use tokio::time::Instant;

/// Chooses a member of `fit`, which is not empty. The method `carp` hashes `key`.
pub fn choose(
    method: Method,
    fit: &[&Rc<Member>],
    key: u64,
    now: Instant,
    dice: &Dice,
) -> Rc<Member> {
    if let [only] = fit {
        return Rc::clone(only);
    }
    let chosen = match method {
        Method::Random => weighted(fit, now, dice),
        Method::RoundRobin => round_robin(fit, now),
        Method::Sqf => index_of_least(fit, dice, |member| queue(member, now)),
        Method::LeastTime => index_of_least(fit, dice, |member| queue(member, now) * time(member)),
        Method::Carp => index_of_least(fit, dice, |member| -score(member, key, now)),
    };
    Rc::clone(fit[chosen])
}

/// Returns the number of running requests if the member got this request, relative to the load
/// factor.
fn queue(member: &Member, now: Instant) -> f64 {
    (member.active_requests.get() + 1) as f64 / member.weight(now)
}

/// Returns the expected time of a member's response. A member that has never answered is preferred,
/// so that its time becomes known.
fn time(member: &Member) -> f64 {
    member.mean().max(1e-6)
}

/// Returns the score of rendezvous hashing. The score depends only on the member and the key. When
/// a member leaves, only the keys of this member move.
fn score(member: &Member, key: u64, now: Instant) -> f64 {
    let mixed = mix(key ^ member.point);
    let even = ((mixed >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    member.weight(now) / -even.ln()
}

/// Returns the index of the member with the smallest value. Among several equal members one is
/// chosen at random, so the first member is not favoured.
fn index_of_least(fit: &[&Rc<Member>], dice: &Dice, measure: impl Fn(&Member) -> f64) -> usize {
    let (mut best, mut chosen, mut equals) = (f64::INFINITY, 0, 0);
    for (index, member) in fit.iter().enumerate() {
        let measured = measure(member);
        if measured < best {
            (best, chosen, equals) = (measured, index, 1);
        } else if measured == best {
            equals += 1;
            if dice.random_below(equals) == 0 {
                chosen = index;
            }
        }
    }
    chosen
}

fn weighted(fit: &[&Rc<Member>], now: Instant, dice: &Dice) -> usize {
    let total: f64 = fit.iter().map(|member| member.weight(now)).sum();
    let mut left = dice.fraction() * total;
    for (index, member) in fit.iter().enumerate() {
        left -= member.weight(now);
        if left < 0.0 {
            return index;
        }
    }
    fit.len() - 1
}

/// Chooses members in turn. Each member earns its weight as credit. The member with the most credit
/// is chosen and pays the sum of all weights.
fn round_robin(fit: &[&Rc<Member>], now: Instant) -> usize {
    let mut total = 0.0;
    let (mut richest, mut most) = (0, f64::NEG_INFINITY);
    for (index, member) in fit.iter().enumerate() {
        let weight = member.weight(now);
        total += weight;
        let credit = member.credit.get() + weight;
        member.credit.set(credit);
        if credit > most {
            (richest, most) = (index, credit);
        }
    }
    fit[richest].credit.set(most - total);
    richest
}

/// A small random generator (xorshift64*) for choices, not for secrets.
pub struct Dice(Cell<u64>);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Cell::new(mix(seed) | 1))
    }

    fn next(&self) -> u64 {
        let mut state = self.0.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.set(state);
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from 0 to `sides` - 1.
    pub fn random_below(&self, sides: u64) -> u64 {
        self.next() % sides.max(1)
    }

    fn fraction(&self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests;
