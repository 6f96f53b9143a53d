//! Tests the memory that `mehari status` and `mehari memory` show of each worker.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, Request, Rung, Server, PATIENCE};
use serde_json::Value;

/// A list that the zygote makes. Its numbers become strings when a request prints them, so that
/// perl writes to memory which the worker shared with the zygote.
const LIST: &str = "@main::list = (1 .. 200_000);\n1;\n";

/// Keeps 2000 bytes of each request, and prints numbers of the list during the first 400 requests.
const LEAK: &str = "push @main::kept, 'x' x 2000;
my $first = 500 * $#main::kept;
print length join ',', @main::list[$first .. $first + 499] if $first < 200_000;
";

fn memory(server: &Server) -> Value {
    server.status()["pool"]["workers"][0]["memory"].clone()
}

/// The requests between two looks. They take longer than the shortest time between two looks, or
/// the next request for the status is made later.
const REQUESTS: usize = 1_500;

#[test]
fn leak_is_found_and_is_not_mistaken_for_memory_that_becomes_unshared() {
    let server = Server::builder()
        .file("startup.pl", LIST)
        .file("scripts/leak.pl", &plain(LEAK))
        .conf("PerlRequire @ROOT@/startup.pl\n")
        .conf(&workers(1))
        .ladder()
        .start();
    let looked = || memory(&server)["private"].is_u64();
    assert!(eventually(PATIENCE, looked), "no look was made");
    let leak = Request::get(&Rung::Registry.url("leak.pl"));
    for _ in 0..5 {
        // On a busy machine the pause between two looks is longer than KeepAliveTimeout.
        let mut connection = server.connect();
        for _ in 0..REQUESTS {
            connection.send(&leak).expect("an answer").expect(200);
        }
        let before = memory(&server);
        assert!(
            eventually(PATIENCE, || memory(&server) != before),
            "no new look"
        );
    }
    let memory = memory(&server);
    let growth = memory["growth_per_request"].as_u64();
    let growth = growth.unwrap_or_else(|| panic!("no growth: {memory}"));
    assert!((1_600..=2_400).contains(&growth), "{growth}: {memory}");
    // A number of the list takes 24 bytes, and its string as much as the smallest allocation.
    let unshared = memory["unshared"].as_u64().expect("a number");
    assert!(unshared > 3 << 20, "{unshared}: {memory}");
    let total = &server.status()["pool"]["memory"];
    assert!(
        total["pss"].as_u64() > memory["private"].as_u64(),
        "{total}"
    );
    assert!(total["processes"].as_u64() >= Some(2), "{total}");
}

#[test]
fn status_shows_the_memory_in_words() {
    let server = Server::builder().conf(&workers(1)).ladder().start();
    let text = || String::from_utf8_lossy(&server.control(&["status"]).stdout).into_owned();
    let shown = || text().contains("MiB in all; the formula shared + private says");
    assert!(eventually(PATIENCE, shown), "{}", text());
    let text = text();
    for column in ["memory", "unshared", "growth"] {
        assert!(text.contains(column), "{column}: {text}");
    }
}

#[test]
fn memory_of_every_perl_process_is_shown_with_the_error_of_the_formula() {
    let server = Server::builder().conf(&workers(2)).ladder().start();
    let output = server.control(&["memory", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let processes = report["processes"].as_array().expect("a list");
    for pid in server.workers() {
        let mut all = processes.iter();
        let worker = all.find(|it| it["pid"] == pid).expect("each worker");
        assert_eq!(worker["role"], "worker", "{worker}");
        assert!(worker["rss"].as_u64() >= worker["pss"].as_u64(), "{worker}");
        let parts = worker["private"].as_u64().zip(worker["shared"].as_u64());
        let parts = parts.map(|(private, shared)| private + shared);
        assert_eq!(worker["rss"].as_u64(), parts, "{worker}");
    }
    let number = |value: &Value| value.as_f64().expect("a number");
    let sum: f64 = processes.iter().map(|it| number(&it["pss"])).sum();
    let told = &report["sum"];
    assert_eq!(number(&told["pss"]), sum, "{report}");
    let error = 100.0 * (number(&told["formula"]) / sum - 1.0);
    assert!(
        (number(&told["formula_error"]) - error).abs() < 0.01,
        "{report}"
    );
}

#[test]
fn module_that_cannot_be_measured_is_refused_in_one_line() {
    for (words, expected) in [
        (&["--module", "No::Such"][..], "`use No::Such` fails: Can't locate No/Such.pm in @INC\n"),
        (
            &["--module", "../x.pm"],
            "`../x.pm` names no module: expected what follows `use`, such as `POSIX` or `POSIX ()`\n",
        ),
        (
            &["--perl", "/no/perl", "--module", "strict"],
            "/no/perl cannot be run: No such file or directory (os error 2)\n",
        ),
    ] {
        let mut command = std::process::Command::new(mehari_harness::binary::mehari());
        let output = command.arg("memory").args(words).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(told, format!("mehari memory: {expected}"));
        assert_eq!(output.status.code(), Some(1), "{told}");
    }
}
