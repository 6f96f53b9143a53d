//! Tests counters, which show what a worker remembers between requests on each rung.

use crate::guide;
use mehari_harness::{against_apache, Rung};

fn counts(from: u32) -> String {
    (from..from + 5)
        .map(|count| format!("Counter is equal to {count} !\n"))
        .collect()
}

#[test]
fn counter_in_a_closure_goes_on_counting_under_registry_only() {
    let server = guide();
    for rung in [
        Rung::Cgi,
        Rung::Fork,
        Rung::Rewind,
        Rung::PerlRun,
        Rung::Auto,
    ] {
        for _ in 0..2 {
            let answer = server.get(&rung.url("counter.pl"));
            assert_eq!(answer.expect(200), counts(1), "{}", rung.name());
        }
    }
    assert_eq!(server.get("/registry/counter.pl").expect(200), counts(1));
    assert_eq!(server.get("/registry/counter.pl").expect(200), counts(6));
}

#[test]
fn compile_warning_of_the_closure_reaches_the_error_log_with_a_hint() {
    let server = guide();
    server.get("/registry/counter.pl").expect(200);
    let line = server.log.expect("will not stay shared");
    assert!(line.contains("counter.pl line 11"), "{line}");
    if !against_apache() {
        server
            .log
            .expect("hint: a named sub keeps the variable of the first request");
    }
}

#[test]
fn global_counter_survives_in_a_worker_under_registry_and_nowhere_else() {
    let server = guide();
    for rung in [
        Rung::Cgi,
        Rung::Fork,
        Rung::Rewind,
        Rung::PerlRun,
        Rung::Auto,
    ] {
        for _ in 0..2 {
            let answer = server.get(&rung.url("counter_global.pl"));
            assert_eq!(answer.expect(200), "counted 1\n", "{}", rung.name());
        }
    }
    for time in 1..=3 {
        let answer = server.get("/registry/counter_global.pl");
        assert_eq!(answer.expect(200), format!("counted {time}\n"));
    }
}

/// Each name of a script is compiled separately and has a counter of its own.
#[test]
fn script_by_two_names_is_two_scripts() {
    let site = mehari_harness::Server::builder().fixtures("guide").ladder();
    let scripts = site.folder_of("scripts");
    std::fs::create_dir(scripts.join("news")).expect("a folder");
    std::os::unix::fs::symlink(
        "../counter_global.pl",
        scripts.join("news/counter_global.pl"),
    )
    .expect("a link");
    let server = site
        .conf(crate::ONE_WORKER)
        .conf("<Directory />\nOptions +FollowSymLinks\n</Directory>\n")
        .start();
    for time in 1..=2 {
        for name in ["counter_global.pl", "news/counter_global.pl"] {
            let page = server.get(&Rung::Registry.url(name)).expect(200);
            assert_eq!(page, format!("counted {time}\n"), "{name}");
        }
    }
}

/// This is the advice of the talk. A worker runs the top-level code of a file once, when it loads
/// the file, so code for each request belongs in a sub. PerlRun forgets perl 4 libraries (files
/// `.pl`) after each request.
#[test]
fn library_is_initialised_by_its_file_once() {
    for rung in Rung::ALL {
        let server = mehari_harness::Server::builder()
            .fixtures("printed")
            .ladder()
            .conf(crate::ONE_WORKER)
            .start();
        for time in 1..=2 {
            let stays = time > 1 && rung == Rung::Registry;
            let by_file = if stays { "no" } else { "yes" };
            assert_eq!(
                server.get(&rung.url("library.pl")).expect(200),
                format!("by the file {by_file}, by the sub yes\n"),
                "{}",
                rung.name()
            );
        }
    }
}
