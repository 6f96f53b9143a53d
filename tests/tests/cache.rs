//! The response cache over real scripts: the stored responses, their keys and lifetimes, and
//! requests that wait for another.

#[path = "cache/stores.rs"]
mod stores;
#[path = "cache/strangers.rs"]
mod strangers;

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, Answer, Request, Server, PATIENCE};
use std::process::Command;

/// Counts its runs under the first word of the query, prints the other words as header lines, and
/// obeys files in its directory.
const PAGE: &str = r##"#!/usr/bin/perl
my ($name, @lines) = split /;/, $ENV{QUERY_STRING};
my $file = "$ENV{DOCUMENT_ROOT}/runs.$name";
open my $runs, '>>', $file or die $!;
syswrite $runs, ($ENV{HTTP_IF_NONE_MATCH} // '-') . "\n";
close $runs;
open $runs, '<', $file or die $!;
my $count = () = <$runs>;
select undef, undef, undef, 0.4 if -e "$ENV{DOCUMENT_ROOT}/slow.$name";
sleep 1 if $name eq 'late';
print "Status: 500\n" if -e "$ENV{DOCUMENT_ROOT}/fail.$name";
for (@lines) {
    s/\+/ /g;
    s/%(..)/chr hex $1/ge;
    print "$_\n";
    print "Status: 304\n" if /^ETag: (.*)/ && ($ENV{HTTP_IF_NONE_MATCH} // '') eq $1;
}
print "Content-type: text/plain\n\n$ENV{REQUEST_METHOD} run $count\n", 'word ' x 100;
"##;

fn start(conf: &str) -> Server {
    Server::builder()
        .file("scripts/page.pl", PAGE)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(3))
        .conf("CacheEnable disk /fork\nCacheEnable disk /registry\nCacheHeader On\nCacheDisable /fork/hello.pl\n")
        .conf("LogFormat \"%r %{cache}Q\" cache\nCustomLog @ROOT@/access.log cache\n")
        .conf(conf)
        .start()
}

/// `page` and `lines` as the query of the script.
fn target(page: &str, lines: &[&str]) -> String {
    let lines: String = lines
        .iter()
        .map(|line| format!(";{}", line.replace(' ', "+").replace('"', "%22")))
        .collect();
    format!("/fork/page.pl?{page}{lines}")
}

fn asking(method: &str, target: &str) -> Request {
    let mut request = Request::get(target);
    request.method = method.into();
    request
}

#[track_caller]
fn check(answer: &Answer, run: u32, part: &str) {
    let text = answer.expect(200);
    let first = text.lines().next().unwrap_or_default();
    let told = answer.field("X-Cache").unwrap_or_default();
    assert_eq!(
        (first, told.split(' ').next().unwrap_or_default()),
        (format!("GET run {run}").as_str(), part),
    );
}

fn runs(server: &Server, page: &str) -> usize {
    server
        .site
        .read(&format!("htdocs/runs.{page}"))
        .lines()
        .count()
}

fn touch(server: &Server, name: &str) {
    let path = server.site.path(&format!("htdocs/{name}"));
    std::fs::write(path, "").expect("written");
}

#[test]
fn a_page_is_run_once_while_it_is_fresh() {
    let server = start("");
    let page = target("a", &["Cache-Control: max-age=60", "ETag: \"e\""]);
    let first = server.get(&page);
    check(&first, 1, "MISS");
    assert_eq!(first.field("Age"), None);
    let hit = server.get(&page);
    check(&hit, 1, "HIT");
    assert!(hit.field("Age").is_some());
    assert_eq!(hit.body, first.body);
    for name in ["Content-type", "Cache-Control", "ETag"] {
        assert_eq!(hit.field(name), first.field(name), "{name}");
    }
    let head = server.send(&asking("HEAD", &page));
    assert_eq!(
        head.field("Content-Length"),
        Some(hit.body.len().to_string())
    );
    let known = server.send(&Request::get(&page).field("If-None-Match", "\"x\", W/\"e\""));
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.field("ETag").as_deref(), Some("\"e\""));
    let reload = server.send(&Request::get(&page).field("Cache-Control", "no-cache"));
    // The script was asked whether the page is still valid, and it is.
    check(&reload, 1, "REVALIDATE");
    assert_eq!(runs(&server, "a"), 2);
    assert!(eventually(PATIENCE, || {
        let log = server.site.read("access.log");
        log.contains(" MISS\n") && log.contains(" HIT\n") && log.contains(" REVALIDATE\n")
    }));
    let elsewhere = server.get("/fork/hello.pl");
    assert_eq!(
        (elsewhere.field("X-Cache"), elsewhere.expect(200).as_str()),
        (None, "Hello")
    );
    let counts = &server.status()["front"]["cache"];
    assert_eq!(
        (&counts["hits"], &counts["misses"]),
        (&3.into(), &1.into()),
        "{counts}"
    );
}

#[test]
fn what_is_not_for_everybody_is_not_kept() {
    let server = start("");
    let fresh = "Cache-Control: max-age=60";
    type Fields = &'static [(&'static str, &'static str)];
    let rows: [(&str, &[&str], Fields); 7] = [
        ("silent", &["X: y"], &[]),
        ("private", &["Cache-Control: private, max-age=60"], &[]),
        ("no-store", &["Cache-Control: no-store"], &[]),
        ("cookie", &[fresh, "Set-Cookie: a=b"], &[]),
        ("login", &[fresh], &[("Authorization", "Basic eDp5")]),
        ("any", &[fresh, "Vary: *"], &[]),
        ("body", &[fresh], &[("Content-Length", "1")]),
    ];
    for (page, lines, fields) in rows {
        for run in 1..=2 {
            let mut request = Request::get(&target(page, lines));
            for (name, value) in fields {
                request = match *name {
                    "Content-Length" => request.body("x"),
                    name => request.field(name, value),
                };
            }
            let part = if page == "body" { "" } else { "MISS" };
            check(&server.send(&request), run, part);
        }
    }
    let page = target("vary", &[fresh, "Vary: Accept-Language"]);
    let ask = |language: &str| server.send(&Request::get(&page).field("Accept-Language", language));
    check(&ask("de"), 1, "MISS");
    check(&ask("en"), 2, "MISS");
    check(&ask("de"), 1, "HIT");
    check(&ask("en"), 2, "HIT");
}

#[test]
fn a_change_and_a_purge_forget_what_was_kept() {
    let server = start("");
    let fresh = "Cache-Control: max-age=60";
    let page = target("b", &[fresh]);
    check(&server.get(&page), 1, "MISS");
    let post = server.send(&asking("POST", &page).field("Content-Length", "0"));
    assert!(post.expect(200).starts_with("POST run 2"));
    check(&server.get(&page), 3, "MISS");
    check(&server.get(&page), 3, "HIT");
    let output = server.control(&["cache", "purge", "/fork/page.pl"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("forgot 1 page"), "{text}");
    check(&server.get(&page), 4, "MISS");
    // A script on any rung purges pages by path.
    let purge = target("other", &["X-Cache-Purge: /fork/page*"]).replacen("/fork/", "/perlrun/", 1);
    let said = server.get(&purge);
    assert_eq!((said.status, said.field("X-Cache-Purge")), (200, None));
    check(&server.get(&page), 5, "MISS");
    let wrong = server.control(&["cache", "purge", "fork"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("expected a URL"));
    assert_eq!(wrong.status.code(), Some(1));
    server.control(&["reload"]);
    check(&server.get(&page), 5, "HIT");
}

#[test]
fn many_who_want_one_page_run_it_once() {
    let server = start("");
    touch(&server, "slow.c");
    touch(&server, "slow.d");
    let all = |page: &str| {
        let request = Request::get(page).bytes();
        let mut waiting: Vec<_> = (0..12)
            .map(|_| {
                let mut connection = server.connect();
                connection.write(&request);
                connection
            })
            .collect();
        for connection in &mut waiting {
            connection
                .read_answer("GET")
                .expect("an answer")
                .expect(200);
        }
    };
    all(&target("c", &["Cache-Control: max-age=60"]));
    assert_eq!(runs(&server, "c"), 1);
    all(&target("d", &["Cache-Control: no-store"]));
    assert_eq!(runs(&server, "d"), 12, "each gets its own");
}

#[test]
fn a_stale_page_answers_while_a_fresh_one_is_made() {
    let server = start("");
    let page = target(
        "e",
        &["Cache-Control: max-age=1, stale-while-revalidate=60"],
    );
    check(&server.get(&page), 1, "MISS");
    let part = |answer: &Answer| answer.field("X-Cache").unwrap_or_default();
    let mut stale = None;
    assert!(eventually(PATIENCE, || {
        let answer = server.get(&page);
        let is_stale = part(&answer).starts_with("STALE");
        stale = is_stale.then_some(answer);
        is_stale
    }));
    check(&stale.expect("a stale page"), 1, "STALE");
    assert!(eventually(PATIENCE, || server
        .get(&page)
        .text()
        .contains("run 2")));
}

#[test]
fn a_stale_page_helps_where_its_program_fails_unless_it_forbids_it() {
    let server = start("");
    let lenient = target("f", &["Cache-Control: max-age=1"]);
    let strict = target("g", &["Cache-Control: max-age=1, must-revalidate"]);
    for page in [&lenient, &strict] {
        check(&server.get(page), 1, "MISS");
    }
    touch(&server, "fail.f");
    touch(&server, "fail.g");
    assert!(eventually(PATIENCE, || server.get(&strict).status == 500));
    check(&server.get(&lenient), 1, "STALE");
    assert!(runs(&server, "f") > 1);
}

#[test]
fn a_page_with_a_tag_is_asked_about() {
    let server = start("");
    let page = target("h", &["Cache-Control: no-cache", "ETag: \"v1\""]);
    check(&server.get(&page), 1, "MISS");
    check(&server.get(&page), 1, "REVALIDATE");
    let known = server.send(&Request::get(&page).field("If-None-Match", "\"v1\""));
    assert_eq!(known.status, 304);
    let asked = server.site.read("htdocs/runs.h");
    assert_eq!(asked, "-\n\"v1\"\n\"v1\"\n");
}

#[test]
fn kept_pages_are_compressed_for_those_who_take_it_over_both_protocols() {
    let server = start("AddOutputFilterByType DEFLATE text/plain\n");
    let page = target("i", &["Cache-Control: max-age=60"]);
    let plain = server.get(&page);
    check(&plain, 1, "MISS");
    for _ in 0..2 {
        let answer = server.send(&Request::get(&page).field("Accept-Encoding", "gzip"));
        assert_eq!(answer.field("Content-Encoding").as_deref(), Some("gzip"));
        assert_eq!(answer.field("Vary").as_deref(), Some("Accept-Encoding"));
        assert!(answer.body.len() < plain.body.len());
    }
    let url = format!("http://{}{page}", server.address);
    for protocol in ["--http1.1", "--http2-prior-knowledge"] {
        let output = Command::new("curl")
            .args([
                "-s",
                "-g",
                "--compressed",
                "-H",
                "Accept-Encoding: gzip",
                protocol,
                &url,
            ])
            .output()
            .expect("curl runs");
        assert_eq!(output.stdout, plain.body, "{protocol}");
    }
    assert_eq!(runs(&server, "i"), 1);
}

/// A rule may map one path to different programs, depending on the client: the response of one is
/// never that of the other.
#[test]
fn what_rules_chose_is_part_of_what_a_page_is_kept_under() {
    let server = Server::builder()
        .file("scripts/inner.pl", &long_lived("for members"))
        .file("scripts/outer.pl", &long_lived("for everybody"))
        .conf(&workers(1))
        .conf("DocumentRoot @ROOT@/htdocs\n<Directory @ROOT@/scripts>\nRequire all granted\nOptions +ExecCGI\n")
        .conf("PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n</Directory>\n")
        .conf("CacheEnable disk /\nCacheHeader On\nRewriteEngine On\n")
        .conf("RewriteCond %{HTTP:X-Member} =yes\nRewriteRule ^/page$ @ROOT@/scripts/inner.pl [H=perl-script]\n")
        .conf("RewriteRule ^/page$ @ROOT@/scripts/outer.pl [H=perl-script]\n")
        .start();
    let member = Request::get("/page").field("X-Member", "yes");
    for part in ["MISS", "HIT"] {
        for (request, words) in [
            (&member, "for members"),
            (&Request::get("/page"), "for everybody"),
        ] {
            let answer = server.send(request);
            assert_eq!(answer.expect(200), words);
            let told = answer.field("X-Cache").unwrap_or_default();
            assert!(told.contains(part), "{words}: {told}, expected {part}");
        }
    }
    let purge = server.control(&["cache", "purge", "/page"]);
    assert!(purge.status.success(), "{purge:?}");
    let told = server.send(&member);
    let told = told.field("X-Cache").unwrap_or_default();
    assert!(told.contains("MISS"), "{told}");
}

/// A script whose page may be stored for an hour. Its first run, and every run while a certain file
/// exists, waits until it is released.
const HELD: &str = r##"#!/usr/bin/perl
my $root = $ENV{DOCUMENT_ROOT};
open my $runs, '>>', "$root/held.runs" or die $!;
syswrite $runs, "$ENV{REQUEST_METHOD}\n";
close $runs;
if ($ENV{REQUEST_METHOD} eq 'GET') {
    for (1 .. 3000) { last if -e "$root/held.go"; select undef, undef, undef, 0.02 }
}
print "Status: 503\n" if -e "$root/held.fail";
print "Content-type: text/plain\nCache-Control: max-age=60\n\n", $ENV{REQUEST_METHOD};
"##;

fn held(conf: &str) -> Server {
    let server = start(conf);
    server.site.write("scripts/held.pl", HELD);
    server
}

fn holds(server: &Server, count: usize) {
    let runs = || server.site.read("htdocs/held.runs").lines().count();
    assert!(eventually(PATIENCE, || runs() == count), "{}", runs());
}

fn part(answer: &Answer) -> String {
    let told = answer.field("X-Cache").unwrap_or_default();
    told.split(' ').next().unwrap_or_default().to_owned()
}

fn ask(server: &Server, request: &Request) -> mehari_harness::Connection {
    let mut connection = server.connect();
    let mut request = request.clone();
    // The Host of `Server::send`, because it is part of the key.
    server.address(&mut request);
    connection.write(&request.bytes());
    connection
}

/// Also for a key that the store does not know yet: a page stored for one value of a field.
#[test]
fn an_answer_that_a_change_has_overtaken_is_not_kept() {
    let plain = Request::get("/fork/held.pl");
    let own = plain.clone().field("X-Requested-With", "XMLHttpRequest");
    for (forget, page) in [
        ("POST", &plain),
        ("purge", &plain),
        ("POST", &own),
        ("purge", &own),
    ] {
        let server = held("");
        let mut filling = ask(&server, page);
        holds(&server, 1);
        if forget == "POST" {
            let change = Request::post("/fork/held.pl", "x=1");
            server.send(&change).expect(200);
        } else {
            let purge = server.control(&["cache", "purge", "/fork/*"]);
            assert!(purge.status.success());
        }
        touch(&server, "held.go");
        assert_eq!(
            filling.read_answer("GET").expect("an answer").expect(200),
            "GET"
        );
        assert_eq!(part(&server.send(page)), "MISS", "{forget}");
        assert_eq!(part(&server.send(page)), "HIT", "{forget}");
    }
}

#[test]
fn a_change_forgets_the_page_whatever_its_client_claims() {
    let server = start("");
    let page = target("claimed", &["Cache-Control: max-age=60"]);
    check(&server.get(&page), 1, "MISS");
    let scripted = Request::post(&page, "x").field("X-Requested-With", "XMLHttpRequest");
    server.send(&scripted).expect(200);
    check(&server.get(&page), 3, "MISS");
    check(&server.get(&page), 3, "HIT");
}

#[test]
fn one_of_those_who_wait_too_long_asks_and_not_all() {
    let server = held("CacheLockMaxAge 1\n");
    let page = Request::get("/fork/held.pl");
    let mut clients: Vec<_> = (0..6).map(|_| ask(&server, &page)).collect();
    holds(&server, 2);
    touch(&server, "held.go");
    for client in &mut clients {
        assert_eq!(
            client.read_answer("GET").expect("an answer").expect(200),
            "GET"
        );
    }
    let runs = server.site.read("htdocs/held.runs").lines().count();
    assert!(runs <= 3, "{runs} runs for six who waited");
}

#[test]
fn who_waits_for_a_program_that_fails_gets_its_error() {
    let server = held("CacheLockMaxAge 60\n");
    let page = Request::get("/fork/held.pl");
    let mut clients: Vec<_> = (0..5).map(|_| ask(&server, &page)).collect();
    holds(&server, 1);
    // A request waits as soon as it is read.
    let counted = || server.status()["front"]["requests_under_way"].as_u64();
    assert!(counted().is_none() || eventually(PATIENCE, || counted() == Some(5)));
    touch(&server, "held.fail");
    touch(&server, "held.go");
    for client in &mut clients {
        assert_eq!(client.read_answer("GET").expect("an answer").status, 503);
    }
    assert_eq!(server.site.read("htdocs/held.runs").lines().count(), 1);
}

#[test]
fn a_kept_page_says_when_it_was_made() {
    let server = start("");
    let ago = |seconds: u32| {
        let words = [
            "-u",
            "-d",
            &format!("{seconds} seconds ago"),
            "+%a, %d %b %Y %H:%M:%S GMT",
        ];
        let said = Command::new("date").env("LC_ALL", "C").args(words).output();
        let said = said.expect("date runs").stdout;
        String::from_utf8_lossy(&said).trim().to_owned()
    };
    let date = ago(200);
    let made = format!("Date: {date}");
    let page = target("dated", &[&made, "Cache-Control: max-age=40000"]);
    let first = server.get(&page);
    check(&first, 1, "MISS");
    let hit = server.get(&page);
    check(&hit, 1, "HIT");
    for answer in [&first, &hit] {
        assert_eq!(answer.field("Date").as_ref(), Some(&date));
    }
    let age: u64 = hit
        .field("Age")
        .and_then(|age| age.parse().ok())
        .expect("an Age");
    assert!(age >= 200, "{age}");
    let old = target("old", &[&made, "Cache-Control: max-age=60"]);
    check(&server.get(&old), 1, "MISS");
    check(&server.get(&old), 2, "MISS");
    let late = target("late", &["Age: 10", "Cache-Control: max-age=40000"]);
    check(&server.get(&late), 1, "MISS");
    let hit = server.get(&late);
    let age = hit.field("Age").and_then(|age| age.parse::<u64>().ok());
    assert!(age.is_some_and(|age| age >= 11), "{age:?}");
    let undated = target("undated", &["Cache-Control: max-age=60", "ETag: \"e\""]);
    let first = server.get(&undated).field("Date").expect("a Date");
    let hit = server.get(&undated);
    check(&hit, 1, "HIT");
    assert_eq!(hit.field("Date"), Some(first));
}

#[test]
fn parts_of_a_kept_page_are_answered_from_it() {
    let server = start("SetOutputFilter DEFLATE\n");
    let lines = ["Cache-Control: max-age=60", "ETag: \"v\""];
    let page = target("parts", &lines);
    check(&server.get(&page), 1, "MISS");
    let range = |fields: &[(&str, &str)]| {
        let request = Request::get(&page).field("Range", "bytes=0-4");
        let request = fields
            .iter()
            .fold(request, |all, (name, value)| all.field(name, value));
        server.send(&request)
    };
    for fields in [
        &[][..],
        &[("If-Range", "\"v\"")],
        &[("Accept-Encoding", "gzip")],
    ] {
        let answer = range(fields);
        assert_eq!(answer.expect(206), "GET r", "{fields:?}");
        let said = answer.field("Content-Range").expect("a range");
        assert!(said.starts_with("bytes 0-4/5"), "{said}");
        assert_eq!(part(&answer), "HIT");
        assert_eq!(answer.field("Content-Encoding"), None);
    }
    check(&range(&[("If-Range", "\"other\"")]), 1, "HIT");
    assert_eq!(range(&[("If-None-Match", "\"v\"")]).status, 304);
    let several = Request::get(&page).field("Range", "bytes=0-2,4-6");
    let several = server.send(&several);
    let text = several.expect(206);
    assert!(
        text.contains("Content-Range: bytes 4-6/5") && text.contains("\r\n\r\nGET\r\n--"),
        "{text}"
    );
    let beyond = Request::get(&page).field("Range", "bytes=9999-");
    let beyond = server.send(&beyond);
    assert_eq!(beyond.status, 416);
    assert!(beyond
        .field("Content-Range")
        .is_some_and(|said| said.starts_with("bytes */5")));
    assert_eq!(runs(&server, "parts"), 1);
}

#[test]
fn what_a_page_says_of_being_asked_about_holds() {
    let server = start("");
    let authorized = |page: &str| {
        let request = Request::get(page).field("Authorization", "Basic YTph");
        part(&server.send(&request));
        part(&server.send(&request))
    };
    for (control, told) in [
        ("max-age=60, proxy-revalidate", "MISS"),
        ("max-age=60, must-revalidate", "HIT"),
        ("max-age=60, public", "HIT"),
    ] {
        let page = target(
            &format!("p{}", control.len()),
            &[&format!("Cache-Control: {control}")],
        );
        assert_eq!(authorized(&page), told, "{control}");
    }
    for word in ["must-revalidate", "proxy-revalidate"] {
        let line = format!(
            "Cache-Control: max-age=0, stale-while-revalidate=600, stale-if-error=600, {word}"
        );
        let page = target(word, &[&line, "ETag: \"x\""]);
        server.get(&page).expect(200);
        assert_eq!(part(&server.get(&page)), "REVALIDATE", "{word}");
    }
    let renewed = |page: &str| {
        let request = Request::get(page).field("Cache-Control", "max-age=0");
        server.send(&request)
    };
    for (word, status) in [
        ("public", 200),
        ("must-revalidate", 500),
        ("proxy-revalidate", 500),
    ] {
        let line = format!("Cache-Control: max-age=60, stale-if-error=600, {word}");
        let page = target(&format!("failing.{word}"), &[&line]);
        server.get(&page).expect(200);
        touch(&server, &format!("fail.failing.{word}"));
        assert_eq!(renewed(&page).status, status, "{word}");
    }
    let page = target("pragma", &["Cache-Control: max-age=60"]);
    server.get(&page).expect(200);
    let pragma = Request::get(&page).field("Pragma", "no-cache");
    let both = pragma.clone().field("Cache-Control", "max-age=50");
    assert_eq!(part(&server.send(&both)), "HIT");
    assert_eq!(part(&server.send(&pragma)), "MISS");
}

fn long_lived(words: &str) -> String {
    format!("#!/usr/bin/perl\nprint \"Content-type: text/plain\\nCache-Control: max-age=3600\\n\\n{words}\";\n")
}
