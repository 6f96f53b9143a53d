//! Tests that `Require` is evaluated where Apache evaluates it: once without the user, and again
//! after users are authenticated, for the request as handlers have changed it. Each case runs on
//! Mehari and on Apache with mod_perl. The status, the challenge and the user must be equal.

use super::admission::{case, essence, Case, Sections, CREDENTIALS, FILES, USERS};
use super::*;
use mehari_harness::needs;
use std::fmt::Write;

/// Handlers that do what the query says.
const MODULE: &str = r#"
use Apache2::Access ();
use Apache2::SubRequest ();
sub word { my ($r, $name) = @_; my ($word) = ($r->args // '') =~ /\b$name=(\w+)/; return $word // '' }
sub change {
    my ($r, $phase) = @_;
    my $word = word($r, $phase);
    if ($word =~ /change/) {
        $r->headers_in->set('X-Made', 'made');
        $r->headers_in->unset('X-Old');
        $r->subprocess_env->set(MADE => 'made');
    }
    $r->user('ann') if $word =~ /ann/;
    $r->user('bob') if $word =~ /bob/;
    return $word;
}
sub access { change($_[0], 'access'); -1 }
sub authen { my $word = change($_[0], 'authen'); $word =~ /ann|bob/ && $word !~ /declined/ ? 0 : -1 }
sub authz  { change($_[0], 'authz') =~ /ok/ ? 0 : -1 }
sub push_all {
    my $r = shift;
    $r->push_handlers(PerlAuthenHandler => 'Grant::authen') if word($r, 'authen');
    $r->push_handlers(PerlAuthzHandler => 'Grant::authz') if word($r, 'authz');
    return 0;
}
sub say { my $r = shift; $r->content_type('text/plain'); $r->print(join ' ', map { $_ // '-' } $r->user, $r->ap_auth_type); 0 }
sub redirect { my $r = shift; $r->internal_redirect('/' . word($r, 'to') . '?' . $r->args); 0 }
sub look {
    my $r = shift;
    my $subr = $r->lookup_uri('/' . word($r, 'to') . '?' . $r->args);
    $r->content_type('text/plain');
    $r->print('looked ', $subr->status);
    0;
}
sub run {
    my $r = shift;
    $r->content_type('text/plain');
    my $subr = $r->lookup_uri('/' . word($r, 'to') . '?' . $r->args);
    $r->print('ran ', $subr->status == 200 ? $subr->run : $subr->status);
    0;
}
sub claimed { my $r = shift; $r->get_basic_auth_pw; -1 }
sub target_access { change($_[0], 'target'); -1 }
sub target_authen { change($_[0], 'target') =~ /ann/ ? 0 : -1 }
"#;

/// The ways to authenticate users.
const KINDS: &[&str] = &[
    "",
    "AuthType Basic\nAuthName place",
    "AuthType Own\nAuthName place",
];

const REQUIREMENTS: &[&str] = &[
    "Require user ann",
    "Require expr \"%{REMOTE_USER} == 'ann'\"",
    "Require expr \"%{REMOTE_USER} != 'ann'\"",
    "Require expr \"%{REMOTE_USER} =~ /^a/ && req('X-Old') == 'old'\"",
    "Require expr \"-n %{REMOTE_USER}\"",
    "Require expr \"%{REMOTE_USER} in { 'eve', 'ann' }\"",
    "Require expr \"tolower(%{REMOTE_USER}) == 'ann'\"",
    "Require expr \"reqenv('REMOTE_USER') == 'ann'\"",
    "Require user bob\nRequire expr \"%{REMOTE_USER} == 'ann'\"",
    "Require env MADE\nRequire user bob",
    "<RequireAll>\nRequire valid-user\nRequire expr \"req('X-Made') == 'made'\"\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\nRequire expr \"req('X-Old') == 'old'\"\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\nRequire env MADE\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\nRequire not env MADE\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\nRequire not expr \"%{REMOTE_USER} == 'ann'\"\n</RequireAll>",
    "<RequireAll>\nRequire all granted\nRequire not user ann\n</RequireAll>",
    "<RequireAll>\n<Limit POST>\nRequire all denied\n</Limit>\nRequire not user ann\n</RequireAll>",
    "<RequireAll>\nRequire all granted\nRequire not expr \"%{REMOTE_USER} == 'ann'\"\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\n<RequireNone>\nRequire user bob\nRequire env MADE\n</RequireNone>\n</RequireAll>",
    "<RequireAll>\nRequire user ann\n<RequireAny>\nRequire expr \"req('X-Old') == 'old'\"\nRequire expr \"%{REMOTE_USER} == 'bob'\"\n</RequireAny>\n</RequireAll>",
    "<Limit GET>\nRequire expr \"%{REMOTE_USER} == 'ann'\"\n</Limit>",
    "<Limit POST>\nRequire expr \"%{REMOTE_USER} == 'ann'\"\n</Limit>",
];

const HANDLERS: &[(&str, &[&str])] = &[
    ("", &[""]),
    ("PerlAccessHandler Grant::access", &["", "access=change", "access=ann", "access=bob_change"]),
    (
        "PerlAuthenHandler Grant::authen",
        &["", "authen=ann", "authen=bob", "authen=ann_change", "authen=declined_change", "authen=declined_bob"],
    ),
    ("PerlAuthzHandler Grant::authz", &["", "authz=change", "authz=bob", "authz=ok"]),
    (
        "PerlAccessHandler Grant::access\nPerlAuthenHandler Grant::authen\nPerlAuthzHandler Grant::authz",
        &[
            "authen=ann",
            "authen=ann&authz=change",
            "authen=bob&authz=ann",
            "authen=ann&authz=bob",
            "access=change&authen=ann",
            "access=ann&authen=bob_change",
            "authen=ann&authz=ok_change",
        ],
    ),
    ("PerlHeaderParserHandler Grant::push_all", &["", "authen=ann", "authen=ann_change&authz=change"]),
    ("PerlLogHandler 'sub { 0 }'", &[""]),
];

fn add(sections: &mut Sections, cases: &mut Vec<Case>, lines: &[&str], queries: &[&str]) {
    let path = sections.add(lines);
    for query in queries {
        let target = format!("{path}?{query}");
        for given in CREDENTIALS {
            let (name, request) = case(lines, &target, given);
            cases.push((name, request.field("X-Old", "old")));
        }
    }
}

fn sites() -> (Builder, Builder, Vec<Case>) {
    let mut sections = Sections::of("Grant");
    let mut cases = Vec::new();
    for kind in KINDS {
        for requirement in REQUIREMENTS {
            for (handlers, queries) in HANDLERS {
                add(
                    &mut sections,
                    &mut cases,
                    &[kind, FILES, requirement, handlers],
                    queries,
                );
            }
        }
    }
    // `Satisfy Any` asks for a user only if the access rules refuse.
    let deny = "Satisfy Any\nOrder deny,allow\nDeny from all\nAllow from env=MADE";
    for requirement in &REQUIREMENTS[..4] {
        for (handlers, queries) in HANDLERS {
            let lines = [KINDS[1], FILES, deny, requirement, handlers];
            add(&mut sections, &mut cases, &lines, queries);
        }
    }
    let build = || {
        one_worker(&[("Grant", MODULE)], &sections.conf)
            .file("users", USERS)
            .file("groups", "staff: ann\n")
    };
    (build(), build(), cases)
}

/// Makes all requests on both servers, and compares the answers.
fn compare((ours, theirs, cases): (Builder, Builder, Vec<Case>)) {
    let (ours, theirs) = (ours.start(), theirs.on_apache().start());
    let (mut to_us, mut to_them) = (ours.connect(), theirs.connect());
    let (mut differing, mut count) = (String::new(), 0);
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
fn require_is_evaluated_again_after_authentication() {
    needs!("apache2-bin", "libapache2-mod-perl2");
    compare(sites());
}

/// Requirements of the place to which a request leads.
const WITHIN: &[&str] = &[
    "Require expr \"req('X-Old') == 'old'\"",
    "Require expr \"req('X-Made') == 'made'\"",
    "Require env MADE",
    "Require env REDIRECT_MADE",
    "<RequireAll>\nRequire all granted\nRequire not env MADE\n</RequireAll>",
    "<RequireAll>\nRequire all granted\nRequire not expr \"req('X-Made') == 'made'\"\n</RequireAll>",
    "Require expr \"%{REMOTE_USER} == 'ann'\"",
    "<RequireAll>\nRequire valid-user\nRequire expr \"req('X-Old') == 'old'\"\n</RequireAll>",
    "<RequireAll>\nRequire valid-user\nRequire env CAME\n</RequireAll>",
    "Order deny,allow\nDeny from all\nAllow from env=MADE",
    "Order allow,deny\nAllow from all\nDeny from env=MADE",
];

/// Handlers of that place.
const OF_TARGET: &[&str] = &[
    "",
    "PerlAccessHandler Grant::target_access",
    "PerlAuthenHandler Grant::target_authen",
    "PerlAccessHandler Grant::target_access\nPerlAuthenHandler Grant::target_authen",
];

#[test]
fn require_of_a_request_within_a_request_sees_what_handlers_have_changed() {
    needs!("apache2-bin", "libapache2-mod-perl2");
    let mut sections = Sections::of("Grant");
    let mut cases = Vec::new();
    let mut targets = Vec::new();
    for kind in &KINDS[..2] {
        for requirement in WITHIN {
            for handlers in OF_TARGET {
                let lines = [*kind, FILES, *requirement, *handlers];
                targets.push((sections.add(&lines), lines));
            }
        }
    }
    for how in ["redirect", "look", "run"] {
        let response = format!("PerlResponseHandler Grant::{how}");
        let asking = sections.add(&["PerlAccessHandler Grant::access", &response]);
        for (target, lines) in &targets {
            let to = target.trim_start_matches('/');
            for said in ["", "&access=change", "&access=ann"] {
                for of_target in ["", "&target=change_ann"] {
                    let target = format!("{asking}?to={to}{said}{of_target}");
                    let (name, request) = case(lines, &target, "");
                    let request = request.field("X-Old", "old");
                    cases.push((format!("{how} {name}"), request));
                }
            }
        }
    }
    sections.conf.insert_str(0, "SetEnvIf X-Old old CAME=1\n");
    let build = || {
        one_worker(&[("Grant", MODULE)], &sections.conf)
            .file("users", USERS)
            .file("groups", "staff: ann\n")
    };
    compare((build(), build(), cases));
}

/// `AuthMerging` combines the rules of a place with those of the outer place.
#[test]
fn merged_requirements_are_evaluated_again_after_authentication() {
    needs!("apache2-bin", "libapache2-mod-perl2");
    let mut sections = Sections::of("Grant");
    let mut cases = Vec::new();
    for kind in KINDS {
        for merging in ["And", "Or", "Off"] {
            for requirement in REQUIREMENTS {
                let handler = "PerlAuthenHandler Grant::authen";
                let outer = sections.add(&[kind, FILES, handler, "Require valid-user"]);
                let inner = format!("AuthMerging {merging}\n{requirement}");
                let _ = writeln!(
                    sections.conf,
                    "<Location {outer}/inner>\n{inner}\n</Location>"
                );
                for query in ["authen=ann", "authen=bob", "authen=ann_change", ""] {
                    let target = format!("{outer}/inner?{query}");
                    let (name, request) = case(&[kind, &inner], &target, "");
                    cases.push((name, request.field("X-Old", "old")));
                }
            }
        }
    }
    let build = || {
        one_worker(&[("Grant", MODULE)], &sections.conf)
            .file("users", USERS)
            .file("groups", "staff: ann\n")
    };
    compare((build(), build(), cases));
}

/// The name that `get_basic_auth_pw` sets is what the client claims, and no proof. (Apache forgets
/// the name before the access phase.)
#[test]
fn claimed_name_does_not_count_as_the_user() {
    let place = |name: &str, handler: &str, requirement: &str| {
        format!(
            "<Location /{name}>\nAuthType Basic\nAuthName place\n{FILES}\n{handler}\n{requirement}\n</Location>\n"
        )
    };
    let (early, access) = (
        "PerlHeaderParserHandler Grant::claimed",
        "PerlAccessHandler Grant::claimed",
    );
    let (by_name, by_expression) = (
        "Require user ann",
        "Require expr \"%{REMOTE_USER} == 'ann'\"",
    );
    let conf = Sections::of("Grant").conf
        + &place("a", early, by_name)
        + &place("b", early, by_expression)
        + &place("c", access, by_name)
        + &place("d", access, by_expression);
    let server = one_worker(&[("Grant", MODULE)], &conf)
        .file("users", USERS)
        .file("groups", "")
        .start();
    for path in ["/a", "/b", "/c", "/d"] {
        let with = |given| Request::get(path).field("Authorization", given);
        let [_, right, wrong] = CREDENTIALS else {
            panic!("three credentials")
        };
        assert_eq!(server.send(&with(right)).status, 200, "{path}");
        assert_eq!(server.send(&with(wrong)).status, 401, "{path}");
    }
}
