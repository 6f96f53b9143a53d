//! Tests what a PerlTransHandler chooses: another path, file or document root. Files, folders, CGI
//! programs, Perl handlers and missing paths answer as under Apache and mod_perl.

use super::*;
use mehari_harness::Pair;
use std::os::unix::fs::PermissionsExt;

const MODULE: &str = r#"
use Apache2::URI ();
use APR::URI ();
# Translates /HOW/WHERE.
sub trans {
    my $r = shift;
    my ($how, $where) = $r->uri =~ m{^/t-(\w+)(/.*)} or return -1;
    my $root = $r->document_root;
    $r->subprocess_env(FROM_TRANS => "translated by $how");
    $r->headers_in->set('X-Trans' => $how);
    $r->uri($where) if $how =~ /uri/;
    $r->handler('modperl') if $how =~ /handled/;
    $r->method('PUT') if $how =~ /put/;
    $r->args('from=trans') if $how =~ /args/;
    return -1 if $how !~ /file/;
    $r->filename($root . $where);
    return 0;
}
sub say {
    my $r = shift;
    my $body = '';
    return 404 if $r->uri =~ /absent/;
    $r->read($body, 100);
    my $parsed = $r->parsed_uri;
    $r->content_type('text/plain');
    $r->print(map { defined $_ ? "$_\n" : "undef\n" } $r->the_request, $r->method, $r->uri, $r->unparsed_uri, $r->args,
        $r->filename, $r->path_info, $r->location, $r->handler, $r->document_root, $r->subprocess_env('FROM_TRANS'), $body,
        $parsed->path, $parsed->query, $parsed->port, $ENV{DOCUMENT_ROOT});
    return 0;
}
"#;

const CONF: &str = r#"
PerlModule Translated
PerlTransHandler Translated::trans
ScriptAlias /cgi/ @ROOT@/cgi/
<Directory @ROOT@>
Require all granted
</Directory>
<Directory @ROOT@/htdocs/marked>
Header set X-Place marked
ForceType text/x-marked
SetEnv PLACE marked
</Directory>
<Location /say>
Header set X-Place say
ErrorDocument 404 "said"
SetHandler modperl
PerlResponseHandler Translated::say
</Location>
<Location /say/without>
SetHandler perl-script
</Location>
"#;

/// Prints what a translation may change.
const PROGRAM: &str = "#!/usr/bin/perl\nlocal $/;\nmy $body = <STDIN>;\n\
    print qq{Content-Type: text/plain\\n\\n}, map { $_ . '=' . ($ENV{$_} // '-') . qq{\\n} } \
    qw(REQUEST_METHOD QUERY_STRING PATH_INFO SCRIPT_NAME SCRIPT_FILENAME REQUEST_URI DOCUMENT_ROOT \
    FROM_TRANS HTTP_X_TRANS REDIRECT_STATUS REDIRECT_URL CONTENT_LENGTH PLACE);\nprint qq{body=$body\\n};\n";

const HOWS: &[&str] = &[
    "uri",
    "file",
    "urifile",
    "uriargs",
    "urihandled",
    "uriput",
    "none",
];

const WHERES: &[&str] = &[
    "/plain.txt",
    "/plain.txt/info",
    "/marked/page.html",
    "/marked",
    "/marked/",
    "/missing.txt",
    "/cgi/show.cgi",
    "/cgi/show.cgi/info?q=1",
    "/say",
    "/say/more?q=1&r=2",
    "/say/without/x",
    "/say/absent",
];

/// Known differences from Apache: the names in `DirectoryIndex` are not translated by handlers, and
/// the server sends a file to a request whose method a handler has named PUT only in Apache, which
/// goes by the method's number.
fn is_known(how: &str, place: &str) -> bool {
    let is_of_perl = place.starts_with("/cgi") || place.starts_with("/say");
    (how == "file" && place == "/marked/") || (how == "uriput" && !is_of_perl)
}

fn compare(rules: &str) {
    let site = || {
        let builder = one_worker(&[("Translated", MODULE)], &format!("{rules}{CONF}"))
            .file("htdocs/plain.txt", "plain\n")
            .file("htdocs/marked/page.html", "<p>marked</p>\n")
            .file("htdocs/marked/index.html", "<p>index</p>\n")
            .file("cgi/show.cgi", PROGRAM);
        let program = builder.folder_of("cgi").join("show.cgi");
        std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).expect("own file");
        builder
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for how in HOWS {
        for place in WHERES {
            if is_known(how, place) {
                continue;
            }
            let target = format!("/t-{how}{place}");
            for request in [
                Request::get(&target),
                Request::new("HEAD", &target),
                Request::form(&target, "a=1&b=2"),
            ] {
                if let Err(why) = pair.compare(&request) {
                    differences.push(why);
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn translated_paths_and_files_are_answered_as_by_apache() {
    compare("");
}

#[test]
fn translated_paths_meet_the_rules_of_their_place() {
    compare(
        "<Location />\nRequestHeader set X-Rule yes\nSetEnvIf X-Trans (.+) TOLD=$1\n</Location>\n",
    );
}

/// As in Apache, `$r` has no file before the path is translated, whatever rules the server has.
#[test]
fn handlers_before_the_translation_see_no_file() {
    const MODULE: &str = r#"
sub note {
    my ($r, $phase) = @_;
    my @seen = map { $_ // 'undef' } $r->filename, $r->path_info, $r->uri;
    $r->notes->add(Seen => join ' ', $phase, @seen);
    return -1;
}
sub read_request { note($_[0], 'read') }
sub trans { note($_[0], 'trans') }
sub parser { note($_[0], 'parser') }
sub say { my $r = shift; $r->content_type('text/plain'); $r->print(join "\n", $r->notes->get('Seen'), ''); 0 }
"#;
    for rules in [
        "",
        "<If \"%{REQUEST_METHOD} == 'POST'\">\nSetEnv A b\n</If>",
        "RewriteEngine On\nRewriteRule ^/old$ /page.html",
    ] {
        let site = || {
            let conf = format!(
                "PerlModule Sees\nPerlPostReadRequestHandler Sees::read_request\n\
                 PerlTransHandler Sees::trans\nPerlHeaderParserHandler Sees::parser\n{rules}\n\
                 <Directory @ROOT@/htdocs>\nSetHandler modperl\nPerlResponseHandler Sees::say\n\
                 Require all granted\n</Directory>\n"
            );
            one_worker(&[("Sees", MODULE)], &conf).file("htdocs/page.html", "a page")
        };
        let mut pair = Pair::start(site);
        for path in ["/page.html", "/page.html/more", "/missing"] {
            let said = pair.get(path).expect(200);
            assert!(said.contains("trans undef undef /"), "{said}");
        }
    }
}
