//! `MaxRanges`, `MaxRangeOverlaps` and `MaxRangeReversals`: which ranges of a content a request may
//! ask for.

/// The limits of the ranges in one request. A request beyond a limit gets the whole content.
/// `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RangeLimits {
    /// The most ranges, after those that overlap have been merged. 0: no ranges are sent.
    pub ranges: Option<u32>,
    /// The most ranges that are merged with the range before them.
    pub overlaps: Option<u32>,
    /// The most merged ranges that begin before the range with which they are merged.
    pub reversals: Option<u32>,
}

impl Default for RangeLimits {
    /// Apache's defaults.
    fn default() -> RangeLimits {
        RangeLimits {
            ranges: Some(200),
            overlaps: Some(20),
            reversals: Some(20),
        }
    }
}

impl RangeLimits {
    /// Whether any request gets ranges.
    pub fn allow_ranges(self) -> bool {
        self.ranges != Some(0)
    }
}
