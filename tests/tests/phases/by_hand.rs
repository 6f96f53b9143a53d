//! Tests access control in connection handlers: `location_merge`, `run_access_checker`,
//! `run_check_user_id` and `run_auth_checker` apply the rules of the location. The result of
//! another request has no influence.

use super::*;
use mehari_harness::{apache, Connection};

/// A handler that applies the location in the query, uses the credentials after the location if
/// there are any, and prints whether the checks admit the client.
const MODULE: &str = r#"
use Apache2::Access ();
use Apache2::Connection ();
use Apache2::HookRun ();
use Apache2::SubRequest ();
use APR::Socket ();
sub checks {
    my ($r, $location, $user, $password) = @_;
    my $merged = $r->location_merge($location);
    $r->set_basic_credentials($user, $password) if defined $user;
    my $all = 1;
    for my $check (qw(run_access_checker run_check_user_id run_auth_checker)) {
        my $status = $r->$check;
        $all &&= $status == 0 || $status == -1;
    }
    return $all ? 'in' : 'out';
}
sub by_request    { my $r = shift; $r->content_type('text/plain'); $r->print(checks($r, split ',', $r->args)); 0 }
sub by_connection {
    my $c = shift;
    my $socket = $c->client_socket;
    while ($socket->recv(my $line, 1024)) {
        $line =~ s/\s+\z//;
        $socket->send(checks(Apache2::RequestRec->new($c), split ',', $line) . "\n");
    }
    return 0;
}
sub knows_ann { my $r = shift; my ($status, $password) = $r->get_basic_auth_pw; return $status if $status; return 0 if $r->user eq 'ann' && $password eq 'right'; $r->note_basic_auth_failure; 401 }
sub forbids { 403 }
"#;

const LOCATIONS: &str = "<Location /open>\nPerlFixupHandler 'sub { -1 }'\n</Location>\n\
    <Location /denied>\nRequire all denied\n</Location>\n\
    <Location /from>\nOrder deny,allow\nDeny from all\n</Location>\n\
    <Location /forbids>\nPerlAccessHandler Hand::forbids\n</Location>\n\
    <Location /by-perl>\nAuthType Basic\nAuthName there\nPerlAuthenHandler Hand::knows_ann\nRequire user ann\n</Location>\n\
    <Location /for-bob>\nAuthType Basic\nAuthName there\nPerlAuthenHandler Hand::knows_ann\nRequire user bob\n</Location>\n\
    <Location /by-file>\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n\
    <Location /by-both>\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\nPerlFixupHandler 'sub { -1 }'\n</Location>\n";

fn site() -> Builder {
    let conf = format!(
        "PerlModule Hand\n{LOCATIONS}<Location /by-hand>\nSetHandler modperl\nPerlResponseHandler Hand::by_request\n</Location>\n"
    );
    // The password is `right`.
    one_worker(&[("Hand", MODULE)], &conf).file("users", "ann:{SHA}0nofEXcSAJSXFLGvmfBIpBb11vQ=\n")
}

/// The location, the credentials that a handler sets, the credentials that the client sends,
/// Apache's result and Mehari's result. Apache also checks a password that a handler has set.
/// Mehari checks only the client's password, and refuses otherwise.
const CASES: [(&str, &str, &str, &str, &str); 20] = [
    ("/open", "", "", "in", "in"),
    ("/denied", "", "", "out", "out"),
    ("/denied", "", "ann:right", "out", "out"),
    ("/from", "", "", "out", "out"),
    ("/forbids", "", "", "out", "out"),
    ("/by-perl", "", "", "out", "out"),
    ("/by-perl", "", "ann:right", "in", "in"),
    ("/by-perl", "", "ann:wrong", "out", "out"),
    ("/by-perl", ",ann,right", "", "in", "in"),
    ("/by-perl", ",ann,wrong", "ann:right", "out", "out"),
    ("/for-bob", ",ann,right", "", "out", "out"),
    ("/by-file", "", "", "out", "out"),
    ("/by-file", "", "ann:wrong", "out", "out"),
    ("/by-file", ",ann,wrong", "ann:right", "out", "out"),
    ("/by-file", ",ann,right", "", "in", "out"),
    ("/by-both", "", "", "out", "out"),
    ("/by-both", "", "ann:wrong", "out", "out"),
    ("/by-both", ",ann,wrong", "ann:right", "out", "out"),
    ("/by-both", ",ann,right", "", "in", "out"),
    // For an unknown location, Apache goes on with the earlier settings.
    ("no-such-place", "", "", "in", "out"),
];

#[test]
fn checks_by_hand_admit_the_clients_that_the_location_admits() {
    for (number, server) in apache::beside(site).into_iter().enumerate() {
        for (location, set, sent, theirs, ours) in CASES {
            let mut request = Request::get(&format!("/by-hand?{location}{set}"));
            if !sent.is_empty() {
                request = request.field("Authorization", &format!("Basic {}", encoded(sent)));
            }
            let expected = if number == 0 { ours } else { theirs };
            let text = server.send(&request).expect(200);
            assert_eq!(text, expected, "{location} {set} {sent} on server {number}");
        }
    }
}

fn encoded(text: &str) -> String {
    match text {
        "ann:right" => "YW5uOnJpZ2h0".into(),
        _ => "YW5uOndyb25n".into(),
    }
}

/// A connection handler makes all checks without an HTTP request. The result of one check does not
/// apply to the next.
#[test]
fn connection_handler_admits_the_clients_that_the_location_admits() {
    let conf =
        format!("PerlModule Hand\n{LOCATIONS}PerlProcessConnectionHandler Hand::by_connection\n");
    let server = one_worker(&[("Hand", MODULE)], &conf)
        .file("users", "ann:{SHA}0nofEXcSAJSXFLGvmfBIpBb11vQ=\n")
        .start();
    let mut first = server.connect();
    let asked = [
        ("/by-perl,ann,right", "in"),
        ("/by-perl", "out"),
        ("/by-perl,ann,wrong", "out"),
        ("/for-bob,ann,right", "out"),
        ("/forbids", "out"),
        ("/denied", "out"),
        ("/by-file", "out"),
        ("/by-file,ann,wrong", "out"),
        ("no-such-place", "out"),
        ("/open", "in"),
    ];
    for (line, expected) in asked {
        assert_eq!(said(&mut first, line), expected, "{line}");
    }
    drop(first);
    let mut second = server.connect();
    assert_eq!(said(&mut second, "/by-perl"), "out");
}

#[track_caller]
fn said(connection: &mut Connection, line: &str) -> String {
    connection.write(format!("{line}\n").as_bytes());
    loop {
        let text = String::from_utf8_lossy(connection.unread()).into_owned();
        if text.ends_with('\n') {
            let count = text.len();
            connection.forget(count);
            return text.trim_end().to_owned();
        }
        assert!(connection.fill().expect("a readable socket") > 0, "{text}");
    }
}

/// Two hosts on one connection have a PerlPreConnectionHandler each. One host may admit a client
/// that the other host refuses.
#[test]
fn connection_admitted_by_one_host_is_not_admitted_by_another() {
    let conf = "<VirtualHost *>\nServerName open.test\nPerlPreConnectionHandler 'sub { 0 }'\n</VirtualHost>\n\
        <VirtualHost *>\nServerName closed.test\nPerlPreConnectionHandler 'sub { 403 }'\n</VirtualHost>\n";
    let server = one_worker(&[], conf)
        .file("htdocs/page.txt", "a page")
        .start();
    let mut connection = server.connect();
    for (host, status) in [("open.test", 200), ("closed.test", 403), ("open.test", 200)] {
        let request = Request::get("/page.txt").host(host);
        let answer = connection.send(&request).expect("an answer");
        assert_eq!(answer.status, status, "{host}");
    }
}
