//! Tests `mehari explain`: the rung of a script, the lines that decide it, the reasons, and the
//! cost.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{binary, eventually, Rung, Server, PATIENCE};
use serde_json::Value;
use std::process::{Command, Stdio};

const LOOKED_AT: &str = "use strict;
use POSIX ();
use lib '.';
my $name = time . $$;
sub later { return POSIX::getpid() }
my $quits = sub { exec 'true' };
if ($$ != 5) { $> = 5 }
my $pid = fork;
print \"ok\";";

/// The numbers of [`LOOKED_AT`]'s lines in the file that `plain` makes, and the effect of each
/// line.
const FINDINGS: &[(u64, &str, &str)] = &[
    (6, "fork", "($$)"),
    (7, "fork", "(POSIX::getpid)"),
    (8, "process", "(exec)"),
    (9, "process", "user"),
    (10, "process", "forks"),
];

fn server(conf: &str) -> Server {
    Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf(conf)
        .file(
            "startup.pl",
            "use Socket; socket(our $s, PF_INET, SOCK_STREAM, 0) or die; 1;",
        )
        .file(
            "looks_up.pl",
            "use DynaLoader; DynaLoader::dl_load_file('libpam.so.0') or die DynaLoader::dl_error(); 1;",
        )
        .file("scripts/asks.pl", &plain("print $$ if $ENV{QUERY_STRING};"))
        .file("scripts/well.pl", &plain("print 'ok' if 1 == 1;"))
        .file("scripts/looked_at.pl", &plain(LOOKED_AT))
        .file(
            "scripts/begins.pl",
            &plain("my $x = 1;\nBEGIN { our $y = 1 }\nprint $$;"),
        )
        .file("scripts/broken.pl", &plain("my $x = ;"))
        .file("scripts/uses_io.pl", &plain("use IO::Handle; print 'ok';"))
        .file(
            "scripts/loads.pl",
            &plain("require Digest::SHA; print 'ok';"),
        )
        .file("scripts/hangs.pl", &plain("BEGIN { kill KILL => $$ }"))
        .start()
}

#[track_caller]
fn explain(server: &Server, script: &str) -> Value {
    let file = server.site.path(&format!("scripts/{script}"));
    let file = file.to_str().expect("UTF-8");
    let output = server.control(&["explain", "--json", file]);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {output:?}"))
}

fn rung_of<'a>(answer: &'a Value, rung: Rung, script: &str) -> &'a Value {
    let places = answer["places"].as_array().expect("places");
    let place = places.iter().find(|it| it["url_path"] == rung.url(script));
    &place.unwrap_or_else(|| panic!("no {rung:?} in {answer}"))["rung"]
}

#[test]
fn configured_rung_is_shown_until_a_request_changes_it() {
    let server = server("");
    let before = explain(&server, "asks.pl");
    for (rung, expected) in [
        (Rung::Cgi, "cgi"),
        (Rung::Fork, "fork"),
        (Rung::Rewind, "rewind"),
        (Rung::Registry, "registry"),
        (Rung::Auto, "rewind"),
    ] {
        assert_eq!(rung_of(&before, rung, "asks.pl"), expected, "{rung:?}");
    }
    assert_eq!(before["explanation"]["findings"][0]["line"], 3);
    assert_eq!(before["processes"].as_array().map(Vec::len), Some(0));
    // The first requests get a process each, because the picture is not taken yet.
    for _ in 0..6 {
        server.get(&Rung::Auto.url("asks.pl?do")).expect(200);
    }
    let after = explain(&server, "asks.pl");
    assert_eq!(rung_of(&after, Rung::Auto, "asks.pl"), "fork");
    let text = server.control(&["explain", "/auto/asks.pl"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("reason: it asks for the number of its process at"),
        "{text}"
    );
    assert!(text.contains("asks.pl line 3"), "{text}");
    assert!(
        text.contains("cost: each request forks a process"),
        "{text}"
    );
}

#[test]
fn lines_that_may_cost_the_rung_are_named_with_their_effect() {
    let server = server("");
    let answer = explain(&server, "looked_at.pl");
    let findings = answer["explanation"]["findings"]
        .as_array()
        .expect("findings");
    let told: Vec<(u64, &str, &str)> = findings
        .iter()
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap_or_default();
            (
                it["line"].as_u64().unwrap_or_default(),
                text("effect"),
                text("what"),
            )
        })
        .collect();
    assert_eq!(told.len(), FINDINGS.len(), "{told:?}");
    for ((line, effect, part), told) in FINDINGS.iter().zip(&told) {
        assert_eq!((line, effect), (&told.0, &told.1), "{told:?}");
        assert!(told.2.contains(part), "{told:?}");
    }
    let well = explain(&server, "well.pl");
    assert_eq!(well["explanation"]["findings"], serde_json::json!([]));
    assert!(well["explanation"]["fork_us"].as_u64() > Some(0));
    let pages = |name: &str| well["explanation"][name].as_u64();
    let (own, shared) = (pages("picture_pages"), pages("shared_pages"));
    assert!(own > Some(0) && own < Some(500), "{own:?}");
    assert!(shared > Some(500), "{shared:?}");
    assert_eq!(well["explanation"]["failure"], Value::Null);
}

#[test]
fn script_that_each_request_compiles_has_its_first_effect_named() {
    let server = server("");
    let answer = explain(&server, "begins.pl");
    let again = &answer["explanation"]["each_request_compiles"];
    assert_eq!(again["line"], 4, "{answer}");
    assert_eq!(answer["explanation"]["findings"][0]["line"], 5);
    assert_eq!(
        explain(&server, "well.pl")["explanation"]["each_request_compiles"],
        Value::Null
    );
}

#[test]
fn socket_of_a_start_up_file_sends_the_script_to_fork() {
    let server = server("PerlRequire startup.pl\n");
    let answer = explain(&server, "well.pl");
    assert_eq!(rung_of(&answer, Rung::Auto, "well.pl"), "fork");
    assert_eq!(rung_of(&answer, Rung::Registry, "well.pl"), "registry");
    let why = answer["explanation"]["refusal"]
        .as_str()
        .unwrap_or_default();
    assert!(why.starts_with("a socket of "), "{answer}");
}

#[test]
fn broken_and_deadly_scripts_are_explained_and_do_no_harm() {
    let server = server("");
    let answer = explain(&server, "broken.pl");
    assert_eq!(answer["explanation"]["broken"], 500, "{answer}");
    let answer = explain(&server, "hangs.pl");
    let problem = answer["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("ended early"), "{answer}");
    let nowhere = server.control(&["explain", "/tmp/"]);
    assert!(!nowhere.status.success() || !nowhere.stdout.is_empty());
    assert_eq!(server.get(&Rung::Auto.url("well.pl")).expect(200), "ok");
}

/// The library libpam.so.0, which each Debian system has, looks functions up by their names. It may
/// keep them, so their calls cannot be noticed.
const LOOKS_UP: &str = "PerlRequire looks_up.pl\n";

#[test]
fn checks_after_each_rewind_are_named_with_their_libraries_and_their_cost() {
    let server = server(LOOKS_UP);
    let answer = explain(&server, "well.pl");
    let explanation = &answer["explanation"];
    let checks = explanation["checks"].as_array().expect("checks");
    assert!(explanation["checks_ns"].as_u64() > Some(0), "{answer}");
    for of in ["descriptors", "threads", "timers"] {
        let check = checks.iter().find(|check| check["of"] == of);
        let check = check.unwrap_or_else(|| panic!("{of}: {answer}"));
        assert!(check["ns"].is_u64(), "{answer}");
        let demands = check["demanded_by"].as_array().expect("demands");
        let is_it = |demand: &&Value| {
            let file = demand["file"].as_str().unwrap_or_default();
            file.ends_with("/libpam.so.0") && demand["import"] == "dlsym"
        };
        assert!(demands.iter().any(|it| is_it(&it)), "{answer}");
    }
    let text = server.control(&["explain", "/auto/well.pl"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("    descriptors ("), "{text}");
    assert!(text.contains("libpam.so.0 imports dlsym"), "{text}");
    let text = server.control(&["explain", "/registry/well.pl"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(!text.contains("imports"), "{text}");
}

/// IO.so imports `fcntl`, by which it could make descriptors. Its calls are noticed.
#[test]
fn library_whose_calls_are_noticed_demands_no_checks() {
    let server = server("");
    for script in ["well.pl", "uses_io.pl"] {
        let answer = explain(&server, script);
        let checks = &answer["explanation"]["checks"];
        assert_eq!(checks, &serde_json::json!([]), "{answer}");
        let url = Rung::Auto.url(script);
        let text = server.control(&["explain", &url]).stdout;
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("no library makes a rewind dearer"), "{text}");
    }
}

#[test]
fn status_names_the_library_that_makes_a_rewind_dear() {
    let server = server(LOOKS_UP);
    let script = |name: &str| {
        server.get(&Rung::Rewind.url(name)).expect(200);
        let status = server.status();
        let scripts = status["pool"]["scripts"].as_array().cloned();
        let mut scripts = scripts.unwrap_or_default().into_iter();
        let is_it = |it: &Value| it["script"].as_str().is_some_and(|it| it.ends_with(name));
        scripts.find(is_it).unwrap_or_default()
    };
    let well = script("well.pl");
    assert_eq!(well["checks"], "everything", "{well}");
    assert_eq!(well["dearest_library"], "libpam.so.0", "{well}");
    // The report of a request tells of the requests before it.
    let mut loads = Value::Null;
    let is_told = eventually(PATIENCE, || {
        loads = script("loads.pl");
        loads["loaded_library"] != ""
    });
    assert!(is_told, "{loads}");
    assert_eq!(loads["loaded_library"], "SHA.so", "{loads}");
    let text = server.control(&["status"]).stdout;
    let text = String::from_utf8_lossy(&text);
    let line = "checked after each rewind: everything (most of it for libpam.so.0)";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("such as SHA.so"), "{text}");
}

/// The command reads a configuration file itself. It also inherits an open pipe, which must not
/// matter.
#[test]
fn explain_with_a_configuration_file_needs_no_server() {
    let server = server("");
    let (conf, file) = (
        server.site.path("httpd.conf"),
        server.site.path("scripts/well.pl"),
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec 9<&0; exec \"$0\" \"$@\""])
        .arg(binary::mehari())
        .args(["explain", "--json", "-f"])
        .args([&conf, &file])
        .stdin(Stdio::piped());
    let output = command.output().expect("sh can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "{error}: {text} {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert_eq!(
        rung_of(&answer, Rung::Auto, "well.pl"),
        "rewind",
        "{answer}"
    );
    assert_eq!(answer["problem"], Value::Null);
}
