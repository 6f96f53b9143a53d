//! Tests how URL paths lead to files: `UserDir`, `AllowEncodedSlashes`, suffixes. Each response
//! must equal Apache's.

use mehari_harness::{Builder, Pair, Request, Server};

const WHERE: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } qw(SCRIPT_NAME PATH_INFO SCRIPT_FILENAME REQUEST_URI);\n";

fn host(name: &str, lines: &str) -> String {
    format!("<VirtualHost *:*>\nServerName {name}\nScriptAlias /cgi/ @ROOT@/cgi/\n{lines}\n</VirtualHost>\n")
}

fn site() -> Builder {
    site_with("")
}

/// Returns the same site with more lines for the first host.
fn site_with(lines: &str) -> Builder {
    let hosts = [
        host("plain", lines),
        host("decoded", "AllowEncodedSlashes On"),
        host("kept", "AllowEncodedSlashes NoDecode"),
        host(
            "below",
            "UserDir @ROOT@/none @ROOT@/web\nUserDir disabled bob",
        ),
        host(
            "star",
            "UserDir @ROOT@/homes/*/www\nUserDir disabled\nUserDir enabled ann eve",
        ),
        host("away", "UserDir http://example.org/users/*/web"),
    ]
    .concat();
    let builder = Server::builder()
        .file("htdocs/page.html", "page")
        .file("htdocs/sub/page.html", "page below")
        .file("cgi/where.pl", WHERE)
        .file("web/ann/index.html", "ann's")
        .file("web/ann/sub/page.html", "ann's page")
        .file("web/bob/index.html", "bob's")
        .file("homes/ann/www/index.html", "ann's home")
        .file("homes/bob/www/index.html", "bob's home")
        .conf(&format!(
            "<Directory @ROOT@>\nRequire all granted\n</Directory>\n{hosts}"
        ));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let script = builder.folder_of("cgi").join("where.pl");
    std::fs::set_permissions(script, mode).expect("own file");
    builder
}

#[test]
fn paths_lead_where_they_lead_in_apache() {
    let mut pair = Pair::start(site).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    let mut differences = Vec::new();
    for (host, target, status) in [
        ("plain", "/cgi/where.pl/a%2Fb", 404),
        ("plain", "/sub%2fpage.html", 404),
        ("plain", "/~ann/", 404),
        ("decoded", "/cgi/where.pl/a%2Fb", 200),
        ("decoded", "/sub%2fpage.html", 200),
        ("kept", "/cgi/where.pl/a%2Fb/c", 200),
        ("kept", "/sub%2fpage.html", 404),
        ("below", "/~ann/", 200),
        ("below", "/~ann", 301),
        ("below", "/~ann/sub/page.html", 200),
        ("below", "/~bob/", 404),
        ("below", "/~zoe/", 404),
        ("below", "/page.html", 200),
        ("star", "/~ann/", 200),
        ("star", "/~bob/", 404),
        ("star", "/~eve/", 404),
        ("away", "/~ann/a/b.html", 302),
        ("away", "/~ann", 302),
        ("away", "/page.html", 200),
    ] {
        let request = Request::get(target).host(host);
        match pair.compare(&request) {
            Ok(answer) if answer.status == status => {}
            Ok(answer) => differences.push(format!("{host} {target}: {}", answer.status)),
            Err(why) => differences.push(format!("{host} {why}")),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A function that returns another spelling of a path.
type Spelling = fn(&str) -> String;

/// Other spellings of a path. In Apache they lead to the same file.
const SPELLINGS: [Spelling; 12] = [
    |path| path.to_string(),
    |path| format!("/{path}"),
    |path| format!("/.{path}"),
    |path| format!("/sub/..{path}"),
    |path| format!("/sub/none/../..//{path}"),
    |path| format!("/sub/%2e%2E{path}"),
    |path| format!("/sub/.%2e/{path}"),
    |path| format!("/%2e/{path}"),
    |path| format!("/{}%{:02x}{}", &path[1..2], path.as_bytes()[2], &path[3..]),
    |path| path.replacen("/page", "//page", 1),
    |path| path.replacen("/page", "/./page", 1),
    |path| path.replacen("/page", "/x/../page", 1),
];

#[test]
fn no_spelling_of_a_path_avoids_a_rule() {
    let rules = "<Location /locked>\nRequire all denied\n</Location>\n\
        <LocationMatch ^/matched/>\nRequire all denied\n</LocationMatch>\n\
        <Directory @ROOT@/htdocs/folder>\nRequire all denied\n</Directory>\n\
        <If \"%{REQUEST_URI} =~ m#^/asked/#\">\nRequire all denied\n</If>\n\
        RewriteEngine On\nRewriteRule ^/ruled/ - [F]\nRewriteRule ^/led/(.*) /folder/$1\n\
        RewriteCond %{REQUEST_URI} ^/held/\nRewriteRule ^ - [F]\n\
        RedirectMatch 403 ^/turned/\n\
        <Location /cgi/where.pl/page>\nRequire all denied\n</Location>\n";
    let closed = [
        "locked", "matched", "folder", "asked", "ruled", "held", "turned",
    ];
    let site = || {
        closed.iter().fold(site_with(rules), |site, name| {
            site.file(&format!("htdocs/{name}/page.html"), "CLOSED")
        })
    };
    let mut pair = Pair::start(site).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    let mut differences = Vec::new();
    let paths = closed
        .iter()
        .map(|name| (format!("/{name}/page.html"), 403));
    let others = [
        ("/sub/page.html", 200),
        ("/cgi/where.pl/page", 403),
        ("/led/page.html", 403),
    ];
    let others = others.map(|(path, status)| (path.to_string(), status));
    for (path, status) in paths.chain(others) {
        for spelling in SPELLINGS {
            let target = spelling(&path);
            match pair.compare(&Request::get(&target)) {
                Ok(answer) if answer.status == status => {}
                Ok(answer) => differences.push(format!("{target}: {}", answer.status)),
                Err(why) => differences.push(why.to_string()),
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// In this case, Apache checks the path as the client sent it, so one percent sign passes.
#[test]
fn variables_that_open_and_close_are_set_by_the_decoded_path() {
    let server = site()
        .file("htdocs/varied/page.html", "CLOSED")
        .conf(
            "SetEnvIf Request_URI ^/varied/ closed\n<Directory @ROOT@/htdocs/varied>\n\
             <RequireAll>\nRequire all granted\nRequire not env closed\n</RequireAll>\n</Directory>\n",
        )
        .start();
    for spelling in SPELLINGS {
        let target = spelling("/varied/page.html");
        assert_eq!(server.get(&target).status, 403, "{target}");
    }
}

#[test]
fn programs_get_paths_in_the_form_in_which_apache_gives_them() {
    let mut pair = Pair::start(site).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    let mut differences = Vec::new();
    for target in [
        "/cgi/where.pl//a//b",
        "/cgi/where.pl/a/../b",
        "/cgi/where.pl/a/..",
        "/cgi/../cgi/./where.pl/x",
        "/cgi/where.pl/../where.pl/a%20b",
        "/cgi/where.pl/a;x=1/b",
        "/cgi/where.pl./a",
        "/cgi/where.pl/a%2e",
        "/cgi/where.pl/.well",
        "/cgi/where.pl/a/.b/c.bak",
        "/cgi/where.pl/Module.pm",
        "//cgi//where.pl",
        "/cgi/../..",
        "/../cgi/where.pl",
        "/cgi/%2e%2e/%2e%2e/etc/passwd",
    ] {
        if let Err(why) = pair.compare(&Request::get(target)) {
            differences.push(why.to_string());
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A denied file stays denied, however rules and patterns make its name.
#[test]
fn path_that_a_rule_makes_does_not_open_a_denied_file() {
    let server = Server::builder()
        .file("htdocs/page.html", "page")
        .file("htdocs/sub/page.html", "page below")
        .file("htdocs/sub/.kept/page.html", "kept")
        .file("htdocs/.hidden", "HIDDEN")
        .file("htdocs/closed/x", "CLOSED")
        .file("outside/x", "OUTSIDE")
        .conf(
            "<Directory @ROOT@>\nRequire all denied\n</Directory>\n\
             <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
             <Directory @ROOT@/htdocs/closed>\nRequire all denied\n</Directory>\n\
             AliasMatch ^/match(.*)$ @ROOT@/htdocs/$1\n\
             RewriteEngine On\n\
             RewriteRule ^/rule(.*)$ /$1\n\
             RewriteRule ^/pass(.*)$ /$1 [PT]\n\
             RewriteRule ^/query$ /sub/%{QUERY_STRING}\n\
             RewriteRule ^/disk$ @ROOT@/htdocs/sub/%{QUERY_STRING}\n\
             RewriteRule ^/kept/(.*)$ /sub/.kept/$1\n\
             RewriteRule ^/twice(.*)$ /again$1\nRewriteRule ^/again(.*)$ /$1\n\
             <Directory @ROOT@/htdocs/sub>\nRewriteEngine On\n\
             RewriteRule ^up$ ../page.html\nRewriteRule ^far$ ../%{QUERY_STRING}\n\
             </Directory>\n",
        )
        .start();
    let mut wrong = Vec::new();
    for (target, status) in [
        ("/match/page.html", 200),
        ("/match.hidden", 404),
        ("/match./closed/x", 404),
        ("/match../outside/x", 404),
        ("/match/closed/x", 403),
        ("/rulepage.html", 200),
        ("/rule/page.html", 200),
        ("/rule./page.html", 200),
        ("/rule.hidden", 404),
        ("/rule./closed/x", 403),
        ("/rule//closed/x", 403),
        ("/rule../outside/x", 403),
        ("/twice.hidden", 404),
        ("/pass.hidden", 404),
        ("/pass./closed/x", 403),
        ("/pass../outside/x", 403),
        ("/query?../page.html", 200),
        ("/query?../closed/x", 403),
        ("/query?../../outside/x", 403),
        ("/query?.kept/page.html", 404),
        ("/kept/page.html", 200),
        ("/disk?page.html", 200),
        ("/disk?../../outside/x", 404),
        ("/sub/up", 200),
        ("/sub/far?page.html", 200),
        ("/sub/far?closed/x", 403),
        ("/sub/far?../outside/x", 403),
        ("/sub/far?.hidden", 404),
    ] {
        let answer = server.get(target);
        let text = answer.text();
        if answer.status != status || text.contains("SIDE") || text.contains("HIDDEN") {
            wrong.push(format!("{target}: {}, expected {status}", answer.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Encoded slashes pass rules, and reach back ends as they do with Apache.
#[test]
fn encoded_slashes_go_through_rules_and_to_back_ends_as_in_apache() {
    let back = Server::builder()
        .file("cgi/where.pl", WHERE)
        .conf("KeepAlive Off\nAllowEncodedSlashes NoDecode\nScriptAlias /cgi/ @ROOT@/cgi/\n");
    let mode = || std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(back.folder_of("cgi/where.pl"), mode()).expect("own file");
    let back = back.start();
    let address = back.address.to_string();
    let front = || {
        let rules = "RewriteEngine On\nRewriteRule ^/led/(.*)$ /cgi/where.pl/$1 [PT]\n\
             RewriteRule ^/back/(.*)$ http://BACK/cgi/where.pl/$1 [P]\n\
             RewriteRule ^/seen/(.*)$ /cgi/where.pl?seen=$1 [PT,NE]\n\
             ProxyPass /pass/ http://BACK/cgi/where.pl/\nProxyPass /raw/ http://BACK/cgi/where.pl/ nocanon\n";
        let hosts = [
            host("off", rules),
            host("on", &format!("AllowEncodedSlashes On\n{rules}")),
            host("kept", &format!("AllowEncodedSlashes NoDecode\n{rules}")),
        ];
        let hosts = hosts.concat().replace("BACK", &address);
        let builder = Server::builder().file("cgi/where.pl", WHERE).conf(&format!(
            "<Directory @ROOT@>\nRequire all granted\n</Directory>\n{hosts}"
        ));
        std::fs::set_permissions(builder.folder_of("cgi/where.pl"), mode()).expect("own file");
        builder
    };
    let mut pair = Pair::start(front).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    let mut differences = Vec::new();
    for host in ["off", "on", "kept"] {
        for start in ["led", "back", "seen", "pass", "raw"] {
            for rest in ["a/b", "a%2Fb", "a%2fb%20c", "a%2F"] {
                let is_refused_otherwise = start == "seen" && rest.contains("%20");
                if host == "off" && is_refused_otherwise {
                    continue;
                }
                let request = Request::get(&format!("/{start}/{rest}")).host(host);
                if let Err(why) = pair.compare(&request) {
                    differences.push(format!("{host} {why}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

const ECHO: &str = "package Echo;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
    sub handler { my $r = shift; $r->content_type('text/plain'); $r->print('handled ', $r->uri, ' ', $r->path_info); 0 }\n1;\n";

#[test]
fn folders_redirect_to_their_slash_and_to_their_index_as_in_apache() {
    let site = || {
        let mut builder = Server::builder().file("lib/Echo.pm", ECHO);
        let words = ["on", "off", "permanent", "temp", "seeother", "307"];
        let mut conf = String::from(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Echo\nDirectoryIndex start.html index.html\n",
        );
        for word in words {
            builder = builder.file(&format!("htdocs/{word}/index.html"), "index");
            conf += &format!(
                "<Directory @ROOT@/htdocs/{word}>\nDirectoryIndexRedirect {word}\n</Directory>\n"
            );
        }
        for (name, line) in [("perl", ""), ("bare", "DirectorySlash Off\n")] {
            builder = builder.file(&format!("htdocs/{name}/below/page.html"), "page");
            conf += &format!("<Location /{name}>\nSetHandler perl-script\nPerlResponseHandler Echo\n{line}</Location>\n");
        }
        builder.conf(&conf)
    };
    let mut pair = Pair::start(site);
    for target in [
        "/on/",
        "/on",
        "/on/?a=b",
        "/off/",
        "/permanent/",
        "/temp/",
        "/seeother/",
        "/307/",
        "/perl",
        "/perl?a=b",
        "/perl/",
        "/perl/below",
        "/perl/below/",
        "/perl/none",
        "/perl/below/page.html",
        "/bare",
        "/bare/below",
    ] {
        pair.get(target);
    }
    assert_eq!(pair.ours().get("/on/").status, 302);
    assert_eq!(pair.ours().get("/perl/below").status, 301);
}

#[test]
fn query_of_an_index_or_a_fallback_comes_before_that_of_the_request_as_in_apache() {
    const SHOWS: &str = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\", \
        join(' ', map { $_ // '-' } @ENV{qw(QUERY_STRING REQUEST_URI SCRIPT_NAME PATH_INFO)});\n";
    let program = "Options +ExecCGI +Includes\nAddHandler cgi-script .pl\n";
    let site = || {
        Server::builder()
            .file("htdocs/fallback/shows.pl", SHOWS)
            .file("htdocs/index/shows.pl", SHOWS)
            .file("htdocs/ruled/shows.pl", SHOWS)
            .file("htdocs/redirected/shows.pl", SHOWS)
            .file(
                "htdocs/index/page.shtml",
                "[<!--#include virtual=\"/fallback/missing?v=1\" -->]",
            )
            .conf(&format!(
                "<Directory @ROOT@/htdocs>\n{program}</Directory>\n\
                 <Directory @ROOT@/htdocs/fallback>\nFallbackResource /fallback/shows.pl?a=b\n\
                 </Directory>\n\
                 <Directory @ROOT@/htdocs/index>\nDirectoryIndex none.pl?1 shows.pl?a=b\n\
                 SetOutputFilter INCLUDES\n</Directory>\n\
                 <Directory @ROOT@/htdocs/ruled>\nDirectoryIndex none.pl?1 shows.pl?a=b\n\
                 RewriteEngine On\nRewriteRule nothing -\n</Directory>\n\
                 <Directory @ROOT@/htdocs/redirected>\nDirectoryIndex shows.pl?a=b\n\
                 DirectoryIndexRedirect On\n</Directory>\n"
            ))
    };
    let pair = Pair::start(site);
    for target in [
        "/fallback/missing",
        "/fallback/missing?",
        "/fallback/missing?q=1",
        "/fallback/missing/more?q=1",
        "/index/",
        "/index/?q=1",
        "/index/page.shtml",
        "/ruled/",
        "/ruled/?q=1",
        "/redirected/",
        "/redirected/?q=1",
    ] {
        let seen: Vec<_> = (pair.servers())
            .map(|server| {
                let answer = server.get(target);
                let place = answer.field("location").unwrap_or_default();
                let path = place
                    .split_once("/redirected/")
                    .map(|(_, name)| name.to_owned());
                let shown = path.unwrap_or_else(|| answer.text());
                (answer.status, shown)
            })
            .collect();
        assert!(seen.iter().all(|one| *one == seen[0]), "{target}: {seen:?}");
        assert!(seen[0].0 < 400, "{target}: {seen:?}");
    }
}

const OF_SLASHES: &str = "
    RewriteEngine On
    RewriteRule ^/forbidden - [F]
    RewriteRule ^/moved http://elsewhere.example/ [R]
    RewriteRule ^/mapped /page.html
    Redirect /gone/ http://elsewhere.example/
    ErrorDocument 404 /page.html
    <Directory @ROOT@/htdocs>
        AllowOverride All
    </Directory>
    <Directory @ROOT@/htdocs/denied>
        Require all denied
    </Directory>
    <Location /redirected>
        Redirect http://elsewhere.example/
    </Location>
    <Location /guarded>
        AuthType Basic
        AuthName A
        AuthUserFile @ROOT@/users
        Require valid-user
    </Location>
    <Location /handled>
        SetHandler modperl
        PerlResponseHandler Echo
    </Location>
    <Location /checked>
        PerlAccessHandler Echo::refuse
    </Location>
    ScriptAlias /cgi @ROOT@/cgi
    <Perl>
        package Echo;
        sub handler { 0 }
        sub refuse { 403 }
    </Perl>
";

#[test]
fn an_encoded_slash_is_refused_before_any_rule_is_asked_as_in_apache() {
    let site = || {
        Server::builder()
            .file("users", "")
            .file("htdocs/page.html", "page")
            .file("htdocs/denied/page.html", "page")
            .file(
                "htdocs/ruled/.htaccess",
                "RewriteEngine On\nRewriteRule ^ - [F]\n",
            )
            .file(
                "htdocs/left/.htaccess",
                "RewriteEngine On\nRewriteRule ^ http://elsewhere.example/ [R]\n",
            )
            .file("cgi/where.pl", WHERE)
            .conf(OF_SLASHES)
    };
    let mut pair = Pair::start(site);
    for folder in [
        "forbidden",
        "moved",
        "mapped",
        "gone",
        "denied",
        "redirected",
        "guarded",
        "handled",
        "checked",
        "cgi/where.pl",
        "page.html",
        "ruled",
        "left",
        "none",
    ] {
        for end in ["%2Fx", "/a%2fb"] {
            for method in ["GET", "POST", "PUT"] {
                let answer = pair.send(&Request::new(method, &format!("/{folder}{end}")));
                assert_eq!(answer.expect(404), "page", "{method} /{folder}{end}");
            }
        }
    }
}

/// As in Apache, no section of a folder or a file and no .htaccess file concerns a path that
/// `ProxyPass` or a host's rule gives to a back end.
#[test]
fn sections_of_folders_do_not_concern_back_ends_as_in_apache() {
    let back = Server::builder()
        .file("htdocs/page.html", "<!--#echo var=\"DOCUMENT_URI\" -->page")
        .file("htdocs/page.php", "php")
        .file("htdocs/page", "plain")
        .conf("KeepAlive Off\n")
        .start();
    let address = back.address.to_string();
    let site = || {
        let conf = "RewriteEngine On\nRewriteRule ^/led/(.*)$ http://BACK/$1 [P]\n\
             RewriteRule ^/seen/led/(.*)$ http://BACK/$1 [P]\n\
             ProxyPass /pass/ http://BACK/\nProxyPass /seen/pass/ http://BACK/\n\
             <Directory @ROOT@/htdocs>\nOptions +Includes\nAllowOverride All\nHeader set X-Folder 1\n\
             <FilesMatch \"\\.php$\">\nRequire all denied\n</FilesMatch>\n</Directory>\n\
             <Files page>\nHeader set X-File 1\n</Files>\n\
             <Location />\nSetOutputFilter INCLUDES\n</Location>\n\
             <Location /seen>\nOptions +Includes\nHeader set X-Place 1\n</Location>\n\
             <Directory @ROOT@/htdocs/pass/closed>\nRequire all denied\n</Directory>\n\
             <If \"%{REQUEST_URI} =~ m#/page$#\">\nHeader set X-If 1\n</If>\n";
        let mut builder = Server::builder().conf(&conf.replace("BACK", &address));
        for folder in ["pass", "led", "seen/pass", "seen/led", "rules"] {
            let index = format!("htdocs/{folder}/index.html");
            let closed = format!("htdocs/{folder}/closed/index.html");
            builder = builder.file(&index, "index").file(&closed, "closed").file(
                &format!("htdocs/{folder}/closed/.htaccess"),
                "Require all denied\n",
            );
        }
        let rule = format!(
            "RewriteEngine On\nRewriteRule ^to/(.*)$ http://{address}/$1 [P]\nHeader set X-Rule 1\n"
        );
        builder.file("htdocs/rules/.htaccess", &rule)
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for folder in ["pass", "led", "seen/pass", "seen/led", "rules/to"] {
        for rest in [
            "",
            "page",
            "page.html",
            "page.php",
            "closed/",
            "closed/page",
            "none",
        ] {
            let compared = pair.compare(&Request::get(&format!("/{folder}/{rest}")));
            differences.extend(compared.err());
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
