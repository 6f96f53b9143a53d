//! Tests error pages for each source of an error and each kind of `ErrorDocument`, with Perl
//! handlers around both. The status, the header fields and the number of runs of each handler must
//! equal those of Apache with mod_perl.

use super::*;
use mehari_harness::apache;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

/// A module whose handlers print that they run, for which request, and what they see. A field of
/// the request holds the name of the case.
const MODULE: &str = r#"
use Apache2::Access ();
sub note {
    my ($phase, $r) = @_;
    my $prev = $r->prev;
    my $before = $prev ? join ' ', $prev->uri, $prev->status, $prev->args // '-' : '-';
    print STDERR join(' ', 'RAN', $r->headers_in->{'X-Case'} // '-', $phase, $r->uri, $r->status, "$before\n");
    return -1;
}
sub post_read { note('PostReadRequest', @_) }
sub trans     { note('Trans', @_) }
sub parser    { note('HeaderParser', @_) }
sub access    { note('Access', @_) }
sub type      { note('Type', @_) }
sub fixup     { note('Fixup', @_) }
sub logs      { note('Log', @_); 0 }
sub cleanup   { note('Cleanup', @_); 0 }
sub status    { my $r = shift; $r->err_headers_out->set('X-Error' => 'kept'); $r->headers_out->set('X-Other' => 'lost'); return $r->args }
sub dies      { die "as told\n" }
sub deny      { my $r = shift; $r->get_basic_auth_pw; $r->note_basic_auth_failure; 401 }
sub page      { my $r = shift; $r->content_type('text/plain'); $r->print(join ' ', 'by Perl', $r->status, $r->method, map { $_ // '-' } @ENV{qw(REDIRECT_STATUS REDIRECT_URL REDIRECT_REQUEST_METHOD)}); 0 }
sub declines  { -1 }
"#;

const SCRIPT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, join ' ', 'by a script', map { $_ // '-' } @ENV{qw(REQUEST_METHOD REDIRECT_STATUS REDIRECT_URL)};\n";

/// The phase of the handler, and the directive. A handler of a phase that runs before the location
/// is known is for the whole server.
const PHASES: [(&str, &str); 7] = [
    ("none", ""),
    ("parser", "PerlHeaderParserHandler Pages::parser"),
    ("access", "PerlAccessHandler Pages::access"),
    ("type", "PerlTypeHandler Pages::type"),
    ("fixup", "PerlFixupHandler Pages::fixup"),
    ("log", "PerlLogHandler Pages::logs"),
    ("cleanup", "PerlCleanupHandler Pages::cleanup"),
];

/// The values for `ErrorDocument`. Each has a location below the location of the phase.
const DOCUMENTS: [(&str, &str); 7] = [
    ("text", "\"a text\""),
    ("static", "page.html"),
    ("perl", "perl-page"),
    ("declined", "declined/page.html"),
    ("includes", "page.shtml"),
    ("cgi", "scripts/page.cgi"),
    ("elsewhere", "http://example.com/sorry"),
];

const STATUSES: [u16; 9] = [401, 403, 404, 405, 410, 412, 416, 500, 503];

/// Returns a request for each source of errors. Its path is below the location.
fn errors() -> Vec<Request> {
    let get = Request::get;
    vec![
        get("/missing?a=b"),
        Request::new("HEAD", "/missing"),
        get("/denied"),
        get("/login"),
        get("/login-by-perl"),
        get("/file.txt").field("Range", "bytes=90-"),
        get("/file.txt").field("If-Match", "\"another\""),
        Request::new("DELETE", "/file.txt"),
        get("/status?404"),
        get("/status?503"),
        Request::post("/status?410", "body"),
        get("/fixup-status/file.txt?403"),
        get("/dies"),
        get("/scripts/fails.cgi"),
        get("/scripts/missing.cgi"),
    ]
}

fn site(server_wide: &str) -> Builder {
    let mut conf = format!(
        "PerlModule Pages\n{server_wide}LogFormat \"%{{X-Case}}i %>s\" case\nCustomLog @ROOT@/logs/case.log case\n\
         AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n"
    );
    let mut builder = Server::builder();
    for (phase, directive) in PHASES {
        let _ = write!(
            conf,
            "Alias /{phase}/scripts @ROOT@/scripts\n<Location /{phase}>\nOptions +Includes\n{directive}\n</Location>\n"
        );
        builder = builder
            .file(&format!("htdocs/{phase}/page.html"), "a page\n")
            .file(&format!("htdocs/{phase}/declined/page.html"), "a page\n")
            .file(
                &format!("htdocs/{phase}/page.shtml"),
                "<!--#echo var=\"REDIRECT_STATUS\" -->\n",
            );
        for (kind, document) in DOCUMENTS {
            let place = format!("/{phase}/for/{kind}");
            let document = if document.starts_with(['"', 'h']) {
                document.to_owned()
            } else {
                format!("/{phase}/{document}")
            };
            let _ = writeln!(
                conf,
                "Alias {place}/scripts @ROOT@/scripts\n<Location {place}>"
            );
            for status in STATUSES {
                // For a 401, Apache does not redirect the browser to another site.
                if (status, kind) != (401, "elsewhere") {
                    let _ = writeln!(conf, "ErrorDocument {status} {document}");
                }
            }
            conf.push_str("</Location>\n");
            builder = builder
                .file(&format!("htdocs{place}/file.txt"), "0123456789")
                .file(
                    &format!("htdocs{place}/fixup-status/file.txt"),
                    "0123456789",
                );
        }
    }
    let own = [
        ("scripts/", "Options +ExecCGI\nSetHandler cgi-script"),
        ("perl-page$", "SetHandler perl-script\nPerlResponseHandler Pages::page"),
        ("declined/", "SetHandler perl-script\nPerlResponseHandler Pages::declines"),
        ("denied$", "Require all denied"),
        ("login$", "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/scripts/page.cgi\nRequire valid-user"),
        ("login-by-perl$", "AuthType Basic\nAuthName there\nPerlAuthenHandler Pages::deny\nRequire valid-user"),
        ("/status$", "SetHandler modperl\nPerlResponseHandler Pages::status"),
        ("fixup-status/", "PerlFixupHandler Pages::status"),
        ("dies$", "SetHandler modperl\nPerlResponseHandler Pages::dies"),
    ];
    for (place, lines) in own {
        let _ = writeln!(conf, "<LocationMatch {place}>\n{lines}\n</LocationMatch>");
    }
    let head = format!("package Pages;\nuse strict;\nuse warnings;\n{USES}");
    builder
        .file("lib/Pages.pm", &format!("{head}{MODULE}\n1;\n"))
        .file("scripts/page.cgi", SCRIPT)
        .file("scripts/fails.cgi", "#!/usr/bin/perl\nexit 3;\n")
        .conf(ONE_WORKER)
        .conf(&conf)
}

/// One request for one error page, with the name of the case.
struct Case {
    name: String,
    request: Request,
}

fn cases(phases: &[&str], kinds: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for phase in phases {
        for kind in kinds {
            for error in errors() {
                let name = format!("{}", cases.len());
                let target = format!("/{phase}/for/{kind}{}", error.target);
                let mut request = error.field("X-Case", &name);
                request.target = target;
                cases.push(Case { name, request });
            }
        }
    }
    cases
}

/// Returns what the client gets: the status, the fields that matter, and the body.
fn seen(answer: &mehari_harness::Answer) -> String {
    let mut fields: Vec<String> = [
        "x-error",
        "x-other",
        "www-authenticate",
        "location",
        "content-range",
    ]
    .iter()
    .filter_map(|name| Some(format!("{name}: {}", answer.field(name)?)))
    .collect();
    fields.sort();
    let text = answer.text();
    let body = if answer.status < 400 || text.starts_with("<!DOCTYPE") {
        "(the server's)"
    } else {
        text.trim_end()
    };
    format!("{} {fields:?} {body}", answer.status)
}

/// Returns for each case the lines of the handlers, and the status in the access log, sorted.
///
/// A Log or Cleanup handler of Apache sees the exit status of a program for which Apache's process
/// has waited. Mehari does not wait, so such lines are compared without the status.
fn told(server: &Server) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (log, access) = (server.log.text(), server.site.read("logs/case.log"));
    let said = log.lines().filter_map(|line| line.split_once("RAN "));
    let all = said.map(|(_, said)| said).chain(access.lines());
    for (case, what) in all.filter_map(|line| line.split_once(' ')) {
        let what = match what.split_once("/scripts/fails.cgi ") {
            Some((phase, _)) if phase.starts_with(['L', 'C']) => phase,
            _ => what,
        };
        told.entry(case.to_owned())
            .or_default()
            .push(what.to_owned());
    }
    // Apache logs a connection without a request as `-`.
    told.remove("-");
    told.values_mut().for_each(|told| told.sort());
    told
}

/// Sends all cases to both servers. Each handler must run exactly as often as on Apache.
fn compare(site: impl Fn() -> Builder, cases: &[Case]) {
    let servers = apache::beside(site);
    let answers = servers.iter().map(|server| {
        let of_each = cases.iter().map(|case| seen(&server.send(&case.request)));
        of_each.collect::<Vec<_>>()
    });
    let answers: Vec<_> = answers.collect();
    let [ours, theirs] = &servers[..] else {
        return;
    };
    eventually(PATIENCE, || told(ours) == told(theirs));
    let (found, expected) = (told(ours), told(theirs));
    let mut differences = String::new();
    for (number, case) in cases.iter().enumerate() {
        let (found, expected) = (found.get(&case.name), expected.get(&case.name));
        let (answer, model) = (&answers[0][number], &answers[1][number]);
        if found != expected || answer != model {
            let Request { method, target, .. } = &case.request;
            let _ = writeln!(
                differences,
                "{method} {target}\n  mod_perl {model}\n{expected:#?}\n  Mehari   {answer}\n{found:#?}"
            );
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn all_kinds() -> Vec<&'static str> {
    DOCUMENTS.iter().map(|(kind, _)| *kind).collect()
}

#[test]
fn error_page_equals_apaches_with_a_handler_in_any_phase() {
    let phases: Vec<_> = PHASES.iter().map(|(phase, _)| *phase).collect();
    let mut all = cases(&phases, &all_kinds());
    // The page and its handlers see the decoded path of the request before.
    for phase in ["log", "access"] {
        let name = format!("{}", all.len());
        let target = format!("/{phase}/for/perl/mis%20sing%253f%3F?a=b");
        let request = Request::get(&target).field("X-Case", &name);
        all.push(Case { name, request });
    }
    compare(|| site(""), &all);
}

#[test]
fn error_page_equals_apaches_with_handlers_for_the_whole_server() {
    let all = "PerlPostReadRequestHandler Pages::post_read\nPerlTransHandler Pages::trans\nPerlLogHandler Pages::logs\n";
    compare(|| site(all), &cases(&["none"], &all_kinds()));
}

/// Both protocols reach the page in the same way.
#[test]
fn error_page_is_the_same_over_http2() {
    needs!("curl");
    let server = site("").start();
    for case in cases(&["log"], &all_kinds()) {
        let request = &case.request;
        let over_http1 = server.send(request);
        let mut curl = Command::new("curl");
        curl.args([
            "-s",
            "-o",
            "-",
            "-w",
            "%{http_code}",
            "--http2-prior-knowledge",
            "-X",
            &request.method,
        ]);
        for (name, value) in &request.fields {
            curl.arg("-H").arg(format!("{name}: {value}"));
        }
        if request.method == "HEAD" {
            curl.arg("-I");
        }
        if request.body.is_some() {
            curl.args(["-d", "body"]);
        }
        curl.arg(format!("http://{}{}", server.address, request.target));
        let said = curl.output().expect("curl runs").stdout;
        let said = String::from_utf8_lossy(&said);
        assert!(
            said.ends_with(&over_http1.status.to_string()),
            "{}: {} and {said}",
            request.target,
            over_http1.status
        );
        if request.method != "HEAD" {
            assert!(
                said.starts_with(&over_http1.text()),
                "{}: {said}",
                request.target
            );
        }
    }
}

/// This is the smallest case: a Log handler that does nothing.
#[test]
fn log_handler_does_not_change_the_status_of_an_error_page() {
    let server = one_worker(&[], "PerlLogHandler 'sub { 0 }'\nErrorDocument 404 /404.html\nErrorDocument 401 /404.html\n\
        <Location /login>\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/htdocs/404.html\nRequire valid-user\n</Location>\n")
        .file("htdocs/404.html", "not here")
        .start();
    assert_eq!(server.get("/none").expect(404), "not here");
    let answer = server.get("/login");
    assert_eq!(
        answer.field("www-authenticate").as_deref(),
        Some("Basic realm=\"there\"")
    );
    assert_eq!(answer.expect(401), "not here");
}
