//! Tests that the access log and the script get the user whom a PerlAuthenHandler sets. The results
//! are compared with mod_perl's.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
sub name  { my $r = shift; $r->user($r->args) if $r->args; 0 }
sub typed { my $r = shift; $r->ap_auth_type('Ticket'); name($r) }
sub deny  { my $r = shift; $r->user($r->args); 401 }
sub let_in { 0 }
sub late  { my $r = shift; $r->user($r->args); say($r) }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('user=', $r->user); 0 }
"#;

const SCRIPT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\nuser=}, $ENV{REMOTE_USER} // 'none', ' type=', $ENV{AUTH_TYPE} // 'none';\n";

fn site() -> Builder {
    let mut conf = String::from(
        "PerlModule Users\nLogFormat \"%U %>s %u\" who\nCustomLog @ROOT@/logs/who.log who\n",
    );
    let admitted =
        "AuthType Ticket\nAuthName there\nRequire valid-user\nPerlAuthzHandler Users::let_in\n";
    for (place, lines) in [
        ("cgi", "SetHandler cgi-script\nPerlAuthenHandler Users::name\n"),
        ("typed", "SetHandler cgi-script\nPerlAuthenHandler Users::typed\n"),
        ("registry", "SetHandler perl-script\nPerlHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nPerlAuthenHandler Users::typed\n"),
        ("denied", "SetHandler cgi-script\nPerlAuthenHandler Users::deny\n"),
        ("files", "PerlAuthenHandler Users::name\n"),
        ("said", "SetHandler modperl\nPerlResponseHandler Users::say\nPerlAuthenHandler Users::name\n"),
        ("late", "SetHandler modperl\nPerlResponseHandler Users::late\nPerlAuthenHandler Users::name\n"),
    ] {
        conf.push_str(&format!(
            "Alias /{place} @ROOT@/scripts\n<Location /{place}>\nOptions +ExecCGI\n{admitted}{lines}</Location>\n"
        ));
    }
    conf.push_str(
        "<Location /himself>\nSetHandler modperl\nPerlResponseHandler Users::late\n</Location>\n",
    );
    conf.push_str("Alias /open @ROOT@/scripts\n<Location /open>\nOptions +ExecCGI\nSetHandler cgi-script\n</Location>\n");
    one_worker(&[("Users", MODULE)], &conf)
        .file("scripts/who.pl", SCRIPT)
        .file("scripts/page.txt", "a page")
}

/// The target, the expected status, words in the body, and the line in the log.
const CASES: [(&str, u16, &str, &str); 9] = [
    (
        "/cgi/who.pl?ann",
        200,
        "user=ann type=none",
        "/cgi/who.pl 200 ann",
    ),
    (
        "/typed/who.pl?bea",
        200,
        "user=bea type=Ticket",
        "/typed/who.pl 200 bea",
    ),
    (
        "/registry/who.pl?cleo",
        200,
        "user=cleo type=Ticket",
        "/registry/who.pl 200 cleo",
    ),
    ("/denied/who.pl?dan", 401, "", "/denied/who.pl 401 dan"),
    (
        "/files/page.txt?eve",
        200,
        "a page",
        "/files/page.txt 200 eve",
    ),
    ("/himself?hal", 200, "user=hal", "/himself 200 hal"),
    ("/late/who.pl?ida", 200, "user=ida", "/late/who.pl 200 ida"),
    ("/said/who.pl?fay", 200, "user=fay", "/said/who.pl 200 fay"),
    (
        "/open/who.pl?gil",
        200,
        "user=none type=none",
        "/open/who.pl 200 -",
    ),
];

#[test]
fn user_set_by_perl_reaches_the_log_and_the_programs() {
    for server in apache::beside(site) {
        for (target, status, body, line) in CASES {
            let answer = server.get(target);
            let text = answer.expect(status);
            assert!(text.contains(body), "{target}: {text}");
            assert!(
                eventually(PATIENCE, || server
                    .site
                    .read("logs/who.log")
                    .lines()
                    .any(|known| known == line)),
                "{line}\n{}",
                server.site.read("logs/who.log")
            );
        }
    }
}
