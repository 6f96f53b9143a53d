//! Tests `FrontThreads`: long edge scripts and TLS handshakes use further threads, and the answers
//! are those of one thread.

use mehari_harness::crowd::Crowd;
use mehari_harness::scripts::simple;
use mehari_harness::{eventually, processes, Builder, Request, Server, PATIENCE};

/// A script that takes several slices and answers with what it sees.
const LONG: &str = r#"
    local sum = 0
    for i = 1, 40000 do sum = sum + i % 7 end
    local r = lighty.r
    local page = lighty.stat(r.req_attr["physical.doc-root"] .. "/page.html")
    local said = { sum, r.req_attr["request.method"], r.req_attr["uri.path"], r.req_attr["uri.query"],
        r.req_header["X-Number"] or "none", r.req_env.REMOTE_ADDR, page and page.st_size, page and page["content-type"],
        tostring(lighty.stat("/nonexistent")) }
    lighty.header["X-Path"] = r.req_attr["uri.path"]
    lighty.content = { table.concat(said, " ") }
    return 200
"#;

/// A script that counts, by reading and then writing a number, and takes several slices.
const COUNTING: &str = r#"
    local before = lighty.status["hits"] or 0
    lighty.status["hits"] = before + 1
    for i = 1, 40000 do end
    lighty.content = { tostring(lighty.status["hits"]) }
    return 200
"#;

fn site(threads: &str) -> Builder {
    simple(1)
        .conf(threads)
        .conf("<Location /long>\nLuaAttractPhysicalPath lua/long.lua\n</Location>\n")
        .conf("<Location /count>\nLuaAttractPhysicalPath lua/count.lua\n</Location>\n")
        .conf("<Location /fail>\nLuaAttractPhysicalPath lua/fail.lua\n</Location>\n")
        .file("lua/long.lua", LONG)
        .file("lua/count.lua", COUNTING)
        .file(
            "lua/fail.lua",
            "for i = 1, 40000 do end\nprint('so far')\nerror('planted')",
        )
        .file("htdocs/page.html", "a page")
}

fn compute_threads(server: &Server) -> usize {
    let names = processes::threads(server.pid());
    let compute = names.iter().filter(|name| name.starts_with("compute-"));
    compute.count()
}

fn crowd(
    server: &Server,
    path: &str,
    requests: usize,
    is_right: impl Fn(usize, &str) -> bool + Sync,
) {
    let crowd = Crowd {
        address: server.address,
        clients: 8,
        requests,
        keep_alive: true,
    };
    let ask = |number: usize| {
        let request = Request::get(&format!("{path}?{number}"));
        request.field("X-Number", &number.to_string())
    };
    let outcome = crowd.run(ask, |number, answer| {
        answer.status == 200 && is_right(number, &answer.text())
    });
    assert_eq!(outcome.failed, 0, "{path}: {:?}", outcome.failures);
}

#[test]
fn long_scripts_answer_alike_with_every_number_of_threads() {
    for (threads, most) in [("1", 0), ("2", 1), ("4", 3)] {
        let server = site(&format!("FrontThreads {threads}\n")).start();
        crowd(&server, "/long", 200, |number, said| {
            said == format!("119997 GET /long {number} {number} 127.0.0.1 6 text/html nil")
        });
        let found = compute_threads(&server);
        assert!(found <= most, "FrontThreads {threads}: {found} threads");
        assert_eq!(found > 0, most > 0, "FrontThreads {threads}: {found}");
    }
}

#[test]
fn counters_are_exact_and_a_short_script_starts_no_thread() {
    let server = site("FrontThreads 4\n").start();
    for _ in 0..5 {
        server.get("/page.html").expect(200);
    }
    assert_eq!(compute_threads(&server), 0);
    crowd(&server, "/count", 200, |_, said| {
        said.parse::<u32>().is_ok()
    });
    assert_eq!(server.get("/count").expect(200), "201");
}

#[test]
fn a_script_that_fails_on_a_thread_is_logged_as_ever() {
    let server = site("FrontThreads 2\n").start();
    for round in 1..=3 {
        server.get("/fail").expect(500);
        let told = || server.log.count("fail.lua:3: planted");
        let is_told = eventually(PATIENCE, || told() == round);
        assert!(is_told, "{}", server.log.text());
        assert_eq!(server.log.count("so far"), round);
    }
}

#[test]
fn a_changed_script_runs_on_the_thread_after_a_reload() {
    let server = site("FrontThreads 2\n").start();
    for _ in 0..3 {
        assert!(server.get("/long?1").expect(200).starts_with("119997 "));
    }
    assert_eq!(compute_threads(&server), 1);
    server
        .site
        .replace("lua/long.lua", &LONG.replace("% 7", "% 5"));
    assert!(server.control(&["reload"]).status.success());
    for _ in 0..3 {
        assert!(server.get("/long?1").expect(200).starts_with("80000 "));
    }
}

#[test]
fn a_number_that_is_none_is_refused() {
    for wrong in ["0", "257", "many", "-1"] {
        let refused = site(&format!("FrontThreads {wrong}\n")).try_start();
        let log = refused.err().expect(wrong);
        log.expect(&format!(
            "expected Auto or a number from 1 to 256, not `{wrong}`"
        ));
    }
}
