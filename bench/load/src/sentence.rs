//! Writes the first lines of a report: a sentence that a person can repeat, and a warning if all
//! answers are errors or redirects, or if the run is invalid.

use mehari_record::figures::{duration, significant};
use mehari_record::{Judgement, Quantile, Record};

/// Nobody should repeat the sentence of such a run.
const INVALID: &str =
    "THE RUN IS INVALID: do not repeat its figures. The verdict at the end says why.";

/// A good part of the sustained rate, for the advice of another rate.
const SAFE_PART: f64 = 0.95;

/// Returns the sentence, and each warning on a line of its own.
pub fn of(record: &Record) -> String {
    let is_invalid = record.verdict.judgement == Judgement::Invalid;
    let invalid = is_invalid.then(|| INVALID.to_owned());
    let mut text = sentence(record) + "\n";
    for warning in warning(record).into_iter().chain(invalid) {
        text.push_str(&format!("WARNING: {warning}\n"));
    }
    text
}

fn sentence(record: &Record) -> String {
    let counts = &record.counts;
    if counts.completed == 0 {
        return "No request was answered.".into();
    }
    let rate = about(record.answer_rate());
    let within = match record.quantile(99.0) {
        Quantile::Exactly(ns) => format!("99 of 100 answers came within {}", duration(ns)),
        Quantile::AtLeast(ns) => format!("1 of 100 answers took {} or more", duration(ns)),
        Quantile::TooFew => format!(
            "the slowest answer took {}",
            duration(record.response.max())
        ),
    };
    let failed = counts.failures() + counts.censored;
    let failed = match failed as f64 / counts.attempted.max(1) as f64 {
        part if part >= 0.001 => {
            format!(" {} % of the requests failed.", significant(100.0 * part))
        }
        _ => String::new(),
    };
    match (record.plan.rate.map(significant), record.is_overloaded()) {
        (Some(wanted), true) => format!(
            "Sustains about {rate} requests/s; at {wanted} it falls behind; try --rate {}.{failed}",
            rounded(record.answer_rate() * SAFE_PART)
        ),
        (None, true) if record.plan.schedule == "open" => {
            format!("Falls behind the arrivals: sustains about {rate} requests/s.{failed}")
        }
        (Some(wanted), false) => format!("Keeps up with {wanted} requests/s: {within}.{failed}"),
        _ => {
            let users = match record.plan.connections {
                1 => "1 user".to_owned(),
                users => format!("{users} users"),
            };
            format!("Answers about {rate} requests/s of {users}: {within}.{failed}")
        }
    }
}

/// Tells what is measured instead of the page, if no answer is a good one.
fn warning(record: &Record) -> Option<String> {
    let statuses = &record.counts.statuses;
    let (first, _) = statuses.iter().max_by_key(|(_, count)| **count)?;
    let are_all = |is: fn(u16) -> bool| statuses.keys().all(|status| is(*status));
    if are_all(|status| status >= 400) {
        return Some(format!(
            "ALL ANSWERS ARE ERRORS (mostly {first}): this measures an error page. Look at the \
             URL with `curl -i`."
        ));
    }
    are_all(|status| (300..400).contains(&status) && status != 304).then(|| {
        format!(
            "ALL ANSWERS ARE REDIRECTS (mostly {first}): this measures no page. Take the URL that \
             `curl -iL` ends at."
        )
    })
}

/// Returns the rate with two or three digits, as a person says it.
fn about(rate: f64) -> String {
    significant(rounded(rate))
}

/// Rounds to two significant digits.
fn rounded(rate: f64) -> f64 {
    if rate <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(rate.log10().floor() - 1.0);
    let value = (rate / unit).round() * unit;
    // Without the remainder of the floating point arithmetic.
    if value >= 1.0 {
        (value * 10.0).round() / 10.0
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_record::{Machine, Plan};

    fn record(schedule: &str, rate: Option<f64>, statuses: &[(u16, u64)]) -> Record {
        let plan: Plan = serde_json::from_value(serde_json::json!({
            "words": "", "urls": [], "method": "GET", "schedule": schedule, "rate": rate,
            "connections": 4, "threads": 1,
        }))
        .expect("a plan");
        let mut record = Record::new(plan, Machine::here("test"), 0);
        record.durations.measured_us = 10_000_000;
        for (status, count) in statuses {
            record.counts.statuses.insert(*status, *count);
            record.counts.completed += count;
        }
        record.counts.attempted = record.counts.completed;
        for place in 1..=record.counts.completed {
            record.response.count(place * 1_000);
        }
        record
    }

    #[test]
    fn an_overloaded_open_loop_names_the_rate_that_it_sustains() {
        let mut run = record("open", Some(500.0), &[(200, 5000)]);
        run.durations.drain_us = 7_241_000;
        assert_eq!(
            of(&run),
            "Sustains about 290 requests/s; at 500 it falls behind; try --rate 280.\n"
        );
        run.durations.drain_us = 0;
        assert!(of(&run).starts_with("Keeps up with 500 requests/s: 99 of 100 answers came"));
    }

    #[test]
    fn a_closed_loop_names_rate_and_users_and_failures() {
        let mut run = record("closed", None, &[(200, 5000)]);
        assert!(of(&run).starts_with("Answers about 500 requests/s of 4 users: 99 of 100"));
        run.counts.failed.insert("timeout".into(), 500);
        run.counts.attempted += 500;
        assert!(
            of(&run).ends_with(" 9.09 % of the requests failed.\n"),
            "{}",
            of(&run)
        );
        assert_eq!(
            of(&record("closed", None, &[])),
            "No request was answered.\n"
        );
    }

    #[test]
    fn sentence_of_an_invalid_run_is_followed_by_a_warning() {
        let mut run = record("closed", None, &[(200, 5000)]);
        for (judgement, is_warned) in [
            (Judgement::Valid, false),
            (Judgement::Suspect, false),
            (Judgement::Invalid, true),
        ] {
            run.verdict.judgement = judgement;
            assert_eq!(of(&run).contains("WARNING: THE RUN IS INVALID"), is_warned);
        }
    }

    #[test]
    fn answers_that_are_all_errors_or_all_redirects_are_shouted_about() {
        let shouted = |statuses: &[(u16, u64)]| of(&record("closed", None, statuses));
        assert!(shouted(&[(404, 90), (403, 10)]).contains("ALL ANSWERS ARE ERRORS (mostly 404)"));
        assert!(shouted(&[(302, 9)]).contains("ALL ANSWERS ARE REDIRECTS (mostly 302)"));
        for fine in [&[(200, 1), (404, 90)][..], &[(304, 9)], &[(200, 9)]] {
            assert!(!shouted(fine).contains("WARNING"), "{fine:?}");
        }
    }
}
