//! The rules that limit concurrent requests and the rate of requests. The front applies them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of a rule. The front counts the requests of each rule by this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct RuleNumber(u32);

impl RuleNumber {
    pub(crate) fn next() -> RuleNumber {
        static LAST: AtomicU32 = AtomicU32::new(0);
        RuleNumber(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum TrafficRule {
    /// `MaxConcurrentReqs`. `limit`: `None` removes the rule of an outer section. `methods`: an
    /// empty list means all methods.
    Concurrent {
        number: RuleNumber,
        limit: Option<u32>,
        methods: Vec<String>,
    },
    /// `ClientRequestRate`. `None` removes the rule of an outer section.
    Rate(Option<RateRule>),
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct RateRule {
    pub number: RuleNumber,
    /// The time after which a client may send one more request.
    pub interval: Duration,
    pub burst: u32,
    /// The longest delay of a request that comes too early.
    pub delay: Duration,
}

impl TrafficRule {
    /// Tells whether the rule of an inner section replaces this rule.
    pub(crate) fn is_replaced_by(&self, inner: &TrafficRule) -> bool {
        match (self, inner) {
            (TrafficRule::Rate(_), TrafficRule::Rate(_)) => true,
            (
                TrafficRule::Concurrent { methods, .. },
                TrafficRule::Concurrent { methods: other, .. },
            ) => methods == other,
            _ => false,
        }
    }
}
