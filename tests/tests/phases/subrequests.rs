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
