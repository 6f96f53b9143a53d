//! Traffic rules as the front reads them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A rule's own: what is counted for it is counted under this number.
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
    /// `MaxConcurrentReqs`; no limit takes an outer one back. No methods: all.
    Concurrent {
        number: RuleNumber,
        limit: Option<u32>,
        methods: Vec<String>,
    },
    /// `ClientRequestRate`; `None` takes an outer one back.
    Rate(Option<RateRule>),
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct RateRule {
    pub number: RuleNumber,
    /// A request is earned each time this has passed.
    pub interval: Duration,
    pub burst: u32,
    /// How long a request that is too early may be held back.
    pub delay: Duration,
}

impl TrafficRule {
    /// Whether an inner rule takes the place of this one.
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
