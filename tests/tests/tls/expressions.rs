//! Tests what expressions, header rules and users take from the TLS connection. Each response must
//! equal Apache's.

use crate::client::Client;
use crate::pair::Pair;
use crate::secure;
use mehari_harness::apache;

const USER: &str = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\",\n\
    join ' ', map { \"$_=\" . ($ENV{$_} // '-') } qw(REMOTE_USER AUTH_TYPE);\n";

/// Handlers that tell the user of three phases.
const USERS: &str = "package Users;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::RequestUtil ();\n\
    sub tell { my ($phase, $r) = @_; $r->pnotes($phase => $r->user // '-'); 0 }\n\
    sub access { tell('access', @_) }\nsub fixup { tell('fixup', @_) }\n\
    sub handler { my $r = shift; tell('response', $r); $r->content_type('text/plain');\n\
    $r->print(join ' ', map { \"$_=\" . $r->pnotes($_) } qw(access fixup response)); $r->print(\" REMOTE_USER=\", $ENV{REMOTE_USER} // '-'); 0 }\n1;\n";

const RULES: &str = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n\
    SSLEngine On\nSSLVerifyClient optional\nSSLCACertificateFile tls/clients.pem\n\
    Alias /none @ROOT@/htdocs\n\
    <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
    Header set X-Name \"%{SSL_CLIENT_S_DN_CN}s %{SSL_PROTOCOL}s %{SSL_NOTHING}s\"\n\
    Header always set X-Unset \"%{NOTHING}e %{HTTPS}s\"\n\
    RewriteEngine On\n\
    RewriteCond %{SSL:SSL_CLIENT_VERIFY} =SUCCESS\nRewriteRule ^/verified - [F]\n\
    RewriteCond %{SSL:SSL_CLIENT_S_DN_O} Caravan\nRewriteRule ^/caravan /page.html\n\
    <Location /page.html>\nHeader set X-Place page\n</Location>\n\
    <If \"%{SSL_CLIENT_I_DN_CN} == 'authority.example'\">\nHeader set X-If known\n</If>\n\
    <If \"%{SSL:SSL_CIPHER} =~ /AES|CHACHA/\">\nHeader set X-Cipher strong\n</If>\n\
    <Location /none/require>\nRequire expr %{SSL_CLIENT_S_DN_O} == 'Caravan, Ltd'\n</Location>\n\
    <Location /none/old>\nSSLRequire %{SSL_CLIENT_S_DN_O} eq \"Caravan, Ltd\" \
    and not ( %{SSL_CLIENT_VERIFY} eq \"NONE\" or %{SSL_PROTOCOL} ne \"TLSv1.3\" )\n</Location>\n\
    <Location /none/old/other>\nSSLRequire %{SSL_CLIENT_S_DN_CN} in {\"other\", \"another\"}\n</Location>\n\
    <Location /none/any>\nSSLRequire %{SSL_CLIENT_S_DN_CN} =~ m/^camel/\nSatisfy Any\n</Location>\n\
    <Location /cgi>\nSSLUserName SSL_CLIENT_S_DN_CN\n</Location>\n\
    <Location /registry>\nSSLUserName SSL_CLIENT_S_DN_CN\n</Location>\n\
    PerlSwitches -I@ROOT@/lib\nPerlModule Users\n\
    <Location /handled>\nSSLUserName SSL_CLIENT_S_DN_CN\nSetHandler perl-script\n\
    PerlAccessHandler Users::access\nPerlFixupHandler Users::fixup\nPerlResponseHandler Users\n</Location>\n\
    <Location /cgi/wanted.pl>\nRequire user camel.example\n</Location>\n";

const PATHS: [&str; 10] = [
    "/page.html",
    "/verified",
    "/caravan",
    "/none/require/page.html",
    "/none/old/page.html",
    "/none/old/other/page.html",
    "/none/any/page.html",
    "/cgi/user.pl",
    "/registry/user.pl",
    "/handled",
];

/// Returns the status, the fields of the test and the last line of a response.
fn essence(text: &str) -> String {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let mut fields: Vec<&str> = lines
        .filter(|line| line.starts_with("X-") && !line.starts_with("X-Content"))
        .collect();
    fields.sort_unstable();
    let status = status.unwrap_or("no status");
    let body = if status == "200" { body } else { "" };
    let chunk = body
        .lines()
        .find(|line| line.contains('='))
        .unwrap_or_default();
    format!("{status} {} {chunk}", fields.join(", "))
}

#[test]
fn rules_see_the_tls_connection_as_in_apache() {
    let authority = Pair::authority();
    let own = Pair::of("site.example");
    let known = Pair::signed_by("camel.example", &authority);
    let site = || {
        let deep = ["require", "old", "old/other", "any"];
        let site = secure(&own)
            .file("tls/clients.pem", &authority.certificate.pem())
            .file("scripts/user.pl", USER)
            .file("lib/Users.pm", USERS)
            .conf(RULES);
        deep.iter().fold(site, |site, folder| {
            site.file(&format!("htdocs/{folder}/page.html"), "deep")
        })
    };
    let servers = apache::beside(site);
    let versions = &[&rustls::version::TLS13];
    let mut differences = Vec::new();
    for (who, client) in [
        ("unknown", Client::plain()),
        ("known", Client::new(versions, Some(&known))),
    ] {
        for path in PATHS {
            let answers: Vec<String> = servers
                .iter()
                .map(|server| match client.ask(server, path) {
                    Ok((text, _)) => essence(&text),
                    Err(why) => format!("{why}"),
                })
                .collect();
            if answers.iter().any(|answer| *answer != answers[0]) {
                differences.push(format!("{who} {path}:\n  {}", answers.join("\n  ")));
            }
            let refused = ["/none/require/page.html", "/none/old/page.html"].contains(&path);
            let expected = if refused && who == "unknown" {
                "403"
            } else {
                ""
            };
            assert!(
                answers[0].starts_with(expected),
                "{who} {path}: {}",
                answers[0]
            );
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
