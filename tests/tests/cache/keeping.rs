//! Which responses are stored, under which key, and for how long.

use crate::{asking, check, runs, start, target, touch};
use mehari_harness::scripts::workers;
use mehari_harness::{eventually, needs, Answer, Request, Server, PATIENCE};
use std::process::Command;

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
fn unsafe_request_removes_the_pages_of_its_url_and_of_its_location() {
    let server = start("SetEnvIf X-Bypass . no-cache\n");
    let fresh = "Cache-Control: max-age=60";
    let page = target("u", &[fresh]);
    let mut run = 0;
    let mut is_removed_by = |post: &Request, row: &str| {
        check(&server.get(&page), run + 1, "MISS");
        check(&server.get(&page), run + 1, "HIT");
        run += 1;
        let posted = server.send(post);
        assert!(
            (200..400).contains(&posted.status),
            "{row}: {}",
            posted.status
        );
        run += u32::from(post.target == page);
    };
    // Fields with which a GET request would bypass the cache.
    let own = asking("POST", &page).field("Content-Length", "0");
    is_removed_by(&own, "its own");
    is_removed_by(
        &own.clone().field("Connection", "X-Own"),
        "a field to remove",
    );
    is_removed_by(&own.clone().field("X-Bypass", "1"), "a variable");
    let host = server.address.to_string();
    for (number, location) in [
        format!("http://{host}{page}"),
        format!("https://{host}{page}#part"),
        format!("//{host}{page}"),
        page.replace("/fork/", ""),
        page.replace("/fork/", "./x/../"),
    ]
    .iter()
    .enumerate()
    {
        // The script undoes one level of encoding.
        let escape = |text: String, (byte, code): &(char, &str)| text.replace(*byte, code);
        let reserved = [('%', "%25"), (';', "%3b"), ('+', "%2b"), ('#', "%23")];
        let encoded = reserved.iter().fold(location.clone(), escape);
        let other = target(&format!("other{number}"), &["Status: 201", "Location: "]) + &encoded;
        let post = asking("POST", &other).field("Content-Length", "0");
        is_removed_by(&post, location);
    }
    is_removed_by(&own, "the end");
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
    needs!("curl");
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

fn long_lived(words: &str) -> String {
    format!("#!/usr/bin/perl\nprint \"Content-type: text/plain\\nCache-Control: max-age=3600\\n\\n{words}\";\n")
}
