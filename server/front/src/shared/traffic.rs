//! Applies traffic rules: decides which requests continue, wait, or are refused for now.
//!
//! The pipeline evaluates the rules after routing. Requests for a place without rules are not
//! counted.

use mehari_config::{RateRule, RuleNumber, TrafficRule};
use mehari_net::clock::Clock;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::rc::Rc;
use std::time::Duration;

/// The most clients whose rates are remembered. Beyond this number, clients that may send at their
/// full rate again are forgotten.
const CLIENTS: usize = 65_536;

/// Returns the name under which an address is counted. An IPv6 address is counted as its network of
/// this many bits.
pub fn counted(address: &str, bits: u8) -> Cow<'_, str> {
    let Ok(IpAddr::V6(address_of_v6)) = address.parse() else {
        return Cow::Borrowed(address);
    };
    if let Some(address) = address_of_v6.to_ipv4_mapped() {
        return Cow::Owned(address.to_string());
    }
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    let network = Ipv6Addr::from_bits(address_of_v6.to_bits() & mask);
    Cow::Owned(network.to_string())
}

#[derive(Default)]
pub struct Traffic {
    active_requests: RefCell<HashMap<RuleNumber, Rc<Cell<u32>>>>,
    /// The time at which a client will have its full allowance again.
    rates: RefCell<HashMap<(RuleNumber, Box<str>), Duration>>,
    connections: RefCell<HashMap<Box<str>, u32>>,
    pub counts: Counts,
}

/// Counts of the rules' decisions since the start.
#[derive(Debug, Default)]
pub struct Counts {
    pub too_many_at_once: Cell<u64>,
    pub too_fast: Cell<u64>,
    pub held_back: Cell<u64>,
    pub too_many_connections: Cell<u64>,
    /// Requests that `RequestReadTimeout` has ended.
    pub too_slow: Cell<u64>,
}

/// One request in a count of running requests. Dropping the value ends the count of this request.
#[derive(Debug)]
pub struct CountGuard(Rc<Cell<u32>>);

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[derive(Debug)]
pub enum Verdict {
    Pass,
    /// The request may continue after this time.
    Wait(Duration),
    Refused(Refusal),
}

/// A refusal by a traffic rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    /// Seconds after which the client may try again.
    pub retry_after: u64,
}

const TOO_MANY_AT_ONCE: Refusal = Refusal {
    status: 503,
    retry_after: 1,
};

impl Traffic {
    /// Decides about a request. `held` receives the counts that contain the request while it runs.
    pub fn admit(
        &self,
        rules: &[TrafficRule],
        method: &[u8],
        client: &str,
        clock: &Clock,
        held: &mut Vec<CountGuard>,
    ) -> Verdict {
        let mut wait = Duration::ZERO;
        for rule in rules {
            match rule {
                TrafficRule::Concurrent {
                    number,
                    limit: Some(limit),
                    methods,
                } if methods.is_empty() || methods.iter().any(|one| one.as_bytes() == method) => {
                    match self.enter(*number, *limit) {
                        Some(place) => held.push(place),
                        None => {
                            add(&self.counts.too_many_at_once);
                            return Verdict::Refused(TOO_MANY_AT_ONCE);
                        }
                    }
                }
                TrafficRule::Rate(Some(rule)) => match self.spend(rule, client, clock.tick()) {
                    Ok(early) => wait = wait.max(early),
                    Err(after) => {
                        add(&self.counts.too_fast);
                        return Verdict::Refused(Refusal {
                            status: 429,
                            retry_after: after.as_secs() + 1,
                        });
                    }
                },
                _ => {}
            }
        }
        if wait.is_zero() {
            Verdict::Pass
        } else {
            add(&self.counts.held_back);
            Verdict::Wait(wait)
        }
    }

    fn enter(&self, number: RuleNumber, limit: u32) -> Option<CountGuard> {
        let mut active_requests = self.active_requests.borrow_mut();
        let count = active_requests.entry(number).or_default();
        if count.get() >= limit {
            return None;
        }
        count.set(count.get() + 1);
        Some(CountGuard(count.clone()))
    }

    /// Counts a request of the client. Returns how long the request must wait. The error is the
    /// time after which a refused request may be tried again.
    fn spend(&self, rule: &RateRule, client: &str, now: Duration) -> Result<Duration, Duration> {
        let mut rates = self.rates.borrow_mut();
        if rates.len() >= CLIENTS {
            rates.retain(|_, until| *until > now);
            if rates.len() >= CLIENTS {
                rates.clear();
            }
        }
        let until = rates.entry((rule.number, client.into())).or_insert(now);
        let used = until.saturating_sub(now) + rule.interval;
        let early = used.saturating_sub(rule.interval * rule.burst);
        if early > rule.delay {
            return Err(early - rule.delay);
        }
        *until = now + used;
        Ok(early)
    }

    /// Counts a connection. `None`: the address has too many connections.
    pub fn connect(self: &Rc<Traffic>, client: &str, limit: u32) -> Option<Connected> {
        let mut connections = self.connections.borrow_mut();
        let count = connections.entry(client.into()).or_default();
        if *count >= limit {
            add(&self.counts.too_many_connections);
            return None;
        }
        *count += 1;
        Some(Connected {
            traffic: self.clone(),
            client: client.into(),
        })
    }
}

/// A counted connection.
pub struct Connected {
    traffic: Rc<Traffic>,
    client: Box<str>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut connections = self.traffic.connections.borrow_mut();
        if let Some(count) = connections.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                connections.remove(&self.client);
            }
        }
    }
}

fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::Site;

    fn rules(text: &str) -> Vec<TrafficRule> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("httpd.conf");
        std::fs::write(&file, text).expect("written");
        Site::load(&file, &[])
            .expect("right")
            .main
            .base
            .limits
            .traffic
    }

    #[test]
    fn places_are_given_back_and_methods_count_apart() {
        let rules = rules("MaxConcurrentReqs 2\nMaxConcurrentReqs 1 POST\n");
        let (traffic, clock) = (Traffic::default(), Clock::new());
        let admit = |method: &[u8], held: &mut Vec<CountGuard>| {
            traffic.admit(&rules, method, "a", &clock, held)
        };
        let (mut first, mut second, mut third) = (Vec::new(), Vec::new(), Vec::new());
        assert!(matches!(admit(b"POST", &mut first), Verdict::Pass));
        assert!(matches!(
            admit(b"POST", &mut second),
            Verdict::Refused(TOO_MANY_AT_ONCE)
        ));
        second.clear();
        assert!(matches!(admit(b"GET", &mut second), Verdict::Pass));
        assert!(matches!(
            admit(b"GET", &mut third),
            Verdict::Refused(TOO_MANY_AT_ONCE)
        ));
        first.clear();
        assert!(matches!(admit(b"POST", &mut third), Verdict::Pass));
        assert_eq!(traffic.counts.too_many_at_once.get(), 2);
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        for (address, bits, counted_as) in [
            ("192.0.2.1", 64, "192.0.2.1"),
            ("::ffff:192.0.2.1", 64, "192.0.2.1"),
            ("2001:db8:0:1:a:b:c:d", 64, "2001:db8:0:1::"),
            ("2001:db8:0:1::1", 64, "2001:db8:0:1::"),
            ("2001:db8:0:2::1", 64, "2001:db8:0:2::"),
            ("2001:db8:0:2::1", 48, "2001:db8::"),
            ("2001:db8::1", 128, "2001:db8::1"),
            ("2001:db8::1", 1, "::"),
            ("", 64, ""),
        ] {
            assert_eq!(counted(address, bits), counted_as, "{address}/{bits}");
        }
    }

    #[test]
    fn a_client_has_its_burst_then_waits_then_is_refused() {
        let all = rules("ClientRequestRate 10/10 burst=3 delay=2\n");
        let [TrafficRule::Rate(Some(rule))] = &all[..] else {
            panic!("one rule: {all:?}");
        };
        let traffic = Traffic::default();
        let seconds = Duration::from_secs;
        let ask = |client: &str, now: u64| traffic.spend(rule, client, seconds(now));
        for _ in 0..3 {
            assert_eq!(ask("a", 100), Ok(Duration::ZERO));
        }
        assert_eq!(ask("a", 100), Ok(seconds(1)));
        assert_eq!(ask("a", 100), Ok(seconds(2)));
        assert_eq!(ask("a", 100), Err(seconds(1)));
        assert_eq!(ask("b", 100), Ok(Duration::ZERO), "another client");
        assert_eq!(ask("a", 102), Ok(seconds(1)));
        assert_eq!(ask("a", 200), Ok(Duration::ZERO));
    }
}
