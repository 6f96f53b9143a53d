//! Writes the measured candidates of a file as a table, and as JSON.

use super::files::Head;
use mehari_record::figures;
use mehari_record::statistics::{Conclusion, Interval};
use mehari_time::{Candidate, Clock, Difference, TimeError, Timing};
use serde::Serialize;

/// The measured candidates of a file, the fastest first.
#[derive(Serialize)]
pub struct Report {
    title: Vec<String>,
    #[serde(flatten)]
    timing: Timing,
    /// The candidate to which the others are compared.
    fastest: String,
    rows: Vec<Row>,
    /// For each candidate of `rows`, how it compares with each other one. Null: the same.
    #[serde(skip)]
    matrix: Vec<Vec<Option<Difference>>>,
}

/// A candidate beside the fastest one.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Null: the candidate is the fastest one.
    difference: Option<Difference>,
    /// The document's figure, and its ratio to the figure of the fastest candidate.
    published: Option<f64>,
    published_ratio: Option<f64>,
}

impl Report {
    /// # Errors
    /// Two candidates cannot be compared.
    pub fn of(mut timing: Timing, head: Head) -> Result<Report, TimeError> {
        timing.candidates.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        let all = &timing.candidates;
        let compared = |other: &Candidate, base: &Candidate| {
            let differs = other.name != base.name;
            differs.then(|| timing.difference(other, base)).transpose()
        };
        let matrix = all
            .iter()
            .map(|other| all.iter().map(|base| compared(other, base)).collect())
            .collect::<Result<Vec<Vec<_>>, _>>()?;
        let figure = |name: &str| {
            let mut figures = head.published.iter();
            figures.find(|(known, _)| known == name).map(|it| it.1)
        };
        let fastest = all.first().map(|it| it.name.clone()).unwrap_or_default();
        let rows = all.iter().zip(&matrix).map(|(candidate, differences)| {
            let published = figure(&candidate.name);
            let both = published.zip(figure(&fastest));
            Row {
                name: candidate.name.clone(),
                difference: differences.first().copied().flatten(),
                published,
                published_ratio: both.map(|(own, base)| own / base),
            }
        });
        Ok(Report {
            rows: rows.collect(),
            title: head.title,
            fastest,
            matrix,
            timing,
        })
    }

    /// Returns the title and the tables.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.timing.file);
        for line in &self.title {
            text += &format!("{line}\n");
        }
        text += &aligned(&self.lines());
        if self.rows.len() > 2 {
            text += "\n";
            text += &aligned(&self.pairs());
        }
        text
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let has_published = self.rows.iter().any(|row| row.published.is_some());
        let all = &self.timing.candidates;
        let waits = self.timing.clock == Clock::Cpu && all.iter().any(|it| it.waits);
        let mut head = vec!["sub", "a call", "±", "5 %", "95 %"];
        head.extend(waits.then_some("on the wall"));
        let counts = all.iter().any(|it| it.counted.is_some());
        head.extend(
            counts
                .then_some(["instructions", "allocations"])
                .into_iter()
                .flatten(),
        );
        head.extend(["ratio", "99 % interval", "conclusion"]);
        head.extend(
            has_published
                .then_some(["published", "ratio"])
                .into_iter()
                .flatten(),
        );
        let mut lines = vec![head.into_iter().map(str::to_owned).collect::<Vec<String>>()];
        for (row, candidate) in self.rows.iter().zip(all) {
            let half = (candidate.interval.high / candidate.interval.low).sqrt() - 1.0;
            let mut line = vec![
                row.name.clone(),
                time(candidate.ns),
                percent(half),
                time(candidate.percentiles[0]),
                time(candidate.percentiles[2]),
            ];
            line.extend(waits.then(|| time(candidate.wall_ns)));
            if let Some(counted) = &candidate.counted {
                line.push(format!("{:.0}", counted.instructions));
                line.push(format!("{:.1}", counted.allocations));
            }
            line.extend(match &row.difference {
                Some(it) => [
                    ratio(it.ratio),
                    interval(&it.interval),
                    words(it.conclusion).to_owned(),
                ],
                None => ["1".to_owned(), String::new(), String::new()],
            });
            if has_published {
                line.push(row.published.map(figures::plain).unwrap_or_default());
                line.push(row.published_ratio.map(ratio).unwrap_or_default());
            }
            lines.push(line);
        }
        lines
    }

    /// Returns the ratio of each candidate's time to each other's. `=`: no difference is proven.
    fn pairs(&self) -> Vec<Vec<String>> {
        let mut head = vec!["time divided by that of".to_owned()];
        head.extend(self.rows.iter().map(|row| row.name.clone()));
        let mut lines = vec![head];
        for (row, differences) in self.rows.iter().zip(&self.matrix) {
            let mut line = vec![row.name.clone()];
            line.extend(differences.iter().map(|difference| match difference {
                Some(it) if is_proven(it.conclusion) => ratio(it.ratio),
                Some(_) => "=".to_owned(),
                None => "--".to_owned(),
            }));
            lines.push(line);
        }
        lines
    }
}

fn is_proven(conclusion: Conclusion) -> bool {
    matches!(conclusion, Conclusion::Faster | Conclusion::Slower)
}

fn words(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Faster => "faster",
        Conclusion::Slower => "slower",
        Conclusion::Equivalent => "equal within 1 %",
        Conclusion::Undecided => "no difference proven",
    }
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{} ns", figures::significant(ns)),
        ns => figures::duration(ns.round() as u64),
    }
}

fn ratio(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.3}")
    } else {
        figures::significant(value)
    }
}

fn interval(interval: &Interval) -> String {
    format!("{} to {}", ratio(interval.low), ratio(interval.high))
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// Aligns the first column to the left and the others to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => row += &format!("{cell:<width$}"),
                _ => row += &format!("  {cell:>width$}"),
            }
        }
        text += row.trim_end();
        text += "\n";
    }
    text
}
