//! Tests who sees the method that a handler has set. Each pair of a phase and a reader is compared
//! with Apache and mod_perl. There, `$r->method` is the name, which expressions, `SetEnvIf`,
//! programs and logs read, and `$r->method_number` is the number, which `<Limit>` and `Require
//! method` read.

use super::*;
use mehari_harness::apache;
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Const -compile => qw(DECLINED M_POST);
my %change = (
    name   => sub { $_[0]->method('POST') },
    number => sub { $_[0]->method_number(Apache2::Const::M_POST) },
    both   => sub { $_[0]->method('POST'); $_[0]->method_number(Apache2::Const::M_POST) },
    none   => sub { },
);
sub change {
    my $r = shift;
    my ($what) = $r->uri =~ m{^/\w+/(\w+)/};
    $change{$what // 'none'}->($r);
    return Apache2::Const::DECLINED;
}
sub read_request { $_[0]->uri =~ m{^/read/} ? change(@_) : Apache2::Const::DECLINED }
sub trans { $_[0]->uri =~ m{^/trans/} ? change(@_) : Apache2::Const::DECLINED }
sub show {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print(join ' ', $r->method, $r->method_number, map { $r->subprocess_env($_) // '-' } qw(SERVER_IF PLACE_IF));
    return 0;
}
"#;

const PHASES: [(&str, &str); 5] = [
    ("read", ""),
    ("trans", ""),
    ("parser", "PerlHeaderParserHandler Methods::change"),
    ("access", "PerlAccessHandler Methods::change"),
    ("fixup", "PerlFixupHandler Methods::change"),
];

/// What reads the method: a name, and the lines of its place.
const READERS: [(&str, &str); 8] = [
    ("limit", "<Limit POST>\nRequire all denied\n</Limit>"),
    (
        "except",
        "<LimitExcept POST>\nRequire all denied\n</LimitExcept>",
    ),
    ("require", "Require method POST"),
    ("expression", "Require expr \"%{REQUEST_METHOD} == 'POST'\""),
    (
        "deny",
        "<Limit POST>\nOrder allow,deny\nDeny from all\n</Limit>",
    ),
    ("variable", "SetEnvIf Request_Method POST PLACE_IF=1"),
    ("header", "Header set X-Method \"expr=%{REQUEST_METHOD}\""),
    (
        "section",
        "<If \"%{REQUEST_METHOD} == 'POST'\">\nHeader set X-Section met\n</If>",
    ),
];

fn site() -> Builder {
    let mut conf = String::from(
        "PerlModule Methods\nPerlPostReadRequestHandler Methods::read_request\nPerlTransHandler Methods::trans\n\
         SetEnvIf Request_Method POST SERVER_IF=1\nLogFormat \"%m %>s\" methods\nCustomLog @ROOT@/access.log methods\n",
    );
    for (phase, changes) in PHASES {
        let _ = writeln!(conf, "<Location /{phase}>\n{changes}\n</Location>");
        for (reader, lines) in READERS {
            let _ = writeln!(
                conf,
                "<LocationMatch ^/{phase}/\\w+/{reader}>\nSetHandler modperl\nPerlResponseHandler Methods::show\n{lines}\n</LocationMatch>"
            );
        }
        for what in WAYS {
            let _ = writeln!(
                conf,
                "Alias /{phase}/{what}/program @ROOT@/scripts/method.cgi\nAlias /{phase}/{what}/file @ROOT@/scripts/file.txt"
            );
        }
    }
    conf.push_str("<Directory @ROOT@/scripts>\nOptions +ExecCGI\n<Files *.cgi>\nSetHandler cgi-script\n</Files>\n</Directory>\n");
    one_worker(&[("Methods", MODULE)], &conf)
        .file(
            "scripts/method.cgi",
            "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n%s' $REQUEST_METHOD\n",
        )
        .file("scripts/file.txt", "file")
}

const WAYS: [&str; 4] = ["none", "name", "number", "both"];

/// Returns what the answer and the access line say.
fn seen(server: &Server, path: &str, line: usize) -> String {
    let answer = server.send(&Request::get(path));
    let mut lines = Vec::new();
    eventually(PATIENCE, || {
        let log = server.site.read("access.log");
        lines = log.lines().map(str::to_owned).collect();
        lines.len() > line
    });
    let text = match answer.status {
        200 => answer.text(),
        _ => String::new(),
    };
    let fields = ["x-method", "x-section"].map(|name| answer.field(name).unwrap_or_default());
    let logged = lines.get(line).cloned().unwrap_or_default();
    format!("{} {text:?} {fields:?}, logged {logged}", answer.status)
}

#[test]
fn a_method_that_a_handler_has_set_is_seen_by_later_rules() {
    let servers = apache::beside(site);
    let mut differences = String::new();
    let mut line = 0;
    let readers = READERS.iter().map(|(name, _)| *name);
    let readers: Vec<&str> = readers.chain(["program", "file"]).collect();
    for (phase, _) in PHASES {
        for what in WAYS {
            for reader in &readers {
                let path = format!("/{phase}/{what}/{reader}");
                let all: Vec<_> = servers.iter().map(|one| seen(one, &path, line)).collect();
                line += 1;
                let expected = all.last().expect("Mehari at least");
                if all[0] != *expected {
                    let _ = writeln!(
                        differences,
                        "{path}: ours {}\n    Apache's {expected}",
                        all[0]
                    );
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}
