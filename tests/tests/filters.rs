//! Compression over real scripts: what a script flushes arrives, over both protocols and on each rung.

use mehari_harness::scripts::workers;
use mehari_harness::Server;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Says a line, and the rest when a file is there.
const STREAM: &str = r##"#!/usr/bin/perl
$| = 1;
print "Content-type: text/plain\n\nfirst of many words\n";
my $go = "$ENV{DOCUMENT_ROOT}/go.$ENV{QUERY_STRING}";
for (1 .. 500) { last if -e $go; select undef, undef, undef, 0.02 }
print "line $_\n" for 1 .. 20000;
"##;

#[test]
fn a_script_that_flushes_is_read_at_once_though_it_is_compressed() {
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
