//! `TraceExport`: spans for an OpenTelemetry collector, and the trace context for programs and back
//! ends. A collector that is dead, slow or hostile costs no request anything.

mod collector;
mod collectors;
mod secure;
mod together;

use collector::{assert_one_trace, named, root, text, Collector};
use mehari_harness::back_end::answer;
use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, needs, BackEnd, Builder, Request, Rung, Server, PATIENCE};
use serde_json::Value;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const TELL: &str = "print join '|', map { $ENV{$_} // '-' } qw(HTTP_TRACEPARENT TRACEPARENT \
                    HTTP_TRACESTATE);";

fn url(server: &Server, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", server.port())
}

fn site(more: &str) -> Builder {
    Server::builder()
        .ladder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("scripts/tell.pl", &plain(TELL))
        .file("htdocs/page.txt", "a page")
        .conf(&workers(2))
        .conf(more)
}

const METRICS: &str = "<Location /metrics>\nSetHandler metrics\n</Location>\n";

/// The number of spans with this outcome.
fn counted(server: &Server, outcome: &str) -> u64 {
    let page = server.get("/metrics").expect(200);
    let start = format!("mehari_trace_export_spans_total{{outcome=\"{outcome}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&start));
    line.and_then(|number| number.parse().ok())
        .expect("the metric")
}

#[test]
fn requests_of_every_rung_arrive_as_one_trace_each() {
    for rung in Rung::ALL {
        let collector = Collector::start();
        let server = site(&collector.conf("every=1 service=shop")).start();
        let target = format!("{}?card=secret", rung.url("hello.pl"));
        let request = Request::get(&target).field("User-Agent", "a \"browser\"");
        server.send(&request).expect(200);
        let spans = collector.wait_for(1);
        assert_one_trace(&spans);
        let root = root(&spans);
        assert_eq!(root["name"], "GET");
        assert!(root["parentSpanId"].is_null(), "{root}");
        for (key, value) in [
            ("http.request.method", "GET"),
            ("url.path", &*rung.url("hello.pl")),
            ("url.scheme", "http"),
            ("http.response.status_code", "200"),
            ("client.address", "127.0.0.1"),
            ("network.protocol.version", "1.1"),
            ("user_agent.original", "a \"browser\""),
            ("server.port", &*server.port().to_string()),
        ] {
            assert_eq!(text(root, key), value);
        }
        match rung {
            Rung::Cgi => drop(named(&spans, "program")),
            _ => {
                let script = named(&spans, "script ");
                assert!(
                    text(script, "code.file.path").ends_with("/hello.pl"),
                    "{script}"
                );
                assert_eq!(script["parentSpanId"], named(&spans, "worker")["spanId"]);
            }
        }
        let bodies = collector.bodies.lock().expect("no panic");
        let resource = bodies[0]["resourceSpans"][0]["resource"].to_string();
        assert!(resource.contains("\"service.name\"") && resource.contains("\"shop\""));
        assert!(!format!("{bodies:?}").contains("secret"), "{bodies:?}");
    }
}

#[test]
fn files_refusals_and_unreadable_requests_have_spans_too() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).start();
    server.get("/page.txt").expect(200);
    server.get("/missing").expect(404);
    server.send(&Request::new("BREW", "/page.txt"));
    let spans = collector.wait_for(3);
    let mut statuses: Vec<&str> = Vec::new();
    for root in spans.iter().filter(|span| span["kind"] == 2) {
        let of_trace = |span: &&Value| span["traceId"] == root["traceId"];
        let one: Vec<Value> = spans.iter().filter(of_trace).cloned().collect();
        assert_one_trace(&one);
        statuses.push(text(root, "http.response.status_code"));
    }
    assert_eq!(statuses[..2], ["200", "404"]);
    let brewed = spans
        .iter()
        .find(|span| span["name"] == "HTTP")
        .expect("the third");
    assert_eq!(text(brewed, "http.request.method"), "_OTHER");
    assert_eq!(text(brewed, "http.request.method_original"), "BREW");
}

#[test]
fn trace_of_the_client_goes_on_in_programs() {
    for rung in Rung::ALL {
        let collector = Collector::start();
        let server = site(&collector.conf("every=1")).start();
        let request = Request::get(&rung.url("tell.pl"))
            .field("traceparent", UNSAMPLED)
            .field("tracestate", "a=1,b=2")
            .field("tracestate", "c=3");
        let seen = server.send(&request).expect(200);
        let spans = collector.wait_for(1);
        assert_one_trace(&spans);
        let root = root(&spans);
        assert_eq!(
            (&root["traceId"], &root["parentSpanId"]),
            (&TRACE.into(), &"b7ad6b7169203331".into())
        );
        assert_eq!(root["traceState"], "a=1,b=2,c=3");
        let inner = match rung {
            Rung::Cgi => named(&spans, "program"),
            _ => named(&spans, "worker"),
        };
        let parent = format!("00-{TRACE}-{}-01", inner["spanId"].as_str().expect("an id"));
        assert_eq!(seen, format!("{parent}|{parent}|a=1,b=2,c=3"), "{rung:?}");
    }
}

#[test]
fn invalid_trace_context_begins_a_new_trace() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1 parents=follow")).start();
    for (parent, state) in [
        ("nonsense", "a=1"),
        (
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "a=1",
        ),
        (
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "a=1",
        ),
        (
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "a=1",
        ),
    ] {
        let request = Request::get("/registry/tell.pl");
        let request = request
            .field("traceparent", parent)
            .field("tracestate", state);
        let seen = server.send(&request).expect(200);
        assert!(seen.starts_with("00-") && seen.ends_with("-01|-"), "{seen}");
        assert!(!seen.contains(TRACE), "{seen}");
    }
    let twice = Request::get("/registry/tell.pl");
    let twice = twice
        .field("traceparent", SAMPLED)
        .field("traceparent", SAMPLED);
    assert!(!server.send(&twice).expect(200).contains(TRACE));
    let bad_state = Request::get("/registry/tell.pl").field("traceparent", SAMPLED);
    let bad_state = bad_state.field("tracestate", "A=1");
    let seen = server.send(&bad_state).expect(200);
    assert!(seen.contains(TRACE) && seen.ends_with("|-"), "{seen}");
    let spans = collector.wait_for(6);
    let roots = spans.iter().filter(|span| span["kind"] == 2);
    let with_parent: Vec<&Value> = roots
        .filter(|root| !root["parentSpanId"].is_null())
        .collect();
    assert_eq!(with_parent.len(), 1, "{with_parent:?}");
}

#[test]
fn back_ends_get_the_span_of_the_wait_for_them() {
    let collector = Collector::start();
    let seen = BackEnd::start(|request, stream| {
        let field = |name| request.field(name).unwrap_or("-");
        let text = format!("{}|{}", field("traceparent"), field("tracestate"));
        let _ = stream.write_all(&answer(&text));
        false
    });
    let handlers =
        "PerlSwitches -I@ROOT@/lib\n<Location /asked>\nPerlFixupHandler My::Pass\n</Location>\n\
                    <Location /changed>\nRequestHeader set X-A 1\n</Location>\n";
    let passed: String = ["/back", "/asked", "/changed"]
        .iter()
        .map(|path| format!("ProxyPass {path} {}/below{path}\n", seen.url()))
        .collect();
    let server = site(&collector.conf("every=1"))
        .conf(handlers)
        .conf(&passed)
        .file(
            "lib/My/Pass.pm",
            "package My::Pass; sub handler { Apache2::Const::DECLINED } use Apache2::Const; 1;",
        )
        .start();
    for path in ["/back", "/asked", "/changed"] {
        let request = Request::get(&format!("{path}?card=secret"))
            .field("traceparent", SAMPLED)
            .field("tracestate", "a=1");
        let got = server.send(&request).expect(200);
        let before = collector.spans().len();
        let has_come = eventually(PATIENCE, || collector.spans().len() > before);
        assert!(has_come, "{path}");
        let spans = collector.spans();
        let root = spans
            .iter()
            .rfind(|span| span["kind"] == 2)
            .expect("a root");
        assert_eq!(text(root, "url.path"), path);
        let wait = spans
            .iter()
            .rfind(|span| span["name"] == "back end")
            .expect("the wait");
        assert_eq!(wait["kind"], 3);
        assert_eq!(wait["parentSpanId"], root["spanId"]);
        let port = seen.address.port();
        for (key, value) in [
            ("server.address", "127.0.0.1"),
            ("server.port", &*port.to_string()),
            ("http.request.method", "GET"),
            ("url.full", &*format!("{}/below{path}", seen.url())),
            ("http.response.status_code", "200"),
            ("network.protocol.version", "1.1"),
        ] {
            assert_eq!(text(wait, key), value, "{path}");
        }
        let id = wait["spanId"].as_str().expect("an id");
        assert_eq!(got, format!("00-{TRACE}-{id}-01|a=1"), "{path}");
    }
}

#[test]
fn failures_of_back_ends_are_named() {
    let collector = Collector::start();
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = gone.local_addr().expect("an address");
    drop(gone);
    let broken = BackEnd::saying(b"HTTP/1.1 418 No\r\nContent-Length: 0\r\n\r\n");
    let silent = BackEnd::saying(b"");
    let conf = format!(
        "ProxyPass /gone http://{address}/ retry=0\nProxyPass /broken {}/\n\
         ProxyPass /silent {}/\n",
        broken.url(),
        silent.url()
    );
    let server = site(&collector.conf("every=1")).conf(&conf).start();
    let cases = [
        ("/gone", 503, "connection_refused"),
        ("/broken", 418, "418"),
        ("/silent", 502, "connection_closed"),
    ];
    for (number, (path, status, failure)) in cases.into_iter().enumerate() {
        assert_eq!(server.get(path).status, status, "{path}");
        let spans = collector.wait_for(number + 1);
        let mut waits = spans.iter().filter(|span| span["name"] == "back end");
        let wait = waits.next_back().expect("the wait");
        assert_eq!(text(wait, "error.type"), failure, "{wait}");
        assert_eq!(wait["status"]["code"], 2, "{wait}");
        assert_eq!(text(wait, "server.address"), "127.0.0.1");
    }
}

#[test]
fn fastcgi_programs_and_parts_of_pages_get_the_trace_context() {
    mehari_harness::needs!("php-cgi");
    let collector = Collector::start();
    let page = "<!--#include virtual=\"/tell.php\" -->";
    let mut server = site(&collector.conf("every=1"))
        .conf("FastCgiServer /usr/bin/php-cgi -processes 1\n")
        .conf("<FilesMatch \"\\.php$\">\nSetHandler \"proxy:fcgi:///usr/bin/php-cgi\"\n</FilesMatch>\n")
        .conf("<FilesMatch \"\\.shtml$\">\nOptions +Includes\nSetOutputFilter INCLUDES\n</FilesMatch>\n")
        .file(
            "htdocs/tell.php",
            "<?php echo $_SERVER['HTTP_TRACEPARENT'], '|', $_SERVER['HTTP_TRACESTATE'];",
        )
        .file("htdocs/page.shtml", page)
        .start();
    for (number, path) in ["/tell.php", "/page.shtml"].iter().enumerate() {
        let request = Request::get(path).field("traceparent", SAMPLED);
        let seen = server.send(&request.field("tracestate", "a=1")).expect(200);
        let spans = collector.wait_for(number + 1);
        assert!(
            seen.starts_with(&format!("00-{TRACE}-")) && seen.ends_with("-01|a=1"),
            "{seen}"
        );
        assert!(!seen.contains("b7ad6b7169203331"), "{path}: {seen}");
        if *path == "/tell.php" {
            let wait = named(&spans, "back end");
            let id = wait["spanId"].as_str().expect("an id");
            assert!(seen.contains(id), "{seen}");
            assert_eq!(text(wait, "network.protocol.name"), "fcgi");
            assert_eq!(text(wait, "network.transport"), "unix");
            assert!(wait["status"].is_null(), "{wait}");
        }
    }
    // The program and its kept connection stay.
    server.may_keep_what_it_has();
}

#[test]
fn decision_of_the_client_counts_only_where_parents_are_followed() {
    let tell = |server: &Server, parent: &str| {
        let request = Request::get("/registry/tell.pl").field("traceparent", parent);
        server.send(&request).expect(200)
    };
    let collector = Collector::start();
    let following = site(&collector.conf("every=1000000 parents=follow")).start();
    assert_ne!(tell(&following, SAMPLED), format!("{SAMPLED}|{SAMPLED}|-"));
    // What is not sampled goes on unchanged.
    assert_eq!(
        tell(&following, UNSAMPLED),
        format!("{UNSAMPLED}|{UNSAMPLED}|-")
    );
    collector.wait_for(1);
    drop(following);
    let own = site(&collector.conf("every=1000000")).start();
    assert_eq!(tell(&own, SAMPLED), format!("{SAMPLED}|{SAMPLED}|-"));
    drop(own);
    collector.wait_for(1);
}

#[test]
fn one_request_in_so_many_is_sampled_and_the_others_ask_nobody_to_record() {
    let collector = Collector::start();
    let conf = "<Location /registry>\nCreateTraceParent On\n</Location>\n";
    let server = site(&collector.conf("every=10")).conf(conf).start();
    let mut sampled = 0;
    for _ in 0..400 {
        let seen = server.get("/registry/tell.pl").expect(200);
        let flags = seen
            .split('|')
            .next()
            .and_then(|parent| parent.rsplit('-').next());
        sampled += usize::from(flags.expect("flags") == "01");
    }
    assert!((15..90).contains(&sampled), "{sampled} of 400");
    collector.wait_for(sampled);
}

#[test]
fn requests_of_http2_are_exported() {
    needs!("curl");
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).start();
    let fields = [
        "-H",
        &format!("traceparent: {SAMPLED}"),
        "-H",
        "tracestate: a=1",
    ]
    .map(str::to_owned);
    let output = Command::new("curl")
        .args(["-s", "--http2-prior-knowledge"])
        .args(fields)
        .arg(url(&server, "/registry/tell.pl"))
        .output()
        .expect("curl runs");
    let seen = String::from_utf8_lossy(&output.stdout);
    let spans = collector.wait_for(1);
    assert_one_trace(&spans);
    assert_eq!(text(root(&spans), "network.protocol.version"), "2");
    assert_eq!(root(&spans)["parentSpanId"], "b7ad6b7169203331");
    let id = named(&spans, "worker")["spanId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let parent = format!("00-{TRACE}-{id}-01");
    assert_eq!(seen, format!("{parent}|{parent}|a=1"));
}

const SHOP: &str = "package My::Shop;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::SubRequest ();
use Apache2::Const -compile => qw(OK);
sub access { Apache2::Const::OK }
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print($r->headers_in->{traceparent}, ' ');
    $r->lookup_uri('/page.txt')->run;
    return Apache2::Const::OK;
}
1;";

#[test]
fn handlers_and_sub_requests_have_spans_and_handlers_see_the_field() {
    let collector = Collector::start();
    let conf = "PerlSwitches -I@ROOT@/lib\n<Location /shop>\nSetHandler modperl\n\
                PerlAccessHandler My::Shop::access\nPerlResponseHandler My::Shop\n</Location>\n";
    let server = site(&collector.conf("every=1"))
        .conf(conf)
        .file("lib/My/Shop.pm", SHOP)
        .start();
    let seen = server.get("/shop").expect(200);
    let spans = collector.wait_for(1);
    assert_one_trace(&spans);
    let worker = named(&spans, "worker")["spanId"].as_str().expect("an id");
    assert!(seen.contains(&format!("-{worker}-01 ")), "{seen}");
    let access = named(&spans, "PerlAccessHandler");
    assert_eq!(text(access, "code.function.name"), "My::Shop::access");
    let handler = named(&spans, "PerlResponseHandler");
    let part = named(&spans, "sub-request ");
    assert_eq!(text(part, "url.path"), "/page.txt");
    assert_eq!(part["parentSpanId"], handler["spanId"]);
}

const DATABASE: &str = "use DBI;
my $db = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1 });
$db->do(q{CREATE TABLE item (name TEXT)}); $db->do(q{INSERT INTO item VALUES ('hidden')});
my $get = $db->prepare('SELECT name FROM item WHERE name <> ?');
$get->execute('bound'); while (my @row = $get->fetchrow_array) { } print 'ok';";

#[test]
fn statements_are_exported_without_their_values() {
    needs!("libdbd-sqlite3-perl");
    let collector = Collector::start();
    let server = site(&collector.conf("every=1"))
        .file("scripts/db.pl", &plain(DATABASE))
        .start();
    server.get("/registry/db.pl").expect(200);
    let spans = collector.wait_for(1);
    assert_one_trace(&spans);
    let insert = named(&spans, "INSERT item");
    assert_eq!(insert["kind"], 3);
    assert_eq!(text(insert, "db.query.text"), "INSERT INTO item VALUES (?)");
    assert_eq!(text(insert, "db.system.name"), "sqlite");
    assert_eq!(text(insert, "db.query.summary"), "INSERT item");
    assert_eq!(text(insert, "code.function.name"), "DBI::do");
    assert_eq!(insert["parentSpanId"], named(&spans, "script ")["spanId"]);
    let fetches = spans
        .iter()
        .find(|span| span.to_string().contains("DBI::fetchrow_array"))
        .expect("the fetches");
    assert_eq!(text(fetches, "mehari.calls"), "2");
    assert_eq!(text(fetches, "db.response.returned_rows"), "1");
    let all = format!("{spans:?}");
    assert!(!all.contains("hidden") && !all.contains("bound"), "{all}");
}
