//! Tests that rules ask the program of a `RewriteMap` for a path that Perl's handlers choose: by
//! `lookup_uri`, by an internal redirect, and in the translation phase. The answers are compared
//! with Apache and mod_perl.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
use Apache2::SubRequest ();
use Apache2::Const -compile => qw(OK DECLINED);
sub trans {
    my $r = shift;
    $r->uri("/told/$1") if $r->is_initial_req && $r->uri =~ m{^/chosen/(.*)};
    return Apache2::Const::DECLINED;
}
sub looks {
    my $r = shift;
    $r->content_type('text/plain');
    for my $path (split /,/, $r->args) {
        my $inner = $r->lookup_uri($path);
        $r->print($inner->status, ' ', $inner->uri, ' ');
        $inner->run;
    }
    return Apache2::Const::OK;
}
sub redirects {
    my $r = shift;
    $r->internal_redirect($r->args);
    return Apache2::Const::OK;
}
sub show {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('shown ', $r->uri, ' ', $r->args // 'no query', "\n");
    return Apache2::Const::OK;
}
"#;

/// Answers with a path for each key. `ends` ends the program.
const PROGRAM: &str = r#"#!/usr/bin/perl
$| = 1;
while (<STDIN>) {
    chomp;
    exit if $_ eq 'ends';
    s{^/}{};
    print $_ eq 'none' ? "NULL\n" : "/show/$_\n";
}
"#;

/// Waits for the file `answer` after it has made the file `question`.
const SLOW: &str = r#"#!/usr/bin/perl
$| = 1;
my $folder = $0 =~ s{[^/]*$}{}r;
while (<STDIN>) {
    chomp;
    open my $question, '>', "${folder}question" or die $!;
    select undef, undef, undef, 0.01 until -e "${folder}answer";
    print "/show/$_\n";
}
"#;

const CONF: &str = r#"
PerlModule Maps
PerlTransHandler Maps::trans
RewriteEngine On
RewriteMap told "prg:@ROOT@/program.pl"
RewriteRule ^/told/(.*)$ ${told:$1|/show/default} [PT]
RewriteRule ^/twice/(.*)$ ${told:${told:$1}} [PT]
<Location /looks>
SetHandler modperl
PerlResponseHandler Maps::looks
</Location>
<Location /redirects>
SetHandler modperl
PerlResponseHandler Maps::redirects
</Location>
<Location /show>
SetHandler modperl
PerlResponseHandler Maps::show
</Location>
"#;

fn site() -> Builder {
    one_worker(&[("Maps", MODULE)], CONF).file("program.pl", PROGRAM)
}

#[test]
fn program_is_asked_for_paths_that_handlers_choose() {
    let rows = [
        ("/told/a", "shown /show/a no query\n"),
        ("/chosen/b?q=1", "shown /show/b q=1\n"),
        ("/chosen/none", "shown /show/default no query\n"),
        (
            "/looks?/told/a,/told/b,/told/none",
            "200 /show/a shown /show/a no query\n200 /show/b shown /show/b no query\n200 /show/default shown /show/default no query\n",
        ),
        ("/looks?/twice/a", "200 /show/show/a shown /show/show/a no query\n"),
        ("/redirects?/told/c", "shown /show/c no query\n"),
    ];
    for mut server in apache::beside(site) {
        for (path, expected) in rows {
            assert_eq!(server.get(path).expect(200), expected, "{path}");
        }
        // The program stays.
        server.rebase();
    }
}

#[test]
fn program_that_does_not_answer_refuses_the_path_and_is_started_again() {
    let mut server = site().start();
    for path in ["/looks?/told/ends", "/redirects?/told/ends"] {
        let answer = server.get(path);
        assert!(
            answer.text().starts_with("500 ") || answer.status == 500,
            "{path}"
        );
        server
            .log
            .expect("the program of RewriteMap told has ended without an answer");
        assert_eq!(
            server.get("/redirects?/told/c").expect(200),
            "shown /show/c no query\n"
        );
    }
    server.rebase();
}

#[test]
fn other_requests_go_on_while_a_worker_waits_for_a_program() {
    let conf = format!("{CONF}MaxRequestWorkers 2\nStartServers 2\n");
    let mut server = one_worker(&[("Maps", MODULE)], &conf)
        .file("program.pl", SLOW)
        .file("htdocs/file.txt", "file")
        .start();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.get("/redirects?/told/c").expect(200));
        let question = server.site.path("question");
        assert!(eventually(PATIENCE, || question.exists()));
        assert_eq!(server.get("/file.txt").expect(200), "file");
        server.site.write("answer", "");
        let said = asked.join().expect("the request");
        assert_eq!(said, "shown /show/c no query\n");
    });
    server.rebase();
}
