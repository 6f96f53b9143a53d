//! Tests `RewriteRule` and the directives around it. Where Apache is installed, the responses are
//! compared with Apache's under the same configuration.

use mehari_harness::{Builder, Pair, Request, Server};

const ECHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    map { \"$_=$ENV{$_}\\n\" } sort grep { /^(REDIRECT_(?!HANDLER)|SCRIPT_UR|X_|QUERY_STRING|REQUEST_URI|SCRIPT_NAME|PATH_INFO|REQUEST_METHOD|CONTENT_LENGTH)/ } keys %ENV;\n";

/// The program of a map. It returns `NULL` for a key with `none`, and a path for any other key.
const PROGRAM: &str = "#!/usr/bin/perl\n$| = 1;\nwhile (<STDIN>) { chomp; print /none/ ? \"NULL\\n\" : \"/page.html?asked=$_\\n\" }\n";

fn site() -> Builder {
    let builder = Server::builder()
        .file("htdocs/page.html", "page")
        .file("htdocs/other.html", "other")
        .file("htdocs/index.html", "home")
        .file("aliased/x", "aliased")
        .file("htdocs/odd.xyz", "odd")
        .file("htdocs/script.txt", ECHO)
        .file("htdocs/folder/page.html", "page of the folder")
        .file("htdocs/folder/there.html", "there")
        .file("cgi/echo.pl", ECHO)
        .file("program.pl", PROGRAM)
        .file("names", "# a map\nred  /page.html\nboth /page.html|/page.html\n")
        .conf(
            "ScriptAlias /cgi/ @ROOT@/cgi/\nAlias /context @ROOT@/aliased\n\
             <Directory @ROOT@/aliased>\nRewriteEngine On\nRewriteRule x$ http://example.com/?p=%{CONTEXT_PREFIX}: [R,NE]\n</Directory>\n\
             <Location /closed>\nRequire all denied\n</Location>\n\
             <Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <Directory @ROOT@/htdocs>\nOptions +ExecCGI\n</Directory>\n\
             ErrorDocument 404 /cgi/echo.pl?error\n\
             SetEnvIf Request_URI ^ X_SET=set\n\
             RewriteEngine On\n\
             RewriteMap names txt:@ROOT@/names\nRewriteMap any rnd:@ROOT@/names\nRewriteMap lower int:tolower\n\
             RewriteMap told \"prg:@ROOT@/program.pl\"\n\
             RewriteMap esc int:escape\n\
             RewriteRule ^/front/(.*)$ /cgi/echo.pl?path=$1 [PT,L]\n\
             RewriteRule ^/(cgi/echo.pl)$ /$1?path=again [QSA]\n\
             RewriteRule ^/plain/(.*)$ /page.html?x=$1\n\
             RewriteRule ^/env$ /cgi/echo.pl [PT,E=X_ONE:1,E=X_TWO:%{REQUEST_METHOD}-%{QUERY_STRING}]\n\
             RewriteRule ^/chain/a - [C]\nRewriteRule ^/chain/a$ - [C]\nRewriteRule ^ /page.html [L]\n\
             RewriteRule ^/skip$ - [S=1]\nRewriteRule ^/skip$ /page.html [L]\nRewriteRule ^/skip$ /other.html [L]\n\
             RewriteRule ^/next/(.*)a(.*)$ /next/$1b$2 [N]\nRewriteRule ^/next/bbb$ /page.html\n\
             RewriteRule ^/type$ /odd.xyz [T=text/plain]\n\
             RewriteRule ^/run$ /script.txt [H=cgi-script]\n\
             RewriteRule ^/cookie$ /page.html [CO=name:value:.example.com:10:/path:secure:httponly]\n\
             RewriteRule ^/escaped/(.*)$ http://example.com/?q=$1 [R,B,NE]\n\
             RewriteRule ^/only/(.*)$ http://example.com/?q=$1 [R,B=+&,NE]\n\
             RewriteRule ^/but/(.*)$ http://example.com/?q=$1 [R,B,BNE=/&,NE]\n\
             RewriteRule ^/noplus/(.*)$ http://example.com/?q=$1 [R,B,BNP,NE]\n\
             RewriteRule ^/controls/(.*)$ http://example.com/?q=$1 [R,BCTLS,NE]\n\
             RewriteCond %{REQUEST_URI} -U\nRewriteRule ^/url(/.*)$ /page.html\n\
             RewriteCond /closed/x !-U\nRewriteRule ^/closed-url$ /page.html\n\
             RewriteRule ^/noescape/(.*)$ http://example.com/$1#part [R,NE]\n\
             RewriteRule ^/fragment/(.*)$ http://example.com/$1#part [R=303]\n\
             RewriteRule ^/drop$ http://example.com/ [R=307,QSD]\n\
             RewriteRule ^/mark$ http://example.com/? [R=308]\n\
             RewriteRule ^/append$ http://example.com/?a=1 [R=301,QSA]\n\
             RewriteRule ^/relative$ /page.html?r [R]\n\
             RewriteRule ^/words/(.*)$ /page.html?w=$1 [R]\n\
             RewriteRule ^/raw-words/(.*)$ /page.html?w=$1 [R,NE]\n\
             RewriteRule ^/more-words/(.*)$ http://example.com/?w=$1 [QSA]\n\
             RewriteRule ^/same-words$ http://example.com/ [R]\n\
             RewriteRule ^/status$ - [R=404]\nRewriteRule ^/teapot$ - [R=451]\n\
             RewriteRule ^/forbidden$ - [F]\nRewriteRule ^/gone$ - [G]\n\
             RewriteRule ^/map/(.*)$ ${names:$1|/other.html} [L]\n\
             RewriteRule ^/any/(.*)$ ${any:$1|/other.html} [L]\n\
             RewriteRule ^/lower/(.*)$ /${lower:$1} [L]\n\
             RewriteRule ^/told/(.*)$ ${told:$1|/other.html} [L,UnsafeAllow3F]\n\
             RewriteRule ^/unsafe/(.*)$ ${told:$1|/other.html} [L]\n\
             RewriteRule ^/twice/(.*)$ ${told:$1${told:$1|none}|/other.html} [L,UnsafeAllow3F]\n\
             RewriteCond %{HTTP_HOST}<>%{HTTP:X-Name} ^([^<]*)<>(\\w+)$\nRewriteCond %2 =known\nRewriteRule ^/cond$ /page.html [E=X_HOST:%2]\n\
             RewriteCond %{QUERY_STRING} a [OR]\nRewriteCond %{QUERY_STRING} b\nRewriteRule ^/or$ /page.html\n\
             RewriteCond %{REQUEST_URI} !-f\nRewriteCond @ROOT@/htdocs%{REQUEST_URI} -f\nRewriteRule ^/other\\.html$ /page.html\n\
             RewriteCond expr \"%{QUERY_STRING} -strmatch 'e*'\"\nRewriteRule ^/expr$ /page.html\n\
             RewriteCond %{TIME_YEAR} -gt2000\nRewriteRule ^/year$ /page.html\n\
             RewriteCond ${lower:%{QUERY_STRING}} =abc\nRewriteRule ^/mapped$ /page.html\n\
             RewriteRule !^/ /never.html\n\
             <Directory @ROOT@/htdocs/folder>\nRewriteEngine On\nRewriteBase /folder\n\
             RewriteRule ^a$ page.html\n\
             RewriteRule ^echo(/.*)?$ /cgi/echo.pl$1?from=folder [QSA,E=X_FOLDER:yes]\n\
             RewriteRule ^absolute$ /page.html\n\
             RewriteRule ^out$ out/ [R]\n\
             RewriteRule ^end$ end2 [END]\nRewriteRule ^end2$ page.html\n\
             RewriteRule ^context$ http://example.com/?p=%{CONTEXT_PREFIX}: [R,NE]\n\
             RewriteRule ^text$ there.html [T=text/plain]\n\
             RewriteRule ^there\\.html$ - [T=text/css]\n\
             RewriteCond %{ENV:REDIRECT_STATUS} ^$\nRewriteRule ^once$ once?first [E=X_ONCE:1]\n\
             RewriteCond %{ENV:REDIRECT_X_ONCE} 1\nRewriteRule ^once$ page.html\n\
             RewriteRule ^loop(.*)$ loop/x$1\n\
             </Directory>\n",
        );
    for script in ["cgi/echo.pl", "htdocs/script.txt", "program.pl"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(builder.folder_of(script), mode).expect("own file");
    }
    builder
}

#[test]
fn rules_lead_where_they_lead_in_apache() {
    let mut pair = Pair::start(site);
    // This request starts the map's program.
    pair.get("/told/none");
    pair.may_keep_what_it_has();
    let mut differences = Vec::new();
    for target in [
        "/front/a/b",
        "/front/a?q=1",
        "/cgi/echo.pl",
        "/cgi/echo.pl?own=1",
        "/cgi/echo.pl/info",
        "/plain/x",
        "/env?a=b",
        "/chain/a",
        "/chain/ab",
        "/chain/b",
        "/skip",
        "/next/aaa",
        "/type",
        "/run",
        "/run?x=1",
        "/cookie",
        "/escaped/a%20b%2Bc&d=e",
        "/only/a%20b%2Bc&d=e/f",
        "/but/a%20b%2Bc&d=e/f",
        "/noplus/a%20b%2Bc&d=e/f",
        "/controls/a%20b%2Bc&d=e/f",
        "/context/x",
        "/folder/context",
        "/url/page.html",
        "/url/none",
        "/closed-url",
        "/noescape/a%2520b",
        "/fragment/a%20b",
        "/drop?x=1",
        "/mark?x=1",
        "/append?b=2",
        "/append",
        "/relative",
        "/relative?y",
        "/words/a%20b",
        "/words/a%2520b;c=d~e",
        "/raw-words/a%20b",
        "/raw-words/a%2520b",
        "/more-words/a%20b?q=c%20d",
        "/same-words?q=c%20d",
        "/status",
        "/teapot",
        "/forbidden",
        "/gone",
        "/map/red",
        "/map/blue",
        "/any/both",
        "/lower/PAGE.HTML",
        "/told/key",
        "/told/none",
        "/unsafe/key",
        "/unsafe/none",
        "/plain/a%3Fb",
        "/front/a%3fb%26c",
        "/twice/key",
        "/cond",
        "/or?a",
        "/or?b",
        "/or?c",
        "/other.html",
        "/expr?e1",
        "/expr",
        "/year",
        "/mapped?ABC",
        "/mapped?x",
        "/missing",
        "/missing?why",
        "/folder/a",
        "/folder/a?x",
        "/folder/echo",
        "/folder/echo/more?own=1",
        "/folder/absolute",
        "/folder/out",
        "/folder/out?x",
        "/folder/end",
        "/folder/text",
        "/folder/there.html",
        "/folder/once",
        "/folder/once?q",
        "/folder/loop",
        "/folder/",
        "/folder",
        "/folder?x",
    ] {
        if let Err(difference) = pair.compare(&Request::get(target)) {
            differences.push(difference);
        }
    }
    let known = Request::get("/cond").field("X-Name", "known");
    differences.extend(pair.compare(&known).err());
    for target in ["/env?posted", "/front/posted"] {
        let request = Request::post(target, "body=1").field("X-Name", "known");
        if let Err(difference) = pair.compare(&request) {
            differences.push(difference);
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn rule_may_lead_to_a_back_end() {
    let back = Server::builder()
        .file("htdocs/page.html", "page of the back end")
        .file("cgi/echo.pl", ECHO)
        .conf("KeepAlive Off\nScriptAlias /cgi/ @ROOT@/cgi/\n");
    let script = back.folder_of("cgi/echo.pl");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).expect("own file");
    let back = back.start();
    let address = back.address.to_string();
    let front = || {
        let conf = "<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <Location /closed>\nRequire all denied\n</Location>\n\
             RewriteEngine On\n\
             RewriteRule ^/closed/(.*)$ http://BACK/$1 [P]\n\
             RewriteRule ^/back/(.*)$ http://BACK/$1 [P,QSA]\n\
             RewriteRule ^/asked/(.*)$ http://BACK/cgi/echo.pl/$1?added=$1 [P,QSA]\n\
             <Directory @ROOT@/htdocs/folder>\nRewriteEngine On\n\
             RewriteRule ^to/(.*)$ http://BACK/cgi/echo.pl?in=$1 [P]\nRewriteRule ^page$ http://BACK/page.html [P]\n\
             </Directory>\n";
        Server::builder()
            .file("htdocs/folder/file", "")
            .conf(&conf.replace("BACK", &address))
    };
    let mut pair = Pair::start(front).mask(&[(r"127\.0\.0\.1:\d+", "(address)")]);
    for (target, status) in [
        ("/back/page.html", 200),
        ("/back/missing", 404),
        ("/back/cgi/echo.pl?a=b", 200),
        ("/asked/a%20b", 403),
        ("/asked/more?own=1", 200),
        ("/folder/to/x?dropped", 200),
        ("/folder/page", 200),
        ("/closed/page.html", 403),
    ] {
        assert_eq!(pair.get(target).status, status, "{target}");
    }
    let posted = pair.send(&Request::post("/back/cgi/echo.pl", "some=body"));
    assert!(
        posted.text().contains("REQUEST_METHOD=POST"),
        "{}",
        posted.text()
    );
}

/// Sends GET requests to both servers. A row has the target and the status.
fn compare(site: impl Fn() -> Builder, rows: &[(&str, u16)]) {
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for (target, status) in rows {
        match pair.compare(&Request::get(target)) {
            Ok(answer) if answer.status == *status => {}
            Ok(answer) => differences.push(format!("{target}: {}", answer.status)),
            Err(why) => differences.push(why),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn site_of_folders(folders: &[(&str, &str)]) -> Builder {
    let mut builder = Server::builder().file("htdocs/page.html", "page");
    let mut conf = String::from(
        "DirectoryIndex index.html\n<Directory @ROOT@>\nRequire all granted\nAllowOverride All\n\
         </Directory>\n",
    );
    for (folder, lines) in folders {
        for name in ["index.html", "page.html", "below/page.html"] {
            builder = builder.file(&format!("htdocs/{folder}/{name}"), folder);
        }
        conf += &format!("<Directory @ROOT@/htdocs/{folder}>\n{lines}\n</Directory>\n");
    }
    builder.conf(&conf)
}

#[test]
fn rules_of_a_folder_need_followed_links_as_in_apache() {
    let site = || {
        site_of_folders(&[
            (
                "refused",
                "Options Indexes\nRewriteEngine On\nRewriteRule ^old page.html",
            ),
            ("engine", "Options None\nRewriteEngine On"),
            (
                "off",
                "Options None\nRewriteEngine Off\nRewriteRule ^old page.html",
            ),
            (
                "owner",
                "Options SymLinksIfOwnerMatch\nRewriteEngine On\nRewriteRule ^old page.html",
            ),
            ("file", ""),
            (
                "handled",
                "Options None\nRewriteEngine On\nPerlAccessHandler Seen::access",
            ),
        ])
        .file(
            "htdocs/file/.htaccess",
            "Options -FollowSymLinks\nRewriteEngine On\n",
        )
        .conf(
            "<Location /owner/below>\nOptions None\n</Location>\n\
             <Perl>\npackage Seen;\nuse Apache2::RequestRec ();\nuse APR::Table ();\n\
             sub access { $_[0]->err_headers_out->set('X-Seen' => 'access'); 0 }\n</Perl>\n",
        )
    };
    compare(
        site,
        &[
            ("/refused/page.html", 403),
            ("/refused/", 403),
            ("/refused", 301),
            ("/refused/old", 403),
            ("/refused/below", 403),
            ("/refused/below/page.html", 403),
            ("/engine/page.html", 403),
            ("/off/page.html", 200),
            ("/off/old", 404),
            ("/owner/old", 200),
            ("/owner/below/page.html", 403),
            ("/file/page.html", 403),
            ("/handled/page.html", 403),
            ("/page.html", 200),
        ],
    );
}

#[test]
fn rules_of_a_folder_let_its_slash_be_added_as_in_apache() {
    let rules = "RewriteEngine On\nRewriteRule ^$ /page.html\nRewriteRule ^below$ /page.html\n\
        RewriteRule ^gone - [G]";
    let options = format!("RewriteOptions AllowNoSlash\n{rules}");
    let bare = format!("DirectorySlash Off\n{options}\nRewriteRule bare$ /page.html");
    let site = || {
        site_of_folders(&[("plain", rules), ("open", &options), ("bare", &bare)])
            .file("htdocs/plain/gone/page.html", "gone")
    };
    compare(
        site,
        &[
            ("/plain", 301),
            ("/plain/", 200),
            ("/plain/below", 301),
            ("/plain/gone", 410),
            ("/open", 301),
            ("/open/below", 301),
            ("/bare", 200),
        ],
    );
}

#[test]
fn redirects_keep_an_empty_query_as_in_apache() {
    let site = || {
        site_of_folders(&[
            ("plain", ""),
            ("index", "DirectoryIndexRedirect on"),
            (
                "rules",
                "RewriteEngine On\nRewriteRule ^old http://else.test/there [R]",
            ),
        ])
        .conf(
            "Redirect /red /plain/page.html\nRedirect /redq /plain/page.html?a=1\n\
             RedirectMatch ^/match/(.*) /plain/$1\nRewriteEngine On\n\
             RewriteRule ^/rw$ /plain/ [R]\nRewriteRule ^/rwq$ /plain/?a=1 [R]\n\
             RewriteRule ^/rwqsa$ /plain/?a=1 [R,QSA]\nRewriteRule ^/rwqsd$ /plain/ [R,QSD]\n\
             RewriteRule ^/rwnone$ /plain/? [R]\n\
             RewriteRule ^/rwelse$ http://else.test/there [R]\n\
             <Location /place>\nRedirect 302 /plain/page.html\n</Location>\n",
        )
    };
    let paths = [
        ("/plain", 301),
        ("/index", 301),
        ("/index/", 302),
        ("/red", 302),
        ("/redq", 302),
        ("/match/x", 302),
        ("/rw", 302),
        ("/rwq", 302),
        ("/rwqsa", 302),
        ("/rwqsd", 302),
        ("/rwnone", 302),
        ("/rwelse", 302),
        ("/rules/old", 302),
        ("/place", 302),
    ];
    let targets: Vec<(String, u16)> = paths
        .iter()
        .flat_map(|(path, status)| ["", "?", "?b"].map(|query| (format!("{path}{query}"), *status)))
        .collect();
    let rows: Vec<(&str, u16)> = targets
        .iter()
        .map(|(target, status)| (target.as_str(), *status))
        .collect();
    compare(site, &rows);
}

/// An unregistered status becomes 500, and `R` with the substitution `-` leads nowhere.
#[test]
fn redirects_have_the_statuses_that_they_have_in_apache() {
    const STATUSES: [u16; 22] = [
        204, 299, 300, 301, 302, 303, 304, 305, 306, 307, 308, 310, 399, 400, 404, 410, 419, 451,
        499, 500, 512, 599,
    ];
    const UNREGISTERED: [u16; 8] = [299, 306, 310, 399, 419, 499, 512, 599];
    let mut conf = String::from("RewriteEngine On\n");
    let mut rows = Vec::new();
    for status in STATUSES {
        let moves = (300..400).contains(&status);
        let place = if moves { "/plain/page.html" } else { "" };
        conf += &format!(
            "Redirect {status} /server{status} {place}\n\
             <Location /place{status}>\nRedirect {status} {place}\n</Location>\n"
        );
        let is_known = !UNREGISTERED.contains(&status);
        let expected = if is_known { status } else { 500 };
        rows.push((format!("/server{status}"), expected));
        rows.push((format!("/place{status}"), expected));
        if is_known {
            conf += &format!(
                "RewriteRule ^/rule{status}$ /plain/page.html [R={status}]\n\
                 RewriteRule ^/nowhere{status}$ - [R={status}]\n"
            );
            rows.push((format!("/rule{status}"), status));
            rows.push((
                format!("/nowhere{status}"),
                if moves { 404 } else { status },
            ));
        }
    }
    let rows: Vec<(&str, u16)> = rows
        .iter()
        .map(|(target, status)| (target.as_str(), *status))
        .collect();
    compare(|| site_of_folders(&[("plain", "")]).conf(&conf), &rows);
}

/// The host's rules decide which paths the indexes have, and the index still has the sections of
/// its folder.
#[test]
fn an_index_that_rules_have_found_has_the_sections_of_its_folder_as_in_apache() {
    let site = || {
        site_of_folders(&[("plain", "")]).conf(
            "<Directory @ROOT@/htdocs/plain/*>\nRequire all denied\n</Directory>\n\
             <DirectoryMatch \"index\">\nHeader set X-Seen index\n</DirectoryMatch>\n\
             RewriteEngine On\nRewriteRule ^/old/(.*) /plain/$1 [PT]\n",
        )
    };
    compare(
        site,
        &[
            ("/plain/", 200),
            ("/plain/index.html", 403),
            ("/plain/", 200),
            ("/old/", 200),
        ],
    );
}

/// Rules of a folder or of a `<Location>` that lead to the path at which they run change only its
/// query. They may name the path by its file.
#[test]
fn rules_of_a_folder_that_stay_at_their_path_have_finished_as_in_apache() {
    let folders = [
        ("adds", "RewriteRule (.*) $1?r=1 [QSA]"),
        ("sets", "RewriteRule (.*) $1?r=1"),
        ("base", "RewriteBase /base/\nRewriteRule (.*) $1?r=1 [QSA]"),
        ("part", "RewriteRule ^echo(.*)$ echo$1?r=1 [QSA]"),
        (
            "named",
            "RewriteRule ^old$ %{DOCUMENT_ROOT}/adds/echo.pl?by=root\n\
             RewriteRule ^file$ @ROOT@/htdocs/sets/echo.pl?by=file\n\
             RewriteRule ^echo.pl$ %{REQUEST_FILENAME}?same=1 [QSA]",
        ),
        ("place", ""),
        ("files", ""),
        ("chosen", ""),
    ];
    // Without SCRIPT_URL and SCRIPT_URI.
    let echo = ECHO.replace("HANDLER", "HANDLER|SCRIPT");
    let echo = echo.replace("SCRIPT_UR|", "");
    let site = || {
        let mut builder = Server::builder().file("elsewhere/echo.pl", &echo).conf(
            "AddHandler cgi-script .pl\nDirectoryIndex echo.pl\nAlias /aliased @ROOT@/elsewhere\n\
             <Directory @ROOT@>\nOptions +ExecCGI +FollowSymLinks\nRequire all granted\n</Directory>\n\
             <Directory @ROOT@/elsewhere>\nRewriteEngine On\nRewriteRule (.*) $1?r=1 [QSA]\n</Directory>\n\
             <Location /place>\nRewriteEngine On\nRewriteRule (.*) $1?r=1 [QSA]\n\
             RewriteRule ^(.*)/old(.*) $1/echo.pl$2 [QSA]\n</Location>\n\
             <Directory @ROOT@/htdocs/files>\n<Files \"echo*\">\nRewriteEngine On\n\
             RewriteRule (.*) $1?r=1 [QSA]\n</Files>\n</Directory>\n\
             <Location /chosen>\n<If \"-d %{REQUEST_FILENAME}\">\nRewriteEngine On\n\
             RewriteRule (.*) $1?r=1 [QSA]\n</If>\n</Location>\n",
        );
        for (folder, rules) in folders {
            builder = builder.file(&format!("htdocs/{folder}/echo.pl"), &echo);
            if !rules.is_empty() {
                builder = builder.conf(&format!(
                    "<Directory @ROOT@/htdocs/{folder}>\nRewriteEngine On\n{rules}\n</Directory>\n"
                ));
            }
        }
        let names = folders.map(|(folder, _)| format!("htdocs/{folder}"));
        for folder in names.iter().map(String::as_str).chain(["elsewhere"]) {
            let path = builder.folder_of(folder).join("echo.pl");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(path, mode).expect("own file");
        }
        builder
    };
    let mut targets = vec![
        ("/named/old".to_string(), 200),
        ("/named/old?x".to_string(), 200),
        ("/named/file".to_string(), 200),
        ("/place/old".to_string(), 200),
    ];
    for folder in folders.iter().map(|(folder, _)| *folder).chain(["aliased"]) {
        for path in ["", "?q=a", "echo.pl", "echo.pl?q=a"] {
            targets.push((format!("/{folder}/{path}"), 200));
        }
        targets.push((format!("/{folder}/missing"), 404));
    }
    let rows: Vec<(&str, u16)> = targets
        .iter()
        .map(|(path, status)| (&path[..], *status))
        .collect();
    compare(site, &rows);
}

/// A site whose folders inherit rules in each way that `RewriteOptions` knows. Each folder has a
/// rule that refuses paths with `secret`, and its folder `deep` has rules of its own.
fn site_of_heirs() -> Builder {
    const OUTER: &str =
        "RewriteEngine On\nRewriteRule secret - [F]\nRewriteRule both page.html?outer [L]\n\
        RewriteBase /other\nRewriteRule ^based$ page.html\n";
    const INNER: &str =
        "RewriteEngine On\nRewriteRule none none\nRewriteRule both secret.txt [L]\n";
    let words = [
        "Inherit",
        "InheritBefore",
        "InheritDown",
        "InheritDownBefore",
        "InheritDown MergeBase",
        "Inherit IgnoreInherit",
        "AllowNoSlash",
    ];
    let mut builder = Server::builder().conf(
        "RewriteEngine On\nRewriteOptions InheritDown AllowNoSlash\nRewriteRule ^/vsecret - [F]\n\
         <Directory @ROOT@>\nRequire all granted\nAllowOverride All\n</Directory>\n\
         <VirtualHost *:*>\nServerName main.test\n</VirtualHost>\n\
         <VirtualHost *:*>\nServerName rules.test\nRewriteEngine On\nRewriteRule ^/none none\n</VirtualHost>\n\
         <VirtualHost *:*>\nServerName ignores.test\nRewriteOptions IgnoreInherit\n</VirtualHost>\n\
         <VirtualHost *:*>\nServerName folder.test\n<Location /none>\nRewriteEngine On\n</Location>\n\
         </VirtualHost>\n\
         <Directory @ROOT@/htdocs/same>\nRewriteEngine On\nRewriteOptions Inherit\n\
         RewriteRule secret - [F]\n</Directory>\n",
    );
    builder = builder
        .file("htdocs/same/.htaccess", INNER)
        .file("htdocs/same/secret.txt", "secret")
        .file("htdocs/engine/.htaccess", "RewriteRule secret - [F]\n")
        .file("htdocs/engine/secret.txt", "secret")
        .file("htdocs/vsecret.txt", "secret");
    for (number, words) in words.iter().enumerate() {
        let (at, outer) = (
            format!("htdocs/{number}"),
            format!("RewriteOptions {words}\n"),
        );
        for folder in ["", "deep/", "deep/er/", "inner/", "ignores/"] {
            builder = builder
                .file(&format!("{at}/{folder}secret.txt"), "secret")
                .file(&format!("{at}/{folder}page.html"), "page");
        }
        builder = builder
            .file(&format!("{at}/.htaccess"), &format!("{outer}{OUTER}"))
            .file(&format!("{at}/deep/.htaccess"), INNER)
            .file(&format!("{at}/deep/er/.htaccess"), INNER)
            .file(&format!("{at}/inner/.htaccess"), &format!("{outer}{INNER}"))
            .file(
                &format!("{at}/ignores/.htaccess"),
                &format!("RewriteOptions IgnoreInherit\n{INNER}"),
            );
    }
    builder
}

#[test]
fn options_and_rules_are_inherited_as_in_apache() {
    let mut pair = Pair::start(site_of_heirs);
    let mut differences = Vec::new();
    for number in 0..7 {
        for folder in ["", "deep/", "deep/er/", "inner/", "ignores/"] {
            for name in ["secret.txt", "both", "based", "page.html"] {
                let target = format!("/{number}/{folder}{name}");
                differences.extend(pair.compare(&Request::get(&target)).err());
            }
        }
        differences.extend(
            pair.compare(&Request::get(&format!("/{number}/deep")))
                .err(),
        );
    }
    for target in ["/same/secret.txt", "/engine/secret.txt", "/vsecret.txt"] {
        differences.extend(pair.compare(&Request::get(target)).err());
    }
    for host in ["main", "rules", "ignores", "folder"] {
        let request = Request::get("/vsecret.txt").host(&format!("{host}.test"));
        differences.extend(pair.compare(&request).err());
    }
    assert_eq!(pair.get("/0/deep/er/secret.txt").status, 403);
    assert_eq!(pair.get("/2/deep/secret.txt").status, 403);
    assert_eq!(pair.get("/same/secret.txt").status, 403);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The rules of folders in which a rule leads to a file, and the next rule asks for this file.
const STEPS: &[(&str, &str)] = &[
    ("front", "RewriteRule ^c$ page.html\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . index.html"),
    ("missing", "RewriteRule ^c$ none\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . index.html"),
    ("deeper", "RewriteRule ^c$ below/page.html\nRewriteCond %{SCRIPT_FILENAME} -f\nRewriteRule . - [E=X:1]\nRewriteCond %{ENV:X} =1\nRewriteRule . index.html"),
    ("whole", "RewriteRule ^c$ /front/page.html\nRewriteCond %{REQUEST_FILENAME} -f\nRewriteRule . index.html"),
    ("names", "RewriteRule ^c$ page.html\nRewriteRule . http://a.example%{REQUEST_FILENAME}?%{REQUEST_URI} [R,L]"),
    ("dash", "RewriteRule ^c$ - \nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . index.html"),
];

#[test]
fn conditions_see_the_file_that_earlier_rules_of_a_folder_have_made_as_in_apache() {
    let site = || {
        let on: Vec<String> = STEPS
            .iter()
            .map(|(_, lines)| format!("RewriteEngine On\n{lines}"))
            .collect();
        let folders: Vec<_> = STEPS
            .iter()
            .zip(&on)
            .map(|((name, _), on)| (*name, &on[..]))
            .collect();
        site_of_folders(&folders)
            .file("htdocs/front/index.html", "the controller")
            .conf("RewriteEngine On\nRewriteRule ^/bare(.*)$ $1\nRewriteRule ^/bare-word$ page.html\n")
    };
    let mut pair = Pair::start(site).mask(&[(r"/tmp/mehari-test-\w+", "ROOT")]);
    let mut differences = Vec::new();
    for (folder, _) in STEPS {
        for name in ["c", "d", "page.html", "below/page.html", "none/x"] {
            let target = format!("/{folder}/{name}");
            differences.extend(pair.compare(&Request::get(&target)).err());
        }
    }
    for target in [
        "/barepage.html",
        "/bare/page.html",
        "/barefront/page.html",
        "/bare.page.html",
        "/bare../page.html",
    ] {
        differences.extend(pair.compare(&Request::get(target)).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn patterns_match_what_they_match_in_apache() {
    let site = || {
        Server::builder().file("htdocs/index.html", "home").conf(
            "FallbackResource /index.html\nRewriteEngine On\n\
             RewriteCond %{QUERY_STRING} (\\<|%3C).*script.*(\\>|%3E) [NC]\nRewriteRule ^ - [F]\n\
             RewriteRule ^/one[a&&b]$ - [F]\n\
             RewriteRule ^/two[a~~b]$ - [F]\n\
             RewriteRule ^/three[a[]b$ - [F]\n\
             RewriteRule ^/four[[:digit:]x-]$ - [F]\n\
             RewriteRule ^/five(?!x)(.*)$ - [F]\n\
             RewriteRule ^/six[\\<\\>]$ - [F]\n",
        )
    };
    let mut pair = Pair::start(site);
    for (target, status) in [
        ("/?<script>", 403),
        ("/?%3Cscript%3E", 403),
        ("/?script", 200),
        ("/onea", 403),
        ("/one&", 403),
        ("/onec", 200),
        ("/two~", 403),
        ("/twob", 403),
        ("/threeab", 403),
        ("/three%5Bb", 403),
        ("/four1", 403),
        ("/four-", 403),
        ("/foury", 200),
        ("/five/%FF", 403),
        ("/fivex%FF", 200),
        ("/six%3C", 403),
        ("/six%5C", 200),
    ] {
        assert_eq!(pair.get(target).status, status, "{target}");
    }
}

#[test]
fn a_hidden_name_that_a_rule_inserts_into_the_query_is_no_file() {
    let site = || {
        Server::builder()
            .file("htdocs/page.html", "page")
            .file("htdocs/page.html~", "secret")
            .conf(
                "RewriteEngine On\nRewriteRule ^/wiki/(.*)$ /page.html?q=$1\n\
                 RewriteRule ^/copy/(.*)$ /$1\n",
            )
    };
    let mut pair = Pair::start(site);
    for name in [
        "a",
        "page.html~",
        ".hidden",
        "a/b.bak",
        ".git/x",
        "form.pl.txt",
    ] {
        let answer = pair.get(&format!("/wiki/{name}"));
        assert_eq!(answer.text(), "page", "{name}");
    }
    let refused = pair.ours().get("/copy/page.html~");
    assert_eq!(refused.status, 404);
}

#[test]
fn a_condition_of_the_host_looks_ahead_to_the_file_as_in_apache() {
    let site = || {
        Server::builder()
            .file("htdocs/page.html", "page")
            .file("htdocs/index.html", "home")
            .file("aliased/x", "aliased")
            .conf(
                "Alias /context @ROOT@/aliased\n<Directory @ROOT@/aliased>\nRequire all granted\n\
                 </Directory>\nRewriteEngine On\n\
                 RewriteRule ^/first$ /page.html\n\
                 RewriteCond %{REQUEST_URI} !^/names\n\
                 RewriteCond %{LA-U:REQUEST_FILENAME} !-f\nRewriteRule ^ /index.html [L,NS]\n\
                 RewriteRule ^/names http://a.example/%{LA-U:SCRIPT_FILENAME} [R]\n",
            )
    };
    let mut pair = Pair::start(site).mask(&[(r"/tmp/mehari-test-\w+", "ROOT")]);
    let mut differences = Vec::new();
    for target in [
        "/page.html",
        "/none",
        "/first",
        "/context/x",
        "/context/y",
        "/names",
        "/",
    ] {
        differences.extend(pair.compare(&Request::get(target)).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
