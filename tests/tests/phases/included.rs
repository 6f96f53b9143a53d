//! Tests pages with server-side includes that are the responses of sub-requests. They are compared
//! with Apache and mod_perl.

use super::*;
use mehari_harness::apache;

const MODULE: &str = r#"
use Apache2::SubRequest ();
use Apache2::Filter ();
use Apache2::Const -compile => qw(DECLINED);
sub looks {
    my $r = shift;
    $r->content_type('text/plain');
    $r->subprocess_env(FROM_HANDLER => 'handler');
    my ($how, $what) = split /=/, $r->args, 2;
    my $within = $how eq 'file' ? $r->lookup_file($r->document_root . $what)
        : $how eq 'head' ? $r->lookup_method_uri(HEAD => $what) : $r->lookup_uri($what);
    $within->subprocess_env(OF_SUB => 'sub');
    $within->args('changed=1') if $how eq 'args';
    $r->print("[\n");
    my $status = $within->run;
    $r->print("\n] $status\n");
    return 0;
}
sub redirects {
    my $r = shift;
    $r->internal_redirect($r->args);
    return 0;
}
sub says {
    my $r = shift;
    $r->content_type('text/plain');
    my $main = $r->main;
    $r->print(join ' ', 'says', $r->uri, $r->args // '-', $main ? $main->uri : '-',
        map { "$_=" . ($r->subprocess_env($_) // '-') } qw(FROM_HANDLER OF_SUB MINE INNER DOCUMENT_NAME PLACE_SET));
    return 0;
}
sub declines { -1 }
sub fixes { my $r = shift; $r->subprocess_env(FIXED => 'fixed'); 0 }
sub refuses { 403 }
sub fails { die "failed\n" }
sub answers { my $r = shift; $r->content_type('text/plain'); $r->print('before '); 404 }
sub big { my $r = shift; $r->print('x' x (1 << 20)); 0 }
sub endless {
    my $r = shift;
    $r->content_type('text/plain');
    while (1) { $r->print('x' x 1000); $r->lookup_uri('/page.shtml')->run; $r->rflush }
    0;
}
sub filter {
    my $f = shift;
    while ($f->read(my $bytes, 1024)) { $f->print(uc $bytes) }
    0;
}
"#;

const SCRIPT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', 'script', map { $_ . '=' . ($ENV{$_} // '-') } qw(QUERY_STRING DOCUMENT_NAME DOCUMENT_URI MINE FROM_HANDLER);\n";

/// Prints the variables that describe the request and the page.
const ENVIRONMENT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    map { qq{$_=$ENV{$_}\\n} } grep { /^(?:SERVER_PROTOCOL|REQUEST_|QUERY|DATE_|LAST_|DOCUMENT_[^R]|MINE)/ } sort keys %ENV;\n";

const CONF: &str = r#"
PerlModule Inc
SetEnv SERVER_SET server
<Directory @ROOT@/htdocs>
Options +Includes
Require all granted
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
XBitHack On
</Directory>
<Directory @ROOT@/htdocs/place>
SetEnv PLACE_SET place
SSIErrorMsg oops
</Directory>
<Directory @ROOT@/htdocs/closed>
Require all denied
</Directory>
<Directory @ROOT@/htdocs/off>
Options -Includes
</Directory>
<Location /fixed>
PerlFixupHandler Inc::fixes
</Location>
<Location /upper>
PerlOutputFilterHandler Inc::filter
</Location>
<Directory @ROOT@/htdocs/noexec>
Options IncludesNOEXEC
</Directory>
<Location /refused>
PerlAccessHandler Inc::refuses
</Location>
Alias /cgi @ROOT@/cgi
<Location /cgi>
Options +ExecCGI
SetHandler cgi-script
</Location>
Alias /perl @ROOT@/perl
<Location /perl>
Options +ExecCGI
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
</Location>
<Directory @ROOT@/cgi>
Require all granted
</Directory>
<Directory @ROOT@/perl>
Require all granted
</Directory>
RewriteEngine On
RewriteRule ^/led$ /page.shtml [PT]
RewriteRule ^/mapped$ @ROOT@/htdocs/page.shtml
"#;

/// The pages. Each is requested by a handler's sub-request.
const PAGES: &[(&str, &str)] = &[
    ("page", "page <!--#echo var=\"DOCUMENT_NAME\" -->|<!--#echo var=\"DOCUMENT_URI\" -->|<!--#echo var=\"QUERY_STRING\" -->|<!--#echo var=\"REQUEST_METHOD\" -->|<!--#echo var=\"NOTHING\" -->|<!--#echo var=\"DOCUMENT_PATH_INFO\" -->|<!--#echo var=\"DOCUMENT_ARGS\" -->"),
    ("variables", "<!--#echo var=\"FROM_HANDLER\" -->|<!--#echo var=\"OF_SUB\" -->|<!--#echo var=\"SERVER_SET\" -->|<!--#echo var=\"HTTP_X_SENT\" -->|<!--#echo var=\"REQUEST_URI\" -->|<!--#echo var=\"SCRIPT_NAME\" -->|<!--#echo var=\"QUERY_STRING\" -->|<!--#echo var=\"FIXED\" -->"),
    ("place/variables", "<!--#echo var=\"PLACE_SET\" -->|<!--#include virtual=\"/says\" -->|<!--#include virtual=\"/none\" -->"),
    ("part", "part of <!--#echo var=\"DOCUMENT_NAME\" --><!--#set var=\"INNER\" value=\"within\" -->"),
    ("pages", "(<!--#include virtual=\"/part.shtml\" -->)<!--#echo var=\"INNER\" -->(<!--#include file=\"part.shtml\" -->)(<!--#include virtual=\"/page.shtml?a=b\" -->)"),
    ("shared", "<!--#set var=\"MINE\" value=\"mine\" --><!--#include virtual=\"/echoes.shtml\" -->(<!--#include virtual=\"/says\" -->)<!--#echo var=\"MINE\" -->"),
    ("echoes", "<!--#echo var=\"MINE\" --><!--#set var=\"MINE\" value=\"changed\" --><!--#include virtual=\"/part.shtml\" -->"),
    ("fixed/page", "<!--#echo var=\"DOCUMENT_NAME\" --><!--#set var=\"INNER\" value=\"within\" -->|<!--#echo var=\"FIXED\" -->"),
    ("fixes", "(<!--#include virtual=\"/fixed/page.shtml\" -->)<!--#echo var=\"INNER\" -->"),
    ("perl", "<!--#set var=\"MINE\" value=\"mine\" -->(<!--#include virtual=\"/says?a=b\" -->)(<!--#include virtual=\"/perl/script.pl?c=d\" -->)(<!--#include virtual=\"/cgi/script.pl?e=f\" -->)"),
    ("protocol", "<!--#echo var=\"SERVER_PROTOCOL\" -->"),
    ("within", "<!--#if expr=\"%{SERVER_PROTOCOL} == 'INCLUDED'\" -->within<!--#endif -->"),
    ("parts", "<!--#set var=\"MINE\" value=\"mine\" --><!--#include virtual=\"/cgi/env.pl\" -->|<!--#include virtual=\"/perl/env.pl\" -->|<!--#include virtual=\"/protocol.shtml\" -->"),
    ("exec", "<!--#exec cgi=\"/cgi/script.pl\" -->"),
    ("plain", "(<!--#include virtual=\"/plain.txt\" -->)(<!--#include file=\"plain.txt\" -->)<!--#fsize file=\"plain.txt\" -->"),
    ("sizes", "<!--#config sizefmt=\"bytes\" --><!--#fsize virtual=\"/plain.txt\" -->|<!--#config timefmt=\"%Y\" --><!--#flastmod virtual=\"/plain.txt\" -->|<!--#fsize virtual=\"/closed/file.txt\" -->"),
    ("errors", "<!--#include virtual=\"/none\" -->|<!--#config errmsg=\"oops\" --><!--#include virtual=\"/closed/file.txt\" -->|<!--#include virtual=\"/refused/file.txt\" -->|<!--#include virtual=\"/fails\" -->|<!--#include virtual=\"/folder\" -->|<!--#unknown -->"),
    ("answers", "(<!--#include virtual=\"/answers\" -->)end"),
    ("onerror", "<!--#include virtual=\"/none\" onerror=\"/part.shtml\" -->|<!--#include virtual=\"/none\" onerror=\"/says\" -->|<!--#include virtual=\"/fails\" onerror=\"/plain.txt\" -->"),
    ("counts", "<!--#include virtual=\"/page.shtml?a=b%20c\" -->|<!--#echo var=\"QUERY_STRING\" -->|<!--#include virtual=\"/page.shtml\" -->|<!--#echo var=\"QUERY_STRING_UNESCAPED\" -->"),
    ("branches", "<!--#if expr=\"v('FROM_HANDLER') == 'handler'\" -->yes<!--#include virtual=\"/says\" --><!--#else -->no<!--#include virtual=\"/none\" --><!--#endif -->|<!--#if expr=\"v('QUERY_STRING') == 'a=b'\" -->asked<!--#endif -->"),
    ("nested", "1(<!--#include virtual=\"/looks?uri=/inner.shtml\" -->)1"),
    ("inner", "2(<!--#include virtual=\"/looks?uri=/part.shtml\" -->)2<!--#include virtual=\"/page.shtml\" -->"),
    ("redirected", "(<!--#include virtual=\"/redirects?/part.shtml\" -->)"),
    ("virtual", "(<!--#include virtual=\"/perl/virtual.pl\" -->)"),
    ("declined/page", "declined <!--#echo var=\"DOCUMENT_NAME\" -->"),
    ("declines", "(<!--#include virtual=\"/declined/page.shtml\" -->)(<!--#include virtual=\"/declined/plain.txt\" -->)"),
    ("upper/page", "page <!--#echo var=\"DOCUMENT_NAME\" --> (<!--#include virtual=\"/says\" -->)"),
    ("filtered", "(<!--#include virtual=\"/upper/plain.txt\" -->)"),
    ("upper/cycle", "cycle <!--#include virtual=\"/upper/cycle.shtml\" -->"),
    ("uppers", "(<!--#include virtual=\"/upper/plain.txt\" -->)(<!--#include virtual=\"/upper/page.shtml\" -->)"),
    ("noexec/page", "<!--#exec cgi=\"/cgi/script.pl\" -->|<!--#include virtual=\"/says\" -->|<!--#include virtual=\"/cgi/script.pl\" -->|<!--#include virtual=\"/plain.txt\" -->"),
    ("formats", "<!--#config echomsg=\"nothing\" timefmt=\"%Y\" --><!--#echo var=\"NONE\" -->|<!--#echo var=\"LAST_MODIFIED\" -->|<!--#set var=\"A\" value=\"<a&amp;${DOCUMENT_NAME}>\" --><!--#echo var=\"A\" -->|<!--#echo encoding=\"none\" var=\"A\" -->|<!--#echo encoding=\"url\" var=\"A\" -->|<!--#include virtual=\"/echoes.shtml\" --><!--#echo var=\"NONE\" -->"),
    ("conditions", "<!--#if expr=\"v('NONE') = ''\" -->none<!--#elif expr=\"true\" -->wrong<!--#endif --><!--#if expr=\"%{REQUEST_URI} =~ m#^/looks#\" -->looks<!--#endif --><!--#if expr=\"wrong(\" --><!--#endif -->|<!--#include virtual=\"says?q=$DOCUMENT_NAME\" -->|<!--#include virtual=\"../says\" -->|<!--#include file=\"/etc/passwd\" -->|<!--#include file=\"folder/index.html\" -->|<!--#include virtual=\"http://127.0.0.1/\" -->"),
    ("off/page", "<!--#echo var=\"DOCUMENT_NAME\" -->"),
    ("empty", ""),
    ("loop", "loop <!--#include virtual=\"loop.shtml\" -->"),
    ("looking", "looking <!--#include virtual=\"/looks?uri=/looking.shtml\" -->"),
];

/// Further questions of the handler.
const MORE: &[&str] = &[
    "uri=/page.shtml?a=b",
    "uri=/page.shtml/more/info",
    "uri=/branches.shtml?a=b",
    "uri=/led",
    "uri=/mapped",
    "uri=/bits.html",
    "uri=/nobits.html",
    "uri=/plain.txt",
    "uri=/folder/",
    "uri=/perl/virtual.pl",
    "uri=/redirects?/page.shtml",
    "uri=/none.shtml",
    "file=/page.shtml",
    "file=/bits.html",
    "file=/place/variables.shtml",
    "args=/page.shtml",
    "uri=/cgi/env.pl",
    "uri=/perl/env.pl?a=b",
    "head=/page.shtml",
    "head=/perl.shtml",
    "uri=/folder",
    "uri=/upper/plain.txt",
];

fn site() -> Builder {
    let handlers = [
        "looks",
        "redirects",
        "says",
        "fails",
        "answers",
        "big",
        "endless",
    ];
    let handlers = handlers.map(|name| {
        format!("<Location /{name}>\nSetHandler modperl\nPerlResponseHandler Inc::{name}\n</Location>\n")
    });
    let conf = format!(
        "{CONF}{}<Location /declined>\nSetHandler modperl\nPerlResponseHandler Inc::declines\n</Location>\n\
         <Location /filtered>\nSetHandler modperl\nPerlResponseHandler Inc::looks\nPerlOutputFilterHandler Inc::filter\n</Location>\n",
        handlers.concat()
    );
    let text = "<!--#echo var=\"DOCUMENT_NAME\" -->";
    let mut builder = one_worker(&[("Inc", MODULE)], &conf)
        .file("htdocs/plain.txt", "plain <!--#echo -->")
        .file("htdocs/declined/plain.txt", "plain")
        .file("htdocs/closed/file.txt", "closed")
        .file("htdocs/refused/file.txt", "refused")
        .file("htdocs/folder/index.html", "index")
        .file("htdocs/upper/plain.txt", "plain")
        .file("htdocs/bits.html", text)
        .file("htdocs/nobits.html", text)
        .file("cgi/script.pl", SCRIPT)
        .file("perl/script.pl", SCRIPT)
        .file("cgi/env.pl", ENVIRONMENT)
        .file("perl/env.pl", ENVIRONMENT)
        .file(
            "perl/include.pl",
            "use Apache::Include ();\nprint qq{Content-Type: text/plain\\n\\n};\nApache::Include->virtual('/part.shtml');\n",
        )
        .file(
            "perl/virtual.pl",
            "print qq{Content-Type: text/plain\\n\\n<};\nApache2::RequestUtil->request->lookup_uri('/part.shtml')->run;\nprint qq{>};\n",
        );
    for (name, text) in PAGES {
        builder = builder.file(&format!("htdocs/{name}.shtml"), text);
    }
    for program in [
        "cgi/script.pl",
        "perl/script.pl",
        "cgi/env.pl",
        "perl/env.pl",
        "perl/virtual.pl",
        "perl/include.pl",
        "htdocs/bits.html",
    ] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(builder.folder_of(program), mode).expect("own file");
    }
    builder
}

/// Returns what a server says to each question.
fn said(server: &Server, target: &str) -> String {
    let request = Request::get(target).field("X-Sent", "sent");
    let answer = server.send(&request);
    // A sub-request that is too deep runs without a response in Apache, and fails in Mehari.
    let text = answer.text().replace("] 404", "] 500");
    format!("{} {text}", answer.status)
}

#[test]
fn pages_within_a_request_are_processed_as_in_apache() {
    let servers = apache::beside(site);
    let pages = PAGES
        .iter()
        .map(|(name, _)| format!("/looks?uri=/{name}.shtml"));
    let more = MORE.iter().map(|question| format!("/looks?{question}"));
    let direct = [
        "/protocol.shtml",
        "/parts.shtml",
        "/filtered.shtml",
        "/upper/page.shtml",
        "/formats.shtml",
        "/conditions.shtml",
        "/noexec/page.shtml",
        "/errors.shtml",
        "/perl.shtml",
        "/declines.shtml",
        "/declined/page.shtml",
        "/nested.shtml",
        "/counts.shtml",
        "/counts.shtml?x=y",
        "/looks?uri=/counts.shtml?x=y",
        "/filtered?uri=/perl.shtml",
    ];
    let mut differences = String::new();
    for target in pages.chain(more).chain(direct.map(str::to_string)) {
        let all: Vec<_> = servers.iter().map(|one| said(one, &target)).collect();
        for other in &all[1..] {
            for line in said::diff(other, &all[0]) {
                differences.push_str(&format!("{target}: {line}\n"));
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

/// All workers wait for pages whose parts need Perl, and the parts run nevertheless.
#[test]
fn pages_within_requests_need_no_other_worker() {
    let server = site().start();
    let clients: Vec<_> = (0..6)
        .map(|_| {
            let mut client = server.connect();
            client.write(&Request::get("/looks?uri=/nested.shtml").bytes());
            client
        })
        .collect();
    for mut client in clients {
        let answer = client.read_answer("GET").expect("answered");
        assert!(
            answer.text().contains("part of part.shtml"),
            "{}",
            answer.text()
        );
    }
}

#[test]
fn pages_within_a_request_end_after_their_client_has_left() {
    let server = site().start();
    let mut client = server.connect();
    client.write(&Request::get("/endless").bytes());
    client.fill().expect("the beginning of the answer");
    drop(client);
    // The only worker is free again.
    assert!(server.get("/says").expect(200).starts_with("says"));
}

#[test]
fn long_page_within_a_request_arrives_whole() {
    let text = "0123456789abcdef".repeat(40_000);
    let server = site()
        .file(
            "htdocs/long.shtml",
            &format!("{text}<!--#include virtual=\"/says\" -->{text}"),
        )
        .file(
            "htdocs/much.shtml",
            &"<!--#include virtual=\"/part.shtml\" -->".repeat(1000),
        )
        .start();
    let long = server.get("/looks?uri=/long.shtml").expect(200);
    assert_eq!(long.matches(&text).count(), 2);
    assert!(long.contains("says /says"));
    let much = server.get("/looks?uri=/much.shtml").expect(200);
    assert_eq!(much.matches("part of much.shtml").count(), 1000);
    assert_eq!(
        server.get("/perl/include.pl").expect(200),
        "part of part.shtml"
    );
}

#[test]
fn page_within_a_request_that_becomes_too_long_fails() {
    let big = "<!--#include virtual=\"/big\" -->";
    let server = site()
        .file("htdocs/big.shtml", &big.repeat(20))
        .file("htdocs/fits.shtml", &big.repeat(10))
        .start();
    let fits = server.get("/looks?uri=/fits.shtml").expect(200);
    assert!(fits.ends_with("] 0\n"));
    let big = server.get("/looks?uri=/big.shtml").expect(200);
    assert!(big.ends_with("] 500\n") && big.len() < 18 << 20);
    server.log.expect("the page becomes too long");
}
