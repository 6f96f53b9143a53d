//! The workers as a table: the columns of Apache::VMonitor, sorted by one of them.

use super::figures::{size, time, whole};
use serde_json::Value;
use std::cmp::Reverse;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Process,
    State,
    Elapsed,
    LastRequest,
    Served,
    Age,
    Cpu,
    Size,
    Rss,
    Share,
    Client,
    Request,
}

impl Column {
    pub const ALL: [Column; 12] = [
        Column::Process,
        Column::State,
        Column::Elapsed,
        Column::LastRequest,
        Column::Served,
        Column::Age,
        Column::Cpu,
        Column::Size,
        Column::Rss,
        Column::Share,
        Column::Client,
        Column::Request,
    ];

    /// Returns the word for the column in options and in the head of the table.
    pub fn word(self) -> &'static str {
        match self {
            Column::Process => "pid",
            Column::State => "state",
            Column::Elapsed => "elapsed",
            Column::LastRequest => "last",
            Column::Served => "served",
            Column::Age => "age",
            Column::Cpu => "cpu",
            Column::Size => "size",
            Column::Rss => "rss",
            Column::Share => "share",
            Column::Client => "client",
            Column::Request => "request",
        }
    }

    pub fn width(self) -> u16 {
        match self {
            Column::Process => 8,
            Column::Client => 15,
            Column::Request => 40,
            _ => 10,
        }
    }

    pub fn is_text(self) -> bool {
        matches!(self, Column::State | Column::Client | Column::Request)
    }
}

/// The column that sorts the workers. Numbers are sorted with the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub column: Column,
    pub is_reversed: bool,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let (is_reversed, word) = match text.strip_prefix('-') {
            Some(word) => (true, word),
            None => (false, text),
        };
        let found = Column::ALL.into_iter().find(|it| it.word() == word);
        let column = found.ok_or_else(|| {
            let words: Vec<&str> = Column::ALL.iter().map(|it| it.word()).collect();
            format!("expected a column: {}", words.join(", "))
        })?;
        Ok(Order {
            column,
            is_reversed,
        })
    }
}

/// One worker: the text of each column.
#[derive(Debug, Clone)]
pub struct Row {
    pub pid: u32,
    pub texts: Vec<String>,
}

/// Returns the workers of a status in their order.
pub fn rows(status: &Value, order: Order) -> Vec<Row> {
    let workers = status["pool"]["workers"].as_array();
    let mut workers: Vec<&Value> = workers.into_iter().flatten().collect();
    let process = |worker: &Value| &status["processes"][worker["pid"].to_string()];
    workers.sort_by_cached_key(|worker| whole(&worker["pid"]));
    if order.column.is_text() {
        workers.sort_by_cached_key(|worker| text_of(worker, process(worker), order.column));
    } else {
        let number = |worker: &&Value| number_of(worker, process(worker), order.column);
        workers.sort_by_cached_key(|worker| Reverse(number(worker)));
    }
    if order.is_reversed {
        workers.reverse();
    }
    let row = |worker: &Value| Row {
        pid: whole(&worker["pid"]) as u32,
        texts: Column::ALL
            .map(|column| text_of(worker, process(worker), column))
            .to_vec(),
    };
    workers.into_iter().map(row).collect()
}

/// Returns the number by which a column sorts.
fn number_of(worker: &Value, process: &Value, column: Column) -> u64 {
    whole(match column {
        Column::Process => &worker["pid"],
        Column::Elapsed => &worker["running_ms"],
        Column::LastRequest => &worker["last_us"],
        Column::Served => &worker["served"],
        Column::Age => &worker["age_s"],
        Column::Cpu => &process["cpu_ms"],
        Column::Size => &process["virtual_size"],
        Column::Rss => &process["resident"],
        Column::Share => &process["shared"],
        Column::State | Column::Client | Column::Request => &Value::Null,
    })
}

fn text_of(worker: &Value, process: &Value, column: Column) -> String {
    let number = number_of(worker, process, column);
    let request = &worker["request"];
    let word = |value: &Value| printable(value.as_str().unwrap_or_default());
    match column {
        Column::Process | Column::Served => number.to_string(),
        Column::State => word(&worker["state"]),
        Column::Elapsed if request.is_null() => "-".to_owned(),
        Column::Elapsed | Column::Cpu => time(number * 1000),
        Column::LastRequest => time(number),
        Column::Age => time(number * 1_000_000),
        Column::Size | Column::Rss | Column::Share => size(number),
        Column::Client => word(&request["client"]),
        Column::Request if request.is_null() => String::new(),
        Column::Request => format!("{} {}", word(&request["method"]), word(&request["target"])),
    }
}

/// Replaces control characters, so that a request cannot write to the terminal.
fn printable(text: &str) -> String {
    let sign = |sign: char| if sign.is_control() { '\u{fffd}' } else { sign };
    text.chars().map(sign).collect()
}

/// Writes the table as lines of text. Nothing is cut.
pub fn text(rows: &[Row]) -> String {
    let words: Vec<String> = Column::ALL.map(|it| it.word().to_owned()).to_vec();
    let mut text = line(&words);
    for row in rows {
        text.push_str(&line(&row.texts));
    }
    text
}

fn line(texts: &[String]) -> String {
    let cells = Column::ALL.iter().zip(texts).map(|(column, text)| {
        let width = usize::from(column.width());
        if column.is_text() {
            format!("{text:<width$}")
        } else {
            format!("{text:>width$}")
        }
    });
    let cells: Vec<String> = cells.collect();
    format!("{}\n", cells.join("  ").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(text: &str) -> Order {
        text.parse().expect("a column")
    }

    #[test]
    fn every_column_sorts_both_ways_and_an_unknown_one_is_named() {
        let worker = |pid: u32, state: &str, served: u64| {
            json!({ "pid": pid, "state": state, "served": served, "running_ms": served,
                "request": { "method": "GET", "target": "/\u{1b}[31m<b>", "client": "::1" } })
        };
        let workers = json!([
            worker(1, "idle", 5),
            worker(2, "busy", 9),
            worker(3, "idle", 7)
        ]);
        let status = json!({ "pool": { "workers": workers } });
        let pids = |order| {
            rows(&status, order)
                .iter()
                .map(|it| it.pid)
                .collect::<Vec<_>>()
        };
        assert_eq!(pids(order("served")), [2, 3, 1]);
        assert_eq!(pids(order("-served")), [1, 3, 2]);
        assert_eq!(pids(order("state")), [2, 1, 3]);
        assert_eq!(pids(order("pid")), [3, 2, 1]);
        for column in Column::ALL {
            let mut both = (
                pids(order(column.word())),
                pids(order(&format!("-{}", column.word()))),
            );
            both.1.reverse();
            assert_eq!(both.0, both.1, "{}", column.word());
        }
        let told = "memory".parse::<Order>().expect_err("no column");
        assert!(told.contains("rss, share"), "{told}");
        let text = text(&rows(&status, order("pid")));
        assert!(!text.contains('\u{1b}') && text.contains("<b>"), "{text}");
    }
}
