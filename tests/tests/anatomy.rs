//! `mehari trace`: the parts of one request make up the whole, on each rung; nothing that a client
//! sends begins a trace, and the traced program notices nothing.

use mehari_harness::scripts::plain;
use mehari_harness::{binary, needs, BackEnd, Request, Rung, Server};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

const SHOP: &str = "package My::Shop;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::SubRequest ();
use Apache2::Const -compile => qw(OK DECLINED);
sub access { Apache2::Const::OK } sub fixup { Apache2::Const::DECLINED }
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('shop ');
    $r->lookup_uri('/part.txt')->run;
    $r->pool->cleanup_register(sub { 1 });
    return Apache2::Const::OK;
}
sub written { Apache2::Const::OK } sub clean { Apache2::Const::OK }
1;";

const HANDLERS: &str = "PerlSwitches -I@ROOT@/lib
PerlModule Apache2::RequestUtil APR::Pool
<Location /shop>
    SetHandler modperl
    PerlAccessHandler My::Shop::access
    PerlFixupHandler My::Shop::fixup
    PerlResponseHandler My::Shop
    PerlLogHandler My::Shop::written
    PerlCleanupHandler My::Shop::clean
</Location>
<Location /psgi>
    SetHandler psgi
    PSGIApp @ROOT@/app.psgi
</Location>
";

const APPLICATION: &str = "sub { [200, ['Content-Type' => 'text/plain'], ['from psgi']] }";

fn server() -> mehari_harness::Builder {
    Server::builder()
        .ladder()
        .conf(HANDLERS)
        .conf("StartServers 1\nMaxRequestWorkers 1\n")
        .file("lib/My/Shop.pm", SHOP)
        .file("app.psgi", APPLICATION)
        .file("htdocs/part.txt", "part")
        .file("scripts/hello.pl", &plain("print 'Hello';"))
}

fn traced(server: &Server, target: &str, more: &[&str]) -> String {
    let url = format!("http://127.0.0.1:{}{target}", server.port());
    let mut words = vec!["trace", &url];
    words.extend(more);
    let output = server.control(&words);
    assert!(output.status.success(), "{target}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn anatomy(server: &Server, target: &str) -> Value {
    let text = traced(server, target, &["--json"]);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// Checks that parts do not overlap, lie within the whole, and make up the whole with the rests.
/// Times are thousandths of microseconds, so only the reading of the text rounds.
fn assert_whole(parts: &Value, whole: f64, rest: f64) {
    let mut sum = rest;
    let mut before = 0.0;
    for part in list(parts) {
        let (from, took) = (number(&part["from_us"]), number(&part["us"]));
        assert!(from >= before - 0.01, "overlaps: {part}");
        before = from + took;
        sum += took;
        assert_whole(&part["parts"], took, number(&part["rest_us"]));
    }
    if rest > 0.0 || !list(parts).is_empty() {
        let difference = (sum - whole).abs();
        assert!(
            difference <= 0.01 * (1 + list(parts).len()) as f64,
            "{sum} of {whole}"
        );
    }
}

/// Returns the names of all parts, the outer parts first.
fn names(parts: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for part in list(parts) {
        found.push(part["name"].as_str().expect("a name").to_owned());
        found.extend(names(&part["parts"]));
    }
    found
}

fn all_names(anatomy: &Value) -> Vec<String> {
    let mut found = names(&anatomy["parts"]);
    found.extend(names(&anatomy["after"]));
    found
}

#[track_caller]
fn assert_in_order(anatomy: &Value, wanted: &[&str]) {
    let names = all_names(anatomy);
    let mut left = names.iter();
    for name in wanted {
        let is_there = left.any(|it| it.starts_with(name));
        assert!(is_there, "{name} is not next in {names:#?}");
    }
}

#[test]
fn parts_of_every_rung_make_up_the_whole() {
    let server = server().start();
    for rung in Rung::ALL {
        for _ in 0..2 {
            let anatomy = anatomy(&server, &rung.url("hello.pl"));
            assert_eq!(anatomy["status"], 200, "{anatomy}");
            let whole = number(&anatomy["us"]);
            assert!(whole > 0.0, "{anatomy}");
            assert_whole(&anatomy["parts"], whole, 0.0);
            assert_in_order(&anatomy, &["head", "head of the response", "log", "write"]);
            match rung {
                // The front itself starts a program.
                Rung::Cgi => assert_in_order(&anatomy, &["program"]),
                _ => assert_in_order(
                    &anatomy,
                    &[
                        "start the handler",
                        "queue",
                        "dispatch",
                        "worker",
                        "script ",
                    ],
                ),
            }
        }
    }
}

#[test]
fn handlers_are_named_in_the_order_of_the_phases() {
    let server = server().start();
    let anatomy = anatomy(&server, "/shop");
    assert_whole(&anatomy["parts"], number(&anatomy["us"]), 0.0);
    let wanted = [
        "PerlAccessHandler My::Shop::access",
        "PerlFixupHandler My::Shop::fixup",
        "PerlResponseHandler My::Shop",
        "admit the sub-request /part.txt",
        "sub-request /part.txt",
        "PerlLogHandler My::Shop::written",
        "PerlCleanupHandler My::Shop::clean",
        "cleanup_register",
    ];
    let mut names = all_names(&anatomy);
    names.retain(|name| wanted.iter().any(|it| it == name));
    assert_eq!(names, wanted);
}

#[test]
fn files_applications_and_back_ends_have_their_parts() {
    let back_end =
        BackEnd::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nback");
    let proxied = format!("ProxyPass /back/ {}/\n", back_end.url());
    let server = server().conf(&proxied).start();
    for (target, part) in [
        ("/part.txt", "route"),
        ("/psgi", "application "),
        ("/back/", "back end"),
        ("/none", "route"),
    ] {
        let anatomy = anatomy(&server, target);
        assert_whole(&anatomy["parts"], number(&anatomy["us"]), 0.0);
        assert_in_order(&anatomy, &[part, "log", "write"]);
    }
}

const DATABASE: &str = "use strict; use warnings; use DBI;
my $db = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1, PrintError => 0 });
$db->do('CREATE TABLE item (id INTEGER, name TEXT)');
my $put = $db->prepare('INSERT INTO item VALUES (?, ?)');
$put->execute($_, \"bound$_\") for 1 .. 3;
my $get = $db->prepare('SELECT name FROM item WHERE name <> ?');
$get->execute('bound-value');
my $rows = 0;
while (my @row = $get->fetchrow_array) { $rows++ }
my @one = $db->selectrow_array('SELECT count(*) FROM item');
my $all = $db->selectall_arrayref('SELECT id FROM item WHERE id < ?', undef, 3);
my $context = eval { $db->do('SELEKT'); 1 } ? 'none' : $@;
$context =~ s/\\n//;
print \"$rows @one \" . @$all . \" $context\";";

#[test]
fn statements_are_shown_with_rows_and_without_bound_values() {
    needs!("libdbd-sqlite3-perl");
    let server = server()
        .file("scripts/database.pl", &plain(DATABASE))
        .start();
    for rung in [Rung::Registry, Rung::PerlRun, Rung::Fork, Rung::Rewind] {
        let url = rung.url("database.pl");
        let untraced = server.get(&url).text();
        assert!(untraced.contains("3 3 2 "), "{rung:?}: {untraced}");
        let anatomy = anatomy(&server, &url);
        assert_whole(&anatomy["parts"], number(&anatomy["us"]), 0.0);
        assert_in_order(
            &anatomy,
            &[
                "do: CREATE TABLE item",
                "prepare: INSERT INTO item VALUES (?, ?)",
                "execute: INSERT INTO item VALUES (?, ?)",
                "execute: INSERT INTO item VALUES (?, ?)",
                "execute: SELECT name FROM item WHERE name <> ?",
                "fetchrow_array: SELECT name FROM item WHERE name <> ?",
                "selectrow_array: SELECT count(*) FROM item",
                "selectall_arrayref: SELECT id FROM item WHERE id < ?",
                "do: SELEKT",
            ],
        );
        assert!(!anatomy.to_string().contains("bound"), "{anatomy}");
        let fetches = find(&anatomy["parts"], "fetchrow_array").expect("the fetches");
        assert_eq!(
            (&fetches["count"], &fetches["rows"]),
            (&4.into(), &3.into())
        );
        // The error names the line of the script, and DBI is as before.
        assert_eq!(server.get(&url).text(), untraced);
    }
}

fn find<'a>(parts: &'a Value, start: &str) -> Option<&'a Value> {
    list(parts).iter().find_map(|part| {
        let is_it = part["name"]
            .as_str()
            .is_some_and(|it| it.starts_with(start));
        is_it
            .then_some(part)
            .or_else(|| find(&part["parts"], start))
    })
}

/// The command while it waits for requests of others.
struct Waiting {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Waiting {
    fn start(server: &Server, words: &[&str]) -> Waiting {
        let mut child = Command::new(binary::mehari())
            .arg("trace")
            .args(words)
            .arg("--control")
            .arg(server.site.path("control"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mehari can be run");
        let mut errors = BufReader::new(child.stderr.take().expect("it was piped"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("a line");
        assert!(line.contains("waiting for "), "{line}");
        Waiting { child, errors }
    }

    fn end(mut self) -> String {
        let mut text = String::new();
        let mut out = self.child.stdout.take().expect("it was piped");
        out.read_to_string(&mut text).expect("text");
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).expect("text");
        assert!(self.child.wait().expect("its end").success(), "{errors}");
        text
    }
}

#[test]
fn requests_of_others_are_traced_by_their_place() {
    let server = server().start();
    let waiting = Waiting::start(
        &server,
        &["--location", "/registry", "--count", "2", "--json"],
    );
    server.get("/part.txt");
    server.get("/registry/hello.pl?a=1");
    server.get("/perlrun/hello.pl");
    server.get("/registry/hello.pl?a=2");
    let text = waiting.end();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let targets: Vec<&str> = lines
        .iter()
        .filter_map(|it| it["target"].as_str())
        .collect();
    assert_eq!(
        targets,
        ["/registry/hello.pl?a=1", "/registry/hello.pl?a=2"]
    );
}

#[test]
fn report_and_page_escape_what_a_request_sends() {
    let server = server().start();
    let page = server.site.path("trace.html");
    let target = "/part.txt?<script>alert(1)</script>&amp";
    let waiting = Waiting::start(
        &server,
        &[
            "--location",
            "/part.txt",
            "-o",
            page.to_str().expect("text"),
        ],
    );
    server.send(&Request::get(target));
    waiting.end();
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("default-src 'none'"), "{page}");
    assert!(page.contains("?&lt;script&gt;"), "{page}");
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn handshake_is_a_part_of_the_first_request_of_a_connection() {
    let own = rcgen::generate_simple_self_signed(["site.example".to_owned()]);
    let own = own.expect("a certificate");
    let server = server()
        .file("tls/site.crt", &own.cert.pem())
        .file("tls/site.key", &own.signing_key.serialize_pem())
        .conf("SSLCertificateFile tls/site.crt\nSSLCertificateKeyFile tls/site.key\n")
        .without_listen()
        .args(&["--listen", "https://127.0.0.1:0"])
        .start();
    let url = format!("https://127.0.0.1:{}/part.txt", server.port());
    let output = server.control(&["trace", &url, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let anatomy = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_in_order(
        &anatomy,
        &["TLS handshake", "wait for the head", "head", "log", "write"],
    );
}

#[test]
fn report_is_a_waterfall_whose_parts_sum_to_the_whole() {
    let server = server().start();
    let text = traced(&server, "/registry/hello.pl", &[]);
    assert!(
        text.starts_with("GET /registry/hello.pl\nstatus 200, request "),
        "{text}"
    );
    assert!(text.contains("sum of the outer parts"), "{text}");
    assert!(text.contains("  worker "), "{text}");
}

#[test]
fn wrong_words_get_one_line() {
    let server = server().start();
    let url = format!("http://127.0.0.1:{}/", server.port());
    let cases: [(&[&str], &str); 5] = [
        (&["trace"], "required"),
        (
            &["trace", "ftp://127.0.0.1/"],
            "expected http:// or https://",
        ),
        (
            &["trace", "--location", "shop"],
            "expected a path that begins with /",
        ),
        (&["trace", &url, "--count", "0"], "expected 1 to 10000"),
        (&["trace", "http://127.0.0.1:1/"], "Connection refused"),
    ];
    for (words, reason) in cases {
        let output = server.control(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words:?}");
        assert!(errors.contains(reason), "{words:?}: {errors}");
        assert_eq!(errors.trim_end().lines().count(), 1, "{errors}");
    }
}
