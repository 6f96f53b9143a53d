//! `--find-limit`: runs open loops with different rates until the highest sustained rate is known
//! to about 5 %.

use mehari_load::PlanError;
use mehari_record::figures::{duration, significant};
use mehari_record::{Quantile, Record};

/// How much the rate grows until the server falls behind.
const GROWTH: f64 = 1.5;
/// The most runs of the search.
const MOST_RUNS: usize = 12;
/// The search ends when the limit is known this well.
const PRECISION: f64 = 1.05;
/// The largest part of failed requests at a sustained rate.
const MOST_FAILED: f64 = 0.01;

/// The highest sustained rate.
pub struct Limit {
    pub rate: f64,
    /// The record of the run at this rate.
    pub record: Record,
    /// The lowest rate at which the server fell behind.
    pub too_much: Option<f64>,
}

/// Searches from the rate `first` on. `run` sends load at a rate, and `tell` gets a line for each
/// run. Returns `None` if the server sustains no tried rate, or if `run` was interrupted.
pub fn find(
    first: f64,
    mut run: impl FnMut(f64) -> Result<Option<Record>, PlanError>,
    mut tell: impl FnMut(&str),
) -> Result<Option<Limit>, PlanError> {
    let mut best: Option<Limit> = None;
    let mut too_much: Option<f64> = None;
    let mut rate = first;
    for _ in 0..MOST_RUNS {
        let Some(record) = run(rate)? else {
            break;
        };
        tell(&line(rate, &record));
        if is_sustained(&record) {
            best = Some(Limit {
                rate,
                record,
                too_much,
            });
        } else {
            too_much = Some(rate);
        }
        rate = match (best.as_ref().map(|best| best.rate), too_much) {
            (Some(low), Some(high)) if high / low <= PRECISION => break,
            (Some(low), Some(high)) => (low * high).sqrt(),
            (Some(low), None) => low * GROWTH,
            (None, _) => rate / GROWTH,
        };
    }
    Ok(best.map(|best| Limit { too_much, ..best }))
}

fn is_sustained(record: &Record) -> bool {
    let counts = &record.counts;
    let failed = counts.failures() + counts.censored;
    let failed = failed as f64 / counts.attempted.max(1) as f64;
    counts.completed > 0 && !record.is_overloaded() && failed <= MOST_FAILED
}

fn line(rate: f64, record: &Record) -> String {
    let word = if is_sustained(record) {
        "keeps up"
    } else {
        "falls behind"
    };
    let p99 = match record.quantile(99.0) {
        Quantile::Exactly(ns) => format!("p99 {}", duration(ns)),
        Quantile::AtLeast(ns) => format!("p99 ≥ {}", duration(ns)),
        Quantile::TooFew => format!("max {}", duration(record.response.max())),
    };
    let answered = significant(record.answer_rate());
    format!(
        "{:>10}/s  {word}: {answered} answers/s, {p99}",
        significant(rate)
    )
}

impl Limit {
    /// Returns the result as a sentence.
    pub fn sentence(&self) -> String {
        let rate = significant(self.rate);
        match self.too_much {
            Some(high) => format!(
                "Sustains about {rate} requests/s; at {} it falls behind.",
                significant(high)
            ),
            None => format!("Sustains {rate} requests/s and more: no tried rate was too much."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers `capacity` requests per second, asked for one second.
    fn server(capacity: f64) -> impl FnMut(f64) -> Result<Option<Record>, PlanError> {
        move |rate| {
            let mut record: Record =
                serde_json::from_str(include_str!("../../../../bench/record/tests/example.json"))
                    .expect("a record");
            record.plan.schedule = "open".into();
            record.counts = Default::default();
            (record.counts.attempted, record.counts.completed) = (rate as u64, rate as u64);
            record.durations.measured_us = 1_000_000;
            record.durations.drain_us = (1e6 * (rate / capacity - 1.0).max(0.0)) as u64;
            Ok(Some(record))
        }
    }

    #[test]
    fn the_limit_is_found_from_below_and_from_above() {
        for first in [100.0, 290.0, 3000.0] {
            let mut lines = 0;
            let found = find(first, server(300.0), |_| lines += 1).expect("runs");
            let limit = found.expect("a limit");
            assert!((270.0..=320.0).contains(&limit.rate), "{}", limit.rate);
            assert!(limit.too_much.expect("a bound") / limit.rate <= 1.05);
            assert!(lines <= MOST_RUNS);
        }
    }

    #[test]
    fn a_server_that_answers_nothing_has_no_limit() {
        let found = find(100.0, server(0.001), |_| ()).expect("runs");
        assert!(found.is_none());
    }
}
