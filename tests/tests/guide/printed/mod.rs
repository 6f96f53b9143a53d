//! Holds the list of every complete script, module and piece of configuration in the references, in
//! the order of the text. Each line has our version and the expected result. The tests below run
//! the scripts on Mehari, and on Apache with mod_perl where it is installed. For a line without a
//! script, they check that the named test exists.

mod book;
mod guide;
mod others;

use crate::ONE_WORKER;
use mehari_harness::{needs, Builder, Pair, Rung, Server};
use std::collections::BTreeSet;
use std::path::Path;

/// One line of the list: the place in the reference, what is printed there, and how it is tested.
pub struct Line {
    place: &'static str,
    title: &'static str,
    how: How,
}

enum How {
    Runs(Script),
    /// A separate test: its file below `tests/`, and its function.
    Test(&'static str, &'static str),
    /// Configuration that needs a module without a Debian package: the server does not start and
    /// prints these words.
    StopsTheStart(&'static str, &'static str),
    /// Not a program to serve: a description of what it is.
    NotServed(&'static str),
}

struct Script {
    fixture: &'static str,
    world: World,
    says: Says,
    /// The reason why mod_perl 2 cannot run the script or answers otherwise.
    ours_only: Option<&'static str>,
}

enum World {
    /// A CGI program, which runs on every rung.
    Any,
    /// A script that calls mod_perl's API. A process of its own has no such API, so the answer is
    /// 500.
    Api,
}

enum Says {
    Exactly(&'static str),
    /// A page with these words in this order. The text between them varies.
    InOrder(&'static [&'static str]),
    /// An error page, with these words in the log.
    Fails(&'static str),
}

const fn runs(place: &'static str, title: &'static str, fixture: &'static str, says: Says) -> Line {
    script(place, title, fixture, World::Any, says, None)
}

const fn calls_api(
    place: &'static str,
    title: &'static str,
    fixture: &'static str,
    says: Says,
) -> Line {
    script(place, title, fixture, World::Api, says, None)
}

const fn script(
    place: &'static str,
    title: &'static str,
    fixture: &'static str,
    world: World,
    says: Says,
    ours_only: Option<&'static str>,
) -> Line {
    let how = How::Runs(Script {
        fixture,
        world,
        says,
        ours_only,
    });
    Line { place, title, how }
}

const fn test(
    place: &'static str,
    title: &'static str,
    file: &'static str,
    function: &'static str,
) -> Line {
    Line {
        place,
        title,
        how: How::Test(file, function),
    }
}

const fn line(place: &'static str, title: &'static str, how: How) -> Line {
    Line { place, title, how }
}

fn lines() -> impl Iterator<Item = &'static Line> {
    guide::LINES.iter().chain(book::LINES).chain(others::LINES)
}

fn site() -> Builder {
    let folder = Server::builder().fixtures("printed");
    let scripts = folder.folder_of("scripts");
    let rungs = [Rung::Cgi, Rung::PerlRun, Rung::Registry].map(|rung| rung.section(&scripts));
    folder
        .conf("PerlSwitches -I@ROOT@/scripts/lib\nPerlModule Apache2::compat\n")
        .conf(ONE_WORKER)
        .conf(&rungs.concat())
}

/// Requests a script and checks the response. Returns the fault, or `None` if there is none.
fn fault(server: &Server, script: &Script, rung: Rung) -> Option<String> {
    // On the rung `cgi` no earlier request can have an effect, so one request is enough.
    let times = if rung == Rung::Cgi { 1 } else { 2 };
    for time in 1..=times {
        let answer = server.get(&rung.url(script.fixture));
        let text = answer.text();
        let has_no_api = matches!(script.world, World::Api) && rung == Rung::Cgi;
        let is_right = match &script.says {
            _ if has_no_api => answer.status == 500,
            Says::Fails(_) => answer.status == 500,
            _ if answer.status != 200 => false,
            Says::Exactly(whole) => text == *whole,
            Says::InOrder(words) => stand_in_order(&text, words),
        };
        if !is_right {
            let name = script.fixture;
            return Some(format!(
                "{name} on {}, time {}: {} {text:?}",
                rung.name(),
                time,
                answer.status
            ));
        }
    }
    None
}

fn stand_in_order(text: &str, words: &[&str]) -> bool {
    let mut rest = text;
    words.iter().all(|word| match rest.split_once(word) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[test]
fn every_printed_script_gives_the_expected_response() {
    needs!("libbsd-resource-perl");
    let pair = Pair::start(site);
    let mut faults = Vec::new();
    for (place, server) in pair.servers().enumerate() {
        let is_ours = place == 0;
        for line in lines() {
            let How::Runs(script) = &line.how else {
                continue;
            };
            if !is_ours && script.ours_only.is_some() {
                continue;
            }
            for rung in [Rung::Cgi, Rung::PerlRun, Rung::Registry] {
                let name = if is_ours { "Mehari" } else { "mod_perl" };
                let fault = fault(server, script, rung);
                faults.extend(fault.map(|fault| format!("{} ({name}): {fault}", line.place)));
            }
            if let Says::Fails(words) = &script.says {
                server.log.expect(words);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn printed_scripts_run_in_a_process_of_their_own_on_isolated_rungs() {
    needs!("libbsd-resource-perl");
    let folder = Server::builder().fixtures("printed");
    let scripts = folder.folder_of("scripts");
    let rungs = [Rung::Fork, Rung::Auto].map(|rung| rung.section(&scripts));
    let server = folder
        .conf("PerlSwitches -I@ROOT@/scripts/lib\n")
        .conf(ONE_WORKER)
        .conf(&rungs.concat())
        .start();
    let mut faults = Vec::new();
    for line in lines() {
        if let How::Runs(script) = &line.how {
            if matches!(script.world, World::Any) {
                let found = [Rung::Fork, Rung::Auto].map(|rung| fault(&server, script, rung));
                faults.extend(found.into_iter().flatten());
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn configuration_of_a_module_that_no_package_has_stops_the_start() {
    for line in lines() {
        if let How::StopsTheStart(conf, words) = line.how {
            let Err(log) = site().conf(conf).try_start() else {
                panic!("{}: it started", line.title);
            };
            assert!(log.text().contains(words), "{}: {}", line.place, log.text());
        }
    }
}

/// The list must be complete: each line has a test, and each fixture has a line.
#[test]
fn list_is_whole() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    for line in lines() {
        match &line.how {
            How::Test(file, function) => {
                let text = std::fs::read_to_string(tests.join(file)).unwrap_or_default();
                let is_there = text.contains(&format!("fn {function}("));
                assert!(is_there, "{}: no {function} in {file}", line.place);
            }
            How::Runs(Script { fixture, .. }) => {
                named.insert((*fixture).to_owned());
            }
            How::NotServed(what) => assert!(!what.is_empty(), "{}: no reason", line.place),
            How::StopsTheStart(..) => {}
        }
    }
    let folder = tests.join("fixtures/printed");
    let scripts = std::fs::read_dir(folder).expect("the fixtures");
    let scripts = scripts.map(|entry| entry.expect("an entry").file_name());
    for name in scripts.map(|name| name.to_string_lossy().into_owned()) {
        let is_listed = named.contains(&name) || CALLED_BY_TESTS.contains(&&*name);
        assert!(is_listed || name == "lib", "{name} is in no line");
    }
}

/// Fixtures without a line, because a separate test or another fixture uses them.
const CALLED_BY_TESTS: &[&str] = &[
    "cleanup.pl",
    "library.pl",
    "memuse.pl",
    "preload_cgi_pm.pl",
    "share_test2.pl",
    "slave.pl",
];
