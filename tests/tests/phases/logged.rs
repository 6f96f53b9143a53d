//! Tests what the access log says after handlers of the response and of the log phase have changed
//! the request. Each line is compared with Apache and mod_perl.
//!
//! In Apache the Log handlers run before the access line is written, and Cleanup handlers after it.

use super::*;
use mehari_harness::apache;
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Const -compile => qw(OK);
my %changes = (
    note      => sub { $_[0]->notes->set(Said => 'a note') },
    variable  => sub { $_[0]->subprocess_env->set(Said => 'said') },
    unset     => sub { $_[0]->subprocess_env->unset('Configured') },
    replace   => sub { $_[0]->subprocess_env->set(Configured => 'anew') },
    field     => sub { $_[0]->headers_in->set('X-Said' => 'said') },
    removed   => sub { $_[0]->headers_in->unset('X-Sent') },
    agent     => sub { $_[0]->headers_in->set('User-Agent' => 'another') },
    uri       => sub { $_[0]->uri('/another/path') },
    filename  => sub { $_[0]->filename('/another/file') },
    user      => sub { $_[0]->user('ann') },
    status    => sub { $_[0]->status(202) },
    method    => sub { $_[0]->method('PUT') },
    args      => sub { $_[0]->args('q=2') },
    out       => sub { $_[0]->headers_out->set('X-Out' => 'out') },
    err       => sub { $_[0]->err_headers_out->set('X-Out' => 'err') },
    nothing   => sub { },
);
sub change { my $r = shift; my ($name) = $r->unparsed_uri =~ /\?(\w+)/; $changes{$name}->($r) if $name && $changes{$name}; Apache2::Const::OK }
sub plain { my $r = shift; $r->content_type('text/plain'); $r->print('plain'); Apache2::Const::OK }
sub early { my $r = shift; change($r); plain($r) }
sub late { my $r = shift; plain($r); change($r) }
sub flushed { my $r = shift; plain($r); $r->rflush; change($r) }
sub refuse { my $r = shift; change($r); 403 }
"#;

/// The paths, each with its directives. `change` runs in the response or in the log phase.
const PLACES: [(&str, &str); 9] = [
    (
        "/early",
        "SetHandler modperl\nPerlResponseHandler Logged::early",
    ),
    (
        "/late",
        "SetHandler perl-script\nPerlResponseHandler Logged::late",
    ),
    (
        "/flushed",
        "SetHandler modperl\nPerlResponseHandler Logged::flushed",
    ),
    (
        "/refused",
        "SetHandler modperl\nPerlResponseHandler Logged::refuse",
    ),
    (
        "/log",
        "SetHandler modperl\nPerlResponseHandler Logged::plain\nPerlLogHandler Logged::change",
    ),
    ("/file.txt", "PerlLogHandler Logged::change"),
    ("/none.txt", "PerlLogHandler Logged::change"),
    (
        "/cleanup",
        "SetHandler modperl\nPerlResponseHandler Logged::plain\nPerlCleanupHandler Logged::change",
    ),
    (
        "/script.pl",
        "SetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nOptions +ExecCGI",
    ),
];

const CHANGES: [&str; 16] = [
    "note", "variable", "unset", "replace", "field", "removed", "agent", "uri", "filename", "user",
    "status", "method", "args", "out", "err", "nothing",
];

const PARTS: [(&str, &str); 16] = [
    ("note", "%{Said}n"),
    ("variable", "%{Said}e"),
    ("configured", "%{Configured}e"),
    ("field", "%{X-Said}i"),
    ("sent", "%{X-Sent}i"),
    ("agent", "%{User-Agent}i"),
    ("path", "%U"),
    ("last path", "%>U"),
    ("file", "%f"),
    ("user", "%u"),
    ("status", "%s"),
    ("last status", "%>s"),
    ("method", "%m"),
    ("query", "%q"),
    ("line", "%r"),
    ("out", "%{X-Out}o"),
];

fn site() -> Builder {
    let mut conf = String::from("PerlModule Logged\nSetEnv Configured configured\n");
    for (path, directives) in PLACES {
        let _ = write!(conf, "<Location {path}>\n{directives}\n</Location>\n");
    }
    let format: Vec<&str> = PARTS.iter().map(|(_, part)| *part).collect();
    let _ = write!(
        conf,
        "LogFormat \"{}\" parts\nCustomLog @ROOT@/access.log parts\n",
        format.join("|")
    );
    one_worker(&[("Logged", MODULE)], &conf)
        .file("htdocs/file.txt", "file")
        .file(
            "htdocs/script.pl",
            "#!/usr/bin/perl\nuse Apache2::RequestUtil; print \"Content-Type: text/plain\\n\\nscript\"; Logged::change(Apache2::RequestUtil->request);",
        )
}

/// Returns the parts of the access line of a request.
fn logged(server: &Server, target: &str, line: usize) -> Vec<String> {
    server.send(
        &Request::get(target)
            .field("X-Sent", "sent")
            .field("User-Agent", "test"),
    );
    let mut lines = Vec::new();
    assert!(
        eventually(PATIENCE, || {
            lines = server.site.lines("access.log");
            lines.len() > line
        }),
        "{target} has no access line"
    );
    assert_eq!(lines.len(), line + 1, "{target}: {lines:?}");
    let root = server.site.root().to_string_lossy().into_owned();
    let parts = lines[line].split('|');
    parts.map(|part| part.replace(&root, "ROOT")).collect()
}

/// In Apache a Log handler that fails leaves no access line, so no such handler is compared.
#[test]
fn access_line_says_what_handlers_of_the_response_and_of_the_log_have_changed() {
    let servers = apache::beside(site);
    let mut differences = String::new();
    let mut line = 0;
    for (path, _) in PLACES {
        for change in CHANGES {
            let target = format!("{path}?{change}");
            let all: Vec<Vec<String>> = servers
                .iter()
                .map(|server| logged(server, &target, line))
                .collect();
            line += 1;
            for other in &all[1..] {
                for ((ours, theirs), (name, _)) in all[0].iter().zip(other).zip(PARTS) {
                    if ours != theirs {
                        let _ = writeln!(
                            differences,
                            "{target} {name}: ours {ours}, Apache's {theirs}"
                        );
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

/// Returns the lines of the access log, once there are so many.
fn lines_of(server: &Server, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    eventually(PATIENCE, || {
        lines = server.site.lines("access.log");
        lines.len() >= count
    });
    lines
}

#[test]
fn worker_that_ends_in_a_log_handler_leaves_exactly_one_access_line() {
    let module = "sub handler { my $r = shift; $r->print('said'); 0 }\n\
        sub ends { my $r = shift; $r->notes->set(Said => 'late'); kill KILL => $$; sleep 10; 0 }\n\
        sub dies { my $r = shift; $r->notes->set(Said => 'died'); die \"in the log\\n\" }\n";
    let place = |name: &str, log: &str| {
        format!("<Location /{name}>\nSetHandler modperl\nPerlResponseHandler Ends\nPerlLogHandler {log}\n</Location>\n")
    };
    let conf = [
        "PerlModule Ends\nLogFormat \"%U %>s %{Said}n\" parts\nCustomLog @ROOT@/access.log parts\n",
        &place("killed", "Ends::ends"),
        &place("died", "Ends::dies"),
        &place("whole", "'sub { $_[0]->notes->set(Said => q(whole)); 0 }'"),
    ];
    let server = one_worker(&[("Ends", module)], &conf.concat()).start();
    for name in ["killed", "whole", "died", "killed", "whole"] {
        assert_eq!(server.get(&format!("/{name}")).expect(200), "said");
    }
    let expected = [
        "/killed 200 -",
        "/whole 200 whole",
        "/died 200 died",
        "/killed 200 -",
        "/whole 200 whole",
    ];
    let mut lines = lines_of(&server, expected.len());
    let mut expected = expected.map(str::to_owned);
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn response_is_sent_before_its_log_handler_ends() {
    needs!("curl");
    let module = "sub handler { my $r = shift; $r->print('said'); 0 }\n\
        sub waits { my $r = shift; my $root = $r->document_root;\n\
        for (1 .. 6000) { last if -e \"$root/go\"; select undef, undef, undef, 0.01 }\n\
        $r->notes->set(Said => 'at last'); 0 }\n";
    let conf = "PerlModule Waits\nLogFormat \"%U %{Said}n\" parts\nCustomLog @ROOT@/access.log parts\n\
        <Location /waits>\nSetHandler modperl\nPerlResponseHandler Waits\nPerlLogHandler Waits::waits\n</Location>\n";
    let server = one_worker(&[("Waits", module)], conf)
        .file("htdocs/page.txt", "page")
        .start();
    let said = std::process::Command::new("curl")
        .args(["-s", "--http2-prior-knowledge"])
        .arg(format!("http://{}/page.txt", server.address))
        .output()
        .expect("curl runs");
    assert_eq!(said.stdout, b"page");
    assert_eq!(server.get("/waits").expect(200), "said");
    assert_eq!(lines_of(&server, 1).len(), 1);
    std::fs::write(server.site.path("htdocs/go"), "").expect("own folder");
    let lines = lines_of(&server, 2);
    assert_eq!(lines, ["/page.txt -", "/waits at last"]);
}
