//! What a handler says of a request before the response reaches whatever answers it: fields that it has set and taken
//! out, the user, variables. Each phase that may say so, and each rung that hears it, is held against Apache with mod_perl.

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
    $r->subprocess_env->set(SAID => 'by a handler');
    $r->user('ann');
    $r->ap_auth_type('Ticket');
    -1;
}
sub knows { say(@_); 0 }
my @names = qw(HTTP_AUTH_USER HTTP_X_OLD HTTP_X_CHANGED HTTP_COOKIE HTTP_X_KEPT SAID CONFIGURED REMOTE_USER AUTH_TYPE QUERY_STRING);
sub show { my $r = shift; $r->content_type('text/plain'); $r->print(map { "$_=" . ($ENV{$_} // '-') . "\n" } @names); 0 }
"#;

const NAMES: &str = "HTTP_AUTH_USER HTTP_X_OLD HTTP_X_CHANGED HTTP_COOKIE HTTP_X_KEPT SAID CONFIGURED REMOTE_USER AUTH_TYPE QUERY_STRING";

/// Who says it: the phase, and its directive.
const PHASES: [(&str, &str); 6] = [
    ("nobody", ""),
    ("parser", "PerlHeaderParserHandler Said::say"),
    ("access", "PerlAccessHandler Said::say"),
    (
        "authen",
        "AuthType Ticket\nAuthName there\nRequire valid-user\nPerlAuthenHandler Said::knows",
    ),
    ("type", "PerlTypeHandler Said::say"),
    ("fixup", "PerlFixupHandler Said::say"),
];

/// Who hears it.
const RUNGS: [(&str, &str); 5] = [
    ("cgi", "SetHandler cgi-script"),
    (
        "registry",
        "SetHandler perl-script\nPerlHandler ModPerl::Registry\nPerlOptions +ParseHeaders",
    ),
    (
        "perlrun",
        "SetHandler perl-script\nPerlHandler ModPerl::PerlRun\nPerlOptions +ParseHeaders",
    ),
    (
        "handler",
        "SetHandler perl-script\nPerlResponseHandler Said::show",
    ),
    (
        "set-up",
        "SetHandler modperl\nPerlOptions +SetupEnv\nPerlResponseHandler Said::show",
    ),
];

fn site() -> Builder {
    let mut conf = String::from("PerlModule Said ModPerl::Registry ModPerl::PerlRun\n");
    for (phase, says) in PHASES {
        for (rung, hears) in RUNGS {
            let _ = write!(
                conf,
                "Alias /{phase}/{rung} @ROOT@/scripts\n<Location /{phase}/{rung}>\nOptions +ExecCGI\n\
                 SetEnv CONFIGURED yes\n{hears}\n{says}\n</Location>\n"
            );
        }
    }
    let script = format!(
        "#!/usr/bin/perl\nprint qq{{Content-Type: text/plain\\n\\n}}, map {{ qq{{$_=}} . ($ENV{{$_}} // '-') . qq{{\\n}} }} qw({NAMES});\n"
    );
    one_worker(&[("Said", MODULE)], &conf).file("scripts/show.pl", &script)
}

/// Each field that the request brings is changed by the handlers, but the last.
fn request(path: &str) -> Request {
    Request::get(&format!("{path}?q=1"))
        .field("X-Old", "old")
        .field("X-Changed", "sent")
        .field("Cookie", "a=b")
        .field("X-Kept", "kept")
}

#[test]
fn what_handlers_say_reaches_every_rung() {
    let servers = apache::beside(site);
    let mut differences = String::new();
    for (phase, _) in PHASES {
        for (rung, _) in RUNGS {
            let path = format!("/{phase}/{rung}/show.pl");
            let heard: Vec<String> = servers
                .iter()
                .map(|server| server.send(&request(&path)).expect(200))
                .collect();
            let says = |line: &str| heard[0].lines().any(|heard| heard == line);
            let expected = match phase {
                "nobody" => ["HTTP_AUTH_USER=-", "HTTP_X_OLD=old", "REMOTE_USER=-"],
                _ => ["HTTP_AUTH_USER=ann", "HTTP_X_OLD=-", "REMOTE_USER=ann"],
            };
            let is_same = heard.iter().all(|other| *other == heard[0]);
            if !is_same || !expected.into_iter().all(says) {
                let _ = writeln!(differences, "{path}: {heard:#?}");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// One request's handlers say nothing to the next.
#[test]
fn what_handlers_say_is_for_their_request_only() {
    let server = site().start();
    for (rung, _) in RUNGS {
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

/// A PSGI application is no rung of Apache's: it hears what a script hears.
#[test]
fn what_handlers_say_reaches_psgi_applications() {
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
         SAID=by a handler\nCONFIGURED=-\nREMOTE_USER=ann\nAUTH_TYPE=Ticket\nQUERY_STRING=q=1\n"
    );
}

/// Nor is a back end: it is asked with the fields as handlers have left them.
#[test]
fn what_handlers_say_reaches_back_ends() {
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
        "HTTP_X_OLD=-",
        "HTTP_X_CHANGED=by a handler",
        "HTTP_COOKIE=c=d",
        "HTTP_X_KEPT=kept",
    ] {
        assert!(heard.lines().any(|heard| heard == line), "{line}: {heard}");
    }
}
