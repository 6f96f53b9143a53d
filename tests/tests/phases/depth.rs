//! Tests requests that lead to themselves by sub-requests, internal redirects, includes, filters
//! and error documents. They end where Apache ends them (LimitInternalRecursion), and also when
//! their client has left.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
use Apache2::SubRequest ();
use Apache2::Filter ();
sub ran { print STDERR "RAN $_[0]\n" }
sub within { my $r = shift; ran('within'); $r->content_type('text/plain'); $r->print('.'); $r->lookup_uri($r->uri)->run; 0 }
sub redirect { my $r = shift; ran('redirect'); $r->internal_redirect($r->uri); 0 }
sub both { my $r = shift; ran('both'); $r->args ? $r->internal_redirect('/both') : $r->lookup_uri('/both?again')->run; 0 }
sub look { my $r = shift; ran('look'); $r->lookup_uri($r->uri); -1 }
sub filter {
    my $f = shift;
    unless ($f->ctx) {
        ran('filter');
        $f->ctx(1);
        my $within = $f->r->lookup_uri($f->r->uri);
        $within->run if $within->status == 200;
    }
    while ($f->read(my $bytes, 1024)) { $f->print($bytes) }
    0;
}
sub endless { my $r = shift; $r->content_type('text/plain'); while (1) { $r->print('x' x 1000); $r->lookup_uri('/plain.txt')->run; $r->rflush } 0 }
sub say { my $r = shift; $r->content_type('text/plain'); $r->print('free'); 0 }
"#;

fn site() -> Builder {
    let handlers: String = ["within", "redirect", "both", "endless", "say"]
        .iter()
        .map(|name| {
            format!(
                "<Location /{name}>\nSetHandler modperl\nPerlResponseHandler Deep::{name}\n</Location>\n"
            )
        })
        .collect();
    let conf = format!(
        "PerlModule Deep\n{handlers}<Location /look>\nPerlFixupHandler Deep::look\n</Location>\n\
         <Location /filter>\nPerlOutputFilterHandler Deep::filter\n</Location>\n\
         <Location /page.shtml>\nOptions +Includes\nSetOutputFilter INCLUDES\n</Location>\n\
         Alias /cgi @ROOT@/scripts\n<Location /cgi>\nOptions +ExecCGI\nSetHandler cgi-script\n</Location>\n\
         Alias /registry @ROOT@/scripts\n<Location /registry>\nOptions +ExecCGI\nSetHandler perl-script\n\
         PerlHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n</Location>\n"
    );
    let leads_on = "#!/usr/bin/perl\nprint STDERR qq{RAN script\\n};\nprint qq{Location: $ENV{SCRIPT_NAME}\\n\\n};\n";
    one_worker(&[("Deep", MODULE)], &conf)
        .file("htdocs/look/file.txt", "a file")
        .file("htdocs/filter/file.txt", "a file")
        .file("htdocs/plain.txt", "plain")
        .file(
            "htdocs/page.shtml",
            "page <!--#include virtual=\"page.shtml?${QUERY_STRING}x\" -->",
        )
        .file("scripts/again.pl", leads_on)
}

/// The path, the expected status, and the expected number of runs of the handler or script.
const LOOPS: [(&str, u16, usize); 7] = [
    ("/within", 200, 11),
    ("/redirect", 500, 11),
    ("/look/file.txt", 200, 11),
    ("/filter/file.txt", 200, 11),
    ("/page.shtml", 200, 11),
    ("/cgi/again.pl", 500, 11),
    ("/registry/again.pl", 500, 11),
];

#[test]
fn request_that_leads_to_itself_ends_where_apache_ends_it() {
    for server in apache::beside(site) {
        for (path, status, times) in LOOPS {
            let before = runs(&server);
            let answer = server.get(path);
            let text = answer.expect(status);
            if path == "/page.shtml" {
                assert_eq!(text.matches("page ").count(), times, "{path}: {text}");
                continue;
            }
            let has_run = || runs(&server) - before;
            eventually(PATIENCE, || has_run() >= times);
            assert_eq!(has_run(), times, "{path}: {}", server.log.text());
        }
    }
}

fn runs(server: &Server) -> usize {
    server.log.text().matches("RAN ").count()
}

/// Apache counts redirects and sub-requests separately. Mehari counts both together.
#[test]
fn mixture_of_redirects_and_sub_requests_ends_too() {
    let server = site().start();
    server.get("/both").expect(200);
    server.log.expect("more than 10 times");
    assert!(runs(&server) <= 21, "{}", server.log.text());
    assert_eq!(server.get("/say").expect(200), "free");
}

#[test]
fn requests_that_lead_to_themselves_end_after_their_client_has_left() {
    let server = site().start();
    let mut client = server.connect();
    client.write(&Request::get("/endless").bytes());
    client.fill().expect("the beginning of the answer");
    drop(client);
    // The only worker is free again.
    assert_eq!(server.get("/say").expect(200), "free");
}
