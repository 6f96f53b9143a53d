//! Tests access control in many configurations with Perl handlers, on Mehari and on Apache with
//! mod_perl. The status and the challenge must be equal.
//!
//! The query of a request gives the results of the handlers, so one location serves many cases.

use super::*;
use mehari_harness::{needs, Answer};
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Access ();
sub word { my ($r, $name) = @_; my ($word) = ($r->args // '') =~ /\b$name=(\w+)/; return $word // '' }
my %ANSWER = (ok => 0, '' => -1);
sub answer { my $word = word(@_); return $ANSWER{$word} // ($word =~ /^\d+$/ ? $word : -1) }
sub access { answer($_[0], 'access') }
sub authz  { answer($_[0], 'authz') }
sub authen {
    my $r = shift;
    my $word = word($r, 'authen');
    $r->user('ann') if $word =~ /^(?:user|named|refused)$/;
    return $word eq 'user' ? 0 : $word eq 'named' ? -1 : $word eq 'refused' ? 401 : answer($r, 'authen');
}
sub push_all {
    my $r = shift;
    for (['PerlAuthenHandler', 'authen'], ['PerlAuthzHandler', 'authz'], ['PerlAccessHandler', 'access']) {
        my ($phase, $name) = @$_;
        $r->push_handlers($phase => "Gate::$name") if word($r, $name);
    }
    return 0;
}
sub say { my $r = shift; $r->content_type('text/plain'); $r->print(join ' ', map { $_ // '-' } $r->user, $r->ap_auth_type, @ENV{qw(REMOTE_USER AUTH_TYPE)}); 0 }
"#;

/// A user file. The password is `secret`, hashed by openssl passwd -apr1.
pub const USERS: &str =
    "ann:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\nbob:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";

/// Locations of the site under test.
pub struct Sections {
    pub conf: String,
    count: usize,
}

impl Sections {
    /// No location yet. The handler `say` of the module responds.
    pub fn of(module: &str) -> Sections {
        Sections {
            conf: format!("PerlModule {module}\n<Location />\nSetHandler perl-script\nPerlResponseHandler {module}::say\n</Location>\n"),
            count: 0,
        }
    }

    /// The path of a location with these lines.
    pub fn add(&mut self, lines: &[&str]) -> String {
        let path = format!("/p{}x", self.count);
        self.count += 1;
        writeln!(
            self.conf,
            "<Location {path}>\n{}\n</Location>",
            lines.join("\n")
        )
        .expect("text");
        path
    }
}

/// A case: a name for a failure report, and the request.
pub type Case = (String, Request);

fn sites() -> (Builder, Builder, Vec<Case>) {
    let mut sections = Sections::of("Gate");
    let mut cases = Vec::new();
    users(&mut sections, &mut cases);
    places(&mut sections, &mut cases);
    let build = || {
        one_worker(&[("Gate", MODULE)], &sections.conf)
            .file("users", USERS)
            .file("groups", "staff: ann\n")
    };
    (build(), build(), cases)
}

/// The ways to authenticate users.
const KINDS: &[&[&str]] = &[
    &[""],
    &["AuthType Basic", FILES],
    &["AuthType Basic\nAuthName place"],
    &["AuthType Basic\nAuthName place", FILES],
    &["AuthType Own\nAuthName place", FILES],
];
pub const FILES: &str = "AuthUserFile @ROOT@/users\nAuthGroupFile @ROOT@/groups";
const REQUIREMENTS: &[&str] = &[
    "",
    "Require valid-user",
    "Require user bob",
    "Require group staff",
    "Require all granted",
    "Require all denied",
    "Require ip 192.0.2.1",
    "Require ip 192.0.2.1\nRequire user ann",
    "Require ip 127.0.0.1\nRequire user bob",
    "<RequireAll>\nRequire ip 127.0.0.1\nRequire user ann\n</RequireAll>",
    "<RequireAll>\nRequire ip 192.0.2.1\nRequire valid-user\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\nRequire not user ann\n</RequireAll>",
];
const HANDLERS: &[(&str, &[&str], &[&str])] = &[
    ("", &[""], &[""]),
    ("PerlAuthenHandler Gate::authen", AUTHEN, &[""]),
    ("PerlAuthzHandler Gate::authz", &[""], AUTHZ),
    (
        "PerlAuthenHandler Gate::authen\nPerlAuthzHandler Gate::authz",
        AUTHEN,
        AUTHZ,
    ),
    (
        "PerlHeaderParserHandler Gate::push_all",
        &["", "declined", "ok", "user"],
        &["", "ok", "403"],
    ),
];
const AUTHEN: &[&str] = &["declined", "ok", "user", "named", "refused", "403"];
const AUTHZ: &[&str] = &["declined", "ok", "403"];
/// No credentials, those of ann, and a wrong password.
pub const CREDENTIALS: &[&str] = &["", "Basic YW5uOnNlY3JldA==", "Basic YW5uOndyb25n"];

/// Adds the cases of users and the rules about users.
fn users(sections: &mut Sections, cases: &mut Vec<Case>) {
    for kind in KINDS {
        for requirement in REQUIREMENTS {
            for (handlers, authen, authz) in HANDLERS {
                let lines = [*kind, &[*requirement, *handlers]].concat();
                let path = sections.add(&lines);
                for authen in *authen {
                    for authz in *authz {
                        let target = format!("{path}?authen={authen}&authz={authz}");
                        cases.extend(CREDENTIALS.iter().map(|given| case(&lines, &target, given)));
                    }
                }
            }
        }
    }
}

/// Adds the cases of client addresses, and of `Satisfy`, which says whether a right address is
/// enough.
fn places(sections: &mut Sections, cases: &mut Vec<Case>) {
    const SATISFY: &[&str] = &["", "Satisfy Any", "Satisfy All"];
    const ALLOWED: &[&str] = &[
        "",
        "Order allow,deny\nAllow from all",
        "Order deny,allow\nDeny from all",
    ];
    const HANDLERS: &[(&str, &[&str])] = &[
        ("", &[""]),
        (
            "PerlAccessHandler Gate::access",
            &["declined", "ok", "403", "401"],
        ),
        ("PerlHeaderParserHandler Gate::push_all", &["", "ok", "403"]),
    ];
    const USERS: &[(&str, &str)] = &[
        ("", ""),
        (
            "PerlAuthenHandler Gate::authen\nPerlAuthzHandler Gate::authz",
            "&authen=user&authz=declined",
        ),
        ("PerlAuthenHandler Gate::authen", "&authen=ok"),
        ("PerlAuthenHandler Gate::authen", "&authen=401"),
    ];
    let basic = format!("AuthType Basic\nAuthName place\n{FILES}");
    for satisfy in SATISFY {
        for allowed in ALLOWED {
            for requirement in ["", "Require user bob", "Require all denied"] {
                for (access, answers) in HANDLERS {
                    for (user, said) in USERS {
                        let lines = [basic.as_str(), satisfy, allowed, requirement, access, user];
                        let path = sections.add(&lines);
                        for answer in *answers {
                            let target = format!("{path}?access={answer}{said}");
                            let given = &CREDENTIALS[..2];
                            cases.extend(given.iter().map(|given| case(&lines, &target, given)));
                        }
                    }
                }
            }
        }
    }
}

pub fn case(lines: &[&str], target: &str, given: &str) -> Case {
    let mut request = Request::get(target);
    if !given.is_empty() {
        request = request.field("Authorization", given);
    }
    let name = lines.join(" | ").replace('\n', "; ");
    (format!("{name} {target} {given}"), request)
}

pub fn essence(answer: &Answer) -> String {
    let body = match answer.status {
        200 => answer.text(),
        _ => String::new(),
    };
    let challenge = answer.all("www-authenticate").join(", ");
    // Without an AuthName, Apache's challenge lacks the closing quotation mark.
    let challenge = match challenge.as_str() {
        "Basic realm=\"" => "Basic realm=\"\"",
        whole => whole,
    };
    format!("{} {challenge} {body}", answer.status)
}

#[test]
fn same_clients_are_admitted_as_by_apache() {
    needs!("apache2-bin", "libapache2-mod-perl2");
    let (ours, theirs, cases) = sites();
    let (ours, theirs) = (ours.start(), theirs.on_apache().start());
    let (mut to_us, mut to_them) = (ours.connect(), theirs.connect());
    let mut differing = String::new();
    let mut count = 0;
    for (name, request) in &cases {
        let found = essence(&to_us.send(request).expect("an answer"));
        let expected = match to_them.send(request) {
            Ok(answer) => essence(&answer),
            // A server keeps a connection only for a limited number of requests.
            Err(_) => {
                to_them = theirs.connect();
                essence(&to_them.send(request).expect("an answer"))
            }
        };
        if found != expected {
            count += 1;
            writeln!(differing, "{expected} / {found} <- {name}").expect("text");
        }
    }
    assert!(
        differing.is_empty(),
        "{count} of {} (Apache's / ours):\n{differing}",
        cases.len()
    );
}

#[test]
fn client_without_a_user_is_not_admitted_where_a_user_is_required() {
    let both = "PerlAuthenHandler Gate::authen\nPerlAuthzHandler Gate::authz";
    let mut sections = Sections::of("Gate");
    let bare = sections.add(&["Require valid-user", both]);
    let basic = sections.add(&["AuthType Basic\nAuthName place\nRequire user ann", both]);
    let pushed = sections.add(&[
        "Require valid-user",
        "PerlHeaderParserHandler Gate::push_all",
    ]);
    let limits = "<Limit POST>\nRequire user eve\n</Limit>\n".repeat(40);
    let limited = sections.add(&[&limits, both]);
    let server = one_worker(&[("Gate", MODULE)], &sections.conf).start();
    let answers = [
        (&bare, "authen=ok&authz=ok", 500),
        (&bare, "authen=declined&authz=ok", 500),
        (&bare, "authen=user&authz=ok", 200),
        (&basic, "authen=ok&authz=ok", 500),
        (&basic, "authen=declined&authz=ok", 401),
        (&basic, "authen=user&authz=declined", 200),
        (&pushed, "authen=ok&authz=ok", 500),
        (&pushed, "authen=user&authz=ok", 200),
        (&pushed, "authz=ok", 500),
        // A request carries the results of at most 32 parts of the access rules, and these are 40
        // sections. A part beyond them counts as denied.
        (&limited, "authen=user&authz=declined", 403),
    ];
    for (path, said, status) in answers {
        let target = format!("{path}?{said}");
        assert_eq!(server.get(&target).status, status, "{target}");
    }
}
