//! Requests for a part of a stored page, for an age of it, or on conditions.

use crate::{check, part, runs, start, target, touch};
use mehari_harness::{BackEnd, Request};
use std::io::Write;
use std::process::Command;

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

#[test]
fn not_modified_with_another_tag_does_not_renew_the_page() {
    let back_end = BackEnd::start(|heard, stream| {
        let said: &[u8] = match (heard.head.split(' ').nth(1), heard.field("If-None-Match")) {
            (Some("/weak"), Some(_)) => b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
            (Some("/weak"), None) => {
                b"HTTP/1.1 200 OK\r\nETag: W/\"a\"\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nold"
            }
            (_, Some(_)) => b"HTTP/1.1 304 Not Modified\r\nETag: \"b\"\r\n\r\n",
            _ if heard.field("Referer").is_some() => {
                b"HTTP/1.1 200 OK\r\nETag: \"b\"\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nnew"
            }
            _ => {
                b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nold"
            }
        };
        stream.write_all(said).is_ok()
    });
    let url = back_end.url();
    let server = start(&format!(
        "ProxyPass /kept/ {url}/\nCacheEnable disk /kept\n"
    ));
    let ask = |target: &str, again: bool| {
        let request = Request::get(target);
        let fields = [("Cache-Control", "max-age=0"), ("Referer", "new")];
        let fields = fields.into_iter().filter(|_| again);
        let request = fields.fold(request, |request, (name, value)| request.field(name, value));
        let answer = server.send(&request);
        (answer.expect(200), part(&answer))
    };
    let said = |text: &str, part: &str| (text.to_owned(), part.to_owned());
    assert_eq!(ask("/kept/weak", false), said("old", "MISS"));
    assert_eq!(ask("/kept/weak", true), said("old", "REVALIDATE"));
    assert_eq!(ask("/kept/weak", false), said("old", "HIT"));
    assert_eq!(ask("/kept/strong", false), said("old", "MISS"));
    assert_eq!(ask("/kept/strong", true).0, "new");
    assert_eq!(ask("/kept/strong", false), said("old", "MISS"));
    drop(back_end);
}

/// A page without Vary, until a file makes the script vary its page by Accept-Language. German
/// readers still get the first page.
const VARYING: &str = r##"#!/usr/bin/perl
my $varies = -e "$ENV{DOCUMENT_ROOT}/varies";
my $tag = $varies && $ENV{HTTP_ACCEPT_LANGUAGE} ne 'de' ? $ENV{HTTP_ACCEPT_LANGUAGE} : 'first';
print "Status: 304\n" if ($ENV{HTTP_IF_NONE_MATCH} // '') eq qq("$tag");
print "Vary: Accept-Language\n" if $varies;
print qq(ETag: "$tag"\nCache-Control: max-age=60\nContent-type: text/plain\n\n$tag);
"##;

#[test]
fn a_page_that_begins_to_vary_is_sent_to_no_other_reader() {
    let server = start("");
    server.site.write("scripts/varying.pl", VARYING);
    let read = |language: &str, control: &str| {
        let request = Request::get("/fork/varying.pl").field("Accept-Language", language);
        let answer = server.send(&request.field("Cache-Control", control));
        (answer.expect(200), part(&answer))
    };
    let got = |text: &str, part: &str| (text.to_owned(), part.to_owned());
    assert_eq!(read("en", ""), got("first", "MISS"));
    touch(&server, "varies");
    assert_eq!(read("de", "no-cache"), got("first", "REVALIDATE"));
    assert_eq!(read("en", ""), got("en", "MISS"));
    assert_eq!(read("de", ""), got("first", "HIT"));
    assert_eq!(read("en", "no-cache"), got("en", "REVALIDATE"));
    assert_eq!(read("de", ""), got("first", "HIT"));
    assert_eq!(read("en", ""), got("en", "HIT"));
}
