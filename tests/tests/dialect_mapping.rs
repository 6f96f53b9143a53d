//! Tests which file belongs to a path where the host's name or the host's rules decide:
//! `VirtualDocumentRoot`, and indexes of folders whose paths are rewritten. Each response must
//! equal Apache's.

use mehari_harness::{Builder, Pair, Request, Server};
use std::os::unix::fs::PermissionsExt;

const WHERE: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } \
    qw(SCRIPT_NAME PATH_INFO PATH_TRANSLATED SCRIPT_FILENAME REQUEST_URI DOCUMENT_ROOT QUERY_STRING RULE);\n";

/// The masks of the folders of both servers.
const MASK: &[(&str, &str)] = &[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")];

/// Returns a site with these lines and files. The files `*.pl` are executable.
fn site(lines: &str, files: &[(&str, &str)]) -> Builder {
    let granted = "<Directory @ROOT@>\nRequire all granted\n</Directory>\n";
    let builder = Server::builder().conf(&format!("{granted}{lines}\n"));
    let builder = files
        .iter()
        .fold(builder, |builder, (name, text)| builder.file(name, text));
    for (name, _) in files.iter().filter(|(name, _)| name.ends_with(".pl")) {
        let (folder, script) = name.rsplit_once('/').expect("a folder");
        let script = builder.folder_of(folder).join(script);
        std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("own file");
    }
    builder
}

/// Sends each request to both servers. A row has the host, the target, and the status.
fn compare(lines: &str, files: &[(&str, &str)], rows: &[(&str, &str, u16)]) {
    let mut pair = Pair::start(|| site(lines, files)).mask(MASK);
    let mut differences = Vec::new();
    for (host, target, status) in rows {
        match pair.compare(&Request::get(target).host(host)) {
            Ok(answer) if answer.status == *status => {}
            Ok(answer) => differences.push(format!("{host} {target}: {}", answer.status)),
            Err(why) => differences.push(format!("{host} {why}")),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

const HOSTED: &[(&str, &str)] = &[
    ("v/www.one.test/index.html", "one"),
    ("v/www.one.test/page.html", "one's page"),
    ("v/www.one.test/sub/index.html", "one's folder"),
    ("v/www.one.test/list/page.html", "listed"),
    ("v/www.two.test/index.html", "two"),
    ("v/www.two.test/where.pl", WHERE),
    ("v/aliased/index.html", "aliased"),
    ("v/www.one.test/aliased/index.html", "not aliased"),
    ("cgi/www.one.test/where.pl", WHERE),
    ("cgi/www.one.test/plain.txt", "not executable"),
    ("parts/one/w/ww/index.html", "parts"),
    ("parts/_/a/_/index.html", "few parts"),
    ("local/127.0.0.1/index.html", "by address"),
    ("htdocs/index.html", "htdocs"),
    ("fixed/index.html", "fixed"),
];

/// Returns a virtual host of this name with these lines.
fn host(name: &str, aliases: &str, lines: &str) -> String {
    format!(
        "<VirtualHost *:*>\nServerName {name}\nServerAlias {aliases}\n{lines}\n</VirtualHost>\n"
    )
}

#[test]
fn folders_named_after_hosts_are_those_of_apache() {
    let scripts = "AddHandler cgi-script .pl\nOptions +ExecCGI\n";
    let lines = [
        scripts,
        "VirtualDocumentRoot @ROOT@/v/%0\nVirtualScriptAlias @ROOT@/cgi/%0\n",
        &host("main", "www.*.test", "UseCanonicalName Off\nAlias /aliased @ROOT@/v/aliased\nRedirect /gone http://example.org/"),
        &host("parts", "www.one.parts a", "VirtualDocumentRoot @ROOT@/parts/%2/%1.1/%1.2+/"),
        &host("address", "x", "VirtualDocumentRootIP @ROOT@/local/%0"),
        &host("canonical", "other.test", "UseCanonicalName On\nServerName www.two.test"),
        &host("fixed", "y", "DocumentRoot @ROOT@/fixed\nVirtualDocumentRoot none"),
    ]
    .concat();
    compare(
        &lines,
        HOSTED,
        &[
            ("www.one.test", "/", 200),
            ("WWW.One.test", "/page.html", 200),
            ("www.one.test:8080", "/page.html", 200),
            ("www.one.test", "/page.html/more", 404),
            ("www.one.test", "/sub", 301),
            ("www.one.test", "/sub/", 200),
            ("www.one.test", "/sub/index.html?a=b", 200),
            ("www.one.test", "/none.html", 404),
            ("www.one.test", "/aliased/", 200),
            ("www.one.test", "/gone/a", 302),
            ("www.one.test", "/cgi-bin/where.pl/info?q=1", 200),
            ("www.one.test", "/cgi-bin/none.pl", 404),
            ("www.two.test", "/", 200),
            ("www.two.test", "/where.pl/info?q=1", 200),
            ("www.none.test", "/", 404),
            ("www.one.parts", "/", 200),
            ("a", "/", 200),
            ("address", "/", 200),
            ("other.test", "/", 200),
            ("fixed", "/", 200),
            ("www.one.test", "/.htaccess", 404),
        ],
    );
}

const REWRITTEN: &[(&str, &str)] = &[
    ("htdocs/index.html", "top"),
    ("htdocs/real/index.html", "real"),
    ("htdocs/real/other.html", "other"),
    ("htdocs/real/where.pl", WHERE),
    ("htdocs/only/index.html", "only"),
    ("htdocs/plain/index.html", "plain"),
    ("htdocs/folder/index.html", "folder's index"),
    ("htdocs/folder/second.html", "second"),
    ("htdocs/listed/page.html", "a page"),
    ("htdocs/led/index.html", "not led"),
    ("htdocs/env/where.pl", WHERE),
    ("htdocs/fall/back.html", "fallen back"),
    ("htdocs/fall/below/x.html", "x"),
    ("htdocs/guarded/index.html", "guarded"),
    ("elsewhere/index.html", "elsewhere"),
    ("elsewhere/where.pl", WHERE),
];

#[test]
fn indexes_pass_the_rules_of_the_host_as_in_apache() {
    let lines = "AddHandler cgi-script .pl\nOptions +ExecCGI -Indexes\n\
        <VirtualHost *:*>\nServerName rules\nRewriteEngine On\n\
        RewriteRule ^/app(/.*)?$ /real$1\n\
        RewriteRule ^/once/$ /only/\n\
        RewriteRule ^/disk/(.*) @ROOT@/elsewhere/$1\n\
        RewriteRule ^/passed/(.*) /plain/$1 [PT]\n\
        RewriteRule ^/folder/index.html$ /folder/second.html\n\
        RewriteRule ^/led/index.html$ http://example.org/led [R=301,L]\n\
        RewriteRule ^/plain/none - [F]\n\
        RewriteRule ^/shut/(.+)$ - [F]\n\
        RewriteRule ^/skipped/index.html$ /real/other.html [NS]\n\
        RewriteRule ^/env/ - [E=RULE:set]\n\
        RewriteRule ^/back/index.html$ /real/where.pl/info [QSA,L]\n\
        RewriteRule ^/toadded/index.html$ /real/where.pl?added=1 [QSA,L]\n\
        RewriteCond %{QUERY_STRING} ask\nRewriteRule ^/plain/index.html$ /real/other.html\n\
        <Directory @ROOT@/htdocs/env>\nDirectoryIndex none.html where.pl\n</Directory>\n\
        <Directory @ROOT@/htdocs/listed>\nOptions +Indexes\n</Directory>\n\
        <Directory @ROOT@/htdocs/fall>\nFallbackResource /fall/back.html\n</Directory>\n\
        <Directory @ROOT@/htdocs/guarded>\nRequire all denied\n</Directory>\n\
        <Location /moved>\nDirectoryIndexRedirect On\n</Location>\n\
        RewriteRule ^/moved/(.*) /plain/$1\n\
        Redirect /redirected/index.html http://example.org/away\n\
        </VirtualHost>\n";
    let more = [
        ("htdocs/skipped/index.html", "unchanged"),
        ("htdocs/back/keep.txt", "x"),
        ("htdocs/toadded/keep.txt", "x"),
        ("htdocs/shut/index.html", "shut"),
        ("htdocs/redirected/index.html", "stays"),
    ];
    let files = [REWRITTEN, &more].concat();
    let rows = [
        ("/", 200),
        ("/app/", 200),
        ("/app", 301),
        ("/app/other.html", 200),
        ("/once/", 403),
        ("/disk/", 200),
        ("/disk/where.pl", 200),
        ("/passed/", 200),
        ("/plain/", 200),
        ("/plain/?ask", 200),
        ("/folder/", 200),
        ("/led/", 200),
        ("/shut/", 403),
        ("/skipped/", 200),
        ("/env/?a=b", 200),
        ("/back/?a=b", 200),
        ("/toadded/?a=b", 200),
        ("/fall/", 200),
        ("/fall/below/", 200),
        ("/guarded/", 403),
        ("/moved/", 302),
        ("/redirected/", 302),
    ];
    let rows: Vec<_> = rows
        .iter()
        .map(|(target, status)| ("rules", *target, *status))
        .collect();
    compare(lines, &files, &rows);
}

/// As in Apache, PATH_TRANSLATED is the file of PATH_INFO as a URL path, so aliases map it. A CGI
/// program that `Action` names reads this file.
#[test]
fn path_translated_follows_the_aliases_of_the_host() {
    let paths = |prefix: &'static str| {
        [
            "/",
            "/page.html",
            "/page.html/more",
            "/none/more",
            "/aliased/page.html",
            "/aliased/none",
            "/matched/page.html",
            "/cgi/where.pl/more",
            "/denied/page.html",
            "/a%20b%3f",
        ]
        .map(|rest| format!("{prefix}{rest}"))
    };
    let mut targets = paths("/cgi/where.pl").to_vec();
    targets.extend(paths("/perl/where.pl"));
    targets.extend(["/page.shown", "/aliased/page.shown"].map(str::to_owned));
    let rows: Vec<_> = targets
        .iter()
        .map(|target| ("localhost", target.as_str(), 200))
        .collect();
    compare(
        "ScriptAlias /cgi/ @ROOT@/cgi/\n\
         Alias /perl/ @ROOT@/cgi/\n\
         Alias /aliased/ @ROOT@/fixed/\n\
         AliasMatch ^/matched/(.*)$ @ROOT@/fixed/$1\n\
         AddHandler shown .shown\n\
         Action shown /cgi/where.pl\n\
         <Location /denied>\nRequire all denied\n</Location>\n\
         <Location /perl>\nOptions +ExecCGI\nPerlOptions +ParseHeaders\nSetHandler perl-script\n\
         PerlResponseHandler ModPerl::Registry\n</Location>",
        &[
            ("cgi/where.pl", WHERE),
            ("htdocs/page.html", "page"),
            ("htdocs/page.shown", "shown"),
            ("fixed/page.html", "fixed"),
            ("fixed/page.shown", "fixed and shown"),
        ],
        &rows,
    );
}

/// A ScriptAlias allows CGI programs, but no scripts of mod_perl.
#[test]
fn script_alias_allows_cgi_programs_only() {
    compare(
        "ScriptAlias /cgi/ @ROOT@/cgi/\n\
         ScriptAlias /perl/ @ROOT@/cgi/\n\
         ScriptAlias /allowed/ @ROOT@/cgi/\n\
         <Location /perl>\nSetHandler perl-script\nPerlOptions +ParseHeaders\n\
         PerlResponseHandler ModPerl::Registry\n</Location>\n\
         <Location /allowed>\nOptions +ExecCGI\nSetHandler perl-script\n\
         PerlOptions +ParseHeaders\nPerlResponseHandler ModPerl::PerlRun\n</Location>",
        &[("cgi/where.pl", WHERE)],
        &[
            ("localhost", "/cgi/where.pl", 200),
            ("localhost", "/perl/where.pl", 403),
            ("localhost", "/allowed/where.pl", 200),
        ],
    );
}
