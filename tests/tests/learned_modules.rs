//! Modules that a script's requests load again and again: after a reload, the script's template
//! loads them once, before the requests (`Mehari::Learned`).

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Rung, Server};

const RUNGS: [Rung; 3] = [Rung::Auto, Rung::Rewind, Rung::Fork];

/// Says whether the module was there before the script asked for it.
fn requires(module: &str) -> String {
    plain(&format!(
        "print exists $INC{{'{module}'}} ? 'there' : 'new'; require '{module}';"
    ))
}

fn server(scripts: &[(&str, &str)]) -> Server {
    let mut builder = Server::builder()
        .ladder()
        .conf(&format!("{}LogLevel info\n", workers(1)))
        .env("MEHARI_REWIND_COMPARE", "1");
    for (name, text) in scripts {
        builder = builder.file(&format!("scripts/{name}"), text);
    }
    builder.start()
}

/// What a script answers on each rung, four times before a reload and once after it.
fn before_and_after(server: &Server, script: &str) -> (Vec<String>, Vec<String>) {
    let ask = |rung: &Rung| server.get(&rung.url(script)).expect(200);
    let before = RUNGS.iter().flat_map(|rung| (0..4).map(|_| ask(rung)));
    let before = before.collect();
    assert!(server.control(&["reload"]).status.success());
    (before, RUNGS.iter().map(ask).collect())
}

#[test]
fn module_of_each_request_is_loaded_once_after_a_reload() {
    let server = server(&[("tied.pl", &requires("Tie/File.pm"))]);
    let (before, after) = before_and_after(&server, "tied.pl");
    assert!(before.iter().all(|it| it == "new"), "{before:?}");
    assert!(after.iter().all(|it| it == "there"), "{after:?}");
    assert_eq!(server.log.count("/Tie/File.pm; after the next reload"), 1);
    let status = server.status();
    let learned = status["pool"]["learned"].as_array().expect("a list");
    assert!(learned.iter().any(|it| it["name"] == "Tie/File.pm"));
    assert_eq!(server.log.count("not as they were"), 0);
}

#[test]
fn module_that_changes_more_than_itself_is_loaded_by_each_request() {
    // Test::Builder has END blocks.
    let server = server(&[("tests.pl", &requires("Test/Builder.pm"))]);
    let (before, after) = before_and_after(&server, "tests.pl");
    assert!(
        before.iter().chain(&after).all(|it| it == "new"),
        "{after:?}"
    );
}

#[test]
fn module_of_the_site_is_loaded_by_each_request() {
    let body = plain(
        "use lib $ENV{SCRIPT_FILENAME} =~ s{[^/]+$}{lib}r; \
         print exists $INC{'Ours.pm'} ? 'there' : 'new'; require Ours; print Ours::name();",
    );
    let ours = "package Ours; sub name { ' first' } 1;";
    let server = server(&[("ours.pl", &body), ("lib/Ours.pm", ours)]);
    let (before, after) = before_and_after(&server, "ours.pl");
    assert!(
        before.iter().chain(&after).all(|it| it == "new first"),
        "{after:?}"
    );
}

/// One script's module must not be there for another script, which may have its own.
#[test]
fn module_is_loaded_only_for_the_script_that_asks_for_it() {
    let own = plain(
        "BEGIN { unshift @INC, $ENV{SCRIPT_FILENAME} =~ s{[^/]+$}{lib}r } \
         require Tie::File; print Tie::File->can('ours') ? 'own' : 'of perl';",
    );
    let ours = "package Tie::File; sub ours { 1 } 1;";
    let server = server(&[
        ("tied.pl", &requires("Tie/File.pm")),
        ("own.pl", &own),
        ("lib/Tie/File.pm", ours),
    ]);
    let (_, after) = before_and_after(&server, "tied.pl");
    assert!(after.iter().all(|it| it == "there"), "{after:?}");
    let (before, after) = before_and_after(&server, "own.pl");
    assert!(
        before.iter().chain(&after).all(|it| it == "own"),
        "{after:?}"
    );
}
