//! Tests responses of the front (back ends, CGI programs, pages with includes) to requests with
//! Perl handlers: they pass Perl's filters, and Log handlers see them.

use super::*;
use mehari_harness::{apache, BackEnd};
use std::io::Write;
use std::sync::mpsc;
use std::sync::Mutex;

const FILTERS: &str = r#"
use Apache2::Filter ();
use Apache2::Log ();
use Apache2::Const -compile => 'PROXYREQ_REVERSE';
use base 'Apache2::Filter';
sub upper : FilterRequestHandler { my $f = shift; while ($f->read(my $part)) { $f->print(uc $part) } 0 }
sub dies : FilterRequestHandler { die "on purpose\n" }
sub log_it { my $r = shift; $r->log_error('LOGGED ', join ' ', $r->status, $r->bytes_sent, $r->uri); 0 }
sub handler { my $r = shift; $r->print('from perl'); 0 }
sub elsewhere { my $r = shift; $r->proxyreq(Apache2::Const::PROXYREQ_REVERSE); $r->filename('proxy:' . $r->args); $r->handler('proxy-server'); 0 }
"#;

fn site(conf: &str) -> Builder {
    one_worker(
        &[("Filters", FILTERS)],
        &format!(
            "PerlModule Filters\n<Directory @ROOT@>\nOptions +Includes +ExecCGI\n\
             Require all granted\n</Directory>\nAddOutputFilter INCLUDES .shtml\n{conf}"
        ),
    )
}

fn proxied(back_end: &BackEnd, lines: &str) -> String {
    format!(
        "<Location /back>\nProxyPass {}\n{lines}</Location>\n",
        back_end.url()
    )
}

/// Starts a back end whose body comes in two parts. The second part comes when the test says so.
fn two_parts(end: &'static [u8]) -> (BackEnd, mpsc::Sender<()>) {
    let (go, may_go) = mpsc::channel();
    let may_go = Mutex::new(may_go);
    let back_end = BackEnd::start(move |_, stream| {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
        let sent = stream.write_all(head);
        let _ = may_go.lock().expect("one request").recv();
        sent.and_then(|()| stream.write_all(end)).is_ok() && end.ends_with(b"0\r\n\r\n")
    });
    (back_end, go)
}

#[test]
fn a_part_of_a_proxied_answer_passes_the_filter_before_the_next_part_comes() {
    let (back_end, go) = two_parts(b"6\r\nsecond\r\n0\r\n\r\n");
    let conf = proxied(&back_end, "PerlOutputFilterHandler Filters::upper\n");
    let mut server = site(&conf).start();
    let mut client = server.connect();
    client.write(b"GET /back/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    while !client.unread().windows(5).any(|part| part == b"FIRST") {
        assert!(client.fill().expect("the first part") > 0);
    }
    go.send(()).expect("the back end waits");
    let answer = client.read_answer("GET").expect("an answer");
    assert_eq!(answer.text(), "FIRSTSECOND");
    server.may_keep_what_it_has();
}

#[test]
fn a_proxied_answer_that_breaks_off_behind_a_filter_is_cut_short() {
    let (back_end, go) = two_parts(b"6\r\nsec");
    let conf = proxied(&back_end, "PerlOutputFilterHandler Filters::upper\n");
    let mut server = site(&conf).start();
    go.send(()).expect("the back end starts");
    let answer = server.send(&Request::get("/back/x"));
    assert!(!answer.complete || answer.status == 502, "{answer:?}");
    server.may_keep_what_it_has();
}

#[test]
fn a_large_answer_of_a_cgi_program_passes_the_filter_whole() {
    let server = site(
        "<Location /cgi>\nSetHandler cgi-script\nPerlOutputFilterHandler Filters::upper\n</Location>\n",
    )
    .file(
        "htdocs/cgi/x.cgi",
        "#!/bin/sh\necho Content-Type: text/plain\necho\nhead -c 3000000 /dev/zero | tr '\\0' x\n",
    )
    .start();
    let answer = server.get("/cgi/x.cgi");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body.len(), 3_000_000);
    assert!(answer.body.iter().all(|byte| *byte == b'X'));
}

#[test]
fn a_filter_that_dies_on_a_proxied_answer_is_an_error_and_the_worker_goes_on() {
    let back_end = BackEnd::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
    let conf = proxied(&back_end, "PerlOutputFilterHandler Filters::dies\n")
        + "<Location /perl>\nSetHandler modperl\nPerlResponseHandler Filters\n</Location>\n";
    let mut server = site(&conf).start();
    assert_eq!(server.get("/back/x").status, 500);
    assert_eq!(server.get("/perl").text(), "from perl");
    server.may_keep_what_it_has();
}

#[test]
fn an_input_filter_that_dies_keeps_the_body_from_the_back_end() {
    let back_end = BackEnd::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
    let conf = proxied(&back_end, "PerlInputFilterHandler Filters::dies\n");
    let mut server = site(&conf).start();
    let mut request = Request::new("POST", "/back/x");
    request.body = Some(b"text".to_vec());
    assert_eq!(server.send(&request).status, 500);
    assert_eq!(back_end.connections(), 0);
    server.may_keep_what_it_has();
}

/// The worker of the page waits while the included parts need a worker.
#[test]
fn a_page_whose_parts_need_perl_is_answered_although_its_worker_waits_for_it() {
    let server = site(
        "<Location /logged>\nPerlLogHandler Filters::log_it\n</Location>\n\
         <Location /filtered>\nPerlOutputFilterHandler Filters::upper\n</Location>\n\
         <Location /perl>\nSetHandler modperl\nPerlResponseHandler Filters\n</Location>\n",
    )
    .file(
        "htdocs/logged/x.shtml",
        "a <!--#include virtual=\"/perl\" --> b",
    )
    .file(
        "htdocs/filtered/x.shtml",
        "a <!--#include virtual=\"/perl\" --> b",
    )
    .start();
    assert_eq!(server.get("/logged/x.shtml").text(), "a from perl b");
    assert_eq!(server.get("/filtered/x.shtml").text(), "A FROM PERL B");
}

#[test]
fn a_log_handler_sees_status_and_bytes_of_a_back_end_that_says_no_length() {
    let (back_end, go) = two_parts(b"6\r\nsecond\r\n0\r\n\r\n");
    let conf = proxied(&back_end, "PerlLogHandler Filters::log_it\n");
    let mut server = site(&conf).start();
    go.send(()).expect("the back end starts");
    assert_eq!(server.get("/back/x").text(), "firstsecond");
    let is_logged = || {
        let lines = server.log.lines();
        lines
            .iter()
            .any(|line| line.contains("LOGGED 200 11 /back/x"))
    };
    assert!(eventually(PATIENCE, is_logged), "{}", server.log.text());
    server.may_keep_what_it_has();
}

#[test]
fn a_handler_names_back_ends_by_url_and_no_other_text() {
    let back_end = BackEnd::start(|heard, stream| {
        let line = heard.head.lines().next().unwrap_or_default().to_owned();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", line.len());
        stream.write_all((head + &line).as_bytes()).is_ok()
    });
    let conf = "<Location /named>\nPerlFixupHandler Filters::elsewhere\n</Location>\n";
    let mut server = site(conf).start();
    let named = |url: &str| server.get(&format!("/named?{url}"));
    let target = format!("{}/p", back_end.url());
    assert_eq!(named(&target).text(), format!("GET /p?{target} HTTP/1.1"));
    for wrong in [
        "",
        "x",
        "file:///etc/passwd",
        "ftp://a/",
        "http://",
        "http:///p",
    ] {
        assert_eq!(named(wrong).status, 500, "{wrong}");
    }
    server.may_keep_what_it_has();
}

const DECLINES: &str = r#"
use Apache2::Const -compile => qw(DECLINED);
sub handler { Apache2::Const::DECLINED }
sub empty { $_[0]->content_type('text/plain'); $_[0]->err_headers_out->set('X-Kept' => 1); return $_[0]->args }
sub says_status { $_[0]->content_type('text/plain'); $_[0]->status($_[0]->args); return 0 }
"#;

fn declining() -> Builder {
    let program = "#!/usr/bin/perl\nprint qq{Status: $ENV{QUERY_STRING}\\nContent-Type: text/plain\\nX-Kept: 1\\n\\n};\n";
    one_worker(&[("Declines", DECLINES)], "")
        .file("htdocs/plain.txt", "plain\n")
        .file("htdocs/declined/there.txt", "there\n")
        .file("scripts/empty.cgi", program)
        .conf(
            "PerlModule Declines\nScriptAlias /cgi/ @ROOT@/scripts/\n\
             <Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <Location /declined>\nSetHandler modperl\nPerlResponseHandler Declines\n</Location>\n\
             <Location /empty>\nSetHandler modperl\nPerlResponseHandler Declines::empty\n</Location>\n\
             <Location /says>\nSetHandler modperl\nPerlResponseHandler Declines::says_status\n</Location>\n",
        )
}

#[test]
fn methods_of_files_that_a_handler_has_declined_are_answered_as_in_apache() {
    let servers = apache::beside(declining);
    let mut differences = Vec::new();
    for method in [
        "GET", "POST", "PUT", "DELETE", "PROPFIND", "OPTIONS", "BREW",
    ] {
        for target in [
            "/plain.txt",
            "/none",
            "/declined/there.txt",
            "/declined/none",
        ] {
            let request = Request::new(method, target);
            let seen: Vec<_> = servers
                .iter()
                .map(|one| one.send(&request))
                .map(|answer| (answer.status, answer.field("allow").is_some()))
                .collect();
            if seen.iter().any(|one| *one != seen[0]) {
                differences.push(format!("{method} {target}: ours and theirs {seen:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn responses_without_a_body_have_no_content_type_as_in_apache() {
    let servers = apache::beside(declining);
    let mut differences = Vec::new();
    for (place, statuses) in [
        // Apache makes a page for another status that a handler returns.
        ("/empty", &[204, 304][..]),
        ("/says", &[201, 204, 205, 304]),
        ("/cgi/empty.cgi", &[201, 204, 205, 304]),
    ] {
        for status in statuses {
            let request = Request::get(&format!("{place}?{status}"));
            let seen: Vec<_> = servers
                .iter()
                .map(|one| one.send(&request))
                .map(|answer| {
                    let fields = ["content-type", "x-kept"].map(|name| answer.field(name));
                    (answer.status, fields)
                })
                .collect();
            if seen.iter().any(|one| *one != seen[0]) {
                differences.push(format!("{place} {status}: ours and theirs {seen:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
