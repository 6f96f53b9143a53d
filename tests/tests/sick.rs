//! examples/sick: the tools name the file, the line and the variable of each planted fault. The
//! marks `planted: ...` in the example's files say where the faults are.

use mehari_harness::{binary, needs, Request, Server};
use serde_json::Value;
use std::process::{Command, Output};

/// Serves a copy of the example. The example's own configuration has the faults.
fn sick() -> Server {
    let example = binary::workspace().join("examples/sick");
    Server::builder()
        .copied(example, "sick")
        .conf("ServerRoot @ROOT@/sick\nInclude @ROOT@/sick/mehari.conf\n")
        .start()
}

/// Returns the end of the path and the line of a planted fault.
fn planted(server: &Server, file: &str, fault: &str) -> (String, u64) {
    let text = server.site.read(&format!("sick/{file}"));
    let mark = format!("# planted: {fault}");
    let at = text.lines().position(|line| line.ends_with(&mark));
    (file.to_owned(), at.map_or(0, |at| at as u64 + 1))
}

/// Runs a command on the server.
fn tool(server: &Server, words: &[&str]) -> Output {
    let mut command = Command::new(binary::mehari());
    command.args(words).arg("--control");
    command.arg(server.site.path("control"));
    command.env("XDG_CACHE_HOME", server.site.path("cache"));
    let output = command.output().expect("mehari can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    output
}

fn url(server: &Server, path: &str) -> String {
    format!("http://{}{path}", server.address)
}

/// Returns the advice of a check.
fn advice<'r>(report: &'r Value, check: &str) -> &'r [Value] {
    let findings = report["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no check {check}: {report}"));
    let advice = found["advice"].as_array();
    advice.unwrap_or_else(|| panic!("no advice: {found}"))
}

/// Returns the end of the path and the line of each change.
fn places(advice: &[Value]) -> Vec<(String, u64)> {
    let place = |advice: &Value| {
        let file = advice["change"]["file"].as_str().unwrap_or_default();
        let file = file.rsplit_once("/sick/").map_or(file, |(_, file)| file);
        (
            file.to_owned(),
            advice["change"]["line"].as_u64().unwrap_or_default(),
        )
    };
    advice.iter().map(place).collect()
}

#[test]
fn doctor_names_each_planted_fault_of_the_slow_page_and_of_the_configuration() {
    needs!("libdbd-sqlite3-perl");
    let server = sick();
    let page = url(&server, "/report.pl");
    let output = tool(&server, &["doctor", "--json", "-d", "8s", &page]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");

    let planted_lines = [
        planted(&server, "lib/Shop/Report.pm", "wait"),
        planted(&server, "lib/Shop/Report.pm", "weight"),
        planted(&server, "lib/Shop/Stock.pm", "statements"),
    ];
    let slow = places(advice(&report, "slow pages"));
    assert!(!slow.is_empty(), "{report:#}");
    for line in &slow {
        assert!(
            planted_lines.contains(line),
            "{line:?} is not planted: {report:#}"
        );
    }
    let statements = advice(&report, "statements");
    assert_eq!(places(statements), [planted_lines[2].clone()], "{report:#}");
    let executions = &statements[0]["figures"][1];
    assert_eq!(executions["value"], 120.0, "{executions}");

    let modules = advice(&report, "modules");
    let added: Vec<&str> = modules
        .iter()
        .filter_map(|it| it["change"]["new"].as_str())
        .collect();
    assert!(added.contains(&"PerlModule Math::BigFloat"), "{added:?}");
    let configured = |directive: &str| {
        let text = server.site.read("sick/mehari.conf");
        let at = text.lines().position(|line| line.starts_with(directive));
        ("mehari.conf".to_owned(), at.map_or(0, |at| at as u64 + 1))
    };
    let lookups = places(advice(&report, "name lookups"));
    assert_eq!(lookups, [configured("HostnameLookups")], "{report:#}");
    let logs = places(advice(&report, "logs"));
    assert_eq!(
        logs,
        [planted(&server, "lib/Shop/Report.pm", "warning")],
        "{report:#}"
    );
    assert!(!advice(&report, "compression").is_empty());
}

#[test]
fn profile_and_trace_name_the_causes_of_the_slow_page() {
    needs!("libdbd-sqlite3-perl");
    let server = sick();
    let page = url(&server, "/report.pl");
    server.send(&Request::get("/report.pl")).expect(200);
    let traced = tool(&server, &["trace", &page]);
    let traced = String::from_utf8_lossy(&traced.stdout);
    assert!(
        traced.contains("SELECT name, price FROM thing WHERE id = ?"),
        "{traced}"
    );
    assert!(traced.contains("/site/report.pl"), "{traced}");

    let mut bench = Command::new(binary::mehari());
    bench.args(["bench", "-c", "1", "-d", "5m", &page]);
    bench
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut visitors = bench.spawn().expect("mehari can be run");
    let profile = tool(
        &server,
        &[
            "profile",
            "--url",
            "/report.pl",
            "-d",
            "6s",
            "--rate",
            "199",
        ],
    );
    visitors.kill().expect("it runs");
    visitors.wait().expect("its end");
    let profile = String::from_utf8_lossy(&profile.stdout);
    for (file, fault) in [
        ("lib/Shop/Report.pm", "wait"),
        ("lib/Shop/Report.pm", "weight"),
        ("lib/Shop/Stock.pm", "statements"),
    ] {
        let (file, line) = planted(&server, file, fault);
        assert!(
            profile.contains(&format!("/{file}:{line}\n")),
            "{fault}: {profile}"
        );
    }
}

#[test]
fn growing_variable_is_named_with_its_line_by_memory_and_by_the_doctor() {
    needs!("libdbd-sqlite3-perl");
    let server = sick();
    let request = Request::get("/cart.pl");
    for _ in 0..50 {
        server.send(&request).expect(200);
    }
    let page = url(&server, "/cart.pl");
    let output = tool(&server, &["doctor", "--json", "-d", "4s", &page]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (file, line) = planted(&server, "lib/Shop/Cart.pm", "leak");
    let grown = advice(&report, "growing workers");
    assert!(
        grown[0]["what"]
            .as_str()
            .is_some_and(|it| it.contains("%Shop::Cart::recent")),
        "{grown:?}"
    );
    assert_eq!(places(grown)[0], (file.clone(), line), "{grown:?}");

    let mut bench = Command::new(binary::mehari());
    bench.args(["bench", "-c", "1", "-d", "5m", &page]);
    bench
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut visitors = bench.spawn().expect("mehari can be run");
    let leaks = tool(&server, &["memory", "--leaks", "--json", "-d", "4s"]);
    visitors.kill().expect("it runs");
    visitors.wait().expect("its end");
    let leaks: Value = serde_json::from_slice(&leaks.stdout).expect("JSON");
    let first = &leaks["leaks"][0];
    assert!(
        first["name"]
            .as_str()
            .is_some_and(|it| it.contains("%Shop::Cart::recent")),
        "{leaks:#}"
    );
    let sites = first["sites"].as_array().expect("a list");
    let is_line = |site: &Value| {
        site["line"] == line && site["file"].as_str().is_some_and(|it| it.ends_with(&file))
    };
    assert!(sites.iter().any(is_line), "{leaks:#}");
}
