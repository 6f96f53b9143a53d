//! Tests what conditions and ranges do to the responses of programs and back ends. Each response
//! must equal Apache's.

use mehari_harness::{Answer, BackEnd, Builder, Pair, Request, Server};
use std::fmt::Write as _;
use std::io::Write as _;

/// Prints the lines of the query as its head, and a body of ten digits.
const PRINTER: &str = r##"#!/usr/bin/perl
use strict;
my $query = $ENV{QUERY_STRING};
for (split /;/, $query) { s/\+/ /g; print "$_\n" }
print "Content-Type: text/plain\n\n0123456789";
"##;

const HANDLER: &str = r##"package Digits;
use strict;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use APR::Table ();
sub handler {
    my $r = shift;
    for (split /;/, $r->args // '') {
        s/\+/ /g;
        my ($name, $value) = split /: /, $_, 2;
        $r->headers_out->set($name, $value) if $name ne 'Status';
    }
    $r->content_type('text/plain');
    $r->print('0123456789');
    0;
}
1;
"##;

const DATE: &str = "Sun,+06+Nov+1994+08:49:37+GMT";

/// Answers with the lines of the query.
fn back_end() -> BackEnd {
    BackEnd::start(|request, stream| {
        let target = request.head.split(' ').nth(1).unwrap_or_default();
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let mut status = "200 OK".to_owned();
        let mut lines = String::new();
        for line in query.split(';').filter(|line| !line.is_empty()) {
            match line.strip_prefix("Status:+") {
                Some(said) => status = said.replace('+', " "),
                None => _ = write!(lines, "{}\r\n", line.replace('+', " ")),
            }
        }
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{lines}Connection: close\r\n\r\n\
             0123456789"
        );
        let _ = stream.write_all(text.as_bytes());
        false
    })
}

fn site(back_end: &BackEnd) -> Builder {
    let url = back_end.url();
    Server::builder()
        .file("lib/Digits.pm", HANDLER)
        .file("scripts/printer.pl", PRINTER)
        .ladder()
        .conf(&format!(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Digits\n\
             <Location /handler>\nSetHandler perl-script\nPerlResponseHandler Digits\n</Location>\n\
             <Location /modperl>\nSetHandler modperl\nPerlResponseHandler Digits\n</Location>\n\
             ProxyPass /back {url}\n"
        ))
}

const PLACES: [&str; 5] = [
    "/cgi/printer.pl",
    "/registry/printer.pl",
    "/handler",
    "/modperl",
    "/back/x",
];

fn essence(answer: &Answer) -> String {
    let fields = ["content-range", "etag", "accept-ranges"];
    let fields = fields.map(|name| answer.field(name).unwrap_or_default());
    let text = if answer.status >= 300 {
        String::new()
    } else {
        answer.text()
    };
    let fields = if answer.status >= 400 {
        Default::default()
    } else {
        fields
    };
    format!("{} {fields:?} {text}", answer.status)
}

/// Returns the heads, as queries.
fn heads() -> Vec<String> {
    let date = format!("Last-Modified:+{DATE}");
    let mut heads = vec![date.clone(), format!("{date};Content-Length:+10")];
    let others = [
        "",
        "Content-Length:+10",
        "ETag:+\"a\"",
        "ETag:+\"a\";Content-Length:+10",
        "Status:+200+OK;ETag:+\"a\";Content-Length:+10",
        "Accept-Ranges:+none;Content-Length:+10",
        "Accept-Ranges:+bytes;Content-Length:+10",
        "Status:+404+No;ETag:+\"a\";Content-Length:+10",
        "Status:+201+Made;ETag:+\"a\";Content-Length:+10",
    ];
    heads.extend(others.map(str::to_owned));
    heads
}

const BEFORE: &str = "Tue, 06 Nov 1990 08:49:37 GMT";
const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER: &str = "Sun, 06 Nov 2011 08:49:37 GMT";

const CONDITIONS: [&[(&str, &str)]; 14] = [
    &[],
    &[("If-Match", "\"a\"")],
    &[("If-Match", "\"b\"")],
    &[("If-Match", "*")],
    &[("If-None-Match", "\"a\"")],
    &[("If-None-Match", "*")],
    &[("If-Unmodified-Since", BEFORE)],
    &[("If-Unmodified-Since", AFTER)],
    &[("If-Modified-Since", AFTER)],
    &[("Range", "bytes=2-4")],
    &[("Range", "bytes=20-")],
    &[("Range", "bytes=2-4"), ("If-Range", "\"a\"")],
    &[("Range", "bytes=2-4"), ("If-Range", "\"b\"")],
    &[("Range", "bytes=2-4"), ("If-Range", SAME)],
];

/// Returns the requests for a place.
fn requests(place: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    // A back end that ignores Range answers with its whole page. Apache cuts ranges out of this
    // page only if the page has arrived at once.
    let ignores_ranges = place.starts_with("/back");
    let conditions = CONDITIONS
        .iter()
        .filter(|fields| !(ignores_ranges && fields.iter().any(|(name, _)| *name == "Range")));
    for fields in conditions {
        for head in heads() {
            for method in ["GET", "HEAD", "POST"] {
                let request = Request::new(method, &format!("{place}?{head}"));
                let add = |all: Request, (name, value): &(&str, &str)| all.field(name, value);
                requests.push(fields.iter().fold(request, add));
            }
        }
    }
    requests
}

#[test]
fn conditions_and_ranges_apply_to_programs_as_in_apache() {
    let back_end = back_end();
    let pair = Pair::start(|| site(&back_end));
    let mut differences = Vec::new();
    for request in PLACES.into_iter().flat_map(requests) {
        let seen = pair.servers().map(|server| essence(&server.send(&request)));
        let seen: Vec<String> = seen.collect();
        if seen.iter().any(|one| *one != seen[0]) {
            let (method, target) = (&request.method, &request.target);
            differences.push(format!("{method} {target} {:?}: {seen:?}", request.fields));
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
