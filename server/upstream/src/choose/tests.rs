use super::*;
use crate::hash::hash;
use mehari_config::{BackEnd, BackEndAddress, Speech};
use std::time::Duration;

fn members(weights: &[f64]) -> Vec<Rc<Member>> {
    let member = |(index, weight): (usize, &f64)| {
        let address = BackEndAddress::Tcp("127.0.0.1".into(), 8000 + index as u16);
        Rc::new(Member::new(BackEnd {
            weight: *weight,
            ..BackEnd::new(Speech::Http, address, "localhost".into())
        }))
    };
    weights.iter().enumerate().map(member).collect()
}

/// Returns how often each member is chosen by `count` requests with different keys.
fn shares(method: Method, members: &[Rc<Member>], count: usize) -> Vec<f64> {
    let (now, dice) = (Instant::now(), Dice::new(7));
    let fit: Vec<&Rc<Member>> = members.iter().collect();
    let mut chosen = vec![0; members.len()];
    for number in 0..count {
        let key = hash(format!("/page/{number}").as_bytes());
        let member = choose(method, &fit, key, now, &dice);
        let index = members.iter().position(|one| Rc::ptr_eq(one, &member));
        chosen[index.expect("one of them")] += 1;
    }
    chosen
        .iter()
        .map(|&times| times as f64 / count as f64)
        .collect()
}

#[test]
fn every_method_follows_the_load_factors_when_idle() {
    for method in [Method::Random, Method::RoundRobin, Method::Carp] {
        for weights in [&[1.0, 1.0, 1.0][..], &[1.0; 5], &[1.0; 8], &[1.0, 2.0, 5.0]] {
            let total: f64 = weights.iter().sum();
            for (share, weight) in shares(method, &members(weights), 100_000)
                .iter()
                .zip(weights)
            {
                let expected = weight / total;
                let off = (share - expected).abs() / expected;
                assert!(
                    off < 0.05,
                    "{method:?} {weights:?}: {share} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn removing_a_member_moves_only_its_own_keys() {
    let all = members(&[1.0; 5]);
    let (now, dice) = (Instant::now(), Dice::new(7));
    let five: Vec<&Rc<Member>> = all.iter().collect();
    for number in 0..20_000 {
        let key = hash(format!("/page/{number}").as_bytes());
        let before = choose(Method::Carp, &five, key, now, &dice);
        let after = choose(Method::Carp, &five[..4], key, now, &dice);
        assert!(Rc::ptr_eq(&before, &after) || Rc::ptr_eq(&before, &all[4]));
    }
}

#[test]
fn the_shortest_queue_is_relative_to_the_load_factor() {
    let all = members(&[1.0, 2.0, 1.0]);
    for (active_requests, expected) in [([3, 3, 2], 1), ([0, 2, 1], 0), ([4, 9, 3], 2)] {
        for (member, count) in all.iter().zip(active_requests) {
            member.active_requests.set(count);
        }
        let fit: Vec<&Rc<Member>> = all.iter().collect();
        let chosen = choose(Method::Sqf, &fit, 0, Instant::now(), &Dice::new(1));
        assert!(
            Rc::ptr_eq(&chosen, &all[expected]),
            "{active_requests:?}: {}",
            chosen.name
        );
    }
}

#[test]
fn equal_queues_are_chosen_equally_often() {
    let shares = shares(Method::Sqf, &members(&[1.0; 4]), 40_000);
    assert!(
        shares.iter().all(|share| (share - 0.25).abs() < 0.02),
        "{shares:?}"
    );
}

#[test]
fn least_time_multiplies_running_requests_by_response_time() {
    let all = members(&[1.0, 1.0]);
    all[0].answered(Duration::from_millis(10));
    all[1].answered(Duration::from_millis(23));
    let fit: Vec<&Rc<Member>> = all.iter().collect();
    for (active_requests, expected) in [([0, 0], 0), ([1, 0], 0), ([2, 0], 1), ([2, 1], 0)] {
        all[0].active_requests.set(active_requests[0]);
        all[1].active_requests.set(active_requests[1]);
        let chosen = choose(Method::LeastTime, &fit, 0, Instant::now(), &Dice::new(1));
        assert!(Rc::ptr_eq(&chosen, &all[expected]), "{active_requests:?}");
    }
}
