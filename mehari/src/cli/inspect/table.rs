//! Writes an inspection's answer for a terminal. Names, values and source text come from the
//! application, so no control character of them reaches the terminal.

use mehari_console::inspection::printable;
use serde_json::Value;
use std::fmt::Write;

/// The gap between two columns.
const GAP: &str = "  ";

pub fn of(answer: &Value) -> String {
    let text = |key: &str| answer[key].as_str().map(printable).unwrap_or_default();
    let mut out = format!("{}, process {}\n", text("title"), answer["pid"]);
    if let Some(lines) = answer["text"].as_str() {
        for line in lines.lines() {
            let _ = writeln!(out, "{}", printable(&line.replace('\t', "    ")));
        }
    } else {
        out += &rows(answer);
    }
    let note = text("note");
    if !note.is_empty() {
        let _ = writeln!(out, "{note}");
    }
    out
}

fn rows(answer: &Value) -> String {
    let columns = answer["columns"].as_array().cloned().unwrap_or_default();
    let rows = answer["rows"].as_array().cloned().unwrap_or_default();
    if rows.is_empty() {
        return "nothing\n".to_owned();
    }
    let kinds: Vec<&str> = columns
        .iter()
        .map(|it| it["kind"].as_str().unwrap_or_default())
        .collect();
    let heads = columns
        .iter()
        .map(|it| printable(it["name"].as_str().unwrap_or_default()));
    let mut lines: Vec<Vec<String>> = vec![heads.collect()];
    lines.extend(rows.iter().map(|row| {
        let cells = kinds.iter().enumerate();
        cells.map(|(at, kind)| cell(&row[at], kind)).collect()
    }));
    let widths: Vec<usize> = (0..kinds.len())
        .map(|at| {
            lines
                .iter()
                .map(|line| line[at].chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    let mut out = String::new();
    for line in &lines {
        let mut written = String::new();
        for (at, text) in line.iter().enumerate() {
            let padding = " ".repeat(widths[at] - text.chars().count());
            let _ = if is_figure(kinds[at]) {
                write!(written, "{padding}{text}{GAP}")
            } else {
                write!(written, "{text}{padding}{GAP}")
            };
        }
        out += written.trim_end();
        out.push('\n');
    }
    out
}

fn is_figure(kind: &str) -> bool {
    matches!(kind, "number" | "bytes" | "us")
}

fn cell(value: &Value, kind: &str) -> String {
    match (value.as_f64(), kind) {
        (Some(us), "us") => format!("{:.2} ms", us / 1000.0),
        _ => match value {
            Value::Null => String::new(),
            Value::String(text) => printable(text),
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn figures_stand_on_the_right_and_escapes_are_shown() {
        let answer = json!({
            "title": "Bytes", "pid": 7, "note": "A note.",
            "columns": [{ "name": "Sub" }, { "name": "Bytes", "kind": "bytes" }],
            "rows": [["a\u{1b}[1m", 5], ["b", null]],
        });
        let expected = "Bytes, process 7\nSub         Bytes\na\\u{1b}[1m      5\nb\nA note.\n";
        assert_eq!(super::of(&answer), expected);
    }
}
