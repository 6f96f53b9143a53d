//! Tests the variables of requests within a request: `lookup_uri`, `lookup_file`, parts of a page
//! with server-side includes, and internal redirects. They are compared with Apache and mod_perl.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
use Apache2::SubRequest ();
my $ours = qr/^(?:REDIRECT_)*(?:FROM_HANDLER|IF_\w+|PLACE_\w+|SHOW_\w+|REWROTE|SCRIPT_URL|PERL_\w+|OF_SUB|SERVER_SET|OFPAGE|STATUS|URL|QUERY_STRING)$/;
sub variables {
    my ($r, $whose) = @_;
    my $table = $r->subprocess_env;
    return map { "$whose $_=$table->{$_}\n" } sort grep { /$ours/ && !/^(?:SCRIPT_NAME|QUERY_STRING)$/ } keys %$table;
}
sub show {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('path ', $r->uri, "\n", variables($r, 'own'));
    my ($previous, $main) = ($r->prev, $r->main);
    $r->print('previous ', $previous->uri, "\n", variables($previous, 'previous')) if $previous;
    $r->print('main ', $main->uri, "\n", variables($main, 'main')) if $main;
    return 0;
}
sub looks {
    my $r = shift;
    $r->content_type('text/plain');
    $r->subprocess_env(FROM_HANDLER => 'handler');
    $r->subprocess_env->unset('IF_TAKEN');
    my ($how, $what) = split /=/, $r->args, 2;
    my $inner = $how eq 'file' ? $r->lookup_file($what) : $r->lookup_uri($what);
    $r->print('inner ', $inner->status, "\n", variables($inner, 'inner'));
    $inner->subprocess_env(OF_SUB => 'inner');
    $inner->subprocess_env->unset('FROM_HANDLER');
    $r->print(variables($r, 'before'));
    $inner->run;
    $r->print(variables($r, 'after'));
    return 0;
}
sub redirects {
    my $r = shift;
    $r->subprocess_env(FROM_HANDLER => 'handler');
    $r->subprocess_env->unset('IF_TAKEN');
    $r->internal_redirect($r->args);
    return 0;
}
"#;

const CONF: &str = r#"
PerlModule Within
SetEnv SERVER_SET 1
SetEnvIf X-Sent sent IF_SENT=1 IF_TAKEN=1
SetEnvIf Request_URI show IF_SHOWN=1
PerlSetEnv PERL_SERVER 1
RewriteEngine On
RewriteRule ^/(.*) - [E=REWROTE:$1]
<Directory @ROOT@/htdocs>
Options +Includes
AddOutputFilter INCLUDES .shtml
</Directory>
<Location /place>
SetEnv PLACE_SET 1
SetEnvIf X-Sent sent PLACE_IF=1
PerlSetEnv PERL_PLACE 1
</Location>
<Location /place/looks>
SetHandler modperl
PerlResponseHandler Within::looks
</Location>
<Location /place/script-looks>
SetHandler perl-script
PerlResponseHandler Within::looks
</Location>
<Location /place/redirects>
SetHandler modperl
PerlResponseHandler Within::redirects
</Location>
<Location /show>
SetHandler modperl
PerlResponseHandler Within::show
SetEnv SHOW_SET 1
SetEnvIf X-Sent sent SHOW_IF=1
PerlSetEnv PERL_SHOW 1
</Location>
<Location /script-show>
SetHandler perl-script
PerlResponseHandler Within::show
SetEnv SHOW_SET 1
SetEnvIf X-Sent sent SHOW_IF=1
</Location>
"#;

const PATHS: [&str; 10] = [
    "/show",
    "/place/looks?uri=/show/inner",
    "/place/looks?uri=/script-show/inner",
    "/place/script-looks?uri=/show/inner",
    "/place/looks?uri=/file.txt",
    "/place/looks?file=file.txt",
    "/place/redirects?/show/next",
    "/place/redirects?/script-show/next?q=1",
    "/place/page.shtml",
    "/page.shtml",
];

fn site() -> Builder {
    let page = "<!--#set var=\"OFPAGE\" value=\"1\" --><!--#include virtual=\"/show/part\" -->";
    let echo: String = [
        "IF_SENT",
        "IF_TAKEN",
        "FROM_HANDLER",
        "OF_SUB",
        "PLACE_IF",
        "PLACE_SET",
        "SERVER_SET",
        "REWROTE",
        "SCRIPT_URL",
    ]
    .iter()
    .map(|name| format!("{name}=<!--#echo var=\"{name}\" -->\n"))
    .collect();
    one_worker(&[("Within", MODULE)], CONF)
        .file("htdocs/page.shtml", page)
        .file("htdocs/place/page.shtml", page)
        .file("htdocs/env.shtml", &echo)
        .file("htdocs/file.txt", "file\n")
}

/// Known differences from Apache: the beginnings of lines. Each part of a page with server-side
/// includes is a request of its own for the worker, so `$r->main` is made from the page's path.
/// What rewriting has set for the part is seen there, in place of what it had set for the page.
const KNOWN: [&str; 2] = ["Apache's main REWROTE=", "ours main REWROTE="];

fn is_known(line: &str) -> bool {
    KNOWN.iter().any(|known| line.starts_with(known))
}

#[test]
fn requests_within_a_request_have_its_variables_and_their_own() {
    let servers = apache::beside(site);
    let mut differences = String::new();
    for path in PATHS {
        let request = Request::get(path).field("X-Sent", "sent");
        let texts: Vec<_> = servers
            .iter()
            .map(|one| one.send(&request).expect(200))
            .collect();
        let expected = texts.last().expect("Mehari at least");
        let lines = said::diff(expected, &texts[0]);
        for line in lines.iter().filter(|line| !is_known(line)) {
            differences.push_str(&format!("{path}: {line}\n"));
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

const SEEKER: &str = r#"
use Apache2::SubRequest ();
sub handler {
    my $r = shift;
    my ($how, $what) = split /=/, $r->args, 2;
    return $r->internal_redirect($what) // 0 if $how eq 'go';
    $r->content_type('text/plain');
    my $inner = $how eq 'file' ? $r->lookup_file($r->document_root . $what) : $r->lookup_uri($what);
    my @said = map { $_ // 'undef' } $inner->filename, $inner->uri, $inner->the_request, $inner->handler;
    push @said, map { s/:\d+//r } grep { defined } $inner->headers_out->get('Location');
    my $status = $inner->status;
    $r->print("$status\n");
    return 0 if $status >= 400;
    $r->print(join "\n", @said, ''), return 0 if $status >= 300;
    $r->print(join "\n", @said, $inner->is_initial_req, '');
    $r->print('run ', $inner->run, "\n");
    return 0;
}
"#;

fn seeking() -> Builder {
    one_worker(&[("Seeker", SEEKER)], "")
        .file("htdocs/there.txt", "there\n")
        .file("htdocs/folder/index.html", "the index\n")
        .file("htdocs/bare/other.txt", "other\n")
        .file("htdocs/listed/other.txt", "other\n")
        .conf(
            "PerlModule Seeker\n<Directory @ROOT@/htdocs/listed>\nOptions +Indexes\n</Directory>\n<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
             <Location /seek>\nSetHandler modperl\nPerlResponseHandler Seeker\n</Location>\n",
        )
}

#[test]
fn paths_without_a_plain_file_answer_within_a_request_as_in_apache() {
    let servers = apache::beside(seeking);
    let mut differences = Vec::new();
    for target in [
        "go=/none",
        "go=/folder",
        "go=/folder/",
        "go=/bare/",
        "go=/there.txt",
        "go=/there.txt/info",
        "go=/../outside",
        "go=/a%2Fb",
        "uri=/none",
        "uri=/there.txt",
        "uri=/there.txt/info",
        "uri=/folder/",
        "uri=/folder",
        "uri=/folder?a=b",
        "uri=/listed",
        "uri=/",
        "uri=/a%2Fb",
        "uri=/there.txt%2f",
        "uri=/../outside",
        "file=/there.txt",
        "file=/none",
        "file=/folder/index.html",
    ] {
        let request = Request::get(&format!("/seek?{target}"));
        let said = |server: &Server| {
            let answer = server.send(&request);
            let root = server.site.root().display().to_string();
            let location = answer.field("location").unwrap_or_default();
            let location = location.replace(&server.address.to_string(), "HOST");
            let text = match answer.status {
                200 => answer.text().replace(&root, "ROOT"),
                _ => String::new(),
            };
            (answer.status, location, text)
        };
        let all: Vec<_> = servers.iter().map(said).collect();
        for other in &all[1..] {
            if all[0] != *other {
                differences.push(format!("{target}\nours {:?}\ntheirs {other:?}", all[0]));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

const RUNNER: &str = r#"
use Apache2::SubRequest ();
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    my @kept = map { "kept $_" } 1 .. 50;
    local $@ = "error of the outer code\n";
    my $status = $r->lookup_uri($r->args)->run;
    $r->print("status $status, $#kept $kept[49]\n");
    return 0;
}
sub exits { $_[0]->content_type('text/plain'); $_[0]->print("exits\n"); exit 3 }
sub dies { $_[0]->content_type('text/plain'); $_[0]->print("dies\n"); die "on purpose\n" }
sub runs_twice { $_[0]->lookup_uri('/scripts/exits.pl')->run; $_[0]->lookup_uri('/scripts/dies.pl')->run; return 0 }
"#;

/// The scripts, each with the text that it prints after its head.
const ENDINGS: [(&str, &str); 7] = [
    ("returns", "print 'ends'; 7;"),
    ("exits", "print 'ends'; exit 3;"),
    ("exits_deep", "sub deep { my @many = (1 .. 500); $_[0] ? deep($_[0] - 1) : exit 0 } print 'ends'; deep(20) for map { my $x = $_ } 1 .. 3;"),
    ("dies", "print 'ends'; die qq{on purpose\\n};"),
    ("dies_deep", "sub deep { my @many = (1 .. 500); $_[0] ? deep($_[0] - 1) : die { a => 1 } } print 'ends'; deep(20) for map { my $x = $_ } 1 .. 3;"),
    ("catches", "eval { die qq{inner\\n} }; print qq{caught $@};"),
    ("exits_in_sort", "print 'ends'; my @sorted = sort { exit 2 } 3, 1, 2;"),
];

fn endings() -> Builder {
    let mut site = one_worker(&[("Runner", RUNNER)], "").conf(
        "PerlModule Runner ModPerl::Registry ModPerl::PerlRun\nAlias /perlrun/ @ROOT@/scripts/\nAlias /scripts/ @ROOT@/scripts/\n\
         <Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\n</Directory>\n\
         <Location /scripts>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n</Location>\n\
         <Location /perlrun>\nSetHandler perl-script\nPerlResponseHandler ModPerl::PerlRun\nPerlOptions +ParseHeaders\n</Location>\n\
         <Location /run>\nSetHandler modperl\nPerlResponseHandler Runner\n</Location>\n\
         <Location /exits>\nSetHandler modperl\nPerlResponseHandler Runner::exits\n</Location>\n\
         <Location /dies>\nSetHandler modperl\nPerlResponseHandler Runner::dies\n</Location>\n\
         <Location /twice>\nSetHandler modperl\nPerlResponseHandler Runner::runs_twice\n</Location>\n",
    );
    for (name, body) in ENDINGS {
        let script = format!("print qq{{Content-Type: text/plain\\n\\n}};\n{body}\n");
        site = site.file(&format!("scripts/{name}.pl"), &script);
    }
    site
}

/// Code that ends by `exit` or `die` within a sub-request leaves the handler that runs the
/// sub-request as it was. The worker lives on.
#[test]
fn code_that_ends_within_a_request_leaves_the_outer_code_as_in_apache() {
    let servers = apache::beside(endings);
    let mut targets: Vec<String> = ["/exits", "/dies", "/twice"].map(str::to_owned).into();
    for (name, _) in ENDINGS {
        targets.push(format!("/scripts/{name}.pl"));
        targets.push(format!("/perlrun/{name}.pl"));
    }
    let mut differences = Vec::new();
    for target in targets.iter().chain(&targets) {
        let request = Request::get(&format!("/run?{target}"));
        let said = |server: &Server| {
            let answer = server.send(&request);
            (answer.status, answer.text())
        };
        let all: Vec<_> = servers.iter().map(said).collect();
        for other in &all[1..] {
            if all[0] != *other {
                differences.push(format!("{target}\nours {:?}\ntheirs {other:?}", all[0]));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    let log = servers[0].site.read("error.log");
    assert!(!log.contains("was ended by signal"), "{log}");
}

/// The variables of redirects and sub-requests say what the client has sent, as in Apache.
#[test]
fn request_uri_is_the_clients_in_redirects_and_sub_requests() {
    const LEADS: &str = r#"
use Apache2::SubRequest ();
sub runs { $_[0]->lookup_uri('/perl/says.pl?of=sub')->run; return 0 }
sub leads { $_[0]->internal_redirect('/perl/says.pl?of=redirect'); return 0 }
sub fails { return 500 }
"#;
    const SAYS: &str = "print qq{Content-Type: text/plain\n\n}, join ' ', map { qq{$_=$ENV{$_}} } \
        qw(REQUEST_URI QUERY_STRING SCRIPT_NAME SERVER_PROTOCOL);\n";
    let site = || {
        let mut conf = "PerlModule Leads ModPerl::Registry\nAlias /perl/ @ROOT@/perl/\n\
             ErrorDocument 500 /perl/says.pl?of=error\n\
             <Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\n</Directory>\n\
             <Location /perl>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
             PerlOptions +ParseHeaders\n</Location>\n"
            .to_owned();
        for how in ["runs", "leads", "fails"] {
            conf.push_str(&format!(
                "<Location /{how}>\nSetHandler modperl\nPerlResponseHandler Leads::{how}\n</Location>\n"
            ));
        }
        one_worker(&[("Leads", LEADS)], &conf).file("perl/says.pl", SAYS)
    };
    let servers = apache::beside(site);
    for (target, uri, protocol) in [
        ("/perl/says.pl", "/perl/says.pl", "HTTP/1.1"),
        ("/runs?a=1", "/runs?a=1", "INCLUDED"),
        ("/leads?a=1", "/leads?a=1", "HTTP/1.1"),
        ("/fails?a=1", "/fails?a=1", "HTTP/1.1"),
    ] {
        for server in &servers {
            let text = server.get(target).text();
            assert!(
                text.contains(&format!("REQUEST_URI={uri} ")),
                "{target}: {text}"
            );
            assert!(text.ends_with(protocol), "{target}: {text}");
        }
    }
}
