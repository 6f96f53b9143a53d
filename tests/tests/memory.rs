//! Tests the memory that `mehari status` and `mehari memory` show of each worker.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{binary, eventually, needs, needs_machine, Request, Rung, Server, PATIENCE};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// A list that the zygote makes. Its numbers become strings when a request prints them, so that
/// perl writes to memory which the worker shared with the zygote.
const LIST: &str = "@main::list = (1 .. 200_000);\n1;\n";

/// Keeps 2000 bytes of each request, and prints numbers of the list during the first 400 requests.
const LEAK: &str = "push @main::kept, 'x' x (2000 + (@main::kept & 1));
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
            &["--perl", "/bin/true", "--imports", "strict"],
            "/bin/true ends without a figure for `use strict`\n",
        ),
        (&["--imports", "No::Such"], "`use No::Such` fails: Can't locate No/Such.pm in @INC\n"),
        (
            &["--imports", "POSIX", "../x.pm"],
            "`../x.pm` names no module: expected what follows `use`, such as `POSIX` or `POSIX ()`\n",
        ),
        (
            &["--perl", "/no/perl", "--module", "strict"],
            "/no/perl cannot be run: No such file or directory (os error 2)\n",
        ),
    ] {
        let mut command = Command::new(binary::mehari());
        let output = command.arg("memory").args(words).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(told, format!("mehari memory: {expected}"));
        assert_eq!(output.status.code(), Some(1), "{told}");
    }
}

#[test]
fn import_is_measured_for_each_package_beside_the_empty_list() {
    let folder = mehari_harness::site::Site::new();
    let module = "package Wide; use Exporter 'import';\n\
        our @EXPORT = map { \"name$_\" } 1 .. 200; our @EXPORT_OK = 'one'; our $text = 'x' x (3_000_000 + ($$ & 1));\n\
        no strict 'refs'; *$_ = sub { 1 } for @EXPORT, 'one';\n1;\n";
    folder.write("Wide.pm", module);
    let output = Command::new(binary::mehari())
        .args(["memory", "--json", "--imports", "Wide", "Wide qw(one)"])
        .env("PERL5LIB", folder.root())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = |module: &str| {
        let mut rows = report["imports"].as_array().expect("a list").iter();
        rows.find(|it| it["module"] == module).expect("each use")
    };
    let number = |module: &str, name: &str| row(module)[name].as_f64().expect("a number");
    assert_eq!(
        report["imports"].as_array().map(Vec::len),
        Some(3),
        "{report}"
    );
    for (module, names) in [("Wide", 200.0), ("Wide qw(one)", 1.0), ("Wide ()", 0.0)] {
        assert_eq!(number(module, "names"), names, "{report}");
    }
    // A name takes a glob and an entry of the package. The module's own text is not made again.
    let all = number("Wide", "bytes");
    assert!((200.0 * 100.0..200.0 * 1000.0).contains(&all), "{report}");
    assert!(number("Wide qw(one)", "bytes") < all / 10.0, "{report}");
    let beyond = all - number("Wide ()", "bytes");
    assert!(
        (number("Wide", "beyond_none") - beyond).abs() < 1.0,
        "{report}"
    );
    assert!(row("Wide ()")["beyond_none"].is_null(), "{report}");
}

#[test]
fn imports_of_compiled_scripts_are_counted() {
    let one = "use POSIX; use List::Util qw(sum); print floor(1.5);";
    let server = Server::builder()
        .file("scripts/one.pl", &plain(&one.replace("; ", ";\n")))
        .file("scripts/none.pl", &plain("use POSIX ();\nprint 2;"))
        .conf(&workers(1))
        .ladder()
        .start();
    let none = server.control(&["memory", "--imports"]);
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(
        told,
        "mehari memory: the worker has not compiled a script yet\n"
    );
    for script in ["one.pl", "none.pl"] {
        server.get(&Rung::Registry.url(script)).expect(200);
    }
    let output = server.control(&["memory", "--imports", "--rounds", "2", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = report["imports"].as_array().expect("a list");
    let told: Vec<(&str, Option<u64>)> = rows
        .iter()
        .map(|row| {
            (
                row["module"].as_str().expect("text"),
                row["scripts"].as_u64(),
            )
        })
        .collect();
    let expected = [
        ("List::Util qw(sum)", Some(1)),
        ("List::Util ()", None),
        ("POSIX", Some(1)),
        ("POSIX ()", None),
    ];
    assert_eq!(told, expected, "{report}");
}

/// A module with ten leaks. A mark says what a line makes grow.
const SHOP: &str = include_str!("../../bench/memory/tests/perl/Shop.pm");

/// Has `mehari memory` look at a worker while `serve` runs. Returns the report.
fn looked_at(server: &Server, option: &str, serve: impl FnOnce()) -> Value {
    let mut command = Command::new(binary::mehari());
    command.args(["memory", option, "--json", "-d", "5m", "--control"]);
    command.arg(server.site.path("control"));
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("mehari can be run");
    let mut errors = BufReader::new(child.stderr.take().expect("it was piped"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    assert!(line.contains(", or "), "{line}");
    serve();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::Int).expect("it runs");
    let mut report = String::new();
    let mut out = child.stdout.take().expect("it was piped");
    out.read_to_string(&mut report).expect("text");
    assert!(child.wait().expect("its end").success(), "{report}");
    serde_json::from_str(&report).expect("JSON")
}

/// Whether the kernel tells page faults to `mehari memory --who`. Some containers forbid it.
fn tells_page_faults(server: &Server) -> bool {
    let output = server.control(&["memory", "--who", "--duration", "1ms"]);
    !String::from_utf8_lossy(&output.stderr).contains("the kernel does not tell page faults")
}

/// What `needs_machine!` says where [`tells_page_faults`] says no.
const FORBIDDEN: &str = "the kernel does not tell page faults to this user";

/// Has `mehari memory --leaks` compare a worker before and after many requests.
fn leaks_of(server: &Server, url: &str) -> Value {
    let mut connection = server.connect();
    let request = Request::get(url);
    let mut ask = |times: usize| {
        for _ in 0..times {
            connection.send(&request).expect("an answer").expect(200);
        }
    };
    ask(50);
    looked_at(server, "--leaks", || ask(200))
}

/// Whether a variable with this in its name has the place among its places.
fn is_told(variables: &Value, name: &str, (file, line): (&str, usize)) -> bool {
    let all = variables.as_array().into_iter().flatten();
    let mut named = all.filter(|one| one["name"].as_str().is_some_and(|it| it.contains(name)));
    named.any(|one| {
        let mut sites = one["sites"].as_array().into_iter().flatten();
        sites.any(|site| {
            site["line"] == line && site["file"].as_str().is_some_and(|it| it.ends_with(file))
        })
    })
}

#[test]
fn each_planted_leak_of_a_worker_is_named_with_its_variable_file_and_line() {
    let server = Server::builder()
        .file("Shop.pm", SHOP)
        .file(
            "scripts/leak.pl",
            &plain("Shop::handle($main::number++); print 'x';"),
        )
        .conf("PerlRequire @ROOT@/Shop.pm\n")
        .conf(&workers(1))
        .ladder()
        .start();
    let report = leaks_of(&server, &Rung::Registry.url("leak.pl"));
    assert_eq!(report["requests"], 200, "{report:#}");
    let marks = SHOP.lines().zip(1..);
    let marks = marks.filter_map(|(text, line)| Some((text.split_once("# grows: ")?.1, line)));
    let mut count = 0;
    for (name, line) in marks {
        assert!(
            is_told(&report["leaks"], name, ("Shop.pm", line)),
            "{name}: {report:#}"
        );
        count += 1;
    }
    assert_eq!(count, 10);
}

#[test]
fn cached_statement_handles_are_named_with_the_handle_and_the_line() {
    if !needs::packages(&["libdbd-sqlite3-perl"]) {
        return;
    }
    let script = "use DBI; our $dbh ||= DBI->connect('dbi:SQLite::memory:', '', '');
my $number = $main::number++;
my $statement = $dbh->prepare_cached(\"select $number\");
$statement->execute; $statement->finish; print 'x';";
    let script = plain(script);
    let line = 1 + script
        .lines()
        .position(|line| line.contains("prepare_cached"))
        .expect("a line");
    let server = Server::builder()
        .file("scripts/handles.pl", &script)
        .conf(&workers(1))
        .ladder()
        .start();
    let report = leaks_of(&server, &Rung::Registry.url("handles.pl"));
    assert!(
        is_told(
            &report["leaks"],
            "::dbh->{CachedKids}",
            ("handles.pl", line)
        ),
        "{report:#}"
    );
}

/// A module that unshares memory in ten ways. A mark names the variable that a line writes.
const DEPOT: &str = include_str!("../../bench/memory/tests/perl/Depot.pm");

#[test]
fn each_planted_unsharing_is_named_with_its_variable_file_line_and_request() {
    let server = Server::builder()
        .file("Depot.pm", DEPOT)
        .file(
            "scripts/unshare.pl",
            &plain("print Depot::handle($main::number++);"),
        )
        .conf("PerlRequire @ROOT@/Depot.pm\n")
        .conf(&workers(1))
        .ladder()
        .start();
    needs_machine!(tells_page_faults(&server), FORBIDDEN);
    let url = format!("{}?visit=1", Rung::Registry.url("unshare.pl"));
    let report = looked_at(&server, "--who", || {
        server.get(&url).expect(200);
    });
    assert_eq!(report["requests"], 1, "{report:#}");
    let marks = DEPOT.lines().zip(1..);
    let marks = marks.filter_map(|(text, line)| Some((text.split_once("# unshares: ")?.1, line)));
    let mut count = 0;
    for (variable, line) in marks {
        // An element of `@list` is told as `$list[..]`.
        let name = variable.trim_start_matches(['@', '%', '$']);
        let name = name.strip_prefix("my @").unwrap_or(name);
        let place = ("Depot.pm", line);
        assert!(
            is_told(&report["unshared"], name, place),
            "{variable} {line}: {report:#}"
        );
        count += 1;
    }
    assert_eq!(count, 10);
    let all = report["unshared"].as_array().expect("a list").iter();
    let by_request = all.filter(|one| one["requests"][0] == *url);
    assert!(by_request.count() >= 10, "{report:#}");
    // The worker serves on, and a later look compares with what the zygote still has.
    server.get(&url).expect(200);
    let report = looked_at(&server, "--who", || ());
    let before = &report["before"];
    assert!(
        before.as_array().is_some_and(|all| all.iter().any(|one| {
            one["name"]
                .as_str()
                .is_some_and(|name| name.contains("Depot::numbers"))
        })),
        "{report:#}"
    );
}

/// Returns the bytes of the pages that no other process has.
fn private_bytes(pid: &str) -> u64 {
    let file = format!("/proc/{pid}/smaps_rollup");
    let text = std::fs::read_to_string(file).expect("a process");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Private_Dirty:"));
    let size = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    1024 * size
        .and_then(|size| size.parse::<u64>().ok())
        .expect("a size")
}

#[test]
fn looks_at_a_process_leave_its_shared_memory_shared() {
    let server = Server::builder()
        .file("Depot.pm", DEPOT)
        .conf("PerlRequire @ROOT@/Depot.pm\n")
        .conf(&workers(1))
        .ladder()
        .start();
    needs_machine!(tells_page_faults(&server), FORBIDDEN);
    let worker = server.workers()[0].to_string();
    let before = private_bytes(&worker);
    looked_at(&server, "--leaks", || ());
    looked_at(&server, "--who", || ());
    let after = private_bytes(&worker);
    // The values of the module take more than 10 MiB.
    assert!(after < before + (1 << 20), "{before} and then {after}");
}

/// Twenty texts of 100 kB, which the module keeps. Each has a length of its own: perl 5.42 makes
/// the text of a constant expression once, and shares its bytes.
const HEAVY: &str = "package Heavy; require Heavy::Part;
our @texts = map { 'x' x (100_000 + $_) } 1 .. 20;
sub value { return scalar @texts }
1;
";

#[test]
fn module_that_workers_load_is_advised_with_what_it_saves() {
    let script = "use lib '@ROOT@/lib'; require Heavy; print Heavy::value();";
    let server = Server::builder()
        .file("lib/Heavy.pm", HEAVY)
        .file("lib/Heavy/Part.pm", "package Heavy::Part; 1;\n")
        .file("scripts/heavy.pl", &plain(script))
        .fill_in(&["scripts/heavy.pl"], &[])
        .conf("PerlModule POSIX\n")
        .conf(&workers(1))
        .ladder()
        .start();
    let advised = || {
        let output = server.control(&["memory", "--preload", "--rounds", "2", "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let named = |report: &Value, module: &str| {
        let advice = report["zygotes"][0]["advice"].as_array().expect("a list");
        let mut found = advice.iter().filter(|one| one["module"] == module);
        found.next().cloned()
    };
    assert_eq!(named(&advised(), "Heavy"), None);
    let answer = server.get(&Rung::Registry.url("heavy.pl")).expect(200);
    assert_eq!(answer, "20");
    let report = advised();
    let heavy = named(&report, "Heavy").unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(heavy["workers"], 1, "{report:#}");
    assert_eq!(heavy["brings"][0], "Heavy::Part", "{report:#}");
    let bytes = heavy["bytes"].as_f64().expect("a number");
    assert!((1.9e6..5e6).contains(&bytes), "{report:#}");
    assert!(heavy["ms"].as_f64() > Some(0.0), "{report:#}");
    for other in ["Heavy::Part", "POSIX"] {
        assert_eq!(named(&report, other), None, "{report:#}");
    }
}

#[test]
fn growing_variables_of_what_is_no_worker_or_no_perl_are_refused_in_one_line() {
    let server = Server::builder().conf(&workers(1)).ladder().start();
    let own = std::process::id().to_string();
    let output = server.control(&["memory", "--leaks", "--worker", "1"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(told, "mehari memory: the server has no worker 1\n");
    let mut command = Command::new(binary::mehari());
    let command = command.args(["memory", "--leaks", "--pid", &own]);
    let output = command.output().expect("mehari can be run");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("is not a perl: it has no perl interpreter"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
}
