//! Tests changes that a handler makes to a request before the response handler runs: fields, the
//! user, variables, the query, %ENV. Each pair of a phase and a rung is compared with Apache and
//! mod_perl.

use super::*;
use mehari_harness::apache;
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Access ();
sub say {
    my $r = shift;
    my $fields = $r->headers_in;
    $fields->set('Auth-User', 'ann');
    $fields->unset('X-Old');
    $fields->set('X-Changed', 'by a handler');
    $fields->set('Cookie', 'c=d');
    $fields->set('X_Under', 'no variable');
    $fields->set('X.Dot', 'no variable');
    $r->subprocess_env->set(SAID => 'by a handler');
    $r->subprocess_env->set(CONFIGURED_AND_SAID => 'by a handler');
    $r->subprocess_env->unset('TAKEN_OUT');
    $r->subprocess_env->unset('IF_TAKEN_OUT');
    $ENV{IN_ENV} = 'by a handler';
    $r->user('ann');
    $r->ap_auth_type('Ticket');
    $r->args('q=2');
    -1;
}
sub knows { say(@_); 0 }
sub read_request { $_[0]->uri =~ m{^/read/} ? say(@_) : -1 }
sub trans { $_[0]->uri =~ m{^/trans/} ? say(@_) : -1 }
my $mine = qr/^(?:HTTP_(?!HOST)|SAID|CONFIGURED|TAKEN|PERL_|IN_ENV|IF_|PASSED|REMOTE_USER|AUTH_TYPE|QUERY_STRING|REQUEST_METHOD)/;
sub show {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print(map { "$_=$ENV{$_}\n" } sort grep { /$mine/ } keys %ENV);
    my $variables = $r->subprocess_env;
    $r->print(map { "$_: $variables->{$_}\n" } sort grep { /$mine/ } keys %$variables);
    0;
}
"#;

const SCRIPT: &str = r#"#!/usr/bin/perl
my $mine = qr/^(?:HTTP_(?!HOST)|SAID|CONFIGURED|TAKEN|PERL_|IN_ENV|IF_|PASSED|REMOTE_USER|AUTH_TYPE|QUERY_STRING|REQUEST_METHOD)/;
print "Content-Type: text/plain\n\n", map { "$_=$ENV{$_}\n" } sort grep { /$mine/ } keys %ENV;
"#;

const NAMES: &str = "HTTP_AUTH_USER HTTP_X_OLD HTTP_X_CHANGED HTTP_COOKIE HTTP_X_KEPT SAID CONFIGURED REMOTE_USER AUTH_TYPE QUERY_STRING";

/// The phase in which a handler changes the request, and its directive. The handlers without a
/// directive here are set outside of sections.
const PHASES: [(&str, &str); 8] = [
    ("nobody", ""),
    ("read", ""),
    ("trans", ""),
    ("parser", "PerlHeaderParserHandler Said::say"),
    ("access", "PerlAccessHandler Said::say"),
    (
        "authen",
        "AuthType Ticket\nAuthName there\nRequire valid-user\nPerlAuthenHandler Said::knows",
    ),
    ("type", "PerlTypeHandler Said::say"),
    ("fixup", "PerlFixupHandler Said::say"),
];

const PERL: &str = "SetHandler perl-script\nPerlOptions +ParseHeaders\nPerlHandler ";

/// The rung that reads the change: its name, its directives, and the directives for Apache. If
/// Apache lacks the rung, ModPerl::PerlRun takes its place.
const RUNGS: [(&str, &str, &str); 10] = [
    ("cgi", "SetHandler cgi-script", "cgi"),
    ("registry", "ModPerl::Registry", "registry"),
    ("perlrun", "ModPerl::PerlRun", "perlrun"),
    ("fork", "Mehari::Fork", "perlrun"),
    ("rewind", "Mehari::Rewind", "perlrun"),
    ("auto", "Mehari::Auto", "perlrun"),
    ("handler", "Said::show", "handler"),
    (
        "set-up",
        "SetHandler modperl\nPerlOptions +SetupEnv\nPerlResponseHandler Said::show",
        "set-up",
    ),
    (
        "modperl",
        "SetHandler modperl\nPerlResponseHandler Said::show",
        "modperl",
    ),
    (
        "bare",
        "SetHandler perl-script\nPerlOptions -SetupEnv\nPerlResponseHandler Said::show",
        "bare",
    ),
];

fn site() -> Builder {
    let mut conf = String::from(
        "PerlModule Said ModPerl::Registry ModPerl::PerlRun\nPerlPostReadRequestHandler Said::read_request\n\
         PerlTransHandler Said::trans\nPerlSetEnv PERL_OF_SERVER yes\nSetEnv CONFIGURED_OF_SERVER yes\n",
    );
    for (phase, says) in PHASES {
        for (rung, hears, _) in RUNGS {
            let hears = match hears.split_once('\n') {
                None if !hears.starts_with("SetHandler") => format!("{PERL}{hears}"),
                _ => hears.to_owned(),
            };
            let _ = write!(
                conf,
                "Alias /{phase}/{rung} @ROOT@/scripts\n<Location /{phase}/{rung}>\nOptions +ExecCGI\n\
                 SetEnv CONFIGURED yes\nSetEnv CONFIGURED_AND_SAID yes\nSetEnv TAKEN_OUT yes\nPerlSetEnv PERL_SET yes\n\
                 SetEnv IF_AND_SET set\nSetEnvIf X-Kept kept IF_KEPT=yes IF_TAKEN_OUT=yes IF_AND_SET=if\nSetEnvIf Auth-User ann IF_SAID=yes\n{hears}\n{says}\n</Location>\n"
            );
        }
    }
    one_worker(&[("Said", MODULE)], &conf).file("scripts/show.pl", SCRIPT)
}

/// Makes a request. The handlers change each of its fields except the last.
fn request(path: &str) -> Request {
    Request::get(&format!("{path}?q=1"))
        .field("X-Old", "old")
        .field("X-Changed", "sent")
        .field("Cookie", "a=b")
        .field("X-Kept", "kept")
}

#[test]
fn changes_of_handlers_reach_every_rung() {
    let mut servers = apache::beside(site).into_iter();
    let (ours, apache) = (servers.next().expect("started"), servers.next());
    let heard = |server: &Server, phase, rung| {
        let path = format!("/{phase}/{rung}/show.pl");
        server.send(&request(&path)).expect(200)
    };
    let mut differences = String::new();
    for (phase, _) in PHASES {
        for (rung, _, model) in RUNGS {
            let found = heard(&ours, phase, rung);
            let expected = apache
                .as_ref()
                .map_or(found.clone(), |apache| heard(apache, phase, model));
            let is_known = |line: &String| {
                let known = KNOWN.iter().find(|(word, ..)| line.contains(word));
                known.is_some_and(|(_, phases, rungs)| {
                    phases.contains(&phase) && (rungs.is_empty() || rungs.contains(&rung))
                })
            };
            for line in diff(&expected, &found)
                .iter()
                .filter(|line| !is_known(line))
            {
                let _ = writeln!(differences, "{phase} -> {rung}: {line}");
            }
            if !["modperl", "bare"].contains(&rung) {
                let user = if phase == "nobody" {
                    ""
                } else {
                    "REMOTE_USER=ann"
                };
                assert!(found.contains(user), "{phase} -> {rung}: {found}");
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

/// Known differences from Apache: words of a line, the phases, and the rungs. Without rungs, the
/// row is for all of them.
///
/// Mehari takes `Connection` out, because it is about the connection only. If a handler or
/// `SetEnvIf` sets a variable that `SetEnv` also sets, Apache's table has the name twice: `get`
/// finds the first value, and programs get the last value.
const KNOWN: [(&str, &[&str], &[&str]); 3] = [
    ("HTTP_CONNECTION", &ALL, &[]),
    ("CONFIGURED_AND_SAID: ", &ALL, &["modperl", "bare"]),
    ("IF_AND_SET: ", &ALL, &["modperl", "bare"]),
];
const ALL: [&str; 8] = [
    "nobody", "read", "trans", "parser", "access", "authen", "type", "fixup",
];

/// Returns the lines that only one of the two texts has.
pub(super) fn diff(expected: &str, found: &str) -> Vec<String> {
    let only = |one: &str, other: &str, whose| {
        let lines = one
            .lines()
            .filter(|line| !other.lines().any(|known| known == *line));
        lines
            .map(|line| format!("{whose} {line}"))
            .collect::<Vec<_>>()
    };
    let mut lines = only(expected, found, "Apache's");
    lines.extend(only(found, expected, "ours"));
    lines
}

/// The handlers of one request do not affect the next request. Nor do a script's changes to %ENV.
#[test]
fn handlers_before_the_response_see_nothing_of_the_previous_request() {
    const LOOK: &str = "sub look { my $r = shift; my @seen = (grep({ /COOKIE|IN_ENV/ } keys %ENV), grep { /COOKIE|IN_ENV/ } keys %{$r->subprocess_env}); \
                        $r->headers_out->set('X-Seen', \"@seen\"); -1 }";
    let server = one_worker(
        &[("Said", MODULE), ("Look", LOOK)],
        "PerlModule Said Look\nAlias /scripts @ROOT@/scripts\n<Location /scripts>\nOptions +ExecCGI\nSetHandler perl-script\n\
         PerlOptions +ParseHeaders\nPerlHandler ModPerl::Registry\n</Location>\n<Location /said>\nPerlFixupHandler Said::say\n</Location>\n\
         <Location /look>\nSetHandler modperl\nPerlFixupHandler Look::look\nPerlResponseHandler Said::show\n</Location>\n",
    )
    .file("scripts/show.pl", SCRIPT)
    .start();
    for before in ["/scripts/show.pl", "/said"] {
        server.send(&request(before));
        let answer = server.send(&Request::get("/look"));
        assert_eq!(answer.field("x-seen").as_deref(), Some(""), "{before}");
    }
}

/// The handlers of one request do not affect the next request.
#[test]
fn changes_of_handlers_are_for_their_request_only() {
    let server = site().start();
    for (rung, _, _) in RUNGS {
        let before = server
            .send(&request(&format!("/nobody/{rung}/show.pl")))
            .expect(200);
        server
            .send(&request(&format!("/fixup/{rung}/show.pl")))
            .expect(200);
        let after = server
            .send(&request(&format!("/nobody/{rung}/show.pl")))
            .expect(200);
        assert_eq!(after, before, "{rung}");
    }
}

/// A child gets the changed request together with the body, which may be in a file.
#[test]
fn changes_of_handlers_reach_children_together_with_the_body() {
    const COUNT: &str = "#!/usr/bin/perl\nlocal $/; my $body = <STDIN>;\n\
                         print qq{Content-Type: text/plain\\n\\n}, length $body, qq{ $ENV{HTTP_AUTH_USER} $ENV{REMOTE_USER}};\n";
    let server = site().file("scripts/count.pl", COUNT).start();
    for length in [10, 300_000] {
        for rung in ["fork", "rewind", "auto"] {
            let post = Request::post(&format!("/fixup/{rung}/count.pl"), "x".repeat(length));
            let heard = server.send(&post).expect(200);
            assert_eq!(heard, format!("{length} ann ann"), "{rung}");
        }
    }
}

/// Apache cannot run a PSGI application, so the application must see the same as a script.
#[test]
fn changes_of_handlers_reach_psgi_applications() {
    let application = format!(
        "sub {{ my $e = shift; [200, ['Content-Type', 'text/plain'], [map {{ qq{{$_=}} . ($e->{{$_}} // '-') . qq{{\\n}} }} qw({NAMES})]] }}\n"
    );
    let conf = "PerlModule Said\n<Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\nPerlFixupHandler Said::say\n</Location>\n";
    let server = one_worker(&[("Said", MODULE)], conf)
        .file("app.psgi", &application)
        .start();
    let heard = server.send(&request("/app")).expect(200);
    assert_eq!(
        heard,
        "HTTP_AUTH_USER=ann\nHTTP_X_OLD=-\nHTTP_X_CHANGED=by a handler\nHTTP_COOKIE=c=d\nHTTP_X_KEPT=kept\n\
         SAID=by a handler\nCONFIGURED=-\nREMOTE_USER=ann\nAUTH_TYPE=Ticket\nQUERY_STRING=q=2\n"
    );
}

/// The request to a back end must have the fields as the handlers leave them.
#[test]
fn changes_of_handlers_reach_back_ends() {
    let conf = "PerlModule Said\nProxyPass /away http://127.0.0.1:@PORT@/handler\n\
         <Location /away>\nPerlFixupHandler Said::say\n</Location>\n";
    let behind = one_worker(
        &[("Said", MODULE)],
        "PerlModule Said\n<Location /handler>\nSetHandler perl-script\nPerlResponseHandler Said::show\n</Location>\n",
    )
    .start();
    let conf = conf.replace("@PORT@", &behind.port().to_string());
    let server = one_worker(&[("Said", MODULE)], &conf).start();
    let heard = server.send(&request("/away")).expect(200);
    for line in [
        "HTTP_AUTH_USER=ann",
        "HTTP_X_CHANGED=by a handler",
        "HTTP_COOKIE=c=d",
        "HTTP_X_KEPT=kept",
        "QUERY_STRING=q=2",
    ] {
        assert!(heard.lines().any(|heard| heard == line), "{line}: {heard}");
    }
    assert!(!heard.contains("HTTP_X_OLD"), "{heard}");
}
