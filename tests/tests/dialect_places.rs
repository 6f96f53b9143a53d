//! Tests the rules of sections that count before a path is mapped: `Alias`, `ScriptAlias` and
//! `Redirect` with one argument, and the variables of named groups. Each response must equal
//! Apache's.

use mehari_harness::{Builder, Pair, Request, Server};
use std::os::unix::fs::PermissionsExt;

const WHERE: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } \
    qw(SCRIPT_NAME PATH_INFO SCRIPT_FILENAME REQUEST_URI QUERY_STRING MATCH_NAME MATCH_MORE \
    MATCH_FOLDER MATCH_BASE SEEN);\n";

const MASK: &[(&str, &str)] = &[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")];

fn site(lines: &str) -> Builder {
    let builder = Server::builder()
        .file("files/one.txt", "one")
        .file("files/two.txt", "two")
        .file("files/.hidden.txt", "HIDDEN")
        .file("files/inc.txt", "<!--#include virtual=\"/file/y\" -->")
        .file("files/sub/index.html", "sub")
        .file("files/where.pl", WHERE)
        .file("cgi/where.pl", WHERE)
        .file("htdocs/fold/where.pl", WHERE)
        .file("htdocs/turned/page.html", "turned")
        .conf(&format!(
            "DirectoryIndex index.html\n<Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\n\
             AddHandler cgi-script .pl\n</Directory>\n{lines}\n"
        ));
    for script in ["files/where.pl", "cgi/where.pl", "htdocs/fold/where.pl"] {
        let script = builder.folder_of(script);
        std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("own file");
    }
    builder
}

/// Sends each request to both servers. A row has the target, the field X-A, and the status.
fn compare(lines: &str, rows: &[(&str, &str, u16)]) {
    let mut pair = Pair::start(|| site(lines)).mask(MASK);
    let mut differences = Vec::new();
    for (target, field, status) in rows {
        let mut request = Request::get(target).host("www.test");
        if !field.is_empty() {
            request = request.field("X-A", field);
        }
        match pair.compare(&request) {
            Ok(answer) if answer.status == *status => {}
            Ok(answer) => differences.push(format!("{target} {field}: {}", answer.status)),
            Err(why) => differences.push(format!("{field} {why}")),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn alias_with_one_argument_maps_all_paths_of_its_section_as_in_apache() {
    let lines = "\
        <Location /file>\nAlias @ROOT@/files/one.txt\n</Location>\n\
        <Location /folder>\nAlias @ROOT@/files/sub\n</Location>\n\
        <Location /prog>\nAlias @ROOT@/cgi/where.pl\n</Location>\n\
        <Location /rest>\nAlias @ROOT@/cgi/where.pl/more/info\n</Location>\n\
        <LocationMatch \"^/m/(?<name>[a-z]+)/(.*)\">\nAlias @ROOT@/files/%{env:MATCH_NAME}.txt\n</LocationMatch>\n\
        <LocationMatch \"^/d/([a-z]+)\">\nAlias @ROOT@/files/$1.txt\n</LocationMatch>\n\
        <Location /field>\nAlias @ROOT@/files/%{HTTP:X-A}.txt\n</Location>\n\
        <Location /script>\nScriptAlias @ROOT@/cgi/where.pl\n</Location>\n\
        <Location /scripts>\nScriptAlias @ROOT@/cgi\n</Location>\n\
        <Location /relative>\nAlias files/one.txt\n</Location>\n\
        <Location /missing>\nAlias @ROOT@/files/none.txt\n</Location>\n\
        <Location /denied>\nAlias @ROOT@/files/one.txt\nRequire all denied\n</Location>\n\
        <Location /outer>\nAlias @ROOT@/files/one.txt\n</Location>\n\
        <Location /outer/inner>\nAlias @ROOT@/files/two.txt\n</Location>\n\
        Alias /outer/two @ROOT@/files/sub\n\
        Redirect /outer/inner/away http://example.org/host\n\
        RewriteEngine On\n\
        RewriteRule ^/outer/disk$ @ROOT@/files/two.txt\n\
        RewriteRule ^/outer/away$ http://example.org/ [R]\n\
        RewriteRule ^/outer/pass$ /folder/x [PT]\n\
        RewriteRule ^/led/(.*)$ /file/$1 [PT]\n\
        RewriteRule ^/m/two/ - [E=SEEN:%{ENV:MATCH_NAME}]\n\
        <Location /page>\nOptions +Includes\nSetOutputFilter INCLUDES\nAlias @ROOT@/files/inc.txt\n</Location>\n";
    compare(
        lines,
        &[
            ("/file", "", 200),
            ("/file/", "", 200),
            ("/file/x/y", "", 200),
            ("/filed", "", 404),
            ("/folder", "", 301),
            ("/prog", "", 200),
            ("/prog/a/b?c", "", 200),
            ("/rest", "", 200),
            ("/rest/x", "", 200),
            ("/m/one/x", "", 200),
            ("/m/two/", "", 200),
            ("/m/three/x", "", 404),
            ("/d/one", "", 404),
            ("/field", "", 404),
            ("/field/more", "one", 200),
            ("/field", "none", 404),
            ("/script", "", 200),
            ("/script/", "", 200),
            ("/script/a/b", "", 200),
            ("/scripts", "", 301),
            ("/relative", "", 200),
            ("/missing/x", "", 404),
            ("/denied", "", 403),
            ("/outer", "", 200),
            ("/outer/inner", "", 200),
            ("/outer/inner/away", "", 302),
            ("/outer/two", "", 200),
            ("/outer/two/index.html", "", 200),
            ("/outer/disk", "", 200),
            ("/outer/away", "", 302),
            ("/outer/pass", "", 200),
            ("/led/x", "", 404),
            ("/page/x", "", 200),
        ],
    );
}

/// Apache serves these files.
#[test]
fn alias_with_one_argument_opens_no_hidden_file_for_a_requests_value() {
    let server =
        site("<Location /field>\nAlias @ROOT@/files/%{HTTP:X-A}.txt\n</Location>\n").start();
    for (value, status) in [
        ("one", 200),
        (".hidden", 404),
        ("../files/one", 404),
        ("sub/../one", 404),
        ("sub/.x/../../one", 404),
    ] {
        let answer = server.send(&Request::get("/field").field("X-A", value));
        assert_eq!(answer.status, status, "{value}");
    }
}

#[test]
fn alias_keeps_the_rest_of_the_path_as_in_apache() {
    let lines = "AliasPreservePath On\n\
        <Location /file>\nAlias @ROOT@/files\n</Location>\n\
        <Location /cgi>\nScriptAlias @ROOT@/cgi\n</Location>\n\
        <Location /slash/>\nAlias @ROOT@/files/\n</Location>\n\
        <LocationMatch ^/matched>\nAlias @ROOT@/files\n</LocationMatch>\n\
        <Location /off>\nAliasPreservePath Off\nAlias @ROOT@/files/one.txt\n</Location>\n";
    compare(
        lines,
        &[
            ("/file", "", 301),
            ("/file/one.txt", "", 200),
            ("/file/", "", 403),
            ("/file/sub", "", 301),
            ("/file/sub/", "", 200),
            ("/file/where.pl/x", "", 200),
            ("/cgi/where.pl", "", 200),
            ("/cgi/where.pl/x", "", 200),
            ("/slash/one.txt", "", 200),
            ("/matched", "", 301),
            ("/off/x", "", 200),
        ],
    );
}

#[test]
fn redirect_with_one_argument_leads_all_paths_of_its_section_away_as_in_apache() {
    let lines = "\
        <Location /red>\nRedirect http://example.org/to\n</Location>\n\
        <Location /query>\nRedirect http://example.org/to?a=b\n</Location>\n\
        <Location /path>\nRedirect permanent /to\n</Location>\n\
        <Location /relative>\nRedirectRelative On\nRedirect 303 /to\n</Location>\n\
        <Location /expr>\nRedirect http://example.org/%{HTTP:X-A}\n</Location>\n\
        <Location /bad>\nRedirect %{HTTP:X-A}\n</Location>\n\
        <Location /away>\nRedirect gone\n</Location>\n\
        <Location /none>\nRedirect 404\n</Location>\n\
        <Location /denied>\nRedirect http://example.org/to\nRequire all denied\n</Location>\n\
        <LocationMatch \"^/named/(?<name>[a-z]+)\">\nRedirect http://example.org/%{env:MATCH_NAME}\n</LocationMatch>\n\
        <Location /both>\nRedirect http://example.org/x\nAlias @ROOT@/files/one.txt\n</Location>\n\
        Redirect /both http://example.org/host\n\
        <Location /outer>\nRedirect http://outer.test/\n</Location>\n\
        <Location /outer/inner>\nRedirect /outer/inner/two http://two.test/\n</Location>\n\
        <Location /outer/own>\nRedirect http://own.test/\n</Location>\n\
        <Location /marks>\nRedirect \"/a%20b c[d]?x=y|z#f\"\n</Location>\n\
        <Location /mail>\nRedirect mailto:x@y.test\n</Location>\n\
        <Location /fields>\nHeader always set X-Seen yes\nRedirect http://example.org/\n</Location>\n\
        <Directory @ROOT@/htdocs/turned>\nRedirect http://turned.test/\n</Directory>\n\
        RedirectRelative On\nRedirect /two /three\n\
        <Location /whole>\nRedirectRelative Off\n</Location>\nRedirect /whole /three\n\
        <If \"%{HTTP:X-A} == 'go'\">\nRedirect http://if.test/\n</If>\n\
        RewriteEngine On\nRewriteRule ^/red/(.*)$ /file/$1 [PT]\n";
    compare(
        lines,
        &[
            ("/red", "", 302),
            ("/red/more", "", 302),
            ("/red?q=1", "", 302),
            ("/query?c=d", "", 302),
            ("/path/x?y", "", 301),
            ("/relative/x?y=z", "", 303),
            ("/expr", "", 302),
            ("/expr", "a b", 302),
            ("/expr?q", "p?r", 302),
            ("/bad", "", 500),
            ("/bad", "one", 500),
            ("/bad", "/a b", 302),
            ("/bad", "http://b.test/x y", 302),
            ("/bad", "ftp://x", 302),
            ("/bad", "../x", 500),
            ("/away", "", 410),
            ("/none/x", "", 404),
            ("/denied", "", 302),
            ("/named/abc/d", "", 302),
            ("/both", "", 302),
            ("/outer/inner/two", "", 302),
            ("/outer/own/x", "", 302),
            ("/marks?q", "", 302),
            ("/mail", "", 302),
            ("/fields", "", 302),
            ("/turned/page.html", "", 302),
            ("/turned/none", "", 302),
            ("/two/x?y", "", 302),
            ("/whole/x", "", 302),
            ("/files/none", "go", 302),
            ("/denied", "go", 302),
            ("/outer", "go", 302),
        ],
    );
}

#[test]
fn named_groups_of_sections_set_variables_as_in_apache() {
    let lines = "\
        <LocationMatch \"^/fold/where.pl(?:/(?<name>[a-z]+))?(?:/(?<more>.+))?\">\nSetEnvIf MATCH_NAME b SEEN=yes\n</LocationMatch>\n\
        <DirectoryMatch \"^@ROOT@/htdocs/(?<folder>[^/]+)\">\nSetEnv x y\n</DirectoryMatch>\n\
        <FilesMatch \"^(?<base>[^.]+)\\.pl$\">\nSetEnv x z\n</FilesMatch>\n";
    compare(
        lines,
        &[
            ("/fold/where.pl", "", 200),
            ("/fold/where.pl/abc", "", 200),
            ("/fold/where.pl/abc/d/e", "", 200),
            ("/fold/where.pl/a%20c", "", 200),
        ],
    );
}

#[test]
fn a_folder_without_its_slash_has_the_rules_that_it_has_in_apache() {
    let lines = "\
        <Directory @ROOT@>\nRequire all denied\n</Directory>\n\
        <Directory @ROOT@/htdocs>\nAllowOverride All\nRequire all denied\n</Directory>\n\
        <DirectoryMatch \"(@ROOT@/htdocs/open|@ROOT@/htdocs/kept)\">\nRequire all granted\n</DirectoryMatch>\n";
    let build = || {
        site(lines)
            .file("htdocs/open/page.html", "open")
            .file("htdocs/kept/page.html", "kept")
            .file("htdocs/closed/page.html", "closed")
    };
    let mut pair = Pair::start(build).mask(MASK);
    for (target, status) in [
        ("/open", 301),
        ("/open/page.html", 200),
        ("/kept", 301),
        ("/closed", 403),
        ("/closed/page.html", 403),
        ("/none", 403),
    ] {
        assert_eq!(pair.get(target).status, status, "{target}");
    }
}
