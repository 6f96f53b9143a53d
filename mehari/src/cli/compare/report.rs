//! Writes the result of a comparison, as text and as JSON. The noise floor comes first, because the
//! conclusion depends on the noise.

use mehari_record::export::ComparisonPage;
use mehari_record::versus::words::{conclusion, probability, ratio, value, word};
use mehari_record::versus::Versus;
use mehari_record::{figures, wall_clock, Judgement};
use serde_json::json;

use super::outputs::Forms;
use super::runs::{Doubts, Measured};

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
        text.push_str(&format!("\n{}\n", conclusion(self.result, self.threshold)));
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
}

impl Forms for CompareReport<'_> {
    fn json(&self) -> String {
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

    fn html(&self) -> String {
        let measured = self.measured;
        let bad = self.bad();
        let remarks = bad.lines().map(|line| line.trim_start_matches("note: "));
        let mut remarks: Vec<String> = remarks.map(str::to_owned).collect();
        remarks.extend(doubt_lines(&measured.doubts));
        if measured.interrupted {
            remarks.push("Ended early: the block under way is left out.".into());
        }
        let [a, b] = self.names;
        ComparisonPage {
            names: [a, b],
            load: format!("Each run: {}", self.load()),
            result: self.result,
            threshold: self.threshold,
            blocks: &measured.blocks,
            response: [&measured.response[0], &measured.response[1]],
            remarks,
            written_unix_us: wall_clock::now(),
        }
        .html()
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
            let noun = if *runs == 1 { "run" } else { "runs" };
            format!("generator {judgement} in {runs} {noun} ({check}): {text}")
        })
        .collect()
}
