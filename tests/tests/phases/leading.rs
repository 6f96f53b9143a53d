//! Tests sub-requests and internal redirects that Perl runs within its worker.

use super::*;
use mehari_harness::Pair;

#[test]
fn sub_requests_and_redirects_run_within_the_worker() {
    let module = r#"
use Apache2::SubRequest ();
use Apache2::Response ();
sub trans { my $r = shift; $r->uri($1) if $r->uri =~ m{^/moved(/.*)}; -1 }
sub file  { my $r = shift; return -1 unless $r->uri eq '/chosen'; $r->filename($r->document_root . '/plain.txt'); 0 }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('[', $r->uri, ' ', $r->args // '', ']'); 0 }
sub redirect { my $r = shift; $r->internal_redirect('/say?from=' . substr $r->uri, 1); 0 }
sub loop  { my $r = shift; $r->internal_redirect('/loop'); 0 }
sub tofile { my $r = shift; $r->internal_redirect('/plain.txt'); 0 }
sub sub_request {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('before ');
    my $status = $r->lookup_uri($r->args)->run;
    $r->print(" after $status");
    0;
}
sub look {
    my $r = shift;
    my $subr = $r->lookup_uri($r->args);
    $r->content_type('text/plain');
    $r->print(join ' ', ref $subr, $subr->uri, $subr->filename =~ m{([^/]*)$}, $subr->status, $subr->handler // 'none', $subr->main->uri);
    0;
}
sub deep { my $r = shift; $r->print('.'); my $status = $r->lookup_uri('/deep')->run; $r->print($status) if $status; 0 }
sub forbid { 403 }
sub missing { my $r = shift; $r->custom_response(404, '/document?for=404'); 404 }
sub fails { die "as told\n" }
sub document { my $r = shift; $r->content_type('text/plain'); my $prev = $r->prev; $r->print('document for ', $prev->uri, ' ', $prev->notes->get('error-notes') // '', $ENV{REDIRECT_STATUS} // ''); 0 }
"#;
    let conf = r#"PerlModule Lead
PerlTransHandler Lead::trans Lead::file
ErrorDocument 500 /document
<Location /say>
SetHandler modperl
PerlHandler Lead::say
</Location>
<Location /redirect>
SetHandler modperl
PerlHandler Lead::redirect
</Location>
<Location /deep>
SetHandler modperl
PerlHandler Lead::deep
</Location>
<Location /loop>
SetHandler modperl
PerlHandler Lead::loop
</Location>
<Location /tofile>
SetHandler modperl
PerlHandler Lead::tofile
</Location>
<Location /sub>
SetHandler modperl
PerlHandler Lead::sub_request
</Location>
<Location /look>
SetHandler modperl
PerlHandler Lead::look
</Location>
<Location /forbidden>
PerlAccessHandler Lead::forbid
</Location>
<Location /missing>
SetHandler modperl
PerlHandler Lead::missing
</Location>
<Location /fails>
SetHandler modperl
PerlHandler Lead::fails
</Location>
<Location /document>
SetHandler perl-script
PerlHandler Lead::document
</Location>
Alias /scripts @ROOT@/scripts
<Directory @ROOT@/scripts>
SetHandler perl-script
PerlHandler ModPerl::Registry
PerlOptions +ParseHeaders
Options +ExecCGI
</Directory>
"#;
    let server = one_worker(&[("Lead", module)], conf)
        .file("htdocs/plain.txt", "plain\n")
        .file(
            "scripts/hello.pl",
            "print qq{Content-Type: text/html\\n\\nhello from a script};\n",
        )
        .start();
    for (target, status, text) in [
        ("/moved/say?a=1", 200, "[/say a=1]"),
        ("/moved/plain.txt", 200, "plain\n"),
        ("/moved/none.txt", 404, ""),
        ("/chosen", 200, "plain\n"),
        ("/redirect", 200, "[/say from=redirect]"),
        ("/tofile", 200, "plain\n"),
        ("/sub?/say", 200, "before [/say ] after 0"),
        ("/sub?/plain.txt", 200, "before plain\n after 0"),
        (
            "/sub?/scripts/hello.pl",
            200,
            "before hello from a script after 0",
        ),
        ("/sub?/none.txt", 200, "before  after 404"),
        ("/deep", 200, "...........500"),
        ("/sub?/forbidden/x", 200, "before  after 403"),
        (
            "/look?/plain.txt",
            200,
            "Apache2::SubRequest /plain.txt plain.txt 200 none /look",
        ),
        (
            "/look?/forbidden/x",
            200,
            "Apache2::SubRequest /forbidden/x forbidden 403 none /look",
        ),
        ("/missing", 404, "document for /missing 404"),
        ("/fails", 500, "document for /fails as told\n500"),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert!(
            answer.text().starts_with(text),
            "{target}: {}",
            answer.text()
        );
    }
    assert_eq!(server.get("/loop").status, 500);
    assert_eq!(server.get("/say").expect(200), "[/say ]");
}

/// The table has the phases before the response, and the results with which a handler lets the
/// request go on.
#[test]
fn redirect_from_an_early_phase_is_the_only_answer() {
    let module = r#"
use Apache2::SubRequest ();
sub say { my $r = shift; $r->content_type('text/plain'); $r->print('[', $r->uri, ']'); 0 }
sub lead { my ($r, $answer) = @_; return -1 unless $r->is_initial_req; $r->internal_redirect($r->args); $answer }
sub declines { lead(shift, -1) }
sub allows { lead(shift, 0) }
sub is_done { lead(shift, -2) }
"#;
    let mut conf = String::from("PerlModule Early\n<Location /say>\nSetHandler modperl\nPerlHandler Early::say\n</Location>\n");
    for phase in ["HeaderParser", "Access", "Type", "Fixup", ""] {
        for answer in ["declines", "allows", "is_done"] {
            conf.push_str(&format!(
                "<Location /{phase}-{answer}/>\nSetHandler modperl\nPerl{phase}Handler Early::{answer}\n{}</Location>\n",
                if phase.is_empty() { "" } else { "PerlHandler Early::say\n" }
            ));
        }
    }
    let server = one_worker(&[("Early", module)], &conf)
        .file("htdocs/plain.txt", "plain\n")
        .start();
    let workers = server.workers();
    for phase in ["HeaderParser", "Access", "Type", "Fixup", ""] {
        for answer in ["declines", "allows", "is_done"] {
            for (target, text) in [("/say", "[/say]"), ("/plain.txt", "plain\n")] {
                let url = format!("/{phase}-{answer}/x?{target}");
                assert_eq!(server.get(&url).expect(200), text, "{url}");
            }
        }
    }
    assert_eq!(server.workers(), workers, "{}", server.log.text());
}

#[test]
fn status_and_reason_of_an_error_reach_the_next_request_as_in_apache() {
    const LED: &str = "package Led;\nuse Apache2::RequestRec (); use Apache2::RequestIO (); \
        use Apache2::SubRequest ();\n\
        sub with_status { my $r = shift; my ($status, $to) = split /,/, $r->args; \
        $r->status($status); $r->internal_redirect($to); 0 }\n\
        sub shows { my $r = shift; $r->content_type('text/plain'); $r->print(join '|', map { $_ // '-' } \
        $r->status, @ENV{qw(REDIRECT_STATUS REDIRECT_REQUEST_METHOD REDIRECT_ERROR_NOTES)}); 0 }\n\
        sub dies { die \"a reason <b>\\n\" }\n1;\n";
    let site = || {
        Server::builder().file("lib/Led.pm", LED).conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Led\nErrorDocument 500 /shows\n\
             <Location /status>\nSetHandler modperl\nPerlResponseHandler Led::with_status\n</Location>\n\
             <Location /shows>\nSetHandler perl-script\nPerlResponseHandler Led::shows\n</Location>\n\
             <Location /dies>\nSetHandler modperl\nPerlResponseHandler Led::dies\n</Location>\n",
        )
    };
    let mut pair = Pair::start(site);
    for target in [
        "/status?404,/shows",
        "/status?403,/shows",
        "/status?202,/shows",
        "/status?200,/shows",
        "/dies",
    ] {
        pair.get(target);
    }
}
