//! `TraceExport`: spans for an OpenTelemetry collector, and the trace context for programs and back
//! ends. A collector that is dead, slow or hostile costs no request anything.

use mehari_harness::back_end::{answer, ReceivedRequest};
use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, needs, BackEnd, Builder, Request, Rung, Server, PATIENCE};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const TELL: &str = "print join '|', map { $ENV{$_} // '-' } qw(HTTP_TRACEPARENT TRACEPARENT \
                    HTTP_TRACESTATE);";

/// A collector that keeps what it gets.
struct Collector {
    back_end: BackEnd,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    fn start() -> Collector {
        Collector::answering("200 OK", "{}")
    }

    fn answering(status: &'static str, body: &'static str) -> Collector {
        let bodies = Arc::<Mutex<Vec<Value>>>::default();
        let kept = bodies.clone();
        let back_end = BackEnd::start(move |request, stream| {
            kept.lock().expect("no panic").push(read(&request));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            false
        });
        Collector { back_end, bodies }
    }

    fn conf(&self, more: &str) -> String {
        format!("TraceExport {} {more}\n", self.back_end.url())
    }

    fn spans(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().expect("no panic");
        let spans = |body: &Value| {
            let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
            spans.as_array().expect("spans").clone()
        };
        bodies.iter().flat_map(spans).collect()
    }

    fn requests(&self) -> usize {
        self.spans().iter().filter(|span| span["kind"] == 2).count()
    }

    /// Waits until so many requests have come, and returns all spans.
    fn wait_for(&self, requests: usize) -> Vec<Value> {
        let has_come = eventually(PATIENCE, || self.requests() >= requests);
        assert!(has_come, "{} of {requests} came", self.requests());
        assert_eq!(self.requests(), requests);
        self.spans()
    }
}

fn url(server: &Server, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", server.port())
}

/// Checks a request for a collector, and returns its body.
fn read(request: &ReceivedRequest) -> Value {
    let line = request.head.lines().next();
    assert_eq!(line, Some("POST /v1/traces HTTP/1.1"), "{}", request.head);
    assert_eq!(request.field("content-type"), Some("application/json"));
    serde_json::from_slice(&request.body).expect("JSON")
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

fn text<'a>(span: &'a Value, key: &str) -> &'a str {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|it| it["key"] == key);
    let value = &found.unwrap_or_else(|| panic!("no {key}: {span}"))["value"];
    let texts = [&value["stringValue"], &value["intValue"]];
    texts.into_iter().find_map(Value::as_str).expect("a text")
}

fn root(spans: &[Value]) -> &Value {
    spans.iter().find(|span| span["kind"] == 2).expect("a root")
}

fn named<'a>(spans: &'a [Value], start: &str) -> &'a Value {
    let is_it = |span: &&Value| {
        span["name"]
            .as_str()
            .is_some_and(|it| it.starts_with(start))
    };
    let found = spans.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {start} in {spans:#?}"))
}

fn time(span: &Value, key: &str) -> u64 {
    let text = span[key].as_str();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no {key}: {span}"))
}

/// Checks numbers, parents and times of the spans of one request. A child lies within its parent.
/// What the worker does may last longer than the request, whose span ends with the response.
fn assert_one_trace(spans: &[Value]) {
    let root = root(spans);
    let by_id: HashMap<&str, &Value> = spans
        .iter()
        .map(|span| (span["spanId"].as_str().expect("an id"), span))
        .collect();
    assert_eq!(by_id.len(), spans.len(), "an id stands twice: {spans:#?}");
    for span in spans {
        assert_eq!(span["traceId"], root["traceId"], "{span}");
        let (from, until) = (
            time(span, "startTimeUnixNano"),
            time(span, "endTimeUnixNano"),
        );
        assert!(from <= until, "{span}");
        if span == root {
            continue;
        }
        let parent = by_id[span["parentSpanId"].as_str().expect("a parent")];
        assert!(
            time(parent, "startTimeUnixNano") <= from,
            "{span} in {parent}"
        );
        let is_of_worker = span.to_string().contains("process.pid");
        if !(parent == root && is_of_worker) {
            assert!(
                until <= time(parent, "endTimeUnixNano"),
                "{span} in {parent}"
            );
        }
    }
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
        .map(|path| format!("ProxyPass {path} {}\n", seen.url()))
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
        let request = Request::get(path)
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
        let id = wait["spanId"].as_str().expect("an id");
        assert_eq!(got, format!("00-{TRACE}-{id}-01|a=1"), "{path}");
    }
}

#[test]
fn fastcgi_programs_and_parts_of_pages_get_the_trace_context() {
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
            let id = named(&spans, "back end")["spanId"].as_str().expect("an id");
            assert!(seen.contains(id), "{seen}");
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
fn sent_and_rejected_spans_are_counted() {
    let rejecting = "{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"x\"}}";
    let collector = Collector::answering("200 OK", rejecting);
    let server = site(&collector.conf("every=1")).conf(METRICS).start();
    server.get("/page.txt").expect(200);
    let spans = collector.wait_for(1).len() as u64;
    assert!(eventually(PATIENCE, || counted(&server, "refused") >= 2));
    assert!(counted(&server, "sent") >= spans - 2);
}

#[test]
fn collector_that_refuses_is_logged_once_and_its_spans_are_counted() {
    let collector = Collector::answering("400 Bad Request", "{}");
    let server = site(&collector.conf("every=1")).conf(METRICS).start();
    server.get("/page.txt").expect(200);
    let url = format!("{}/v1/traces", collector.back_end.url());
    server.log.expect(&format!(
        "TraceExport: {url}: the collector answers with status 400: spans are dropped until"
    ));
    let told = || collector.bodies.lock().expect("no panic").len();
    for _ in 0..2 {
        let before = told();
        server.get("/page.txt").expect(200);
        assert!(eventually(PATIENCE, || told() > before));
    }
    assert!(eventually(PATIENCE, || counted(&server, "refused") > 0));
    assert_eq!(counted(&server, "sent"), 0);
    assert_eq!(server.log.count("spans are dropped until"), 1);
}

#[test]
fn dead_collector_costs_a_bounded_queue_and_is_logged_once() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = gone.local_addr().expect("an address");
    drop(gone);
    let conf = format!("TraceExport http://{address} every=1 queue=5\n");
    let server = site(&conf).conf(METRICS).start();
    for _ in 0..100 {
        server.get("/page.txt").expect(200);
    }
    server.log.expect("Connection refused");
    assert!(eventually(PATIENCE, || counted(&server, "dropped") > 0));
    assert_eq!(counted(&server, "sent"), 0);
    assert_eq!(server.log.count("TraceExport"), 1, "{}", server.log.text());
    let back = BackEnd::at(address, |_, stream| {
        let _ = stream.write_all(&answer("{}"));
        false
    });
    server.log.expect("the collector takes all spans again");
    assert!(counted(&server, "sent") > 0);
    drop(back);
}

/// A collector that does something else than to answer.
fn hostile(act: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.incoming().flatten().for_each(act));
    format!("TraceExport http://{address} every=1 queue=3 timeout=200ms\n")
}

#[test]
fn hostile_collectors_delay_no_request() {
    let silent = Mutex::new(Vec::new());
    let cases = [
        hostile(move |stream| silent.lock().expect("no panic").push(stream)),
        hostile(|mut stream| {
            let _ = stream.write_all(b"SSH-2.0-x\r\n\r\n");
        }),
        hostile(|mut stream| while stream.write_all(&[b'x'; 1000]).is_ok() {}),
        hostile(|mut stream| {
            let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n");
        }),
    ];
    for conf in cases {
        let server = site(&conf).conf(METRICS).start();
        for _ in 0..50 {
            server.get("/page.txt").expect(200);
        }
        server
            .log
            .expect("spans are dropped until the collector takes them");
        for _ in 0..50 {
            server.get("/page.txt").expect(200);
        }
        let lost = || counted(&server, "dropped") + counted(&server, "refused");
        assert!(eventually(PATIENCE, || lost() > 0), "{conf}");
        assert_eq!(counted(&server, "sent"), 0, "{conf}");
        assert_eq!(server.log.count("TraceExport"), 1, "{}", server.log.text());
    }
}

#[test]
fn reload_begins_changes_and_ends_the_export() {
    let collector = Collector::start();
    let server = site("Include @ROOT@/more.conf\n")
        .file("more.conf", "")
        .start();
    let reload = |text: &str| {
        server.site.write("more.conf", text);
        let output = server.control(&["reload"]);
        assert!(output.status.success(), "{output:?}");
    };
    server.get("/page.txt").expect(200);
    reload(&collector.conf("every=1"));
    server.get("/page.txt").expect(200);
    collector.wait_for(1);
    reload(&collector.conf("every=1 service=other"));
    server.get("/page.txt").expect(200);
    collector.wait_for(2);
    let bodies = collector.bodies.lock().expect("no panic").clone();
    assert!(bodies
        .iter()
        .any(|body| body.to_string().contains("\"other\"")));
    reload("");
    server.get("/page.txt").expect(200);
    drop(server);
    collector.wait_for(2);
}

#[test]
fn last_spans_are_sent_when_the_server_ends() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).start();
    for _ in 0..3 {
        server.get("/page.txt").expect(200);
    }
    drop(server);
    collector.wait_for(3);
}

#[test]
fn trace_of_the_owner_and_the_export_do_not_disturb_each_other() {
    let collector = Collector::start();
    let server = site(&collector.conf("every=1")).start();
    let url = url(&server, "/registry/hello.pl");
    let output = server.control(&["trace", &url, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let anatomy: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let spans = collector.wait_for(1);
    assert_one_trace(&spans);
    assert_eq!(
        text(root(&spans), "mehari.request.id"),
        anatomy["request_id"].to_string()
    );
}
