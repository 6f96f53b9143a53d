//! Writes a comparison as an HTML page: the conclusion, the metrics as a table, the distributions
//! of A and B, and the runs in their order. `mehari compare --output` calls it.

use super::charts::{duration_mark, extent, figure, percentiles_of};
use super::document;
use super::tables::table;
use crate::export::plot::{escaped, Axis, Chart, Series};
use crate::statistics::Conclusion;
use crate::versus::words::{conclusion, probability, ratio, value, word};
use crate::versus::{Block, Metric, Run, Versus};
use crate::{figures, wall_clock, Latency};

/// What the page shows.
pub struct ComparisonPage<'p> {
    pub names: [&'p str; 2],
    /// The load of each run in words.
    pub load: String,
    pub result: &'p Versus,
    pub threshold: f64,
    /// The runs in blocks; none if records were compared.
    pub blocks: &'p [Block],
    /// The response times of all runs of A and of all runs of B.
    pub response: [&'p Latency; 2],
    /// Lines about the runs that are not in `result`.
    pub remarks: Vec<String>,
    pub written_unix_us: u64,
}

/// The number of steps in which a distribution is drawn from the shortest to the longest time.
const STEPS: usize = 96;
/// The distributions are drawn without this percentage of requests at each end: few wild ones would
/// squeeze all others.
const CUT_OFF: f64 = 0.5;
const COLOURS: [(&str, &str); 2] = [("A", "first"), ("B", "third")];

impl ComparisonPage<'_> {
    pub fn html(&self) -> String {
        let sentence = conclusion(self.result, self.threshold);
        let kicker = format!(
            "Mehari comparison · {}",
            wall_clock::text(self.written_unix_us)
        );
        let body = format!(
            "{}<section class=\"tables whole\">\n{}{}{}</section>\n<section class=\"charts\">\n{}</section>\n",
            self.sides(),
            self.metrics(),
            self.noise(),
            self.quantiles(),
            self.charts(),
        );
        document(&sentence, &kicker, &self.remarks(), &body, "")
    }

    fn sides(&self) -> String {
        let sides = COLOURS.iter().zip(&self.names).map(|((side, class), name)| {
            format!(
                "<div class=\"tile\"><dt><i class=\"key {class}\"></i>{side}</dt><dd class=\"name\">{}</dd></div>\n",
                escaped(name)
            )
        });
        let sides: String = sides.collect();
        let runs = match self.blocks.len() {
            0 => String::new(),
            blocks => format!("{} runs in {blocks} blocks of ABBA and BAAB. ", 4 * blocks),
        };
        let load = escaped(&self.load);
        format!("<dl class=\"sides\">\n{sides}</dl>\n<p class=\"note\">{runs}{load}</p>\n")
    }

    /// The box with everything that limits the conclusion.
    fn remarks(&self) -> String {
        let is_decided = self.result.conclusion != Conclusion::Undecided;
        let lines: Vec<String> = self
            .result
            .cautions
            .iter()
            .chain(&self.remarks)
            .map(|text| format!("<li>{}</li>\n", escaped(text)))
            .collect();
        let (class, judged) = match (is_decided, lines.is_empty()) {
            (true, true) => ("valid", "DECIDED"),
            (true, false) => ("suspect", "DECIDED"),
            (false, _) => ("suspect", "UNDECIDED"),
        };
        let metric = self.result.primary.name();
        let more = if lines.is_empty() {
            String::new()
        } else {
            format!("<ul>\n{}</ul>\n", lines.concat())
        };
        format!(
            "<div class=\"verdict {class}\"><p><strong>{judged}</strong> by {metric}; differences below {} % do not matter</p>\n{more}</div>\n",
            figures::plain(self.threshold * 100.0)
        )
    }

    fn metrics(&self) -> String {
        let rows = self.result.findings.iter().map(|finding| {
            vec![
                finding.metric.name().to_owned(),
                value(finding.metric, finding.a),
                value(finding.metric, finding.b),
                ratio(&finding.comparison),
                probability(finding.corrected_probability),
                word(finding.conclusion).to_owned(),
            ]
        });
        let heads = ["metric", "A", "B", "B/A [95 % interval]", "p", "B is"];
        table("A and B", &heads, rows.collect(), true)
    }

    fn noise(&self) -> String {
        let rows = self.result.noise.iter();
        let rows = rows.map(|noise| vec![noise.metric.name().to_owned(), ratio(&noise.comparison)]);
        let heads = ["metric", "second run / first run [95 % interval]"];
        table(
            "Noise floor: A against A, B against B",
            &heads,
            rows.collect(),
            true,
        )
    }

    fn quantiles(&self) -> String {
        let rows = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(|percentile| {
            let name = match percentile {
                100.0 => "longest".to_owned(),
                p => format!("p{p}"),
            };
            let at =
                |latency: &&Latency| super::quantile(latency.quantile(percentile, &Latency::new()));
            vec![name, at(&self.response[0]), at(&self.response[1])]
        });
        table(
            "Response times",
            &["percentile", "A", "B"],
            rows.to_vec(),
            true,
        )
    }

    fn charts(&self) -> String {
        if self.response.iter().any(|latency| latency.is_empty()) {
            return String::new();
        }
        let percentiles =
            [0, 1].map(|side| (COLOURS[side].0, COLOURS[side].1, self.response[side]));
        let mut html = figure(
            "Response times",
            "The share of the requests in each step of the response time. The steps are equally wide on this logarithmic axis; one request in 200 is cut off at each end.",
            &self.distributions(),
        );
        html.push_str(&figure(
            "Response times by percentile",
            "The time within which a share of the requests was answered. A percentile is drawn only with ten samples beyond it.",
            &percentiles_of(&percentiles),
        ));
        if !self.blocks.is_empty() {
            html.push_str(&figure(
                "The runs in their order",
                "Good answers a second of each run: a slope is a drift, and the scatter is the noise.",
                &self.runs(),
            ));
        }
        html
    }

    fn distributions(&self) -> Chart {
        let end = |percentile: f64, pick: fn(f64, f64) -> f64| {
            let ends = self
                .response
                .map(|it| it.value_at_percentile(percentile) as f64);
            pick(ends[0], ends[1])
        };
        let (least, most) = (end(CUT_OFF, f64::min), end(100.0 - CUT_OFF, f64::max));
        let x = Axis::logarithmic("response time", least, most, duration_mark);
        let series = [0, 1].map(|side| Series {
            name: COLOURS[side].0,
            class: COLOURS[side].1,
            points: density(self.response[side], x.from, x.to),
            filled: true,
        });
        let (_, most) = extent(&series);
        let [a, b] = self
            .response
            .map(|it| figures::duration(it.value_at_percentile(50.0)));
        Chart {
            description: format!("Distribution of the response times: median {a} of A, {b} of B"),
            x,
            y: Axis::linear("% of the requests", most, figures::plain),
            series: series.into(),
        }
    }

    fn runs(&self) -> Chart {
        let line = |runs: fn(&Block) -> &[Run; 2]| -> Vec<Option<(f64, f64)>> {
            let runs = self.blocks.iter().flat_map(runs).enumerate();
            runs.map(|(place, run)| {
                Some((place as f64 / 2.0 + 0.75, run.value(Metric::Throughput)?))
            })
            .collect()
        };
        let series = [line(|block| &block.a), line(|block| &block.b)];
        let series: Vec<Series> = COLOURS
            .iter()
            .zip(series)
            .map(|((name, class), points)| Series {
                name,
                class,
                points,
                filled: false,
            })
            .collect();
        let (_, most) = extent(&series);
        let blocks = self.blocks.len() as f64;
        let mut x = Axis::linear_to("block", blocks + 0.5, figures::plain);
        x.ticks.retain(|(at, _)| at.fract() == 0.0 && *at > 0.0);
        Chart {
            description: format!("Throughput of the runs of {blocks} blocks"),
            x,
            y: Axis::linear("good answers a second", most, figures::significant),
            series,
        }
    }
}

/// Returns the percentage of the requests in each step between two times. The steps are equally
/// wide on a logarithmic axis.
fn density(latency: &Latency, from: f64, to: f64) -> Vec<Option<(f64, f64)>> {
    let width = (to / from).ln() / STEPS as f64;
    let mut counts = [0u64; STEPS];
    for step in latency.iter_recorded() {
        let place = ((step.value_iterated_to() as f64 / from).ln() / width).floor();
        if (0.0..STEPS as f64).contains(&place) {
            counts[place as usize] += step.count_since_last_iteration();
        }
    }
    let total = latency.len() as f64;
    let points = counts.iter().enumerate().map(|(place, count)| {
        let middle = from * ((place as f64 + 0.5) * width).exp();
        Some((middle, 100.0 * *count as f64 / total))
    });
    points.collect()
}
