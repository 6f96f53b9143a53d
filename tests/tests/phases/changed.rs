//! Tests which rules see what a handler of an early phase changes in the request. Each pair of a
//! phase and a rule is compared with Apache and mod_perl.
//!
//! `said.rs` does the same for programs.

use super::*;
use mehari_harness::apache;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Access ();
use Apache2::Const -compile => qw(OK DECLINED NOT_FOUND);
sub change {
    my $r = shift;
    my $fields = $r->headers_in;
    $fields->set('X-Made', 'made');
    $fields->unset('X-Old');
    $r->subprocess_env->set(MADE => 'made');
    $r->subprocess_env->unset('IF_SENT');
    $r->user('ann');
    $r->args('q=2');
    Apache2::Const::DECLINED;
}
sub knows { change(@_); Apache2::Const::OK }
sub read_request { $_[0]->uri =~ m{^/read/} ? change(@_) : Apache2::Const::DECLINED }
sub trans { $_[0]->uri =~ m{^/trans/} ? change(@_) : Apache2::Const::DECLINED }
sub map { $_[0]->uri =~ m{^/map/} ? change(@_) : Apache2::Const::DECLINED }
sub show {
    my $r = shift;
    $r->content_type('text/plain');
    my %seen = %{$r->subprocess_env};
    $r->print(map { "$_: $seen{$_}\n" } sort grep { /^SAW_/ } keys %seen);
    my %fields = %{$r->headers_in};
    $r->print(map { "$_: $fields{$_}\n" } sort grep { /^X-Saw/i } keys %fields);
    Apache2::Const::OK;
}
sub refuse { Apache2::Const::NOT_FOUND }
"#;

/// The phases, each with its directive. The handlers without a directive here are set outside of
/// sections.
const PHASES: [(&str, &str); 10] = [
    ("nobody", ""),
    ("read", ""),
    ("trans", ""),
    ("map", ""),
    ("parser", "PerlHeaderParserHandler Changed::change"),
    ("access", "PerlAccessHandler Changed::change"),
    ("authen", "AuthType Ticket\nAuthName there\nRequire valid-user\nPerlAuthenHandler Changed::knows"),
    ("authz", "AuthType Ticket\nAuthName there\nRequire valid-user\nPerlAuthenHandler 'sub { $_[0]->user(q(bob)); 0 }'\nPerlAuthzHandler Changed::knows"),
    ("type", "PerlTypeHandler Changed::change"),
    ("fixup", "PerlFixupHandler Changed::change"),
];

/// What a rule can read of the request: a word, an expression, and a condition of `RewriteCond`.
const PARTS: [(&str, &str, &str); 6] = [
    ("MADE", "req('X-Made') == 'made'", "%{HTTP:X-Made} =made"),
    ("OLD", "req('X-Old') == 'old'", "%{HTTP:X-Old} =old"),
    ("ENV", "reqenv('MADE') == 'made'", "%{ENV:MADE} =made"),
    ("IF", "reqenv('IF_SENT') == 'yes'", "%{ENV:IF_SENT} =yes"),
    ("USER", "%{REMOTE_USER} == 'ann'", "%{REMOTE_USER} =ann"),
    ("QUERY", "%{QUERY_STRING} == 'q=2'", "%{QUERY_STRING} =q=2"),
];

/// Returns rules that set a variable for each part that they see.
fn rules(place: &str) -> String {
    let mut rules = String::new();
    if place == "SERVER" {
        rules.push_str("SetEnvIf X-Sent sent IF_SENT=yes\n");
    }
    let _ = write!(
        rules,
        "SetEnvIf X-Made made SAW_{place}_SETENVIF_MADE=1\nSetEnvIf X-Old old SAW_{place}_SETENVIF_OLD=1\n\
         SetEnvIf MADE made SAW_{place}_SETENVIF_ENV=1\n"
    );
    let pattern = if place == "SERVER" { "^/(.*)" } else { "^(.*)" };
    let _ = writeln!(rules, "RewriteEngine On");
    for (part, expression, condition) in PARTS {
        let _ = write!(
            rules,
            "SetEnvIfExpr \"{expression}\" SAW_{place}_EXPR_{part}=1\n\
             RewriteCond {condition}\nRewriteRule {pattern} - [E=SAW_{place}_REWRITE_{part}:1]\n\
             <If \"{expression}\">\nSetEnv SAW_{place}_SECTION_{part} 1\n</If>\n"
        );
    }
    rules
}

/// Returns rules that set a field of the request or of the response for each part that they see.
fn field_rules() -> String {
    let mut rules = String::from(
        "RequestHeader set X-Saw-By-Env 1 env=MADE\nHeader set X-Saw-By-Env 1 env=MADE\nHeader always set X-Saw-Always-By-Env 1 env=MADE\n",
    );
    for (part, expression, _) in PARTS {
        let _ = write!(
            rules,
            "RequestHeader set X-Saw-{part} 1 \"expr={expression}\"\nHeader set X-Saw-{part} 1 \"expr={expression}\"\n\
             Header always set X-Saw-Always-{part} 1 \"expr={expression}\"\n"
        );
    }
    rules
}

fn site() -> Builder {
    let mut conf = String::from(
        "PerlModule Changed\nPerlPostReadRequestHandler Changed::read_request\nPerlTransHandler Changed::trans\n\
         PerlMapToStorageHandler Changed::map\n\
         LogFormat \"%{X-Made}i %{X-Old}i %{X-Saw-Made}i %{MADE}e %{IF_SENT}e %u %q %>s\" parts\nCustomLog @ROOT@/access.log parts\n",
    );
    conf.push_str(&rules("SERVER"));
    let mut site = one_worker(&[("Changed", MODULE)], "");
    for (phase, changes) in PHASES {
        let _ = write!(
            conf,
            "<Directory @ROOT@/htdocs/{phase}>\n{}{}\
             RewriteCond %{{HTTP:X-Made}} =made\nRewriteRule ^led.txt$ /target.txt [L]\n\
             RewriteCond %{{ENV:MADE}} =made\nRewriteRule ^moved.txt$ http://example.test/there [R=302,L]\n\
             RewriteCond %{{REMOTE_USER}} =ann\nRewriteRule ^closed.txt$ - [F]\n\
             RewriteCond %{{QUERY_STRING}} =q=2\nRewriteRule ^query.txt$ /target.txt [L]\n</Directory>\n\
             <Location /{phase}/>\n{changes}\n</Location>\n\
             <Location /{phase}/show>\nSetHandler modperl\nPerlResponseHandler Changed::show\n</Location>\n\
             <Location /{phase}/refused>\nSetHandler modperl\nPerlResponseHandler Changed::refuse\n</Location>\n\
             <Location /{phase}/allow-made>\nOrder deny,allow\nDeny from all\nAllow from env=MADE\n</Location>\n\
             <Location /{phase}/allow-if>\nOrder deny,allow\nDeny from all\nAllow from env=SAW_PLACE_SETENVIF_MADE\n</Location>\n",
            rules("PLACE"),
            field_rules()
        );
        let user = if changes.contains("AuthType") {
            "Require valid-user\n"
        } else {
            ""
        };
        for (part, expression, _) in PARTS {
            let _ = write!(
                conf,
                "<Location /{phase}/require-{part}>\n<RequireAll>\n{user}Require expr \"{expression}\"\n</RequireAll>\n</Location>\n"
            );
        }
        for name in NAMES {
            site = site.file(&format!("htdocs/{phase}/{name}"), name);
        }
    }
    site.file("htdocs/target.txt", "target").conf(&conf)
}

const NAMES: [&str; 15] = [
    "page.txt",
    "show",
    "refused",
    "led.txt",
    "moved.txt",
    "closed.txt",
    "query.txt",
    "allow-made",
    "allow-if",
    "require-MADE",
    "require-OLD",
    "require-ENV",
    "require-IF",
    "require-USER",
    "require-QUERY",
];

/// Makes a request, and returns everything that the answer and the log say about what the rules
/// have seen.
fn seen(server: &Server, path: &str, line: usize) -> BTreeMap<String, String> {
    let request = Request::get(&format!("{path}?q=1"))
        .field("X-Old", "old")
        .field("X-Sent", "sent");
    let answer = server.send(&request);
    let mut seen = BTreeMap::new();
    for (name, value) in &answer.fields {
        let name = name.to_ascii_lowercase();
        if name.starts_with("x-saw") {
            seen.insert(
                format!("response {name}"),
                String::from_utf8_lossy(value).into_owned(),
            );
        }
    }
    seen.insert("status".to_owned(), answer.status.to_string());
    let text = answer.text();
    if path.ends_with("/show") {
        for line in text.lines() {
            let (name, value) = line.split_once(": ").expect("a name and a value");
            seen.insert(name.to_ascii_lowercase(), value.to_owned());
        }
    } else if answer.status == 200 {
        seen.insert("text".to_owned(), text);
    }
    let mut lines = Vec::new();
    eventually(PATIENCE, || {
        lines = server
            .site
            .read("access.log")
            .lines()
            .map(str::to_owned)
            .collect();
        lines.len() > line
    });
    let names = ["made", "old", "saw", "env", "if", "user", "query", "status"];
    let logged = lines.get(line).map(String::as_str).unwrap_or_default();
    for (name, value) in names.iter().zip(logged.split(' ')) {
        seen.insert(format!("log {name}"), value.to_owned());
    }
    seen
}

#[test]
fn rules_see_the_changes_of_handlers_that_run_before_them() {
    let servers = apache::beside(site);
    let mut differences = String::new();
    let mut line = 0;
    for (phase, _) in PHASES {
        for name in NAMES {
            let path = format!("/{phase}/{name}");
            let all: Vec<_> = servers
                .iter()
                .map(|server| seen(server, &path, line))
                .collect();
            line += 1;
            let expected = all.last().expect("Mehari at least");
            let keys: BTreeSet<_> = all.iter().flat_map(BTreeMap::keys).collect();
            for key in keys {
                let value = |cells: &BTreeMap<String, String>| {
                    cells.get(key).cloned().unwrap_or_else(|| "-".to_owned())
                };
                let is_same = value(&all[0]) == value(expected);
                if !is_same {
                    let _ = writeln!(
                        differences,
                        "{path} {key}: ours {}, Apache's {}",
                        value(&all[0]),
                        value(expected)
                    );
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}
