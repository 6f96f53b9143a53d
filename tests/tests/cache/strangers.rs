//! Tests that a client's request does not change the responses of other clients.

use crate::{check, start, target};
use mehari_harness::{eventually, Connection, Request, Server, PATIENCE};

const FRESH: &str = "Cache-Control: max-age=60";

fn ask(server: &Server, page: &str, fields: &[(&str, &str)], run: u32, part: &str) {
    let request = Request::get(page);
    let fields = fields.iter();
    let request = fields.fold(request, |request, (name, value)| request.field(name, value));
    check(&server.send(&request), run, part);
}

/// Opens a connection and sends an ordinary request for a page.
fn asking(server: &Server, page: &str) -> Connection {
    let mut request = Request::get(page);
    server.address(&mut request);
    let mut connection = server.connect();
    connection.write(&request.bytes());
    connection
}

#[test]
fn fields_that_a_client_may_forge_make_separate_pages() {
    let server = start("");
    let claims = [
        ("X-Forwarded-Host", "evil.example"),
        ("x-forwarded-proto", "https"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-Original-URL", "/admin"),
        ("Forwarded", "for=192.0.2.1;host=evil.example"),
        ("X-Original-URI", "/admin"),
        ("X-Scheme", "https"),
        ("X-HTTPS", "1"),
        ("X-Real-Host", "evil.example"),
        ("X-Envoy-Original-Path", "/admin"),
        ("Request-Base", "/admin"),
        ("Base-Url", "https://evil.example/"),
        ("X-Never-Heard-Of", "it"),
        ("CF-Visitor", "{\"scheme\":\"https\"}"),
    ];
    for (number, claim) in claims.into_iter().enumerate() {
        let page = target(&format!("claim{number}"), &[FRESH]);
        ask(&server, &page, &[claim], 1, "MISS");
        ask(&server, &page, &[], 2, "MISS");
        ask(&server, &page, &[claim], 1, "HIT");
        ask(&server, &page, &[], 2, "HIT");
    }
    // The fields that every browser or proxy sends do not make separate pages.
    let page = target("browser", &[FRESH]);
    let browser = [
        ("User-Agent", "a"),
        ("Sec-Fetch-Mode", "navigate"),
        ("X-Request-ID", "1"),
        ("DNT", "1"),
    ];
    ask(&server, &page, &browser, 1, "MISS");
    ask(
        &server,
        &page,
        &[("User-Agent", "b"), ("X-Request-ID", "2")],
        1,
        "HIT",
    );
    let page = target("proxied", &[FRESH]);
    let by = |client: &'static str| [("X-Forwarded-For", client)];
    ask(&server, &page, &by("192.0.2.1"), 1, "MISS");
    ask(&server, &page, &by("192.0.2.2"), 1, "HIT");
    let by = |client: &'static str| [("Forwarded", client)];
    ask(&server, &page, &by("for=192.0.2.1;proto=http"), 2, "MISS");
    ask(&server, &page, &by("for=192.0.2.2; proto=http"), 2, "HIT");
}

#[test]
fn page_that_varies_by_a_removed_field_is_not_cached() {
    let server = start("");
    let page = target("hop", &[FRESH, "Vary: Accept-Language"]);
    let hides = [
        ("Accept-Language", "de"),
        ("Connection", "keep-alive, Accept-Language"),
    ];
    ask(&server, &page, &hides, 1, "");
    ask(&server, &page, &[("Accept-Language", "de")], 2, "MISS");
    let keeps = [("Accept-Language", "de"), ("Connection", "keep-alive")];
    ask(&server, &page, &keeps, 2, "HIT");
}

#[test]
fn response_with_a_cookie_is_never_sent_to_another_client() {
    let server = start("<Location /registry>\nCacheIgnoreHeaders Set-Cookie\n</Location>\n");
    let lines = [
        "Cache-Control: public, s-maxage=60",
        "Set-Cookie: session=1",
    ];
    let page = target("session", &lines);
    ask(&server, &page, &[], 1, "MISS");
    ask(&server, &page, &[], 2, "MISS");
    let shared = page.replacen("/fork/", "/registry/", 1);
    let first = server.get(&shared);
    assert_eq!(first.field("Set-Cookie").as_deref(), Some("session=1"));
    let kept = server.get(&shared);
    check(&kept, 3, "HIT");
    assert_eq!(kept.field("Set-Cookie"), None);
}

/// `Header` rules may depend on the client, also when its request revalidates the page.
#[test]
fn revalidated_page_has_only_the_fields_of_its_program() {
    let server = start(
        "<Location /fork>\nSetEnvIf Origin \"^(https://[a-z]+\\.example)$\" ORIGIN=$1\n\
         Header set Access-Control-Allow-Origin \"%{ORIGIN}e\" env=ORIGIN\n\
         Header add X-Added rule\nHeader append X-Said rule\n</Location>\n",
    );
    let page = target("origin", &[FRESH, "ETag: \"a\""]);
    let get = |fields: &[(&str, &str)], expected: &str, allowed: Option<&str>| {
        let fields = fields.iter();
        let request = fields.fold(Request::get(&page), |request, (name, value)| {
            request.field(name, value)
        });
        let answer = server.send(&request);
        check(&answer, 1, expected);
        let allows = answer.field("Access-Control-Allow-Origin");
        assert_eq!(allows.as_deref(), allowed, "{expected}");
        assert_eq!(answer.all("X-Added"), ["rule"], "{expected}");
        assert_eq!(answer.all("X-Said"), ["rule"], "{expected}");
    };
    let (again, origin) = (("Cache-Control", "max-age=0"), "https://evil.example");
    get(&[], "MISS", None);
    get(&[("Origin", origin), again], "REVALIDATE", Some(origin));
    get(&[], "HIT", None);
    get(
        &[("Origin", "https://a.example"), again],
        "REVALIDATE",
        Some("https://a.example"),
    );
    get(&[], "HIT", None);
}

/// The host name of the request is part of the cache key. The program sees no other host name.
#[test]
fn pages_are_cached_by_the_host_name_that_their_program_sees() {
    let server = start("");
    let script = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\nCache-Control: max-age=60\\n\\n$ENV{HTTP_HOST} $$\";\n";
    server.site.write("scripts/host.pl", script);
    let path = "/fork/host.pl?x#"; // a fragment is refused below
    let plain = path.trim_end_matches('#');
    let absolute = format!("http://site.example{plain}");
    let rows = [
        (absolute.as_str(), "evil.example", "site.example", "MISS"),
        (plain, "site.example", "site.example", "HIT"),
        (plain, "SITE.example", "site.example", "HIT"),
        (plain, "site.example:81", "site.example:81", "MISS"),
        (plain, "site.example.", "site.example.", "MISS"),
        (plain, "evil.example", "evil.example", "MISS"),
        ("/fork/host.pl?x&", "site.example", "site.example", "MISS"),
        ("/fork//host.pl?x", "site.example", "site.example", "MISS"),
        ("/fork/host%2Epl?x", "site.example", "site.example", "MISS"),
    ];
    for (target, host, seen, part) in rows {
        let answer = server.send(&Request::get(target).host(host));
        let text = answer.expect(200);
        let told = answer.field("X-Cache").unwrap_or_default();
        let row = format!("{target} of {host}: {text}");
        assert_eq!(text.split(' ').next(), Some(seen), "{row}");
        assert_eq!(told.split(' ').next(), Some(part), "{row}");
    }
    server.get(path).expect(400);
}

#[test]
fn ranges_and_conditions_of_one_client_do_not_change_the_cached_page() {
    let server = start("");
    let page = target("part", &[FRESH, "ETag: \"v\""]);
    ask(&server, &page, &[("Range", "bytes=0-3")], 1, "");
    let condition = ("If-None-Match", "\"v\"");
    let known = server.send(&Request::get(&page).field(condition.0, condition.1));
    assert_eq!(known.status, 304);
    // The program ran without the field Range, and so made a page that other clients can share.
    assert_eq!(server.site.read("htdocs/runs.part"), "-\n-\n");
    let part = Request::get(&page).field("Range", "bytes=0-2");
    assert_eq!(server.send(&part).expect(206), "GET");
    ask(&server, &page, &[("If-Range", "\"v\"")], 2, "HIT");
}

/// A script whose first run waits until a file exists. Later runs do not wait.
const STUCK: &str = r##"#!/usr/bin/perl
my $root = $ENV{DOCUMENT_ROOT};
my $first = !-e "$root/began";
open my $began, '>', "$root/began" or die $!;
close $began;
for (1 .. 1500) { last if !$first || -e "$root/go"; select undef, undef, undef, 0.02 }
print "Content-type: text/plain\nCache-Control: max-age=60\n\n", $first ? 'first' : 'later';
"##;

#[test]
fn waiting_clients_do_not_wait_longer_than_the_limit_for_one_request() {
    let server = start("CacheLockMaxAge 1\n");
    server.site.write("scripts/stuck.pl", STUCK);
    let page = "/fork/stuck.pl";
    let mut stuck = asking(&server, page);
    let began = server.site.path("htdocs/began");
    assert!(eventually(PATIENCE, || began.exists()));
    let get = || {
        let answer = server.get(page);
        let part = answer.field("X-Cache").unwrap_or_default();
        let part = part.split(' ').next().unwrap_or_default().to_owned();
        (answer.expect(200), part)
    };
    let later = |part: &str| ("later".to_owned(), part.to_owned());
    assert_eq!(get(), later("MISS"));
    assert_eq!(get(), later("HIT"));
    server.site.write("htdocs/go", "");
    let first = stuck.read_answer("GET").expect("an answer");
    assert_eq!(first.expect(200), "first");
    assert_eq!(get(), later("HIT"), "what is older does not come after");
}

#[test]
fn next_client_gets_the_page_when_the_first_client_has_left() {
    let server = start("CacheLockMaxAge 60\n");
    server.site.write("scripts/stuck.pl", STUCK);
    let page = "/fork/stuck.pl";
    let gone = asking(&server, page);
    let began = server.site.path("htdocs/began");
    assert!(eventually(PATIENCE, || began.exists()));
    let mut waits = asking(&server, page);
    drop(gone);
    server.site.write("htdocs/go", "");
    let answer = waits.read_answer("GET").expect("an answer");
    let part = answer.field("X-Cache").unwrap_or_default();
    let text = answer.expect(200);
    // Either the first program went on for the waiting client, or another program was started.
    let kept = server.get(page);
    assert_eq!(kept.expect(200), text, "{part}");
    let told = kept.field("X-Cache").unwrap_or_default();
    assert!(told.starts_with("HIT"), "{told} after {part}");
}
