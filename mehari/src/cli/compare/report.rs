//! Writes the result of a comparison, as text and as JSON. The noise floor comes first, because the
//! conclusion depends on the noise.

use mehari_record::statistics::{Better, Comparison, Conclusion};
use mehari_record::versus::{Finding, Metric, Versus};
use mehari_record::{figures, Judgement};
use serde_json::json;

use super::runs::{Doubts, Measured};

/// The most blocks that the report suggests.
const MOST_BLOCKS: u64 = 200;

pub struct CompareReport<'r> {
    pub names: [&'r String; 2],
    pub result: &'r Versus,
    pub measured: &'r Measured,
    pub threshold: f64,
}

impl CompareReport<'_> {
    pub fn text(&self) -> String {
        let blocks = self.measured.blocks.len();
        let mut text = format!(
            "A: {}\nB: {}\nEach run: {}\n{blocks} blocks of ABBA and BAAB, {} runs\n",
            self.names[0],
            self.names[1],
            self.load(),
            4 * blocks
        );
        if self.measured.interrupted {
            text.push_str("Ended early: the block under way is left out.\n");
        }
        text.push_str(&noise(self.result));
        text.push_str(&findings(self.result));
        text.push_str(&cautions(self.result));
        text.push_str(&self.bad());
        text.push_str(&doubts(&self.measured.doubts));
        text.push_str(&conclusion(self.result, self.threshold));
        text
    }

    /// Returns lines such as `note: B without a good answer: status 500: 120, reset: 3`.
    fn bad(&self) -> String {
        let sides = ["A", "B"].into_iter().zip(&self.measured.bad);
        sides
            .filter(|(_, bad)| !bad.is_empty())
            .map(|(name, bad)| {
                let parts = bad.iter();
                let parts: Vec<String> = parts
                    .map(|(what, count)| format!("{what}: {}", figures::count(*count)))
                    .collect();
                format!("note: {name} without a good answer: {}\n", parts.join(", "))
            })
            .collect()
    }

    /// Returns a plan's description without its URLs, which belong to A or B.
    fn load(&self) -> &str {
        let words = &self.measured.words;
        words.rsplit(" · ").next().unwrap_or(words)
    }

    pub fn json(&self) -> String {
        let value = json!({
            "a": self.names[0],
            "b": self.names[1],
            "load": self.load(),
            "threshold": self.threshold,
            "interrupted": self.measured.interrupted,
            "result": self.result,
            "response": { "a": self.measured.response[0], "b": self.measured.response[1] },
            "bad": { "a": self.measured.bad[0], "b": self.measured.bad[1] },
            "doubts": doubt_lines(&self.measured.doubts),
            "blocks": self.measured.blocks,
        });
        format!("{value:#}\n")
    }
}

fn noise(result: &Versus) -> String {
    let mut text = String::from("\nNoise floor: A against A and B against B in the same blocks\n");
    for noise in &result.noise {
        text.push_str(&format!(
            "  {:<11} {}\n",
            noise.metric.name(),
            ratio(&noise.comparison)
        ));
    }
    text
}

pub fn findings(result: &Versus) -> String {
    let mut text = format!(
        "\n  {:<11} {:>12} {:>12}   {:<24} {:>8}  B is\n",
        "", "A", "B", "B/A [95 % interval]", "p"
    );
    for finding in &result.findings {
        text.push_str(&format!(
            "  {:<11} {:>12} {:>12}   {:<24} {:>8}  {}\n",
            finding.metric.name(),
            value(finding.metric, finding.a),
            value(finding.metric, finding.b),
            ratio(&finding.comparison),
            probability(finding.corrected_probability),
            word(finding.conclusion),
        ));
    }
    text
}

pub fn cautions(result: &Versus) -> String {
    let lines = result.cautions.iter().map(|text| format!("note: {text}\n"));
    let lines: String = lines.collect();
    if lines.is_empty() {
        lines
    } else {
        format!("\n{lines}")
    }
}

pub fn doubts(doubts: &Doubts) -> String {
    let lines: Vec<String> = doubt_lines(doubts);
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n{}\n", lines.join("\n"))
    }
}

fn doubt_lines(doubts: &Doubts) -> Vec<String> {
    doubts
        .0
        .iter()
        .filter(|(_, (judgement, ..))| *judgement != Judgement::Valid)
        .map(|(check, (judgement, runs, text))| {
            format!("generator {judgement} in {runs} runs ({check}): {text}")
        })
        .collect()
}

/// Returns the last line, the conclusion.
pub fn conclusion(result: &Versus, threshold: f64) -> String {
    let percent = figures::plain(threshold * 100.0);
    let decisive = result.findings.iter().find(|f| f.metric == result.primary);
    let Some(finding) = decisive else {
        return format!(
            "\nUndecided: {} could not be compared.\n",
            result.primary.name()
        );
    };
    match result.conclusion {
        Conclusion::Faster | Conclusion::Slower => format!(
            "\nB is {}{}: {}\n",
            at_least(&finding.comparison),
            word(result.conclusion),
            in_words(finding)
        ),
        Conclusion::Equivalent => format!(
            "\nA and B are equivalent: {} differs by less than {percent} %, {}.\n",
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
            format!(
                "\nUndecided: {} B/A is {ratio}{more}.\n",
                finding.metric.name()
            )
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

fn ratio(comparison: &Comparison) -> String {
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

fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => format!("{}/s", figures::significant(value)),
        Metric::Mean | Metric::P50 | Metric::P99 => figures::duration(value.round() as u64),
    }
}

fn probability(probability: f64) -> String {
    if probability < 0.001 {
        "< 0.001".into()
    } else {
        format!("{probability:.3}")
    }
}

fn word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Faster => "faster",
        Conclusion::Slower => "slower",
        Conclusion::Equivalent => "equivalent",
        Conclusion::Undecided => "undecided",
    }
}
