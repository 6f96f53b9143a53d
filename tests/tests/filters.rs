//! Tests filters with real scripts: compressed output that a script flushes reaches the client,
//! over both protocols and on each rung.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{needs, Pair, Request, Server};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// A script that prints a line, waits until a file exists, and prints the rest.
const STREAM: &str = r##"#!/usr/bin/perl
$| = 1;
print "Content-type: text/plain\n\nfirst of many words\n";
my $go = "$ENV{DOCUMENT_ROOT}/go.$ENV{QUERY_STRING}";
for (1 .. 500) { last if -e $go; select undef, undef, undef, 0.02 }
print "line $_\n" for 1 .. 20000;
"##;

#[test]
fn flushed_output_reaches_the_client_at_once_although_it_is_compressed() {
    needs!("curl");
    let server = Server::builder()
        .file("scripts/stream.pl", STREAM)
        .ladder()
        .conf(&workers(2))
        .conf("<IfModule mod_deflate.c>\n<IfModule mod_filter.c>\nAddOutputFilterByType DEFLATE text/html text/plain\n</IfModule>\n</IfModule>\n")
        .conf("AddOutputFilterByType BROTLI_COMPRESS;ZSTD text/plain\n")
        .start();
    let mut number = 0;
    for rung in ["fork", "registry", "cgi"] {
        for protocol in ["--http1.1", "--http2-prior-knowledge"] {
            number += 1;
            let url = format!("http://{}/{rung}/stream.pl?{number}", server.address);
            let mut curl = Command::new("curl")
                .args([
                    "-sN",
                    "--compressed",
                    "-H",
                    "Accept-Encoding: gzip",
                    protocol,
                    &url,
                ])
                .stdout(Stdio::piped())
                .spawn()
                .expect("curl runs");
            let mut output = BufReader::new(curl.stdout.take().expect("a pipe"));
            let mut first = String::new();
            output.read_line(&mut first).expect("a line");
            assert_eq!(first, "first of many words\n", "{rung} {protocol}");
            let go = server.site.path(&format!("htdocs/go.{number}"));
            std::fs::write(go, "").expect("written");
            let mut rest = String::new();
            output.read_to_string(&mut rest).expect("text");
            assert!(rest.ends_with("line 20000\n"), "{rung} {protocol}");
            assert!(curl.wait().expect("it ends").success());
        }
    }
}

const FILES: &str = r#"package Files;
use Apache2::Filter ();
use Apache2::RequestRec ();
use APR::Table ();
sub lower { my $f = shift; while ($f->read(my $part, 1024)) { $f->print(lc $part) } 0 }
sub count {
    my $f = shift;
    # The length of the file would be promised by mod_perl.
    unless (defined $f->ctx) { $f->r->headers_out->unset('Content-Length'); $f->ctx(0) }
    while ($f->read(my $part, 8192)) { $f->ctx($f->ctx + length $part) }
    $f->print('bytes ', $f->ctx, "\n") if $f->seen_eos;
    0;
}
sub add { shift->add_output_filter(\&lower); 0 }
sub dies { die "no file for you\n" }
1;
"#;

#[test]
fn files_pass_filters_in_perl() {
    let mut pair = Pair::start(|| {
        Server::builder()
            .file("lib/Files.pm", FILES)
            .file("htdocs/lower/index.html", "<P>HELLO</P>\n")
            .file("htdocs/added/a.txt", "SHOUTED\n")
            .file("htdocs/big/a.txt", &"x".repeat(1 << 20))
            .file("htdocs/plain.txt", "AS IT IS\n")
            .conf(&workers(1))
            .conf(
                "PerlSwitches -I@ROOT@/lib\nPerlModule Files\nDirectoryIndex index.html\n\
                 <Location /lower>\nPerlOutputFilterHandler Files::lower\n</Location>\n\
                 <Location /big>\nPerlOutputFilterHandler Files::count\n</Location>\n\
                 <Location /added>\nPerlFixupHandler Files::add\n</Location>\n",
            )
    });
    let mut same = |request: &Request, status: u16| {
        let answer = pair.compare(request).expect("the same as mod_perl");
        assert_eq!(answer.status, status);
        answer
    };
    for path in ["/lower/index.html", "/lower/"] {
        let answer = same(&Request::get(path), 200);
        assert_eq!(answer.text(), "<p>hello</p>\n", "{path}");
        assert!(answer.field("last-modified").is_some());
        assert_eq!(same(&Request::new("HEAD", path), 200).text(), "");
    }
    assert_eq!(
        same(&Request::get("/big/a.txt"), 200).text(),
        "bytes 1048576\n"
    );
    assert_eq!(same(&Request::get("/added/a.txt"), 200).text(), "shouted\n");
    assert_eq!(same(&Request::get("/plain.txt"), 200).text(), "AS IT IS\n");
    assert_eq!(pair.ours().get("/lower/none.html").status, 404);
    let first = pair.ours().get("/lower/index.html");
    for (asked, said) in [
        ("If-Modified-Since", "Last-Modified"),
        ("If-None-Match", "ETag"),
    ] {
        let known = first.field(said).expect(said);
        let answer = pair
            .ours()
            .send(&Request::get("/lower/index.html").field(asked, &known));
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (304, ""),
            "{asked}"
        );
    }
}

#[test]
fn a_filter_that_dies_sends_none_of_the_file() {
    let server = Server::builder()
        .file("lib/Files.pm", FILES)
        .file("htdocs/a.txt", "SECRET\n")
        .conf(&workers(1))
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Files\nPerlOutputFilterHandler Files::dies\n")
        .start();
    let answer = server.get("/a.txt");
    assert_eq!(answer.status, 500);
    assert!(!answer.text().contains("SECRET"));
    server.log.expect("no file for you");
}

/// A script with small and large bodies, with and without a Content-Length. With `quiet` it prints
/// no body for HEAD.
const SIZES: &str = r##"#!/usr/bin/perl
my ($count, $way) = split /;/, $ENV{QUERY_STRING};
my $body = 'some words ' x $count;
print "Content-Length: " . length($body) . "\n" if $way eq 'said';
print "Content-type: text/plain\n\n";
print $body unless $way eq 'quiet' && $ENV{REQUEST_METHOD} eq 'HEAD';
"##;

#[test]
fn head_gives_the_same_length_as_get() {
    let server = Server::builder()
        .file("scripts/sizes.pl", SIZES)
        .ladder()
        .conf(&workers(2))
        .conf("AddOutputFilterByType DEFLATE text/plain\n")
        .start();
    let ask = |method: &str, target: &str| {
        let mut request = Request::get(target).field("Accept-Encoding", "gzip");
        request.method = method.into();
        server.send(&request)
    };
    for rung in ["fork", "registry", "cgi"] {
        for query in [
            "50",
            "50;said",
            "50;quiet",
            "20000",
            "20000;said",
            "1",
            "1;said",
        ] {
            let target = format!("/{rung}/sizes.pl?{query}");
            let (get, head) = (ask("GET", &target), ask("HEAD", &target));
            let coding = get.field("Content-Encoding");
            assert_eq!(head.field("Content-Encoding"), coding, "{target}");
            let length = head.field("Content-Length");
            let fits = |length: &String| *length == get.body.len().to_string();
            assert!(
                length.as_ref().is_none_or(fits),
                "{target}: {length:?}, {}",
                get.body.len()
            );
        }
    }
}

#[test]
fn several_accept_encoding_fields_count_as_one_list() {
    let server = Server::builder()
        .file("htdocs/made.txt", &"word ".repeat(1000))
        .file("htdocs/beside.txt", "plain")
        .file("htdocs/beside.txt.gz", "coded")
        .file("scripts/page.pl", &plain("print 'word ' x 1000;"))
        .ladder()
        .conf("AddOutputFilterByType DEFLATE text/plain\n")
        .start();
    for target in ["/made.txt", "/beside.txt", "/cgi/page.pl"] {
        let request = Request::get(target).field("Accept-Encoding", "identity;q=0.5");
        let answer = server.send(&request.field("Accept-Encoding", "gzip"));
        let coding = answer.field("Content-Encoding");
        assert_eq!(coding.as_deref(), Some("gzip"), "{target}");
    }
}
