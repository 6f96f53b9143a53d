//! Traffic rules as the front reads them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of a rule, under which its requests are counted.
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
    /// `MaxConcurrentReqs`. Without a limit the rule removes an outer one. An empty list means all
    /// methods.
    Concurrent {
        number: RuleNumber,
        limit: Option<u32>,
        methods: Vec<String>,
    },
    /// `ClientRequestRate`. `None` removes an outer rule.
    Rate(Option<RateRule>),
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct RateRule {
    pub number: RuleNumber,
    /// A client earns a request per interval.
    pub interval: Duration,
    pub burst: u32,
    /// How long an early request may be delayed.
    pub delay: Duration,
}

impl TrafficRule {
    /// Tells whether an inner rule replaces this one.
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
