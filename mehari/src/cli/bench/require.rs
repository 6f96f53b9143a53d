//! `--require`: limits that a run must keep, such as `p99<200ms,errors<0.1%`. A missed limit makes
//! the exit status 1, so that a pipeline stops.

use std::str::FromStr;

use mehari_record::figures::{duration, significant};
use mehari_record::{Quantile, Record};

use super::parse;

const EXPECTED: &str = "expected limits such as p99<200ms,errors<0.1%,rate>290";

/// All limits of one option.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    text: String,
    measure: Measure,
    is_upper: bool,
    limit: f64,
}

/// What a limit is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// A percentile of the response time in nanoseconds.
    Percentile(f64),
    Mean,
    Max,
    /// The part of the requests without a good answer.
    Errors,
    /// Answers per second.
    Rate,
}

impl FromStr for Requirements {
    type Err = String;

    fn from_str(text: &str) -> Result<Requirements, String> {
        let limits = text.split(',').map(|limit| one(limit.trim()));
        limits.collect::<Result<_, _>>().map(Requirements)
    }
}

fn one(text: &str) -> Result<Requirement, String> {
    let wrong = || format!("{EXPECTED}, not `{text}`");
    let place = text.find(['<', '>']).ok_or_else(wrong)?;
    let (name, rest) = text.split_at(place);
    let is_upper = rest.starts_with('<');
    let value = rest[1..].trim_start_matches('=').trim();
    let measure = measure(name.trim()).ok_or_else(|| {
        format!("{EXPECTED}; there is no `{name}`: expected p50, p99.9, mean, max, errors or rate")
    })?;
    let limit = match measure {
        Measure::Errors => value
            .strip_suffix('%')
            .and_then(|part| Some(part.trim().parse::<f64>().ok()? / 100.0)),
        Measure::Rate => parse::rate(value).ok(),
        // A time without a unit would be seconds, where most people mean milliseconds.
        _ if value.ends_with(|sign: char| sign.is_ascii_alphabetic()) => {
            parse::time(value).ok().map(|time| time.as_nanos() as f64)
        }
        _ => None,
    };
    Ok(Requirement {
        text: text.to_owned(),
        measure,
        is_upper,
        limit: limit.filter(|limit| *limit >= 0.0).ok_or_else(wrong)?,
    })
}

fn measure(name: &str) -> Option<Measure> {
    Some(match name {
        "mean" => Measure::Mean,
        "max" => Measure::Max,
        "errors" => Measure::Errors,
        "rate" => Measure::Rate,
        _ => {
            let percentile = name.strip_prefix('p')?.parse().ok()?;
            let is_one = (0.0..100.0).contains(&percentile);
            return is_one.then_some(Measure::Percentile(percentile));
        }
    })
}

impl Requirements {
    /// Returns a line for each limit, and whether the run keeps all of them.
    pub fn judge(&self, record: &Record) -> (String, bool) {
        let judged: Vec<(String, bool)> = self.0.iter().map(|one| one.judge(record)).collect();
        let lines = judged.iter().map(|(line, _)| format!("{line}\n"));
        (lines.collect(), judged.iter().all(|(_, kept)| *kept))
    }
}

impl Requirement {
    fn judge(&self, record: &Record) -> (String, bool) {
        let Some(value) = self.measure.of(record) else {
            let text = &self.text;
            return (
                format!("Required {text}: MISSED, too few answers to tell"),
                false,
            );
        };
        let kept = if self.is_upper {
            value < self.limit
        } else {
            value > self.limit
        };
        let word = if kept { "kept" } else { "MISSED" };
        let value = self.measure.words(value);
        (
            format!("Required {}: {word}, measured {value}", self.text),
            kept,
        )
    }
}

impl Measure {
    fn of(self, record: &Record) -> Option<f64> {
        let counts = &record.counts;
        let is_answered = counts.completed > 0;
        Some(match self {
            Measure::Percentile(percentile) => match record.quantile(percentile) {
                Quantile::Exactly(ns) | Quantile::AtLeast(ns) => ns as f64,
                Quantile::TooFew => return None,
            },
            Measure::Mean if is_answered => record.response.mean(),
            Measure::Max if is_answered => record.response.max() as f64,
            Measure::Mean | Measure::Max => return None,
            Measure::Errors => {
                let bad = counts.failures() + counts.censored + counts.error_statuses();
                bad as f64 / counts.attempted.max(1) as f64
            }
            Measure::Rate => record.answer_rate(),
        })
    }

    fn words(self, value: f64) -> String {
        match self {
            Measure::Errors => format!("{} %", significant(100.0 * value)),
            Measure::Rate => format!("{}/s", significant(value)),
            _ => duration(value as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(limits: &str) -> (String, bool) {
        let mut record: Record =
            serde_json::from_str(include_str!("../../../../bench/record/tests/example.json"))
                .expect("a record");
        record.counts.failed.clear();
        record.counts.statuses = [(200, 990), (500, 10)].into();
        (record.counts.attempted, record.counts.completed) = (1000, 1000);
        record.counts.censored = 0;
        record.durations.measured_us = 2_000_000;
        record.durations.drain_us = 0;
        let limits: Requirements = limits.parse().expect("limits");
        limits.judge(&record)
    }

    #[test]
    fn limits_are_kept_or_missed() {
        for (limits, kept, words) in [
            ("errors<1.1%", true, "errors<1.1%: kept, measured 1.00 %"),
            ("errors<=1%", false, "MISSED, measured 1.00 %"),
            ("rate>400", true, "kept, measured 500/s"),
            ("rate > 600/s", false, "MISSED"),
            ("mean<1h,rate>600", false, "mean<1h: kept"),
            ("mean<1us", false, "mean<1us: MISSED"),
        ] {
            let (lines, is_kept) = judged(limits);
            assert!(
                is_kept == kept && lines.contains(words),
                "{limits}: {lines}"
            );
        }
    }

    #[test]
    fn wrong_limits_are_refused() {
        for wrong in [
            "p99",
            "p99<200",
            "errors<0.1",
            "rate>fast",
            "p100<1s",
            "speed>1",
            "",
        ] {
            let error = wrong.parse::<Requirements>().expect_err(wrong);
            assert!(
                error.starts_with("expected limits such as p99<200ms"),
                "{error}"
            );
        }
    }
}
