//! Tests which responses `Header` changes, with `always` and without. The responses are compared
//! with Apache's.

use mehari_harness::{Pair, Request, Server};
use std::time::{Duration, SystemTime};

const HANDLERS: &str = "package Refuses;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse APR::Table ();\nuse Apache2::Const -compile => qw(OK NOT_FOUND REDIRECT);\n\
    sub missing { 404 }\n\
    sub leads { $_[0]->headers_out->set(Location => 'http://example.test/'); 302 }\n\
    sub says { my $r = shift; $r->status(404); $r->content_type('text/plain'); $r->print('mine'); 0 }\n\
    sub dies { die \"on purpose\\n\" }\n1;\n";

fn site() -> mehari_harness::Builder {
    let script = |head: &str| format!("#!/usr/bin/perl\nprint \"{head}\\n\\nbody\";\n");
    Server::builder()
        .file("lib/Refuses.pm", HANDLERS)
        .file("htdocs/page.txt", "page\n")
        .file("htdocs/gone.html", "gone")
        .file("htdocs/folder/index.html", "index")
        .file("htdocs/closed/page.txt", "closed")
        .file("users", "ann:$apr1$NqkTvRE0$/STroNqJjSB1yzS6wWw.B.\n")
        .file("scripts/own.pl", &script("Status: 404 Mine\\nContent-Type: text/plain"))
        .file("scripts/error.pl", &script("Status: 500 Mine\\nContent-Type: text/plain"))
        .file("scripts/leads.pl", &script("Location: http://example.test/"))
        .file("scripts/local.pl", &script("Location: /page.txt"))
        .file("scripts/ok.pl", &script("Content-Type: text/plain"))
        .file("scripts/silent.pl", "#!/usr/bin/perl\n")
        .ladder()
        .conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Refuses\n\
             Header set X-Set set\nHeader always set X-Always always\nHeader add X-Add add\n\
             Redirect 301 /moved http://example.test/\nRedirect 410 /away\n\
             RewriteEngine On\nRewriteRule ^/rewritten http://example.test/ [R=302,L]\nRewriteRule ^/refused - [F]\n\
             <Location /text>\nErrorDocument 404 \"a text\"\n</Location>\n\
             <Location /document>\nErrorDocument 404 /gone.html\n</Location>\n\
             <Location /elsewhere>\nErrorDocument 404 http://example.test/gone\n</Location>\n\
             <Location /closed>\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n\
             <Location /handler>\nSetHandler perl-script\n</Location>\n\
             <Location /handler/missing>\nPerlResponseHandler Refuses::missing\n</Location>\n\
             <Location /handler/leads>\nPerlResponseHandler Refuses::leads\n</Location>\n\
             <Location /handler/says>\nPerlResponseHandler Refuses::says\n</Location>\n\
             <Location /handler/dies>\nPerlResponseHandler Refuses::dies\n</Location>\n",
        )
}

const PLAIN: [&str; 25] = [
    "/page.txt",
    "/missing",
    "/folder",
    "/folder/",
    "/moved",
    "/away",
    "/rewritten",
    "/refused",
    "/text/missing",
    "/document/missing",
    "/elsewhere/missing",
    "/closed/page.txt",
    "/handler/missing",
    "/handler/leads",
    "/handler/says",
    "/handler/dies",
    "/cgi/own.pl",
    "/cgi/error.pl",
    "/cgi/leads.pl",
    "/cgi/local.pl",
    "/cgi/ok.pl",
    "/cgi/silent.pl",
    "/registry/own.pl",
    "/registry/leads.pl",
    "/registry/ok.pl",
];

#[test]
fn header_rules_change_the_responses_that_they_change_in_apache() {
    let pair = Pair::start(site);
    let mut differences = Vec::new();
    let conditional =
        Request::get("/page.txt").field("If-Modified-Since", "Sun, 06 Nov 2094 08:49:37 GMT");
    let future =
        Request::get("/page.txt").field("If-Modified-Since", "Sat, 28 Nov 2099 10:00:00 GMT");
    let range = Request::get("/page.txt").field("Range", "bytes=0-1");
    let none = Request::get("/page.txt").field("Range", "bytes=90-99");
    let plain = PLAIN.iter().map(|target| Request::get(target));
    for request in plain.chain([conditional, future, range, none]) {
        let seen: Vec<String> = pair
            .servers()
            .map(|server| {
                let answer = server.send(&request);
                let of = |name| answer.all(name).join(",");
                format!(
                    "{} {} {} {}",
                    answer.status,
                    of("x-set"),
                    of("x-always"),
                    of("x-add")
                )
            })
            .collect();
        if seen.iter().any(|one| *one != seen[0]) {
            differences.push(format!("{} {:?}: {seen:?}", request.target, request.fields));
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

const TABLES: &str = "package Tables;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse APR::Table ();\n\
    sub fill { my $r = shift; $r->headers_out->add('X-O', 'out'); $r->err_headers_out->add('X-E', 'err'); \
    $r->headers_out->add('Set-Cookie', 'o=1'); $r->err_headers_out->add('Set-Cookie', 'e=1'); $r }\n\
    sub both { my $r = fill(shift); $r->content_type('text/plain'); $r->print('body'); 0 }\n\
    sub same { my $r = shift; $r->content_type('text/plain'); $r->headers_out->set('X-S', 'out'); \
    $r->err_headers_out->set('X-S', 'err'); $r->print('body'); 0 }\n\
    sub lost { fill(shift); 404 }\n\
    sub status { my $r = fill(shift); $r->status(404); $r->content_type('text/plain'); $r->print('mine'); 0 }\n\
    sub leads { my $r = fill(shift); $r->headers_out->set(Location => 'http://x.test/'); 302 }\n1;\n";

/// Places, each with its header rules.
const RULES: [(&str, &str); 11] = [
    ("set", "Header set X-O new\nHeader set X-E new\nHeader set X-S new\nHeader set X-P new"),
    ("set-always", "Header always set X-O new\nHeader always set X-E new\nHeader always set X-S new\nHeader always set X-P new"),
    ("unset", "Header unset X-O\nHeader unset X-E\nHeader unset X-S\nHeader unset X-P\nHeader unset Set-Cookie"),
    ("unset-always", "Header always unset X-O\nHeader always unset X-E\nHeader always unset X-S\nHeader always unset X-P\nHeader always unset Set-Cookie"),
    ("edit", "Header edit X-O t T\nHeader edit X-E r R\nHeader edit Set-Cookie $ ;secure\nHeader edit Content-Type plain html"),
    ("edit-always", "Header always edit X-O t T\nHeader always edit X-E r R\nHeader always edit Set-Cookie $ ;secure\nHeader always edit Content-Type plain html"),
    ("append", "Header append X-O a\nHeader append X-E a\nHeader merge X-S a\nHeader always append X-O b\nHeader always append X-E b"),
    ("if-empty", "Header setifempty X-O n\nHeader setifempty X-E n\nHeader always setifempty X-O m\nHeader always setifempty X-N m"),
    ("type", "Header always set Content-Type text/x-a\nHeader always unset ETag\nHeader unset Last-Modified"),
    ("value", "Header set X-See \"expr=%{resp:X-O}|%{resp:X-E}\"\nHeader always set X-Seen \"expr=%{resp:X-O}|%{resp:X-E}\""),
    ("cookie", "RewriteEngine On\nRewriteRule . - [CO=rule:1:.x.test]\nHeader edit Set-Cookie $ ;out\nHeader always edit Set-Cookie $ ;err"),
];

const HANDLERS_OF_TABLES: [&str; 5] = ["both", "same", "lost", "status", "leads"];

fn tables(back: &str) -> mehari_harness::Builder {
    let script = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\nX-P: printed\\nX-E: p\\nX-O: p\\nSet-Cookie: p=1\\nETag: \"a\"\\n\\nbody};\n";
    let registry = "my $r = shift; $r->headers_out->set('X-O', 'out'); $r->err_headers_out->set('X-E', 'err');\n\
        print \"Content-Type: text/plain\\nX-P: printed\\nSet-Cookie: p=1\\n\\nbody\";\n";
    let mut lines = String::from(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Tables\nPerlModule ModPerl::Registry\n\
         <Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\nAddHandler cgi-script .cgi\n</Directory>\n",
    );
    let mut builder = mehari_harness::Server::builder().file("lib/Tables.pm", TABLES);
    for (name, rules) in RULES {
        builder = builder
            .file(&format!("htdocs/{name}/page.txt"), "page")
            .file(&format!("htdocs/{name}/cgi.cgi"), script)
            .file(&format!("htdocs/{name}/registry.pl"), registry);
        let mode = || std::os::unix::fs::PermissionsExt::from_mode(0o755);
        for file in ["cgi.cgi", "registry.pl"] {
            let path = builder.folder_of(&format!("htdocs/{name}/{file}"));
            std::fs::set_permissions(path, mode()).expect("own file");
        }
        lines += &format!(
            "<LocationMatch ^/{name}/>\n{rules}\n</LocationMatch>\n\
             <Location /{name}/registry.pl>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n</Location>\n\
             ProxyPass /{name}/back http://{back}/plain\n"
        );
        for handler in HANDLERS_OF_TABLES {
            lines += &format!(
                "<Location /{name}/{handler}>\nSetHandler modperl\nPerlResponseHandler Tables::{handler}\n</Location>\n"
            );
        }
    }
    builder.conf(&lines)
}

/// Returns the status and the fields that the rules concern, in sorted order.
fn fields(answer: &mehari_harness::Answer) -> String {
    let mut lines: Vec<String> = Vec::new();
    for name in [
        "X-O",
        "X-E",
        "X-S",
        "X-P",
        "X-N",
        "X-See",
        "X-Seen",
        "Set-Cookie",
        "ETag",
    ] {
        // The tags of files differ.
        if name != "ETag" || answer.all("etag") == ["\"a\""] {
            lines.extend(
                answer
                    .all(name)
                    .iter()
                    .map(|value| format!("{name}={value}")),
            );
        }
    }
    let kind = answer.field("content-type").unwrap_or_default();
    if !kind.starts_with("text/html; charset") {
        lines.push(kind);
    }
    lines.sort();
    format!("{} {}", answer.status, lines.join(" "))
}

#[test]
fn header_rules_change_the_table_that_they_change_in_apache() {
    let script = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\nX-P: printed\\nX-E: p\\nX-O: p\\nSet-Cookie: p=1\\n\\nbody};\n";
    let back = Server::builder()
        .file("htdocs/plain.cgi", script)
        .conf("ScriptAlias /plain @ROOT@/htdocs/plain.cgi\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(back.folder_of("htdocs/plain.cgi"), mode).expect("own file");
    let back = back.start();
    let address = back.address.to_string();
    let pair = Pair::start(|| tables(&address));
    let mut differences = Vec::new();
    for (name, _) in RULES {
        let pages = ["page.txt", "cgi.cgi", "registry.pl", "back", "none"];
        for page in pages.into_iter().chain(HANDLERS_OF_TABLES) {
            let request = Request::get(&format!("/{name}/{page}"));
            let seen: Vec<String> = pair
                .servers()
                .map(|server| fields(&server.send(&request)))
                .collect();
            if seen.iter().any(|one| *one != seen[0]) {
                differences.push(format!(
                    "{}\n  ours   {}\n  theirs {}",
                    request.target, seen[0], seen[1]
                ));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// Plack's handler for Apache puts the fields of an answer into a table by its status.
#[test]
fn fields_of_psgi_survive_an_error_unless_the_status_is_2xx() {
    let app = "sub { my $status = substr $_[0]{PATH_INFO}, 1; [$status, ['Content-Type', 'text/plain', 'X-A', 'app'], ['body']] }\n";
    let server = Server::builder()
        .file("app.psgi", app)
        .conf(
            "<Location />\nSetHandler psgi\nPsgiApp @ROOT@/app.psgi\nHeader unset X-A\n\
             Header always append X-A always\n</Location>\n",
        )
        .start();
    let answer = server.get("/200");
    assert_eq!(answer.all("x-a"), ["always"]);
    for status in ["404", "302", "500"] {
        let answer = server.get(&format!("/{status}"));
        assert_eq!(answer.all("x-a"), ["app, always"], "{status}");
    }
}

#[test]
fn expiry_of_a_304_is_that_of_the_file_and_no_expiry_is_in_the_past() {
    let site = || {
        let site = Server::builder()
            .file("htdocs/page.html", "page")
            .file("htdocs/text.txt", "text")
            .conf(
                "LoadModule expires_module /usr/lib/apache2/modules/mod_expires.so\n\
                 ExpiresActive On\nExpiresByType text/html A60\nExpiresByType text/plain M3600\n",
            );
        for name in ["page.html", "text.txt"] {
            let file = std::fs::File::options()
                .write(true)
                .open(site.folder_of("htdocs").join(name));
            let day = Duration::from_secs(86_400);
            let file = file.expect("own file");
            file.set_modified(SystemTime::now() - day)
                .expect("own file");
        }
        site
    };
    let pair = Pair::start(site);
    for server in pair.servers() {
        let tag = server.get("/page.html").field("etag").expect("a tag");
        let request = Request::get("/page.html").field("If-None-Match", &tag);
        let unchanged = server.send(&request);
        assert_eq!(unchanged.status, 304);
        assert_eq!(
            unchanged.field("cache-control").as_deref(),
            Some("max-age=60")
        );
        assert!(unchanged.field("expires").is_some());
        assert_eq!(unchanged.field("content-type"), None);
        let text = server.get("/text.txt");
        assert_eq!(text.field("cache-control").as_deref(), Some("max-age=0"));
        assert_eq!(text.field("expires"), text.field("date"));
    }
}

#[test]
fn expiry_adds_its_age_to_the_cache_control_of_a_program_as_in_apache() {
    let program = |head: &str| {
        format!("#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n{head}\\n\\nx\";\n")
    };
    let handler = |place: &str, sets: &str| {
        format!(
            "<Location /{place}>\nSetHandler modperl\nPerlResponseHandler 'sub {{ my $r = shift; \
             {sets} $r->content_type(q(text/plain)); $r->print(1); 0 }}'\n</Location>\n"
        )
    };
    let site = || {
        Server::builder()
            .file("cgi/one.pl", &program("Cache-Control: private"))
            .file(
                "cgi/two.pl",
                &program("Cache-Control: private\\nCache-Control: no-transform"),
            )
            .file(
                "cgi/own.pl",
                &program("Cache-Control: no-cache\\nExpires: 0"),
            )
            .conf(&format!(
                "LoadModule expires_module /usr/lib/apache2/modules/mod_expires.so\n\
                 PerlModule Apache2::RequestRec Apache2::RequestIO APR::Table\n\
                 ExpiresActive On\nExpiresDefault A60\nScriptAlias /cgi/ @ROOT@/cgi/\n{}{}",
                handler(
                    "out",
                    "$r->headers_out->add(q(Cache-Control), $_) for qw(private no-transform);"
                ),
                handler(
                    "err",
                    "$r->err_headers_out->set(q(Cache-Control), q(private));"
                ),
            ))
    };
    let pair = Pair::start(site);
    for (target, expected) in [
        ("/cgi/one.pl", "private, max-age=60"),
        ("/cgi/two.pl", "private, no-transform, max-age=60"),
        ("/cgi/own.pl", "no-cache"),
        ("/out", "private, max-age=60, no-transform"),
        ("/err", "private, max-age=60"),
    ] {
        for server in pair.servers() {
            let answer = server.get(target);
            assert_eq!(answer.all("cache-control").join(", "), expected, "{target}");
        }
    }
}

#[test]
fn rules_know_the_path_of_an_index_and_the_date_of_a_program_as_in_apache() {
    let site = || {
        let site = site().conf(
            "LoadModule expires_module /usr/lib/apache2/modules/mod_expires.so\n\
             Header set X-Path \"expr=%{REQUEST_URI}\"\n\
             <Location /cgi>\nExpiresActive On\nExpiresDefault \"modification plus 1000 weeks\"\n\
             </Location>\n",
        );
        let script = site.folder_of("scripts").join("ok.pl");
        let file = std::fs::File::options().write(true).open(script);
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        file.expect("own file")
            .set_modified(date)
            .expect("own file");
        site
    };
    let pair = Pair::start(site);
    for server in pair.servers() {
        let path = |target: &str| server.get(target).field("x-path");
        assert_eq!(path("/folder/").as_deref(), Some("/folder/index.html"));
        assert_eq!(path("/page.txt").as_deref(), Some("/page.txt"));
        let expires = server.get("/cgi/ok.pl").field("expires");
        assert_eq!(expires.as_deref(), Some("Sun, 13 Nov 2039 12:26:40 GMT"));
        assert_eq!(server.get("/cgi/error.pl").field("expires"), None);
    }
}
