//! Tests the console in a place of the server itself (`SetHandler mehari-console`): who may read
//! it, what is refused, and that its pages work below a path.

use mehari_harness::processes;
use mehari_harness::scripts::{plain, simple};
use mehari_harness::{eventually, needs, Answer, Browser, Builder, Request, Server, PATIENCE};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const FIELD: (&str, &str) = ("X-Mehari-Console", "1");

fn mounted(rules: &str) -> Builder {
    simple(2).conf(&format!(
        "<Location /admin/console>\nSetHandler mehari-console\n{rules}\n</Location>\n"
    ))
}

/// Starts the server. Its descriptors are counted when the console's process runs.
fn started(builder: Builder) -> Server {
    let mut server = builder.start();
    let runs = || !console_processes(&server).is_empty();
    assert!(eventually(PATIENCE, runs), "{}", server.log.text());
    server.rebase();
    server
}

fn open() -> Server {
    started(mounted("Require local"))
}

/// Asks for figures as the console's pages do.
fn figures(server: &Server, below: &str) -> Answer {
    let path = format!("/admin/console/api/{below}");
    server.send(&Request::get(&path).field(FIELD.0, FIELD.1))
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.expect(200)).expect("JSON")
}

#[test]
fn pages_and_figures_are_shown_below_the_place() {
    let server = open();
    let moved = server.get("/admin/console");
    moved.expect(301);
    let to = moved.field("location").expect("a location");
    assert_eq!(to, format!("http://{}/admin/console/", server.address));
    let page = server.get("/admin/console/").expect(200);
    assert!(page.contains("src=\"main.js\""), "{page}");
    server.get("/admin/console/console.css").expect(200);
    server.get("/admin/console/nothing").expect(404);
    server.get("/admin/consoles").expect(404);
    let before = json(&figures(&server, "now"));
    server.get("/registry/hello.pl").expect(200);
    let count = |now: &Value| now["watched"]["requests"].as_u64().expect("a count");
    let mut after = Value::Null;
    // The console keeps a look for a moment.
    let has_counted = eventually(PATIENCE, || {
        after = json(&figures(&server, "now"));
        count(&after) > count(&before)
    });
    assert!(has_counted, "{after}");
    let worker = after["pool"]["workers"][0]["pid"].clone();
    assert_eq!(
        json(&figures(&server, &format!("worker/{worker}")))["worker"]["pid"],
        worker
    );
    for list in [
        "places", "errors", "history", "reports", "memory", "machine", "views",
    ] {
        assert!(json(&figures(&server, list)).is_object(), "{list}");
    }
    let modules = json(&figures(&server, "inspect/any/modules"));
    assert!(modules["rows"].to_string().contains("Mehari"), "{modules}");
    let wrong = figures(&server, "inspect/any/nothing").expect(503);
    assert!(wrong.contains("expected one of modules"), "{wrong}");
}

#[test]
fn every_answer_of_the_place_has_the_strict_policy() {
    let server = open();
    let paths = ["", "main.js", "console.css", "nothing"];
    let mut answers: Vec<Answer> = paths
        .iter()
        .map(|it| server.get(&format!("/admin/console/{it}")))
        .collect();
    answers.push(figures(&server, "now"));
    for answer in answers {
        let policy = answer.field("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
        assert_eq!(
            answer.field("cross-origin-resource-policy").as_deref(),
            Some("same-origin")
        );
        assert_eq!(answer.field("access-control-allow-origin"), None);
    }
}

#[test]
fn figures_are_refused_to_other_pages_other_names_and_other_methods() {
    let server = open();
    let api = "/admin/console/api/now";
    server.get(api).expect(403);
    let inspect = "/admin/console/api/inspect/any/environment";
    server
        .send(&Request::get(inspect).field("Sec-Fetch-Site", "cross-site"))
        .expect(403);
    let with = |request: Request| server.send(&request.field(FIELD.0, FIELD.1));
    with(Request::get(api).host("evil.example")).expect(403);
    with(Request::get(api).host("127.0.0.1.evil.example")).expect(403);
    with(Request::get(api).host("localhost")).expect(200);
    with(Request::new("HEAD", api)).expect(200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = with(Request::new(method, api).body("x=1"));
        answer.expect(405);
        assert_eq!(
            answer.field("allow").as_deref(),
            Some("GET, HEAD"),
            "{method}"
        );
    }
    for odd in [
        "../../etc/passwd",
        "%2e%2e/api/now",
        "api/worker/1",
        "api/inspect/1%0Astop/modules",
    ] {
        let answer = with(Request::get(&format!("/admin/console/{odd}")));
        assert!(answer.status >= 400, "{odd}: {}", answer.status);
    }
    server
        .log
        .expect("the console gives its figures only to its own pages");
    server
        .log
        .expect("the console is shown under an IP address");
}

#[test]
fn names_of_the_host_are_admitted() {
    let names = "ServerName www.example.org\nServerAlias *.example.net\n";
    let server = started(mounted("Require local").conf(names));
    for (name, status) in [
        ("www.example.org", 200),
        ("a.example.net", 200),
        ("example.com", 403),
    ] {
        server
            .send(&Request::get("/admin/console/").host(name))
            .expect(status);
    }
}

#[test]
fn require_decides_who_sees_the_console() {
    let rules = "AuthType Basic\nAuthName A\nAuthUserFile @ROOT@/users\nRequire user ann";
    let users = "ann:{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs=\nbob:{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs=\n";
    let server = started(mounted(rules).file("users", users));
    // ann:123456 and bob:123456
    let as_user =
        |credentials: &str| Request::get("/admin/console/").field("Authorization", credentials);
    server.get("/admin/console/").expect(401);
    figures(&server, "now").expect(401);
    server.get("/admin/console").expect(401);
    server.send(&as_user("Basic YW5uOjEyMzQ1Ng==")).expect(200);
    server.send(&as_user("Basic Ym9iOjEyMzQ1Ng==")).expect(401);
    let denied = started(mounted("Require ip 192.0.2.1"));
    denied.get("/admin/console/").expect(403);
    figures(&denied, "now").expect(403);
}

#[test]
fn place_that_satisfies_any_rule_is_closed() {
    let server = started(mounted("Require user ann\nSatisfy any"));
    server.get("/admin/console/").expect(403);
    server
        .log
        .expect("the console is shown only where a Require decides");
    let server = started(mounted("Require all granted"));
    server.get("/admin/console/").expect(200);
}

#[test]
fn configuration_without_a_rule_of_the_section_is_refused() {
    let place = |inner: &str| format!("<Location /c>\n{inner}\n</Location>\n");
    let handler = "SetHandler mehari-console";
    let cases = [
        (place(handler), "expected a `Require` in this section"),
        (
            format!(
                "<Location />\nRequire all granted\n</Location>\n{}",
                place(handler)
            ),
            "expected a `Require` in this section",
        ),
        (
            place(&format!("{handler}\n<Limit POST>\nRequire local\n</Limit>")),
            "expected a `Require` in this section",
        ),
        (
            place(&format!("{handler}\nOrder allow,deny\nAllow from all")),
            "expected a `Require` in this section",
        ),
        (
            place(&format!("Require local\n<If true>\n{handler}\n</If>")),
            "in <Location /PATH>",
        ),
        (handler.to_owned(), "in <Location /PATH>"),
        (
            format!("<Directory /srv>\n{handler}\nRequire local\n</Directory>\n"),
            "in <Location /PATH>",
        ),
        (
            format!("<LocationMatch ^/c>\n{handler}\nRequire local\n</LocationMatch>\n"),
            "in <Location /PATH>",
        ),
        (
            place("AddHandler mehari-console .x\nRequire local"),
            "in <Location /PATH>",
        ),
        (
            place("SetHandler mehari-consol\nRequire local"),
            "did you mean `mehari-console`",
        ),
        (
            "RewriteEngine on\nRewriteRule ^/x$ - [H=mehari-console]\n".to_owned(),
            "in <Location /PATH>",
        ),
    ];
    for (conf, expected) in cases {
        let Err(log) = simple(1).conf(&conf).try_start() else {
            panic!("the server has started with {conf}");
        };
        assert!(log.text().contains(expected), "{conf}: {}", log.text());
    }
}

#[test]
fn file_of_a_folder_cannot_show_the_console() {
    let rules = "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n";
    let access = "SetHandler mehari-console\nRequire all granted\n";
    let builder = mounted("Require local").conf(rules);
    let server = started(builder.file("htdocs/mine/.htaccess", access));
    server.get("/mine/").expect(500);
    server.log.expect("in <Location /PATH>");
}

#[test]
fn two_places_and_a_reload_share_one_process() {
    let other = "<Location /other/>\nSetHandler mehari-console\nRequire local\n</Location>\n";
    let server = started(mounted("Require local").conf(other));
    server.get("/admin/console/").expect(200);
    server.get("/other/").expect(200);
    server.get("/other/main.js").expect(200);
    let before = console_processes(&server);
    assert_eq!(before.len(), 1);
    assert!(server.control(&["reload"]).status.success());
    let now = json(&figures(&server, "now"));
    assert_eq!(now["pool"]["generation"], 2);
    assert_eq!(console_processes(&server), before);
}

#[test]
fn killed_console_process_is_started_again() {
    let server = open();
    server.get("/admin/console/").expect(200);
    let killed = console_processes(&server);
    let pid = Pid::from_raw(killed[0]).expect("a process");
    rustix::process::kill_process(pid, Signal::Kill).expect("our process");
    let serves = || server.get("/admin/console/").status == 200;
    assert!(eventually(PATIENCE, serves), "{}", server.log.text());
    assert_eq!(json(&figures(&server, "now"))["pid"], server.pid());
    assert_ne!(console_processes(&server), killed);
}

fn console_processes(server: &Server) -> Vec<i32> {
    let below = processes::descendants(server.pid())
        .into_iter()
        .map(|it| it.pid);
    let is_console = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(b"console-process\0")
    };
    below.filter(is_console).collect()
}

#[test]
fn browser_shows_the_pages_below_the_place() {
    needs!("chromium");
    let warns = plain("warn '<img src=x onerror=document.title=1>'; print 'ok';");
    let server = started(mounted("Require local").file("scripts/slow.pl", &warns));
    server.get("/registry/slow.pl?<script>document.title=1</script>");
    let browser = Browser::start();
    browser.go(&format!("http://{}/admin/console", server.address));
    browser.await_true("document.querySelectorAll('.tile').length === 2");
    for page in [
        "where",
        "memory",
        "errors",
        "back-ends",
        "inside",
        "profiles",
        "machine",
        "history",
    ] {
        browser.evaluate(&format!("location.hash = '{page}'"));
        browser.await_true("document.querySelector('main h1') !== null && !document.getElementById('state').className");
    }
    browser.evaluate("location.hash = 'errors'");
    browser.await_true("document.body.innerText.includes('<img src=x onerror')");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('main img, main script').length"),
        0
    );
    assert_eq!(
        browser.evaluate("document.title"),
        "Errors – Mehari console"
    );
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// A report of an exact profile: a page with markup of an application, and a script beside it.
const REPORT: &str = "<!DOCTYPE html><html lang=\"en\"><head><title>Report</title>
<link rel=\"stylesheet\" href=\"style.css\"><script>document.title = 'inline'</script>
<script src=\"js/own.js\"></script></head><body onload=\"document.title = 'handler'\">
<h1>Subs</h1><img src=\"x\" onerror=\"document.title = 'error'\"><a href=\"more.html\">more</a>
<script>document.title = 'last'</script></body></html>";

/// Tells the server of a report, as `mehari profile --exact` does.
fn tell_of_report(server: &Server) {
    let report = serde_json::json!({ "about": "/shop?<b>", "profiles": 1,
        "folder": server.site.path("report") });
    let mut stream = UnixStream::connect(server.site.path("control")).expect("the socket");
    let order = format!("exact-report {report}\n");
    stream.write_all(order.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("\"ok\":true"), "{answer}");
}

fn with_report() -> Server {
    let server = started(
        mounted("Require local")
            .file("report/index.html", REPORT)
            .file("report/more.html", REPORT)
            .file("report/style.css", "h1 { color: rgb(1, 2, 3) }")
            .file("report/js/own.js", "document.title = 'own'")
            .file("report/nytprof.out", "secret"),
    );
    tell_of_report(&server);
    server
}

#[test]
fn report_of_an_exact_profile_comes_without_scripts_and_alone() {
    let server = with_report();
    let list = json(&figures(&server, "reports"));
    let report = &list["reports"][0];
    assert_eq!(
        (&report["about"], &report["profiles"]),
        (&"/shop?<b>".into(), &1.into())
    );
    assert_eq!(report["is_readable"], true);
    let at = |name: &str| server.get(&format!("/admin/console/reports/{}/{name}", report["id"]));
    for name in ["index.html", "style.css"] {
        let answer = at(name);
        let policy = answer.field("content-security-policy").expect("a policy");
        assert!(policy.starts_with("sandbox allow-same-origin; default-src 'none';"));
        for word in ["script", "unsafe"] {
            assert!(!policy.contains(word), "{policy}");
        }
        answer.expect(200);
    }
    for name in ["js/own.js", "nytprof.out", "missing.html", "../control", ""] {
        at(name).expect(404);
    }
    server
        .get("/admin/console/reports/99/index.html")
        .expect(404);
    let closed = started(mounted("Require ip 192.0.2.1").file("report/index.html", REPORT));
    tell_of_report(&closed);
    closed
        .get("/admin/console/reports/1/index.html")
        .expect(403);
}

#[test]
fn browser_shows_a_report_and_runs_no_script_of_it() {
    needs!("chromium");
    let server = with_report();
    let browser = Browser::start();
    let page = format!("http://{}/admin/console/", server.address);
    browser.go(&format!("{page}#profiles"));
    browser.await_true("document.querySelector('main td a') !== null");
    assert_eq!(
        browser.evaluate("document.querySelector('main td a').textContent"),
        "/shop?<b>"
    );
    assert_eq!(browser.errors(), Vec::<String>::new());
    let link = browser.evaluate("document.querySelector('main td a').href");
    let link = link.as_str().expect("a link").to_owned();
    assert_eq!(link, format!("{page}reports/1/index.html"));
    browser.go(&link);
    let document = browser.order("DOM.getDocument", serde_json::json!({ "depth": -1 }));
    let text = document.to_string();
    assert!(text.contains("\"Subs\""), "{text}");
    let targets = browser.order("Target.getTargets", serde_json::json!({}));
    let targets = targets["targetInfos"].as_array().expect("targets").clone();
    let shown = targets.iter().find(|it| it["url"] == link.as_str());
    assert_eq!(shown.expect("the report")["title"], "Report");
    let heading = browser.order(
        "DOM.querySelector",
        serde_json::json!({ "nodeId": document["root"]["nodeId"], "selector": "h1" }),
    );
    browser.order("CSS.enable", serde_json::json!({}));
    let style = browser.order("CSS.getComputedStyleForNode", heading);
    assert!(
        style.to_string().contains("rgb(1, 2, 3)"),
        "the style sheet counts"
    );
}
