//! Writes the findings as text for a terminal, or as JSON.

use super::advice::{Finding, Verdict};
use super::examination::Examination;
use mehari_console::inspection::printable;
use serde_json::{json, Value};
use std::fmt::Write;

pub fn text(examination: &Examination, findings: &[Finding]) -> String {
    let mut text = format!("{}\n", printable(&examination.subject()));
    let mut number = 0;
    for finding in findings {
        let Verdict::Advice(advice) = &finding.verdict else {
            continue;
        };
        for advice in advice {
            number += 1;
            let _ = writeln!(text, "\n{number}. {}", printable(&advice.what));
            for (word, told) in [
                ("measured", advice.measured.clone()),
                ("change", advice.change.told()),
                ("gain", advice.gain.clone()),
            ] {
                let _ = writeln!(text, "   {word:<9} {}", printable(&told));
            }
        }
    }
    if number == 0 {
        text.push_str("\nnothing to advise\n");
    }
    list(
        &mut text,
        "measured, and nothing to change",
        findings,
        |it| match it {
            Verdict::Fine(told) => Some(told),
            _ => None,
        },
    );
    list(&mut text, "not measured", findings, |it| match it {
        Verdict::Unmeasured(why) => Some(why),
        _ => None,
    });
    text
}

/// Adds a line for each finding of one kind.
fn list(
    text: &mut String,
    heading: &str,
    findings: &[Finding],
    told: impl Fn(&Verdict) -> Option<&String>,
) {
    let mut is_first = true;
    for finding in findings {
        let Some(told) = told(&finding.verdict) else {
            continue;
        };
        if is_first {
            let _ = writeln!(text, "\n{heading}:");
            is_first = false;
        }
        let _ = writeln!(text, "  {}: {}", finding.check, printable(told));
    }
}

pub fn json(examination: &Examination, findings: &[Finding]) -> Value {
    let findings: Vec<Value> = findings
        .iter()
        .map(|finding| match &finding.verdict {
            Verdict::Advice(advice) => json!({ "check": finding.check, "advice": advice }),
            Verdict::Fine(told) => json!({ "check": finding.check, "fine": told }),
            Verdict::Unmeasured(why) => json!({ "check": finding.check, "unmeasured": why }),
        })
        .collect();
    json!({ "examined": examination.subject(), "findings": findings })
}
