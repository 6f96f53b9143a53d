//! Decides when a certificate is renewed, and when a failed request is repeated.

use crate::certificate::Facts;
use mehari_config::RenewWindow;
use std::time::Duration;

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Returns when the certificate is renewed, in seconds since 1970. The time lies up to a tenth of
/// the window after the window's beginning, so that the certificates of many servers are not
/// renewed at the same moment. Servers with the same certificate calculate the same time.
pub fn renewal(facts: &Facts, window: RenewWindow) -> u64 {
    let lifetime = facts.not_after.saturating_sub(facts.not_before);
    let window = window.of(Duration::from_secs(lifetime)).as_secs();
    let spread = (window / 10).max(1);
    facts.not_after.saturating_sub(window) + facts.mark % spread
}

/// Returns the pause after this many failures in a row: twice the pause before, and up to a tenth
/// more by `chance`.
pub fn pause(first: Duration, failures: u32, chance: u32) -> Duration {
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(20));
    let pause = doubled.min(LONGEST);
    pause + pause * (chance % 100) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    #[test]
    fn certificate_is_renewed_a_window_before_its_end_with_a_spread() {
        for (mark, window, first) in [
            (0, RenewWindow::Percent(33), 100 * DAY - 90 * DAY * 33 / 100),
            (7, RenewWindow::Time(Duration::from_secs(DAY)), 99 * DAY + 7),
            // A window longer than the lifetime does not renew a new certificate at once.
            (
                0,
                RenewWindow::Time(Duration::from_secs(900 * DAY)),
                19 * DAY,
            ),
        ] {
            let facts = Facts {
                not_before: 10 * DAY,
                not_after: 100 * DAY,
                mark,
                ..Facts::default()
            };
            assert_eq!(renewal(&facts, window), first, "{window:?}");
        }
    }

    #[test]
    fn pauses_double_up_to_a_day() {
        let first = Duration::from_secs(60);
        for (failures, seconds) in [(1, 60), (2, 120), (5, 960), (12, 86_400), (4_000, 86_400)] {
            assert_eq!(pause(first, failures, 0).as_secs(), seconds);
        }
        assert!(pause(first, 1, 99) <= Duration::from_secs(66));
    }
}
