//! Says the result of a comparison in words, for the reports on a terminal and as a page.

use super::{Finding, Metric, Versus};
use crate::figures;
use crate::statistics::{Better, Comparison, Conclusion};

/// The most blocks that a report suggests.
const MOST_BLOCKS: u64 = 200;

/// Returns the conclusion as one sentence.
pub fn conclusion(result: &Versus, threshold: f64) -> String {
    let percent = figures::plain(threshold * 100.0);
    let decisive = result.findings.iter().find(|f| f.metric == result.primary);
    let Some(finding) = decisive else {
        return format!(
            "Undecided: {} could not be compared.",
            result.primary.name()
        );
    };
    match result.conclusion {
        Conclusion::Faster | Conclusion::Slower => format!(
            "B is {}{}: {}",
            at_least(&finding.comparison),
            word(result.conclusion),
            in_words(finding)
        ),
        Conclusion::Equivalent => format!(
            "A and B are equivalent: {} differs by less than {percent} %, {}.",
            finding.metric.name(),
            ratio(&finding.comparison)
        ),
        Conclusion::Undecided => {
            let more = match result.blocks_needed {
                Some(blocks @ ..=MOST_BLOCKS) => {
                    format!("; about {blocks} blocks would decide about {percent} %")
                }
                Some(_) => {
                    format!("; the runs differ too much to decide about {percent} %: make them longer (-d), or the machine quieter")
                }
                None => String::new(),
            };
            let ratio = ratio(&finding.comparison);
            format!("Undecided: {} B/A is {ratio}{more}.", finding.metric.name())
        }
    }
}

/// Returns the least factor of a large difference, rounded down. Other differences have none.
fn at_least(comparison: &Comparison) -> String {
    match comparison.large_factor() {
        Some(factor) if factor < 10.0 => {
            format!("at least {:.1} x ", (factor * 10.0).floor() / 10.0)
        }
        Some(factor) => format!("at least {:.0} x ", factor.floor()),
        None => String::new(),
    }
}

fn in_words(finding: &Finding) -> String {
    let relation = match finding.better {
        Better::Higher => format!("the {} of A", finding.metric.name()),
        Better::Lower => format!("A's {} response time", finding.metric.name()),
    };
    let comparison = &finding.comparison;
    format!(
        "{} times {relation}, 95 % interval {} to {}.",
        factor(comparison.ratio),
        factor(comparison.interval.low),
        factor(comparison.interval.high)
    )
}

/// Formats a ratio with its interval.
pub fn ratio(comparison: &Comparison) -> String {
    format!(
        "{} [{}, {}]",
        factor(comparison.ratio),
        factor(comparison.interval.low),
        factor(comparison.interval.high)
    )
}

/// Formats a factor: with three decimals near 1, otherwise with three significant digits.
fn factor(ratio: f64) -> String {
    match ratio {
        r if (0.1..10.0).contains(&r) => format!("{r:.3}"),
        r => figures::significant(r),
    }
}

/// Formats a value of a metric.
pub fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => format!("{}/s", figures::significant(value)),
        Metric::Mean | Metric::P50 | Metric::P99 => figures::duration(value.round() as u64),
    }
}

/// Formats a probability.
pub fn probability(probability: f64) -> String {
    if probability < 0.001 {
        "< 0.001".into()
    } else {
        format!("{probability:.3}")
    }
}

/// Returns the word that follows `B is`.
pub fn word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Faster => "faster",
        Conclusion::Slower => "slower",
        Conclusion::Equivalent => "equivalent",
        Conclusion::Undecided => "undecided",
    }
}
