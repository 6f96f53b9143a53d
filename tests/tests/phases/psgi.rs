//! Tests a PSGI application after other phases of Perl, and in a sub-request.

use super::*;

const MODULE: &str = r#"
use Apache2::SubRequest ();
sub name { my $r = shift; $r->ap_auth_type('Ticket'); $r->user('ann'); 0 }
sub note { my $r = shift; $r->subprocess_env(NOTED => 'by a handler'); $r->subprocess_env(SITE => 'too early'); 0 }
sub run {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('before ');
    my $sub = $r->lookup_uri($r->args);
    my $answer = $sub->run;
    print ' after ', $answer, ' ', $sub->status;
    return 0;
}
"#;

const APP: &str = r#"
sub {
    my $env = shift;
    print 'to the log';
    die "on purpose\n" if $env->{PATH_INFO} eq '/dies';
    my $text = join ' ', map { "$_=" . ($env->{$_} // 'none') } qw(REMOTE_USER AUTH_TYPE NOTED SITE QUERY_STRING);
    return [404, [], [$text]] if $env->{PATH_INFO} eq '/missing';
    return sub { my $writer = shift->([200, []]); $writer->write($_) for split /(?= )/, $text; $writer->close } if $env->{PATH_INFO} eq '/streams';
    return [200, ['Content-Type' => 'text/html', 'Content-Length' => length $text], [$text]];
};
"#;

fn site() -> Server {
    let admitted = "AuthType Ticket\nAuthName there\nRequire user ann\nPerlAuthenHandler Around::name\nPerlFixupHandler Around::note\n";
    let conf = format!(
        "PerlModule Around\nSetEnv SITE one\n\
         <Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n\
         <Location /app/known>\n{admitted}</Location>\n\
         <Location /run>\nSetHandler perl-script\nPerlResponseHandler Around::run\n</Location>\n"
    );
    one_worker(&[("Around", MODULE)], &conf)
        .file("app.psgi", APP)
        .start()
}

#[test]
fn application_sees_what_earlier_phases_have_set() {
    let server = site();
    for _ in 0..2 {
        assert_eq!(
            server.get("/app/known?a").expect(200),
            "REMOTE_USER=ann AUTH_TYPE=Ticket NOTED=by a handler SITE=one QUERY_STRING=a"
        );
        assert_eq!(
            server.get("/app?b").expect(200),
            "REMOTE_USER=none AUTH_TYPE=none NOTED=none SITE=one QUERY_STRING=b"
        );
    }
}

#[test]
fn application_answers_a_sub_request() {
    let server = site();
    let said = "REMOTE_USER=none AUTH_TYPE=none NOTED=none SITE=one QUERY_STRING=c";
    for (target, within) in [
        ("/run?/app?c", format!("{said} after 0 200")),
        ("/run?/app/streams?c", format!("{said} after 0 200")),
        ("/run?/app/missing?c", format!("{said} after 0 404")),
        ("/run?/app/dies", " after 500 200".to_owned()),
        (
            "/run?/app/known?c",
            "REMOTE_USER=ann AUTH_TYPE=Ticket NOTED=by a handler SITE=one QUERY_STRING=c after 0 200".to_owned(),
        ),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.expect(200), format!("before {within}"), "{target}");
        assert_eq!(answer.field("Content-Type").as_deref(), Some("text/plain"), "{target}");
    }
    server.log.expect("on purpose");
    assert_eq!(
        server.get("/app/streams?d").expect(200),
        said.replace("=c", "=d")
    );
}
