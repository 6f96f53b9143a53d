//! Tests the walk through the folders to a file: symbolic links, the sections that match, folders
//! without an index, and missing files. Each response must equal Apache's.

use mehari_harness::{apache, needs, Answer, Builder, Pair, Request, Server};
use std::os::unix::fs::{lchown, symlink, MetadataExt};
use std::path::Path;

/// A user who owns nothing on the machine.
const NOBODY: u32 = 65534;

/// Makes the links of a folder. `real` is a folder with a file and a link that leads nowhere.
fn make_links(folder: &Path) {
    for (name, target) in [
        ("dangling.html", "none.html"),
        ("chain.html", "dangling.html"),
        ("loop.html", "loop.html"),
        ("good.html", "../real/page.html"),
        ("folder", "../real"),
        ("zero.html", "/dev/zero"),
        ("null.html", "/dev/null"),
    ] {
        symlink(target, folder.join(name)).expect("a link");
    }
    let foreign = folder.join("foreign.html");
    symlink("../real/page.html", &foreign).expect("a link");
    // Only root can give a link away. Otherwise the test has one link less.
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        lchown(&foreign, Some(NOBODY), None).expect("own link");
    }
}

const OF_LINKS: &str = "
    ErrorDocument 403 /said/server.html
    <Directory @ROOT@>
        Require all granted
        AllowOverride None
    </Directory>
    <Directory @ROOT@/htdocs/refused>
        Options None
        ErrorDocument 403 /said/folder.html
    </Directory>
    <Directory @ROOT@/htdocs/refused/sub>
        Options +FollowSymLinks
    </Directory>
    <Directory @ROOT@/htdocs/owner>
        Options SymLinksIfOwnerMatch
    </Directory>
    <Directory @ROOT@/htdocs/both>
        Options +SymLinksIfOwnerMatch
    </Directory>
    <Directory @ROOT@/htdocs/again>
        Options +SymLinksIfOwnerMatch
        Options -SymLinksIfOwnerMatch
    </Directory>
    <Directory @ROOT@/htdocs/linked>
        Options None
    </Directory>
    <Directory @ROOT@/htdocs/locked>
        AuthType Basic
        AuthName locked
        Require valid-user
    </Directory>
    <Directory @ROOT@/htdocs/by_file>
        AllowOverride Options
    </Directory>
    <Location /located>
        Options -FollowSymLinks
    </Location>
    <DirectoryMatch /matched>
        Options -FollowSymLinks
    </DirectoryMatch>
    <Location /handled>
        SetHandler modperl
        PerlResponseHandler Handled
    </Location>
    <Perl>
        package Handled;
        use Apache2::RequestRec ();
        use Apache2::RequestIO ();
        sub handler { my $r = shift; $r->content_type('text/plain'); $r->print('handled'); 0 }
    </Perl>
";

/// The folders with links.
const LINKED: [&str; 11] = [
    "followed",
    "refused",
    "refused/sub",
    "owner",
    "both",
    "again",
    "locked",
    "by_file",
    "located",
    "matched",
    "handled",
];

fn site_of_links() -> Builder {
    let mut builder = Server::builder().conf(OF_LINKS);
    for folder in LINKED {
        builder = builder.file(&format!("htdocs/{folder}/index.html"), folder);
    }
    builder = builder
        .file("htdocs/said/server.html", "the server's")
        .file("htdocs/said/folder.html", "the folder's")
        .file("htdocs/real/page.html", "page")
        .file("htdocs/refused/real/page.html", "page")
        .file("htdocs/by_file/.htaccess", "Options -FollowSymLinks\n");
    for folder in LINKED {
        make_links(&builder.folder_of(&format!("htdocs/{folder}")));
    }
    let root = builder.folder_of("htdocs");
    symlink("none", root.join("real/dangling.html")).expect("a link");
    symlink("real", root.join("linked")).expect("a link");
    let made = std::process::Command::new("mkfifo")
        .arg(root.join("followed/fifo.html"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    builder
}

#[test]
fn links_are_refused_over_http2_too() {
    needs!("curl");
    let server = site_of_links().start();
    for (target, status) in [
        ("/followed/dangling.html", "403"),
        ("/followed/good.html", "200"),
    ] {
        let said = std::process::Command::new("curl")
            .args([
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_version} %{http_code}",
            ])
            .arg("--http2-prior-knowledge")
            .arg(format!("http://{}{target}", server.address))
            .output()
            .expect("curl runs");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert_eq!(said, format!("2 {status}"), "{target}");
    }
}

#[test]
fn symbolic_links_are_followed_or_refused_as_in_apache() {
    let servers = apache::beside(site_of_links);
    let get = |server: &Server, target: &str| {
        let answer = server.get(target);
        let text = answer.text();
        // The servers' own pages differ.
        let is_own = text.starts_with('<') || text.is_empty();
        let text = if is_own { String::new() } else { text };
        (answer.status, answer.field("www-authenticate"), text)
    };
    let mut differences = Vec::new();
    for folder in LINKED {
        for name in [
            "dangling.html",
            "dangling.html/more",
            "chain.html",
            "loop.html",
            "good.html",
            "good.html/more",
            "foreign.html",
            "folder",
            "folder/",
            "folder/page.html",
            "folder/none.html",
            "folder/dangling.html",
            "none.html",
            "none/more",
            "zero.html",
            "zero.html/more",
            "null.html",
            "",
        ] {
            let target = format!("/{folder}/{name}");
            let all: Vec<_> = servers.iter().map(|server| get(server, &target)).collect();
            if all.iter().any(|one| *one != all[0]) {
                differences.push(format!("{target}: {all:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    for (target, status) in [
        ("/followed/dangling.html", 403),
        ("/followed/none.html", 404),
        ("/followed/good.html", 200),
        ("/refused/good.html", 403),
        ("/refused/sub/good.html", 200),
        ("/owner/good.html", 200),
        ("/owner/dangling.html", 403),
        ("/locked/dangling.html", 403),
        ("/locked/none.html", 401),
        ("/by_file/good.html", 403),
        ("/located/good.html", 200),
        ("/handled/dangling.html", 403),
        ("/followed/zero.html", 200),
        ("/followed/zero.html/more", 403),
        ("/owner/zero.html", 403),
        // Apache waits for a writer for ever.
        ("/followed/fifo.html", 403),
        ("/handled/none.html", 200),
        ("/linked/page.html", 200),
        ("/linked/dangling.html", 403),
    ] {
        assert_eq!(servers[0].get(target).status, status, "{target}");
    }
    assert_eq!(servers[0].get("/refused/good.html").text(), "the server's");
}

/// Sections that each add a name to a field of the response, in the order of merging.
fn marks(sections: &[(&str, &str)]) -> String {
    let mark = |(number, (kind, what)): (usize, &(&str, &str))| {
        format!("<{kind} \"{what}\">\nHeader always append X-Seen {number}\n</{kind}>\n")
    };
    sections.iter().enumerate().map(mark).collect()
}

const SECTIONS: &[(&str, &str)] = &[
    ("DirectoryMatch", "^@ROOT@/htdocs/a"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a$"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a/$"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a/?$"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a/b$"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a/b/$"),
    ("Directory", "@ROOT@/htdocs/a/b"),
    ("DirectoryMatch", "/b/"),
    ("DirectoryMatch", "/b$"),
    ("DirectoryMatch", "page"),
    ("DirectoryMatch", "index"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a/[^/]+$"),
    ("DirectoryMatch", "^@ROOT@/htdocs/a/[^/]+/$"),
    ("Directory", "@ROOT@/htdocs/a"),
    ("Directory", "@ROOT@/htdocs/*/b"),
    ("DirectoryMatch", "[.]html$"),
    ("DirectoryMatch", "none"),
    ("DirectoryMatch", "more"),
    ("DirectoryMatch", "//"),
    ("Directory", "@ROOT@"),
    ("Files", "*.html"),
    ("Location", "/a/b"),
];

fn site_of_patterns() -> Builder {
    let within = "
        <DirectoryMatch \"^@ROOT@/htdocs/a/b/\">
            <Files page.html>
                Header always append X-Seen files-match
            </Files>
        </DirectoryMatch>
        <Directory @ROOT@/htdocs/a>
            <Files page.html>
                Header always append X-Seen files-folder
            </Files>
        </Directory>
        <Directory ~ \"^@ROOT@/htdocs/a/b$\">
            <Files b>
                Header always append X-Seen files-tilde
            </Files>
            Header always append X-Seen tilde
        </Directory>
        <Location /h>
            SetHandler modperl
            PerlResponseHandler Seen
        </Location>
        <DirectoryMatch \"^@ROOT@/htdocs/h/[^/]*$\">
            Header always append X-Seen handler
        </DirectoryMatch>
        <Perl>
            package Seen;
            use Apache2::RequestRec ();
            use Apache2::RequestIO ();
            sub handler { my $r = shift; $r->content_type('text/plain'); $r->print('seen'); 0 }
        </Perl>
        Alias /alias @ROOT@/htdocs/a
        ";
    Server::builder()
        .file("htdocs/a/index.html", "a")
        .file("htdocs/a/page.html", "page of a")
        .file("htdocs/a/.htaccess", "Header always append X-Seen file-a\n")
        .file("htdocs/a/b/index.html", "b")
        .file("htdocs/a/b/page.html", "page of b")
        .file(
            "htdocs/a/b/.htaccess",
            "Header always append X-Seen file-b\n<Files page.html>\n\
             Header always append X-Seen file-b-page\n</Files>\n",
        )
        .file("htdocs/a/b/c/page.html", "page of c")
        .file("htdocs/a/c/none.txt", "c")
        .conf(&format!(
            "DirectoryIndex index.htm index.html\n<Directory @ROOT@>\nRequire all granted\n\
             AllowOverride All\n</Directory>\n{}{within}",
            marks(SECTIONS)
        ))
}

const TARGETS: &[&str] = &[
    "/a",
    "/a/",
    "/a/index.html",
    "/a/page.html",
    "/a/page.html/more",
    "/a/page.html/",
    "/a/none",
    "/a/none/",
    "/a/none/more",
    "/a/b",
    "/a/b/",
    "/a/b/index.html",
    "/a/b/page.html",
    "/a/b/page.html/more/page",
    "/a/b/none.html",
    "/a/b/none/more.html",
    "/a/b/c",
    "/a/b/c/",
    "/a/b/c/page.html",
    "/a/c/",
    "/a/c/none.txt",
    "/alias",
    "/alias/",
    "/alias/b/page.html",
    "/h",
    "/h/",
    "/h/x",
    "/h/x/y",
    "/none",
    "/",
    "/a//b///page.html",
];

#[test]
fn patterns_of_folders_match_what_they_match_in_apache() {
    let mut pair = Pair::start(site_of_patterns);
    let mut differences = Vec::new();
    for target in TARGETS {
        match pair.compare(&Request::get(target)) {
            Ok(answer) => assert!(answer.field("x-seen").is_some(), "{target}"),
            Err(why) => differences.push(why),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A `<Directory>` with wildcards matches what exists: neither the path of a handler, nor a missing
/// file, nor the index of the folder around it.
#[test]
fn patterns_of_folders_match_existing_paths_only() {
    let site = || {
        Server::builder()
            .file("htdocs/index.html", "index")
            .file("htdocs/page.html", "page")
            .file("htdocs/sub/index.html", "index of sub")
            .file("htdocs/sub/page.html", "page of sub")
            .conf(
                "<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
                 <Directory @ROOT@/htdocs/*>\nRequire all denied\n</Directory>\n\
                 <Directory @ROOT@/htdocs/s*/*.html>\nHeader set X-File matched\n\
                 Require all granted\n</Directory>\n\
                 <Location /handled>\nSetHandler modperl\nPerlResponseHandler Handled\n</Location>\n\
                 <Perl>\npackage Handled;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
                 sub handler { my $r = shift; $r->print('handled'); 0 }\n1;\n</Perl>\n",
            )
    };
    let mut pair = Pair::start(site);
    for (target, status) in [
        ("/", 200),
        ("/index.html", 403),
        ("/page.html", 403),
        ("/page.html/more", 404),
        ("/missing.html", 404),
        ("/missing/more.html", 404),
        ("/handled", 200),
        ("/handled/more", 200),
        ("/sub", 403),
        ("/sub/", 403),
        ("/sub/page.html", 200),
        ("/sub/missing.html", 403),
    ] {
        let answer = pair.compare(&Request::get(target));
        let status_of = answer.map(|answer| answer.status);
        assert_eq!(status_of, Ok(status), "{target}");
    }
}

/// Only GET and HEAD ask for the listing of a folder, and `default-handler` never lists one.
#[test]
fn folders_without_an_index_answer_each_method_as_in_apache() {
    let site = || {
        Server::builder()
            .file("htdocs/plain/page.html", "page")
            .file("htdocs/listed/page.html", "page")
            .file("htdocs/fixed/page.html", "page")
            .file("htdocs/run/page.html", "page")
            .conf(
                "<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
                 <Directory @ROOT@/htdocs/listed>\nOptions +Indexes\n</Directory>\n\
                 <Location /fixed>\nOptions +Indexes\nSetHandler default-handler\n</Location>\n\
                 <Location /run>\nOptions +Indexes +ExecCGI\nSetHandler cgi-script\n</Location>\n",
            )
    };
    let pair = Pair::start(site);
    for (method, target, status) in [
        ("GET", "/plain/", 403),
        ("HEAD", "/plain/", 403),
        ("POST", "/plain/", 404),
        ("DELETE", "/plain/", 405),
        ("POST", "/listed/", 404),
        ("DELETE", "/listed/", 405),
        ("GET", "/listed/", 200),
        ("GET", "/run/", 403),
        ("GET", "/fixed/", 404),
        ("POST", "/fixed/", 404),
    ] {
        let request = match method {
            "POST" => Request::form(target, "a=1"),
            _ => Request::new(method, target),
        };
        let statuses: Vec<u16> = pair
            .servers()
            .map(|server| server.send(&request).status)
            .collect();
        assert!(
            statuses.iter().all(|one| *one == status),
            "{method} {target}: {statuses:?}"
        );
    }
}

/// Sends each request to both servers. A row has the method, the target and the status.
fn compare(site: impl Fn() -> Builder, rows: &[(&str, &str, u16)]) {
    let mut pair = Pair::start(site).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    let mut differences = Vec::new();
    for (method, target, status) in rows {
        let request = match *method {
            "POST" => Request::form(target, "a=1"),
            method => Request::new(method, target),
        };
        match pair.compare(&request) {
            Ok(answer) if answer.status == *status => {}
            Ok(answer) => differences.push(format!("{method} {target}: {}", answer.status)),
            Err(why) => differences.push(why),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A CGI program and a Perl handler that print what the server has told them.
const ECHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    map { $_ . '=' . ($ENV{$_} // '-') . qq{\\n} } qw(REQUEST_METHOD REQUEST_URI SCRIPT_NAME \
    PATH_INFO SCRIPT_FILENAME REDIRECT_URL REDIRECT_STATUS REDIRECT_HANDLER REDIRECT_QUERY_STRING);\n";
const HANDLERS: &str = r#"
    <Perl>
        package Told;
        use Apache2::RequestRec ();
        use Apache2::RequestIO ();
        use APR::Table ();
        sub told { my $r = shift; join ' ', $r->uri, $r->filename =~ s{.*(?=/htdocs|/other|/cgi)}{}r, $r->path_info }
        sub answer { my $r = shift; $r->content_type('text/plain'); $r->print(told($r), ' ', $ENV{SCRIPT_FILENAME}); 0 }
        sub declined { -1 }
        sub fixup { my $r = shift; $r->err_headers_out->add('X-Told' => 'fixup ' . told($r)); -1 }
        sub access { my $r = shift; $r->err_headers_out->add('X-Told' => 'access ' . told($r)); 0 }
    </Perl>
"#;

fn site_of_programs() -> Builder {
    let builder = Server::builder()
        .file("cgi/echo.pl", ECHO)
        .file("other/page.html", "other page");
    let program = builder.folder_of("cgi/echo.pl");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("own file");
    builder.conf(&format!(
        "PerlModule ModPerl::Registry\nDirectoryIndex index.html\n\
         <Directory @ROOT@>\nRequire all granted\nOptions FollowSymLinks Indexes ExecCGI\n\
         AllowOverride All\n</Directory>\n\
         ScriptAlias /cgi @ROOT@/cgi\nAlias /other @ROOT@/other\n{HANDLERS}"
    ))
}

#[test]
fn folders_with_a_handler_are_never_listed_as_in_apache() {
    let site = || {
        let mut builder = site_of_programs();
        for folder in ["registry", "perlrun", "handled", "acting", "index"] {
            builder = builder.file(&format!("htdocs/{folder}/page.html"), "page");
        }
        builder.file("htdocs/index/index.html", "index").conf(
            "<Location /registry>\nSetHandler perl-script\n\
                 PerlResponseHandler ModPerl::Registry\n</Location>\n\
                 <Location /perlrun>\nSetHandler perl-script\nOptions -ExecCGI\n\
                 PerlResponseHandler ModPerl::PerlRun\n</Location>\n\
                 <Location /handled>\nSetHandler modperl\nPerlResponseHandler Told::declined\n\
                 </Location>\n\
                 Action acts /cgi/echo.pl\n\
                 <Location /acting>\nSetHandler acts\n</Location>\n\
                 <Location /index>\nSetHandler default-handler\n</Location>\n",
        )
    };
    compare(
        site,
        &[
            ("GET", "/cgi/", 403),
            ("HEAD", "/cgi/", 403),
            ("POST", "/cgi/", 403),
            ("DELETE", "/cgi/", 403),
            ("OPTIONS", "/cgi/", 403),
            ("GET", "/registry/", 404),
            ("POST", "/registry/", 404),
            ("GET", "/perlrun/", 404),
            ("GET", "/handled/", 404),
            ("GET", "/acting/", 200),
            ("POST", "/acting/", 200),
            ("GET", "/index/", 200),
        ],
    );
}

/// As in Apache, the file of a path ends with the first missing name, and a `<Directory>` counts
/// only for what exists.
#[test]
fn missing_paths_have_the_file_the_path_info_and_the_sections_that_they_have_in_apache() {
    let site = || {
        let mut conf = String::new();
        for (number, folder) in [
            "htdocs/missing",
            "htdocs/handled",
            "htdocs/sub/none",
            "htdocs/sub/page.html",
            "htdocs/index.html",
            "other/none",
            "cgi/none",
            "cgi/echo.pl",
        ]
        .iter()
        .enumerate()
        {
            conf += &format!(
                "<Directory @ROOT@/{folder}>\nHeader always append X-Seen {number}\n</Directory>\n"
            );
        }
        site_of_programs()
            .file("htdocs/index.html", "index")
            .file("htdocs/sub/page.html", "page")
            .file("htdocs/named/named", "named")
            .conf(&conf)
            .conf(
                "<Location />\nPerlFixupHandler Told::fixup\n</Location>\n\
                 <Directory @ROOT@/htdocs/missing>\nRequire all denied\n</Directory>\n\
                 <Location /handled>\nSetHandler perl-script\nPerlResponseHandler Told::answer\n\
                 </Location>\n\
                 <Location /sub/handled>\nSetHandler perl-script\n\
                 PerlResponseHandler Told::answer\n</Location>\n\
                 <Location /other/handled>\nSetHandler perl-script\n\
                 PerlResponseHandler Told::answer\n</Location>\n\
                 <Location /named>\nSetHandler perl-script\nPerlResponseHandler Told::answer\n\
                 </Location>\n\
                 <Location /sub/page.html>\nSetHandler modperl\n\
                 PerlResponseHandler Told::declined\n</Location>\n\
                 <If \"%{SCRIPT_FILENAME} =~ m#/none$#\">\n\
                 Header always append X-Seen if\n</If>\n",
            )
    };
    compare(
        site,
        &[
            ("GET", "/missing", 404),
            ("GET", "/missing/more", 404),
            ("GET", "/missing/more/info/", 404),
            ("GET", "/sub/none", 404),
            ("GET", "/sub/none/more", 404),
            ("GET", "/sub/page.html", 200),
            ("GET", "/sub/page.html/more", 404),
            ("GET", "/other/none/more", 404),
            ("GET", "/cgi/none/more", 404),
            ("GET", "/cgi/echo.pl", 200),
            ("GET", "/cgi/echo.pl/more/info", 200),
            ("GET", "/handled", 200),
            ("GET", "/handled/", 200),
            ("GET", "/handled/more/info", 200),
            ("GET", "/sub/handled/x/x", 200),
            ("GET", "/other/handled/x/y", 200),
            ("GET", "/named/named/named", 200),
            ("GET", "/", 200),
            ("GET", "/index.html", 200),
        ],
    );
}

#[test]
fn a_fallback_answers_where_it_answers_in_apache() {
    let site = || {
        let mut builder = site_of_programs().file("htdocs/page.html", "page");
        let mut conf = String::new();
        for (folder, lines) in [
            ("listed", "FallbackResource /cgi/echo.pl"),
            ("unlisted", "Options -Indexes\nFallbackResource /page.html"),
            ("without", "Options -Indexes\nFallbackResource /none"),
            ("relative", "FallbackResource own.txt"),
            ("above", "FallbackResource ../page.html"),
            (
                "disabled",
                "DirectoryIndex disabled\nFallbackResource /page.html",
            ),
            ("run", "SetHandler cgi-script\nFallbackResource /page.html"),
            (
                "before",
                "DirectoryIndex none own.txt\nFallbackResource /page.html",
            ),
            (
                "behind",
                "DirectoryIndex own.txt none\nFallbackResource /page.html",
            ),
            ("bare", "DirectorySlash Off\nFallbackResource /page.html"),
        ] {
            builder = builder.file(&format!("htdocs/{folder}/own.txt"), "own");
            conf += &format!("<Directory @ROOT@/htdocs/{folder}>\n{lines}\n</Directory>\n");
        }
        builder.conf(&conf).conf(
            "<Directory @ROOT@/cgi>\nFallbackResource /page.html\n</Directory>\n\
             AddHandler cgi-script .run\n",
        )
    };
    let rows = [
        ("GET", "/listed/", 200),
        ("POST", "/listed/", 200),
        ("GET", "/listed/none?a=1", 200),
        ("GET", "/listed/none/more", 200),
        ("GET", "/listed/none.run", 404),
        ("GET", "/relative/", 200),
        ("GET", "/relative/none?a=1", 200),
        ("GET", "/relative/own.txt", 200),
        ("GET", "/above/", 200),
        ("GET", "/above/none", 200),
        ("GET", "/unlisted/", 200),
        ("GET", "/unlisted/none", 200),
        ("GET", "/without/", 403),
        ("POST", "/without/", 404),
        ("GET", "/without/none", 404),
        ("GET", "/disabled/none", 200),
        ("GET", "/run/", 403),
        ("GET", "/run/none", 404),
        ("GET", "/before/", 200),
        ("GET", "/behind/", 200),
        ("GET", "/bare/", 200),
        ("GET", "/cgi/", 403),
        ("GET", "/cgi/none", 404),
        ("DELETE", "/cgi/none", 404),
        ("OPTIONS", "/cgi/none", 404),
        ("DELETE", "/listed/none.run", 404),
    ];
    compare(site, &rows);
    let rules = || site().conf("RewriteEngine On\nRewriteRule ^/old/(.*) /listed/$1 [PT]\n");
    compare(rules, &rows);
    let pair = Pair::start(site);
    for server in pair.servers() {
        assert!(server.get("/bare").text().contains("Index of"), "/bare");
        assert!(
            server.get("/disabled/").text().contains("Index of"),
            "/disabled/"
        );
    }
}

/// Lines of .htaccess files, each for one of the folders of `OVERRIDES`.
const LINES: &[&str] = &[
    "Options +Indexes",
    "Options None",
    "Options All",
    "Options +MultiViews",
    "Options -ExecCGI",
    "Options +IncludesNOEXEC",
    "Unheard of",
    "<Unheard of>\n</Unheard>",
    "AuthName here",
    "LimitRequestBody 4",
    "PerlSetVar Colour red",
    "PerlOptions +SetupEnv",
    "SSITimeFormat %Y",
    "SSILegacyExprParser On",
];

const OVERRIDES: &[&str] = &[
    "All",
    "None",
    "AuthConfig",
    "FileInfo",
    "Indexes",
    "Limit",
    "Options",
    "Options=Indexes",
    "Options=Indexes,MultiViews",
    "Options=Indexes Options=ExecCGI",
    "Options=Includes FileInfo",
    "FileInfo Nonfatal=Unknown",
    "FileInfo Nonfatal=Override",
    "Options=Indexes Nonfatal=All",
];

#[test]
fn allow_override_admits_the_lines_that_apache_admits() {
    let mut pair = Pair::start(|| {
        let mut conf = "<Directory @ROOT@>\nRequire all granted\n</Directory>\n".to_owned();
        let mut site = Server::builder().expect_alert("/.htaccess: ");
        for (folder, words) in OVERRIDES.iter().enumerate() {
            conf.push_str(&format!(
                "<Directory @ROOT@/htdocs/{folder}>\nAllowOverride {words}\n</Directory>\n"
            ));
            for (number, line) in LINES.iter().enumerate() {
                let place = format!("htdocs/{folder}/{number}");
                site = site
                    .file(&format!("{place}/.htaccess"), &format!("{line}\n"))
                    .file(&format!("{place}/page.txt"), "page");
            }
        }
        site.conf(&conf)
    });
    let mut differences = Vec::new();
    for (folder, words) in OVERRIDES.iter().enumerate() {
        for (number, line) in LINES.iter().enumerate() {
            let request = Request::get(&format!("/{folder}/{number}/page.txt"));
            let answers: Vec<u16> = pair
                .servers()
                .map(|server| server.send(&request).status)
                .collect();
            if answers.iter().any(|status| *status != answers[0]) {
                differences.push(format!("AllowOverride {words}: {line}: {answers:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // The limit of the folder's file has its effect.
    let long = Request::post("/0/9/page.txt", "a long body");
    for server in pair.servers() {
        assert_eq!(server.send(&long).status, 413);
    }
    pair.may_keep_what_it_has();
}

#[test]
fn missing_programs_answer_as_in_apache_with_and_without_exec_cgi() {
    let site = || {
        Server::builder()
            .file("htdocs/run/here.txt", "a file")
            .file("htdocs/off/here.txt", "a file")
            .conf(
                "AddHandler cgi-script .cgi\nAction acting /missing-program\nAddHandler acting .act\n\
                 <Directory @ROOT@/htdocs/run>\nOptions ExecCGI\n</Directory>\n\
                 <Directory @ROOT@/htdocs/off>\nOptions -ExecCGI\n</Directory>\n\
                 <Location /run/set>\nSetHandler cgi-script\n</Location>\n\
                 <Location /off/set>\nSetHandler cgi-script\n</Location>\n",
            )
    };
    let pair = Pair::start(site);
    let mut differences = Vec::new();
    for folder in ["run", "off"] {
        for name in [
            "missing.cgi",
            "missing.cgi/more",
            "set/missing",
            "missing.act",
            "missing",
        ] {
            for method in ["GET", "HEAD", "POST", "DELETE"] {
                let target = format!("/{folder}/{name}");
                let request = Request::new(method, &target);
                let seen: Vec<u16> = (pair.servers())
                    .map(|server| server.send(&request).status)
                    .collect();
                if seen.iter().any(|one| *one != seen[0]) {
                    differences.push(format!("{method} {target}: {seen:?}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Folders, each with a folder `sub`, a folder `full` with an index, and a file `page.html`.
const INDEXED: [(&str, &str); 17] = [
    ("folder", "DirectoryIndex sub"),
    ("full", "DirectoryIndex full"),
    ("slash", "DirectoryIndex full/"),
    ("empty-slash", "DirectoryIndex sub/"),
    ("second", "DirectoryIndex missing sub page.html"),
    ("behind", "DirectoryIndex page.html sub"),
    ("absolute", "DirectoryIndex /other"),
    ("query", "DirectoryIndex full?b=2"),
    ("unslashed", "DirectorySlash Off\nDirectoryIndex sub page.html"),
    ("rules", "RewriteEngine On\nDirectoryIndex sub"),
    ("rules-slash", "RewriteEngine On\nDirectoryIndex full/"),
    ("rules-second", "RewriteEngine On\nDirectoryIndex missing full page.html"),
    ("redirect", "DirectoryIndexRedirect On\nDirectoryIndex full page.html"),
    ("denied", "<Files \"index.*\">\nRequire all denied\n</Files>\nDirectoryIndex index.html"),
    (
        "denied-second",
        "<Files \"index.*\">\nRequire all denied\n</Files>\nDirectoryIndex index.html page.html",
    ),
    (
        "denied-rules",
        "RewriteEngine On\n<Files \"index.*\">\nRequire all denied\n</Files>\nDirectoryIndex index.html",
    ),
    ("denied-folder", "<Files \"full\">\nRequire all denied\n</Files>\nDirectoryIndex full"),
];

#[test]
fn an_index_that_is_a_folder_or_is_denied_answers_as_in_apache() {
    let site = || {
        let mut builder = Server::builder().file("htdocs/other/index.html", "other");
        for (name, lines) in INDEXED {
            for (kind, options) in [("listed", "+Indexes"), ("hidden", "-Indexes")] {
                let folder = format!("htdocs/{kind}/{name}");
                builder = builder
                    .file(&format!("{folder}/page.html"), "page")
                    .file(&format!("{folder}/sub/page.html"), "page of sub")
                    .file(&format!("{folder}/full/index.html"), "index of full")
                    .conf(&format!(
                        "<Directory @ROOT@/{folder}>\nOptions {options}\n{lines}\n</Directory>\n\
                         <Directory @ROOT@/{folder}/full>\nDirectoryIndex index.html\n</Directory>\n"
                    ));
            }
        }
        builder
    };
    let pair = Pair::start(site);
    let mut differences = Vec::new();
    for (name, _) in INDEXED {
        for place in [format!("/listed/{name}/"), format!("/hidden/{name}/?a=1")] {
            for method in ["GET", "POST"] {
                let request = Request::new(method, &place);
                let seen = pair.servers().map(|server| learned(&server.send(&request)));
                let seen: Vec<String> = seen.collect();
                if seen.iter().any(|one| *one != seen[0]) {
                    differences.push(format!("{method} {place}: {seen:?}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// Returns the status, the path of a redirect, and the text of a file.
fn learned(answer: &Answer) -> String {
    let place = answer.field("location").unwrap_or_default();
    let path = place.splitn(4, '/').last().unwrap_or_default();
    let text = answer.text();
    let text = match answer.status {
        200 if text.contains("Index of") => "a listing",
        200 => &text,
        _ => "",
    };
    format!("{} {path} {text}", answer.status)
}
