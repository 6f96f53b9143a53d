//! Tests `mehari compare` as users run it.

#![allow(clippy::unwrap_used)]

mod support;

use mehari_record::{Event, Machine, Plan, Record};
use serde_json::Value;
use support::*;

/// The options of a short load. The assertions of the tests hold on a machine of any speed.
const SHORT: [&str; 7] = ["-c", "2", "-n", "20", "--warm-up", "0s", "--no-ceiling"];

fn compared(arguments: &[&str]) -> Value {
    let output = run(&[&["compare"], arguments, &SHORT, &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn page_that_sleeps_is_slower_than_another_page() {
    let site = site();
    let result = compared(&[&format!("http://{site}/"), &format!("http://{site}/slow")]);
    assert_eq!(result["result"]["conclusion"], "slower");
    assert_eq!(result["result"]["primary"], "throughput");
    let blocks = result["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 6);
    // 20 requests of 5 ms by 2 users take at least 50 ms: at most 400 per second.
    for block in blocks {
        for run in block["b"].as_array().unwrap() {
            assert!(run["throughput"].as_f64().unwrap() <= 401.0, "{run}");
            assert_eq!(run["attempted"], 20);
        }
    }
    assert_eq!(result["response"]["b"]["count"], 240);
}

#[test]
fn report_begins_with_the_noise_floor_and_ends_with_the_conclusion() {
    let site = site();
    let (a, b) = (format!("http://{site}/slow?a"), format!("http://{site}/"));
    let output = run(&[&["compare", &a, &b][..], &SHORT].concat());
    let text = stdout(&output);
    let floor = text.find("Noise floor").expect(&text);
    assert!(floor < text.find("B is\n").unwrap(), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("B is at least "), "{text}");
    assert!(last.contains(" x faster: "), "{text}");
    assert!(
        output.stderr.is_empty(),
        "nothing but the result when piped"
    );
}

#[test]
fn comparison_with_a_variant_that_answers_404_is_undecided() {
    let site = site();
    let result = compared(&[
        &format!("http://{site}/slow"),
        &format!("http://{site}/missing"),
    ]);
    assert_eq!(result["result"]["conclusion"], "undecided");
    assert_eq!(result["bad"]["b"]["status 404"], 240);
    let cautions = result["result"]["cautions"].to_string();
    assert!(
        cautions.contains("100.0 % of B's requests got no good answer"),
        "{cautions}"
    );
}

#[test]
fn missing_server_fails_at_the_first_run() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{gone}/");
    let output = run(&[&["compare", &url, &url][..], &SHORT].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains(&format!("nothing was answered at {gone} (connect 20)")),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn commands_are_started_reached_by_their_printed_url_and_ended_with_term() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    // The server in this test is `mehari record`: it prints its URL, and writes its file only after
    // TERM.
    let server = |name: &str| {
        let file = folder.path().join(name);
        format!(
            "{} record --listen 127.0.0.1:0 --to http://{site} -o {}",
            env!("CARGO_BIN_EXE_mehari"),
            file.display()
        )
    };
    let result = compared(&[
        &server("a.har"),
        &server("b.har"),
        "--blocks",
        "2",
        "--url",
        "/page?x",
    ]);
    assert_eq!(result["blocks"].as_array().unwrap().len(), 2);
    for name in ["a.har", "b.har"] {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let archive: Value = serde_json::from_str(&text).unwrap();
        let entries = archive["log"]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 20, "the last run's, written when TERM came");
        assert_eq!(
            entries[0]["request"]["url"],
            format!("http://{site}/page?x")
        );
    }
}

#[test]
fn command_that_prints_nothing_is_ready_when_its_url_accepts_connections() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.har").display().to_string();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let program = env!("CARGO_BIN_EXE_mehari");
    let serve =
        |listen: &str| format!("{program} record --listen {listen} --to http://{site} -o {file}");
    let silent = format!("{} >/dev/null", serve(&free.to_string()));
    let url = format!("http://{free}/slow");
    let result = compared(&[&serve("127.0.0.1:0"), &silent, "--url", "/", "--url", &url]);
    assert_eq!(result["result"]["conclusion"], "slower");
    let busy = format!("http://{site}/");
    let output = run(&["compare", "sleep 60", "sleep 60", "--url", &busy]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("another server already serves at http://"));
}

#[test]
fn command_that_ends_before_it_is_ready_fails_with_its_own_message() {
    let output = run(&["compare", "echo no such module >&2; exit 3", "sleep 60"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("ended with exit status: 3; it said: no such module"),
        "{said}"
    );
}

#[test]
fn command_that_never_serves_is_killed_with_all_processes_that_it_started() {
    let mark = format!("{}", 86_000 + std::process::id() % 1000);
    let command = format!("trap '' TERM; sleep {mark} & sleep {mark}");
    let output = run(&["compare", &command, "sleep 60", "--start-timeout", "200ms"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("did not print a line with an http:// URL"));
    let sleeping = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line == format!("sleep\0{mark}\0")
    });
    assert!(!sleeping, "a process of the command is left");
}

#[test]
fn request_files_are_compared() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let a = file("a.txt", format!("http://{site}/one\n3 http://{site}/two\n"));
    let b = file("b.txt", format!("http://{site}/slow\n"));
    assert_eq!(compared(&[&a, &b])["result"]["conclusion"], "slower");
}

#[test]
fn matrix_prints_a_table_like_the_guides_with_a_row_for_each_combination() {
    let site = site();
    let template = format!("http://{site}/{{name}}?{{query_length:query}}");
    let table = [
        "--blocks",
        "2",
        "--matrix",
        "name=handler->h,registry->slow",
        "--matrix",
        "query_length=25,337",
    ];
    let output = run(&[&["compare", &template][..], &table, &SHORT].concat());
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let heads: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(
        heads[..9],
        [
            "name",
            "query_length",
            "|",
            "avtime",
            "completed",
            "failed",
            "rps",
            "p50",
            "p99"
        ]
    );
    let rows: Vec<Vec<&str>> = lines[3..7]
        .iter()
        .map(|row| row.split_whitespace().collect())
        .collect();
    for (row, name) in rows
        .iter()
        .zip(["handler", "handler", "registry", "registry"])
    {
        assert_eq!(
            (row[0], row[4], row[5]),
            (name, "40", "0"),
            "sorted by avtime: {text}"
        );
    }
    assert!(text.contains("concurrency     : 2"), "{text}");

    let value = compared(&[&[template.as_str()][..], &table].concat());
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[3]["parameters"]["name"], "registry");
    assert!(rows[3]["avtime_ms"].as_f64().unwrap() >= 5.0);
    assert_eq!(rows[0]["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn matrix_parameters_that_are_not_in_the_template_change_the_load() {
    let site = site();
    let url = format!("http://{site}/");
    let value = compared(&[
        &url,
        "--blocks",
        "2",
        "--matrix",
        "concurrency=1,2",
        "--matrix",
        "requests=10,30",
    ]);
    let rows = value["rows"].as_array().unwrap();
    let mut completed: Vec<u64> = rows
        .iter()
        .map(|row| row["completed"].as_u64().unwrap())
        .collect();
    completed.sort_unstable();
    assert_eq!(completed, [20, 20, 60, 60]);
}

/// Saves a record with `rate` answers per second for twelve seconds.
fn save(folder: &std::path::Path, name: &str, rate: u64) -> String {
    let mut record = Record::new(Plan::default(), Machine::default(), 1_795_291_200_000_000);
    record.durations.measured_us = 12_000_000;
    for second in 0..12 {
        let rate = rate + (second * 7) % 5;
        for request in 0..rate {
            let moment = second * 1_000_000 + request * 1_000_000 / rate;
            record.timeline.count(Event {
                ended_unix_us: record.started_unix_us + moment,
                response_ns: Some(1_000_000_000 / rate),
                bytes: 100,
            });
            record.response.count(1_000_000_000 / rate);
            record.counts.completed += 1;
        }
    }
    record.counts.attempted = record.counts.completed;
    let path = folder.join(name);
    record.write(&path).unwrap();
    path.display().to_string()
}

#[test]
fn one_or_several_records_of_each_variant_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let a = save(folder.path(), "a.json", 1_000);
    let b = save(folder.path(), "b.json", 1_500);
    let text = stdout(&run(&["compare", &a, &b]));
    assert!(text.contains("note: one record of each"), "{text}");
    assert!(
        text.lines().last().unwrap().starts_with("B is faster: 1.4"),
        "{text}"
    );
    let four = |rate: u64| {
        let name = |i| save(folder.path(), &format!("{rate}-{i}.json"), rate + i);
        (0..4).map(name).collect::<Vec<String>>().join(",")
    };
    let output = run(&["compare", &four(1_000), &four(1_005), "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["result"]["conclusion"], "equivalent");
}

#[test]
fn arguments_without_sense_are_refused_in_one_line_and_no_load_is_sent() {
    let url = "http://127.0.0.1:9/";
    for (arguments, why) in [
        (&["compare"][..], "two things to compare"),
        (&["compare", url], "two things to compare, A and B, not 1"),
        (&["compare", url, "htp:/x"], "`htp:/x` is not a URL"),
        (&["compare", url, "http://"], "http://"),
        (&["compare", url, "gone.json"], "no record file gone.json"),
        (&["compare", url, url, "-c", "0"], "0 connections"),
        (
            &["compare", url, url, "--blocks", "1"],
            "--blocks must be at least 2",
        ),
        (&["compare", url, url, "--treshold", "1"], "--threshold"),
        (
            &["compare", url, url, "--metric", "p5"],
            "throughput, mean, p50 or p99",
        ),
        (&["compare", url, url, "--matrix", "a=1"], "one template"),
        (
            &["compare", url, "--matrix", "a=1"],
            "`a` is nowhere in the template",
        ),
        (&["compare", url, "--matrix", "a"], "NAME=A,B,C"),
        (
            &["compare", url, url, "--output", "x"],
            "expected .html or .json",
        ),
    ] {
        assert_refused(arguments, why);
    }
    let folder = tempfile::tempdir().unwrap();
    let record = save(folder.path(), "a.json", 1_000);
    assert_refused(
        &["compare", &record, url],
        "a record compares with records only",
    );
}

#[test]
fn page_of_a_comparison_begins_with_the_conclusion_and_draws_both_distributions() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (page, json) = (file("c.html"), file("c.json"));
    let (a, b) = (format!("http://{site}/slow?<a>"), format!("http://{site}/"));
    let output = run(&[&["compare", &a, &b, "-o", &page, "-o", &json][..], &SHORT].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let html = std::fs::read_to_string(&page).unwrap();
    let text = stdout(&output);
    let sentence = text.lines().last().unwrap();
    assert!(html.contains(&format!("<h1>{sentence}</h1>")), "{html}");
    assert_eq!(html.matches("<figure>").count(), 3, "{html}");
    assert!(
        html.contains("/slow?&lt;a&gt;") && !html.contains("?<a>"),
        "{html}"
    );
    // Each chart is drawn twice, and each drawing of a distribution has an area for A and for B.
    assert_eq!(html.matches("class=\"area first\"").count(), 2);
    assert_eq!(html.matches("class=\"area third\"").count(), 2);
    assert!(!html.contains("NaN") && !html.contains("inf "), "{html}");
    assert!(!html.contains("<script") && !html.contains("<link"));
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(saved["result"]["conclusion"], "faster");
}

#[test]
fn comparison_of_records_has_a_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("c.html").display().to_string();
    let a = save(folder.path(), "a.json", 1_000);
    let b = save(folder.path(), "b.json", 1_500);
    let output = run(&["compare", &a, &b, "-o", &page]);
    assert!(output.status.success(), "{}", stderr(&output));
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(
        html.matches("<figure>").count(),
        2,
        "no runs in blocks: {html}"
    );
    assert!(html.contains("one record of each"), "{html}");
}

#[test]
fn unusable_output_is_refused_before_anything_is_sent() {
    for (path, expected) in [
        ("c.csv", "expected .html or .json"),
        ("no/such/c.html", "expected a file in an existing folder"),
    ] {
        let output = run(&[
            "compare",
            "http://127.0.0.1:1/",
            "http://127.0.0.1:1/",
            "-o",
            path,
        ]);
        assert_eq!(output.status.code(), Some(2), "{path}");
        let said = stderr(&output);
        assert!(
            said.contains(expected) && said.lines().count() == 1,
            "{said}"
        );
    }
}
