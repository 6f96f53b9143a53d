//! Exports a record as an HTML page: verdict, figures, three plots, and each plot again as a table.
//! Exports a comparison as such a page too. A page is one file. It loads no other file and runs no
//! script.

mod charts;
mod comparison;
mod tables;

pub use self::comparison::ComparisonPage;

use crate::export::plot::escaped;
use crate::{figures, wall_clock, Judgement, Quantile, Record};

const STYLE: &str = include_str!("html/style.css");

pub fn page(record: &Record) -> String {
    let kicker = format!(
        "Mehari load record · {}",
        wall_clock::text(record.started_unix_us)
    );
    let body = format!(
        "{}{}{}",
        tiles(record),
        charts::section(record),
        tables::section(record)
    );
    document(
        &record.plan.words,
        &kicker,
        &verdict(record),
        &body,
        &generators(record),
    )
}

/// Returns a whole page. `title` and `kicker` are text, the other parts are HTML.
fn document(title: &str, kicker: &str, verdict: &str, body: &str, footer: &str) -> String {
    let (title, kicker) = (escaped(title), escaped(kicker));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<p class=\"kicker\">{kicker}</p>\n<h1>{title}</h1>\n{verdict}</header>\n{body}<footer>{footer}</footer>\n</main>\n</body>\n</html>\n",
    )
}

fn verdict(record: &Record) -> String {
    let verdict = &record.verdict;
    let (class, meaning) = match verdict.judgement {
        Judgement::Valid => ("valid", "the generator kept to its plan"),
        Judgement::Suspect => ("suspect", "read with care"),
        Judgement::Invalid => ("invalid", "do not use these numbers"),
    };
    let mut html = format!(
        "<div class=\"verdict {class}\"><p><strong>{}</strong> {meaning}</p>\n",
        verdict.judgement
    );
    let reasons = verdict.reasons.iter().map(|reason| &reason.text);
    let lines: Vec<String> = reasons
        .chain(&verdict.notes)
        .map(|text| format!("<li>{}</li>\n", escaped(text)))
        .collect();
    if !lines.is_empty() {
        html.push_str(&format!("<ul>\n{}</ul>\n", lines.concat()));
    }
    html.push_str("</div>\n");
    html
}

fn tiles(record: &Record) -> String {
    let counts = &record.counts;
    let without = counts.failures() + counts.censored;
    let tile = |name: &str, value: String, note: String| {
        format!("<div class=\"tile\"><dt>{name}</dt><dd>{value}</dd><dd class=\"note\">{note}</dd></div>\n")
    };
    let mut html = String::from("<dl class=\"tiles\">\n");
    html.push_str(&tile(
        "Successes a second",
        figures::significant(record.throughput()),
        format!("over {}", figures::duration(record.took_us() * 1_000)),
    ));
    for (name, percentile) in [("Median response", 50.0), ("p99 response", 99.0)] {
        html.push_str(&tile(
            name,
            quantile(record.quantile(percentile)),
            "from the intended start".into(),
        ));
    }
    html.push_str(&tile(
        "Completed",
        figures::count(counts.completed),
        format!(
            "{} with status 400 or more",
            figures::count(counts.error_statuses())
        ),
    ));
    html.push_str(&tile(
        "Without an answer",
        figures::count(without),
        format!(
            "{} failed, {} unfinished",
            figures::count(counts.failures()),
            figures::count(counts.censored)
        ),
    ));
    html.push_str(&tile(
        "Received",
        figures::bytes(counts.bytes_received as f64),
        format!("{} connections opened", figures::count(counts.connections)),
    ));
    html.push_str("</dl>\n");
    html
}

pub(super) fn quantile(quantile: Quantile) -> String {
    match quantile {
        Quantile::Exactly(ns) => figures::duration(ns),
        Quantile::AtLeast(ns) => format!("≥ {}", figures::duration(ns)),
        Quantile::TooFew => "too few samples".into(),
    }
}

fn generators(record: &Record) -> String {
    let lines: Vec<String> = record
        .machines
        .iter()
        .map(|machine| {
            let cost = &machine.cost;
            escaped(&format!(
                "{} on {}: {}, {} processors{}, {} memory, Linux {}. It used {} of processor time in user mode and {} in the kernel.",
                machine.generator,
                machine.host,
                machine.processor,
                machine.processors,
                machine.crossing_words(),
                figures::bytes(machine.memory_bytes as f64),
                machine.kernel,
                figures::duration(cost.cpu_user_us * 1_000),
                figures::duration(cost.cpu_system_us * 1_000),
            ))
        })
        .map(|line| format!("<p>{line}</p>\n"))
        .collect();
    lines.concat()
}
