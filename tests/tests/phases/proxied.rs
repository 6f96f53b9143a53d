//! Tests which fields of Perl's handlers reach the client if a back end responds. Each response
//! must equal Apache's.

use super::*;
use mehari_harness::{BackEnd, Pair};
use std::io::Write;

const MODULE: &str = r#"
use Apache2::Access ();
sub early { set(early => @_) }
sub access { set(access => @_) }
sub late { set(late => @_) }
sub set {
    my ($phase, $r) = @_;
    my $args = $r->args // '';
    return -1 unless $args =~ /$phase/;
    $r->err_headers_out->add('Set-Cookie' => "$phase=1");
    $r->err_headers_out->set('X-Err' => $phase);
    $r->headers_out->add('Set-Cookie' => "out=$phase");
    $r->headers_out->set('X-Out' => $phase);
    $r->headers_out->set('Cache-Control' => 'private');
    $r->no_cache(1) if $args =~ /uncached/;
    $r->content_languages(['de', 'fr']) if $args =~ /spoken/;
    return 0;
}
"#;

/// The paths, each with what the back end says.
const ANSWERS: [(&str, &str); 6] = [
    ("/plain", "200 OK\r\nX-Own: own"),
    ("/cookies", "200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2"),
    (
        "/same",
        "200 OK\r\nX-Err: own\r\nX-Out: own\r\nCache-Control: public",
    ),
    (
        "/dated",
        "200 OK\r\nExpires: Thu, 01 Jan 2032 00:00:00 GMT\r\nContent-Language: en, fr",
    ),
    ("/away", "302 Found\r\nLocation: http://example.org/"),
    ("/failed", "404 Not Found\r\nX-Own: own"),
];

fn back_end() -> BackEnd {
    BackEnd::start(|request, stream| {
        let target = request.head.split(' ').nth(1).unwrap_or_default();
        let known = ANSWERS.iter().find(|(path, _)| target.starts_with(path));
        let head = known.map_or("200 OK", |(_, head)| head);
        let answer = format!(
            "HTTP/1.1 {head}\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\
             Connection: close\r\n\r\nbody"
        );
        let _ = stream.write_all(answer.as_bytes());
        false
    })
}

#[test]
fn fields_of_handlers_reach_the_responses_of_back_ends_that_they_reach_in_apache() {
    let behind = back_end();
    let url = behind.url();
    let conf = format!(
        "PerlModule Set\n<Location />\nPerlHeaderParserHandler Set::early\n\
         PerlAccessHandler Set::access\nPerlFixupHandler Set::late\n</Location>\n\
         ProxyPass /px/ {url}/\n\
         RewriteEngine On\nRewriteRule ^/rw/(.*)$ {url}/$1 [P]\n\
         <Location /own>\nProxyPass {url}\nProxyErrorOverride On\n</Location>\n\
         <Location /ruled>\nProxyPass {url}\nHeader always edit Set-Cookie ^ always-\n\
         Header edit Set-Cookie ^ plain-\n</Location>\n"
    );
    let mut pair = Pair::start(|| one_worker(&[("Set", MODULE)], &conf));
    let mut differences = Vec::new();
    for place in ["/px", "/rw", "/own", "/ruled"] {
        for (path, _) in ANSWERS {
            for query in [
                "early",
                "access",
                "late",
                "late+uncached",
                "early+late+spoken",
            ] {
                let request = Request::get(&format!("{place}{path}?{query}"));
                differences.extend(pair.compare(&request).err());
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let answer = pair.get("/px/plain?access");
    assert_eq!(answer.all("set-cookie"), ["access=1", "out=access"]);
}
