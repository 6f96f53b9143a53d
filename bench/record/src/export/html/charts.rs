//! Draws the page's three plots: throughput over time, latency by percentile, latency over time.

use crate::export::plot::{Axis, Chart, Series};
use crate::points::{percentile_steps, Point};
use crate::{figures, Latency, Record};

pub fn section(record: &Record) -> String {
    let points = record.points();
    let mut html = String::from("<section class=\"charts\">\n");
    html.push_str(&figure(
        "Throughput over time",
        "Requests that ended in each stretch of time.",
        &throughput(record, &points),
    ));
    html.push_str(&figure(
        "Latency by percentile",
        "Response time counts from the intended start of a request, service time from its first byte: where they part, requests waited before they were sent; the tables say for what. A percentile is drawn only with ten samples beyond it.",
        &percentiles(record),
    ));
    html.push_str(&figure(
        "Latency over time",
        "Response times by the moment the answer was complete; a gap is silence.",
        &over_time(record, &points),
    ));
    html.push_str("</section>\n");
    html
}

/// Returns the drawing in a wide and in a narrow form, so its text is readable on wide and narrow
/// screens.
pub(super) fn figure(title: &str, note: &str, chart: &Chart) -> String {
    let legend: Vec<String> = chart
        .series
        .iter()
        .map(|s| format!("<span><i class=\"key {}\"></i>{}</span>", s.class, s.name))
        .collect();
    format!(
        "<figure>\n<figcaption><h2>{title}</h2><p>{note}</p></figcaption>\n<p class=\"legend\">{}</p>\n{}{}</figure>\n",
        legend.concat(),
        chart.svg("wide", 760.0, 280.0),
        chart.svg("narrow", 360.0, 260.0),
    )
}

fn throughput(record: &Record, points: &[Point]) -> Chart {
    let most = points
        .iter()
        .map(|p| p.completed_per_second.max(p.failed_per_second))
        .fold(0.0, f64::max);
    let line = |value: fn(&Point) -> f64| {
        points
            .iter()
            .map(move |p| Some((p.seconds, value(p))))
            .collect()
    };
    let mut series = vec![Series {
        name: "completed",
        class: "first",
        points: line(|p| p.completed_per_second),
        filled: true,
    }];
    if points.iter().any(|p| p.failed > 0) {
        series.push(Series {
            name: "failed",
            class: "fourth",
            points: line(|p| p.failed_per_second),
            filled: false,
        });
    }
    Chart {
        description: format!(
            "Throughput over {} stretches of {} s; at most {} requests a second",
            points.len(),
            record.timeline.bucket_seconds,
            figures::significant(most)
        ),
        x: time_axis(record, points),
        y: Axis::linear("requests a second", most, figures::significant),
        series,
    }
}

fn percentiles(record: &Record) -> Chart {
    percentiles_of(&[
        ("response time", "first", &record.response),
        ("service time", "second", &record.service),
    ])
}

/// Draws histograms by percentile. Each has a name and a colour's class.
pub(super) fn percentiles_of(all: &[(&'static str, &'static str, &Latency)]) -> Chart {
    let filled = all.iter().filter(|(.., latency)| !latency.is_empty());
    let series: Vec<Series> = filled
        .map(|(name, class, latency)| Series {
            name,
            class,
            points: by_percentile(latency),
            filled: false,
        })
        .collect();
    let steps = |latency: &Latency| percentile_steps(latency.len()).last().copied();
    let last = all
        .iter()
        .filter_map(|(.., latency)| steps(latency))
        .fold(0.0, f64::max);
    let (least, most) = extent(&series);
    let told: Vec<String> = all
        .iter()
        .filter(|(.., latency)| !latency.is_empty())
        .map(|(name, _, latency)| {
            let median = figures::duration(latency.value_at_percentile(50.0));
            format!("median of {name} {median}")
        })
        .collect();
    let last = 100.0 / (100.0 - last);
    Chart {
        description: format!(
            "Latency by percentile up to {}: {}",
            percentile_mark(last),
            told.join(", ")
        ),
        x: percentile_axis(last),
        y: Axis::logarithmic("", least, most, duration_mark),
        series,
    }
}

fn by_percentile(latency: &Latency) -> Vec<Option<(f64, f64)>> {
    percentile_steps(latency.len())
        .iter()
        .map(|p| Some((100.0 / (100.0 - p), latency.value_at_percentile(*p) as f64)))
        .collect()
}

fn over_time(record: &Record, points: &[Point]) -> Chart {
    let line = |place: usize| -> Vec<Option<(f64, f64)>> {
        points
            .iter()
            .map(|p| p.latency_ns.map(|values| (p.seconds, values[place] as f64)))
            .collect()
    };
    let series: Vec<Series> = [
        ("maximum", "fourth", 3),
        ("p99", "third", 2),
        ("p90", "first", 1),
        ("p50", "second", 0),
    ]
    .into_iter()
    .map(|(name, class, place)| Series {
        name,
        class,
        points: line(place),
        filled: false,
    })
    .collect();
    let (least, most) = extent(&series);
    Chart {
        description: format!(
            "Latency over time: overall median {}, maximum {}",
            figures::duration(record.response.value_at_percentile(50.0)),
            figures::duration(record.response.max()),
        ),
        x: time_axis(record, points),
        y: Axis::logarithmic("", least, most, duration_mark),
        series,
    }
}

pub(super) fn extent(series: &[Series]) -> (f64, f64) {
    let values = || {
        series
            .iter()
            .flat_map(|s| s.points.iter().flatten())
            .map(|(_, y)| *y)
    };
    match values().next() {
        None => (1e3, 1e6),
        Some(_) => (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        ),
    }
}

fn time_axis(record: &Record, points: &[Point]) -> Axis {
    let asked = record.durations.measured_us as f64 / 1e6;
    let last = points.last().map_or(asked, |p| p.seconds.max(asked));
    Axis::linear_to("seconds", last, figures::plain)
}

/// Returns the axis of percentiles: a logarithmic axis of 1/(1-p), labelled with the percentiles.
fn percentile_axis(to: f64) -> Axis {
    let mut axis = Axis::logarithmic("percentile", 1.0, to.max(2.0), percentile_mark);
    axis.to = to.max(2.0);
    axis.ticks = [1.0, 2.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7]
        .into_iter()
        .filter(|at| *at <= axis.to * 1.000_001)
        .map(|at| (at, percentile_mark(at)))
        .collect();
    axis
}

/// Returns a percentile label such as `p50` or `p99.9`, with as many nines as necessary.
fn percentile_mark(at: f64) -> String {
    let percentile = 100.0 * (1.0 - 1.0 / at);
    let text = format!("{percentile:.6}");
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a duration label without unnecessary digits, such as `1 ms` or `20 ms`.
pub(super) fn duration_mark(ns: f64) -> String {
    let (value, unit) = match ns {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", value.round())
}
