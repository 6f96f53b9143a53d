//! Tests access control: passwords, paths that lead to other paths, and the user on these paths.
//! Where Apache is installed, the responses are compared with Apache's under the same
//! configuration.

use mehari_harness::{Builder, Pair, Request, Server};

/// The credentials `ann:secret`, `bob:secret` and `ann:other`.
const ANN: &str = "Basic YW5uOnNlY3JldA==";
const BOB: &str = "Basic Ym9iOnNlY3JldA==";
const OTHER_ANN: &str = "Basic YW5uOm90aGVy";

/// The hashes of `secret` and `other`, made by openssl passwd -apr1.
const SECRET: &str = "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/";

fn get(target: &str, who: &str) -> Request {
    match who {
        "" => Request::get(target),
        who => Request::get(target).field("Authorization", who),
    }
}

const WHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } qw(REMOTE_USER AUTH_TYPE REDIRECT_REMOTE_USER);\n";

/// Returns a site with two locations that have a user file each, and an open location. Paths lead
/// from each location to the others.
fn two_places() -> Builder {
    let builder = Server::builder()
        .file("users-a", &format!("ann:{SECRET}\n"))
        .file("users-b", &format!("bob:{SECRET}\n"))
        .file("htdocs/a/page.html", "page of a")
        .file("htdocs/b/secret.html", "secret of b")
        .file("htdocs/also-a/page.html", "another page of a")
        .file("cgi/who.pl", WHO)
        .file("cgi/to-b.pl", "#!/usr/bin/perl\nprint qq{Location: /b/secret.html\\n\\n};\n")
        .conf(
            "ScriptAlias /cgi/ @ROOT@/cgi/\n<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <Directory @ROOT@/htdocs/a>\n\
             AuthType Basic\nAuthName A\nAuthUserFile @ROOT@/users-a\nRequire valid-user\n\
             DirectoryIndex /b/secret.html\nErrorDocument 404 /b/secret.html\nErrorDocument 410 /cgi/who.pl\n\
             RewriteEngine On\nRewriteRule ^gone$ - [G]\n\
             RewriteRule ^to-b$ /b/secret.html\nRewriteRule ^to-cgi$ /cgi/who.pl\nRewriteRule ^to-script /cgi/to-b.pl\n\
             RewriteRule ^to-also /also-a/page.html\n\
             </Directory>\n\
             <Directory @ROOT@/htdocs/also-a>\n\
             AuthType Basic\nAuthName A\nAuthUserFile @ROOT@/users-a\nRequire user ann\n\
             </Directory>\n\
             <Directory @ROOT@/htdocs/b>\n\
             AuthType Basic\nAuthName B\nAuthUserFile @ROOT@/users-b\nRequire valid-user\n\
             </Directory>\n",
        );
    for script in ["who.pl", "to-b.pl"] {
        let path = builder.folder_of("cgi").join(script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("own file");
    }
    builder
}

#[test]
fn user_of_one_location_is_unknown_at_another() {
    let mut pair = Pair::start(two_places);
    for (target, ann, bob) in [
        ("/a/page.html", 200, 401),
        ("/b/secret.html", 401, 200),
        ("/a/to-b", 401, 401),
        ("/a/", 401, 401),
        ("/a/missing", 404, 401),
        ("/a/gone", 410, 401),
        ("/a/to-cgi", 200, 401),
        ("/a/to-script", 401, 401),
        ("/a/to-also", 200, 401),
        ("/cgi/to-b.pl", 401, 200),
        ("/cgi/who.pl", 200, 200),
    ] {
        for (who, status) in [(ANN, ann), (BOB, bob)] {
            // The first request makes the server verify the password. The second one finds the
            // password in the cache.
            for _ in 0..2 {
                let answer = pair
                    .compare(&get(target, who))
                    .unwrap_or_else(|why| panic!("{who}: {why}"));
                assert_eq!(answer.status, status, "{target} {who}");
                assert!(
                    !answer.text().contains("secret") || status == 200 && who == BOB,
                    "{target} {who}"
                );
            }
        }
        pair.get(target);
        pair.send(&get(target, OTHER_ANN));
    }
}

/// Two handlers: one checks the password with mod_perl's own methods, and one decides itself.
const AUTHEN: &str = r#"package Authen;
use Apache2::Access ();
use Apache2::RequestUtil ();
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use APR::Table ();
use Apache2::Const -compile => qw(OK HTTP_UNAUTHORIZED);
use MIME::Base64 ();
sub basic {
    my $r = shift;
    my ($status, $password) = $r->get_basic_auth_pw;
    return $status if $status != Apache2::Const::OK;
    return Apache2::Const::OK if $password eq 'secret';
    $r->note_basic_auth_failure;
    return Apache2::Const::HTTP_UNAUTHORIZED;
}
sub own {
    my $r = shift;
    my ($given) = ($r->headers_in->get('Authorization') // '') =~ /^Basic (.*)/ or return Apache2::Const::HTTP_UNAUTHORIZED;
    $r->user((split /:/, MIME::Base64::decode_base64($given))[0]);
    return Apache2::Const::OK;
}
sub say { my $r = shift; $r->content_type('text/plain'); $r->print('hello ', $r->user // 'nobody'); Apache2::Const::OK }
1;
"#;

fn perl_places() -> Builder {
    let places = [
        ("valid", "Require valid-user"),
        ("ann", "Require user ann eve"),
        ("staff", "Require group staff others"),
        ("any", "Require user bob\nRequire group staff"),
        ("open", "Require ip 127.0.0.1\nRequire user bob"),
        ("far", "Require ip 192.0.2.1\nRequire user bob"),
        ("all", "<RequireAll>\nRequire ip 127.0.0.1\nRequire user ann\n</RequireAll>"),
        ("allfar", "<RequireAll>\nRequire ip 192.0.2.1\nRequire user ann\n</RequireAll>"),
        ("not", "<RequireAll>\nRequire valid-user\nRequire not user bob\n</RequireAll>"),
        ("none", "<RequireAll>\nRequire valid-user\n<RequireNone>\nRequire user bob\nRequire ip 192.0.2.1\n</RequireNone>\n</RequireAll>"),
        ("deep", "<RequireAll>\n<RequireAny>\nRequire user bob\nRequire group staff\n</RequireAny>\nRequire method GET\n</RequireAll>"),
        ("limit", "<Limit POST>\nRequire user bob\n</Limit>"),
        ("except", "<LimitExcept GET>\nRequire user bob\n</LimitExcept>"),
    ];
    let mut conf = String::from(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Authen\n\
         <Location />\nAuthType Basic\nAuthName \"Of Perl\"\nAuthGroupFile @ROOT@/groups\n\
         SetHandler modperl\nPerlResponseHandler Authen::say\n</Location>\n",
    );
    for (kind, handler) in [
        ("basic", "PerlAuthenHandler Authen::basic"),
        ("own", "PerlAuthenHandler Authen::own"),
        ("file", "AuthUserFile @ROOT@/users"),
    ] {
        for (name, requirement) in places {
            let place =
                format!("<Location /{kind}/{name}>\n{handler}\n{requirement}\n</Location>\n");
            conf.push_str(&place);
        }
    }
    Server::builder()
        .file("lib/Authen.pm", AUTHEN)
        .file("users", &format!("ann:{SECRET}\nbob:{SECRET}\n"))
        .file("groups", "staff: eve ann\nothers:\n")
        .file("htdocs/index.html", "")
        .conf(&conf)
}

#[test]
fn requirements_decide_as_in_apache_whichever_module_finds_the_user() {
    let mut pair = Pair::start(perl_places);
    let mut differences = Vec::new();
    for kind in ["basic", "own", "file"] {
        for place in [
            "valid", "ann", "staff", "any", "open", "far", "all", "allfar", "not", "none", "deep",
            "limit", "except",
        ] {
            for who in ["", ANN, BOB, OTHER_ANN] {
                let request = get(&format!("/{kind}/{place}"), who);
                let mut posted = request.clone();
                posted.method = "POST".into();
                for request in [request, posted] {
                    let compared = pair.compare(&request);
                    differences.extend(compared.err().map(|why| format!("{who} {why}")));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

const FORBIDDING: &str = "
    <Directory @ROOT@/htdocs>
        AuthType Basic
        AuthName there
        AuthUserFile @ROOT@/users
        Require user bob
    </Directory>
    <Directory @ROOT@/htdocs/on>
        AuthzSendForbiddenOnFailure On
    </Directory>
    <Directory @ROOT@/htdocs/on/off>
        AuthzSendForbiddenOnFailure Off
    </Directory>
    <Directory @ROOT@/htdocs/perl>
        AuthzSendForbiddenOnFailure On
        PerlFixupHandler 'sub { 0 }'
    </Directory>
    <Directory @ROOT@/htdocs/own>
        AuthzSendForbiddenOnFailure On
        PerlAuthenHandler 'sub { $_[0]->user(q(ann)); 0 }'
    </Directory>
    <Directory @ROOT@/htdocs/file>
        AllowOverride AuthConfig
    </Directory>
    <Perl>
        use Apache2::Access ();
        use Apache2::RequestRec ();
    </Perl>
";

#[test]
fn a_user_without_the_right_is_forbidden_as_in_apache() {
    let site = || {
        let folders = ["off", "on", "on/off", "perl", "own", "file"];
        let page =
            |site: Builder, folder: &&str| site.file(&format!("htdocs/{folder}/page.html"), "page");
        folders
            .iter()
            .fold(Server::builder(), page)
            .file("htdocs/file/.htaccess", "AuthzSendForbiddenOnFailure On\n")
            .file("users", &format!("ann:{SECRET}\nbob:{SECRET}\n"))
            .conf(FORBIDDING)
    };
    let mut pair = Pair::start(site);
    for (folder, status) in [
        ("off", 401),
        ("on", 403),
        ("on/off", 401),
        ("perl", 403),
        ("own", 403),
        ("file", 403),
    ] {
        let target = format!("/{folder}/page.html");
        assert_eq!(pair.send(&get(&target, ANN)).status, status, "{folder}");
        if folder != "own" {
            assert_eq!(pair.send(&get(&target, "")).status, 401, "{folder}");
            assert_eq!(pair.send(&get(&target, OTHER_ANN)).status, 401, "{folder}");
            assert_eq!(pair.send(&get(&target, BOB)).status, 200, "{folder}");
        }
    }
}

const BASIC: &str = "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\n";

/// Compares the answers of both servers to requests of each method, without a user and as ann.
fn compare_methods(pair: &mut Pair, targets: &[&str]) {
    let mut differences = Vec::new();
    for target in targets {
        for method in ["GET", "HEAD", "POST"] {
            for who in ["", ANN] {
                let mut request = get(target, who);
                request.method = method.into();
                differences.extend(pair.compare(&request).err());
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

const SATISFYING: &[(&str, &str)] = &[
    ("post", "<Limit POST>\nSatisfy Any\n</Limit>\nRequire valid-user\n"),
    ("others", "<LimitExcept POST>\nSatisfy Any\n</LimitExcept>\nRequire valid-user\n"),
    ("last", "Satisfy Any\n<Limit GET>\nSatisfy All\n</Limit>\nRequire valid-user\n"),
    ("first", "<Limit GET>\nSatisfy Any\n</Limit>\nSatisfy All\nRequire valid-user\n"),
    ("denied", "<Limit POST>\nSatisfy Any\n</Limit>\nDeny from all\nRequire valid-user\n"),
    ("perl", "<Limit POST>\nSatisfy Any\n</Limit>\nRequire valid-user\nPerlAccessHandler 'sub { 0 }'\n"),
    ("refusing", "<LimitExcept GET>\nSatisfy Any\n</LimitExcept>\nRequire valid-user\nPerlAccessHandler 'sub { 403 }'\n"),
];

#[test]
fn satisfy_counts_for_the_methods_of_its_limit_as_in_apache() {
    let site = || {
        let mut site = Server::builder().file("users", &format!("ann:{SECRET}\n"));
        let mut conf = format!("<Directory @ROOT@/htdocs>\n{BASIC}</Directory>\n");
        for (folder, lines) in SATISFYING {
            site = site
                .file(&format!("htdocs/{folder}/page.html"), "page")
                .file(&format!("htdocs/{folder}/closed.html"), "closed");
            let place = format!("<Directory @ROOT@/htdocs/{folder}>\n{lines}</Directory>\n");
            conf.push_str(&place);
        }
        // The line of a section takes away the Satisfy of outer sections.
        site.conf(&format!(
            "{conf}<Files closed.html>\nDeny from all\n</Files>\n"
        ))
    };
    let mut pair = Pair::start(site);
    let pages = SATISFYING
        .iter()
        .flat_map(|(folder, _)| ["page", "closed"].map(|name| format!("/{folder}/{name}.html")));
    let pages: Vec<String> = pages.collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    compare_methods(&mut pair, &pages);
    assert_eq!(pair.get("/post/page.html").status, 401);
    assert_eq!(pair.get("/post/closed.html").status, 403);
}

#[test]
fn access_to_an_index_is_checked_as_for_a_sub_request_of_apache() {
    let site = || {
        let folders = ["posted", "unlimited", "next", "last", "fallback", "alike"];
        let site = folders.iter().fold(Server::builder(), |site, folder| {
            site.file(&format!("htdocs/{folder}/first.html"), "first")
                .file(&format!("htdocs/{folder}/second.html"), "second")
        });
        site.file("users", &format!("ann:{SECRET}\n")).conf(&format!(
            "DirectoryIndex first.html second.html\n\
             <Directory @ROOT@/htdocs>\n{BASIC}Require all granted\n</Directory>\n\
             <Directory @ROOT@/htdocs/posted>\n<LimitExcept POST>\nRequire all denied\n</LimitExcept>\n<Files *>\nSetEnv A 1\n</Files>\n</Directory>\n\
             <Directory @ROOT@/htdocs/alike>\n<LimitExcept POST>\nRequire all denied\n</LimitExcept>\n</Directory>\n\
             <Directory @ROOT@/htdocs/unlimited>\n<Files *.html>\n<Limit GET>\nRequire valid-user\n</Limit>\n</Files>\n</Directory>\n\
             <Directory @ROOT@/htdocs/next>\n<Files first.html>\nRequire valid-user\n</Files>\n</Directory>\n\
             <Directory @ROOT@/htdocs/last>\n<Files first.html>\nRequire all denied\n</Files>\n\
             <Files second.html>\nRequire user ann\n</Files>\n</Directory>\n\
             <Directory @ROOT@/htdocs/fallback>\nFallbackResource /fallback/second.html\n\
             <Files second.html>\n<LimitExcept POST>\nRequire all denied\n</LimitExcept>\n</Files>\n</Directory>\n"
        ))
    };
    let mut pair = Pair::start(site);
    let targets = [
        "/posted/",
        "/alike/",
        "/unlimited/",
        "/unlimited/first.html",
        "/next/",
        "/last/",
        "/fallback/missing",
        "/fallback/second.html",
    ];
    compare_methods(&mut pair, &targets);
    assert_eq!(pair.get("/next/").text(), "second");
}

#[test]
fn methods_are_named_as_in_apache() {
    let site = || {
        let page =
            |site: Builder, folder: &&str| site.file(&format!("htdocs/{folder}/page.html"), "page");
        ["lower", "except", "get", "head", "inner"]
            .iter()
            .fold(Server::builder(), page)
            .file("htdocs/inner/.htaccess", "<Limit GET>\nRequire all denied\n</Limit>\n")
            .conf(
                "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n\
                 <Directory @ROOT@/htdocs/lower>\n<Limit get>\nRequire all denied\n</Limit>\n</Directory>\n\
                 <Directory @ROOT@/htdocs/except>\n<LimitExcept get>\nRequire all denied\n</LimitExcept>\n</Directory>\n\
                 <Directory @ROOT@/htdocs/get>\nRequire method GET\n</Directory>\n\
                 <Directory @ROOT@/htdocs/head>\nRequire method HEAD\n</Directory>\n",
            )
    };
    let mut pair = Pair::start(site);
    for (folder, status) in [
        ("lower", 200),
        ("except", 403),
        ("get", 200),
        ("head", 200),
        ("inner", 403),
    ] {
        let target = format!("/{folder}/page.html");
        compare_methods(&mut pair, &[&target]);
        assert_eq!(pair.get(&target).status, status, "{folder}");
    }
}

#[test]
fn an_unknown_method_in_an_htaccess_file_is_an_error() {
    // Apache does the same, but its log then has an alert.
    let server = Server::builder()
        .file("htdocs/page.html", "page")
        .file(
            "htdocs/.htaccess",
            "<LimitExcept Get>\nRequire all denied\n</LimitExcept>\n",
        )
        .conf("<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n")
        .start();
    assert_eq!(server.get("/page.html").status, 500);
}

#[test]
fn condition_about_the_handler_knows_the_programs_of_a_script_alias_as_in_apache() {
    let site = || {
        let program = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\nran};\n";
        let site = Server::builder()
            .file("cgi/run.pl", program)
            .file("htdocs/run.cgi", program)
            .file("htdocs/page.html", "page")
            .conf(
                "ScriptAlias /cgi/ @ROOT@/cgi/\nAddHandler cgi-script .cgi\n\
                 <Directory @ROOT@>\nOptions ExecCGI\nRequire all granted\n</Directory>\n\
                 <If \"%{HANDLER} == 'cgi-script'\">\nRequire all denied\n</If>\n",
            );
        for file in ["cgi/run.pl", "htdocs/run.cgi"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(site.folder_of(file), mode).expect("own file");
        }
        site
    };
    let mut pair = Pair::start(site);
    assert_eq!(pair.get("/cgi/run.pl").status, 403);
    // A condition is evaluated before mod_mime chooses the handler.
    assert_eq!(pair.get("/run.cgi").status, 200);
    assert_eq!(pair.get("/page.html").status, 200);
}

/// Pairs of sections: the requirements of the outer folder, and what the inner folder says.
const MERGED: [(&str, &str); 12] = [
    ("Require all denied", "AuthMerging Off"),
    ("Require all denied", "AuthMerging And"),
    ("Require all denied", "AuthMerging Or"),
    ("Require ip 192.0.2.1", "AuthMerging Off"),
    ("Require valid-user", "AuthMerging Off"),
    ("Require all denied", "AuthMerging Off\n<Limit POST>\nRequire all denied\n</Limit>"),
    ("Require all denied", "AuthMerging Or\n<Limit POST>\nRequire all denied\n</Limit>"),
    ("Require all denied", "AuthMerging And\n<Limit POST>\nRequire all granted\n</Limit>"),
    ("Require all granted", "AuthMerging Or\n<Limit POST>\nRequire all denied\n</Limit>"),
    ("Require all denied", "<Limit POST>\nRequire all denied\n</Limit>"),
    ("Require all denied", "<RequireAll>\n<Limit POST>\nRequire all denied\n</Limit>\nRequire not ip 192.0.2.1\n</RequireAll>"),
    ("Require all denied", "AuthzSendForbiddenOnFailure On"),
];

fn merged_places() -> Builder {
    let mut builder = Server::builder().file("users-a", &format!("ann:{SECRET}\n"));
    for (number, (outer, inner)) in MERGED.iter().enumerate() {
        let login = if outer.contains("user") {
            "AuthType Basic\nAuthName A\nAuthUserFile @ROOT@/users-a\n"
        } else {
            ""
        };
        builder = builder
            .file(&format!("htdocs/{number}/section/page.html"), "a page")
            .file(&format!("htdocs/{number}/hidden/page.html"), "a page")
            .file(&format!("htdocs/{number}/hidden/.htaccess"), inner)
            .conf(&format!(
                "<Directory @ROOT@/htdocs/{number}>\nAllowOverride All\n{login}{outer}\n</Directory>\n\
                 <Directory @ROOT@/htdocs/{number}/section>\n{inner}\n</Directory>\n"
            ));
    }
    builder
}

#[test]
fn requirements_merge_with_those_of_outer_folders_as_in_apache() {
    let mut pair = Pair::start(merged_places);
    for number in 0..MERGED.len() {
        let section = format!("/{number}/section/page.html");
        let hidden = format!("/{number}/hidden/page.html");
        compare_methods(&mut pair, &[&section, &hidden]);
    }
}

#[test]
fn container_without_a_requirement_is_an_error_of_an_htaccess_file() {
    // Apache does the same, but its log then has an alert.
    let mut builder =
        Server::builder().conf("<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n");
    let containers = [
        "<RequireAll>\n</RequireAll>",
        "<RequireAny>\n</RequireAny>",
        "<Limit POST>\n<RequireAll>\n</RequireAll>\n</Limit>",
        "<RequireAll>\nAuthName A\n</RequireAll>",
    ];
    for (number, text) in containers.iter().enumerate() {
        builder = builder
            .file(&format!("htdocs/{number}/.htaccess"), text)
            .file(&format!("htdocs/{number}/page.html"), "a page");
    }
    let server = builder.start();
    for (number, text) in containers.iter().enumerate() {
        let answer = server.get(&format!("/{number}/page.html"));
        assert_eq!(answer.status, 500, "{text}");
    }
}

/// Conditions that may hold for a folder or a missing path and not for the index or the fallback
/// that answers, and what leads from the one to the other.
const PLACE_CONDITIONS: [(&str, &str); 14] = [
    ("", "-d %{REQUEST_FILENAME}"),
    ("", "-f %{REQUEST_FILENAME}"),
    ("", "! -e %{REQUEST_FILENAME}"),
    ("", "-f '%{DOCUMENT_ROOT}%{REQUEST_URI}'"),
    ("", "%{REQUEST_URI} =~ m#/$#"),
    ("", "%{IS_SUBREQ} == 'true'"),
    ("", "%{IS_SUBREQ} == 'false' && -f %{REQUEST_FILENAME}"),
    ("FallbackResource /@N@/page.html", "%{IS_SUBREQ} == 'true'"),
    ("FallbackResource /@N@/page.html", "%{IS_SUBREQ} == 'false'"),
    ("FallbackResource /@N@/page.html", "-f %{REQUEST_FILENAME}"),
    (
        "FallbackResource /@N@/page.html",
        "! -f %{REQUEST_FILENAME}",
    ),
    (
        "FallbackResource /@N@/page.html",
        "%{REQUEST_URI} =~ m#/page.html$#",
    ),
    (
        "FallbackResource /@N@/page.html",
        "%{REQUEST_URI} !~ m#/page.html$#",
    ),
    (
        "Action shown /@N@/page.html virtual\nAddHandler shown .txt",
        "%{REQUEST_URI} =~ m#/page.html#",
    ),
];

fn conditional_places() -> Builder {
    let mut builder = Server::builder();
    for (number, (leads, condition)) in PLACE_CONDITIONS.iter().enumerate() {
        let folder = format!("htdocs/{number}");
        let leads = leads.replace("@N@", &number.to_string());
        for file in [
            "page.html",
            "text.txt",
            "index.html",
            "empty/page.html",
            "filled/index.html",
        ] {
            builder = builder.file(&format!("{folder}/{file}"), file);
        }
        builder = builder.conf(&format!(
            "<Directory @ROOT@/{folder}>\nOptions -Indexes\n{leads}\n\
             <If \"{condition}\">\nRequire all denied\n</If>\n</Directory>\n"
        ));
    }
    builder
}

#[test]
fn conditions_are_asked_for_each_path_on_the_way_as_in_apache() {
    let mut pair = Pair::start(conditional_places);
    for number in 0..PLACE_CONDITIONS.len() {
        for rest in [
            "",
            "page.html",
            "text.txt",
            "empty/",
            "filled/",
            "filled",
            "missing",
            "page.html/more",
        ] {
            compare_methods(&mut pair, &[&format!("/{number}/{rest}")]);
        }
    }
}

/// A place with a condition, from which another place without conditions answers.
fn places_left() -> Builder {
    let denied = "<If true>\nRequire all denied\n</If>";
    Server::builder()
        .file("htdocs/elsewhere/page.html", "elsewhere")
        .file("htdocs/index/text.txt", "text")
        .file("htdocs/acted/page.act", "acted for")
        .file("htdocs/handled/page.act", "handled")
        .file(
            "htdocs/handled/.htaccess",
            "<If \"-f %{REQUEST_FILENAME}\">\nSetHandler default-handler\n</If>\n",
        )
        .conf(&format!(
            "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n\
             Action acting /elsewhere/page.html virtual\n\
             Action missing /elsewhere/missing.html\n\
             AddHandler acting .act\nAddHandler missing .mis\n\
             <Location /fallback>\nFallbackResource /elsewhere/page.html\n{denied}\n</Location>\n\
             <Location /index>\nDirectoryIndex /elsewhere/page.html\n{denied}\n</Location>\n\
             <Location /acted>\n{denied}\n</Location>\n"
        ))
}

#[test]
fn conditions_of_a_place_count_although_another_place_answers() {
    let mut pair = Pair::start(places_left);
    for (target, status) in [
        ("/elsewhere/page.html", 200),
        ("/fallback/missing", 403),
        ("/index/", 403),
        ("/acted/page.act", 403),
        ("/handled/page.act", 200),
    ] {
        let answer = pair.get(target);
        assert_eq!(answer.status, status, "{target}");
    }
    compare_methods(&mut pair, &["/handled/missing.mis"]);
    for method in ["PUT", "DELETE"] {
        let mut request = Request::get("/handled/missing.mis");
        request.method = method.into();
        pair.send(&request);
    }
}

/// Perl handlers of a place that do not refuse, or that refuse themselves (the last two).
const PLACE_HANDLERS: [&str; 10] = [
    "",
    "PerlLogHandler 'sub { -1 }'",
    "PerlCleanupHandler 'sub { -1 }'",
    "PerlTypeHandler 'sub { -1 }'",
    "PerlFixupHandler 'sub { -1 }'",
    "PerlHeaderParserHandler 'sub { -1 }'",
    "PerlAccessHandler 'sub { -1 }'",
    "PerlAuthenHandler 'sub { 401 }'",
    "PerlHeaderParserHandler 'sub { 403 }'",
    "PerlAccessHandler 'sub { 403 }'",
];

/// What leads from a place to an open one, and a path of the place.
const LEADS: [(&str, &str); 13] = [
    ("Redirect 302 @PATH@/page.html /open/page.html", "page.html"),
    (
        "RewriteEngine On\nRewriteRule page /open/page.html",
        "page.html",
    ),
    (
        "RewriteEngine On\nRewriteRule page /open/page.html [R]",
        "page.html",
    ),
    ("RewriteEngine On\nRewriteRule ^$ /open/page.html", ""),
    (
        "DirectoryIndex page.html\nRewriteEngine On\nRewriteRule ^$ /open/page.html",
        "",
    ),
    ("DirectoryIndex page.html\nRedirect 302 /open/page.html", ""),
    ("FallbackResource /open/page.html", "missing"),
    ("DirectoryIndex /open/page.html", ""),
    ("DirectoryIndex page.html\nDirectoryIndexRedirect On", ""),
    (
        "DirectoryIndex page.html\nDirectoryIndexRedirect On\nRewriteEngine On",
        "",
    ),
    (
        "AddHandler shown .html\nAction shown /open/page.html virtual",
        "page.html",
    ),
    ("CheckSpelling On", "pagee.html"),
    ("Options +MultiViews", "page"),
];

fn leading_places(handlers: &[&str]) -> Builder {
    let mut builder = Server::builder()
        .file("htdocs/open/page.html", "an open page")
        .file("users", &format!("ann:{SECRET}\n"));
    for (number, handler) in handlers.iter().enumerate() {
        for (way, (lead, _)) in LEADS.iter().enumerate() {
            for (rule, refusal) in REFUSALS.iter().enumerate() {
                let place = format!("{number}-{way}-{rule}");
                let lead = lead.replace("@PATH@", &format!("/{place}"));
                builder = builder
                    .file(&format!("htdocs/{place}/page.html"), "a closed page")
                    .conf(&format!(
                        "<Directory @ROOT@/htdocs/{place}>\n{handler}\n{refusal}\n{lead}\n</Directory>\n"
                    ));
            }
        }
    }
    builder
}

const REFUSALS: [&str; 3] = [
    "Require all denied",
    "Require ip 192.0.2.1",
    "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire user nobody",
];

#[test]
fn place_that_refuses_leads_nowhere_whatever_handlers_it_has() {
    let pair = Pair::start(|| leading_places(&PLACE_HANDLERS));
    check_leading_places(&pair, &PLACE_HANDLERS);
}

#[test]
fn place_that_refuses_leads_nowhere_whatever_handlers_the_server_has() {
    for handler in PLACE_HANDLERS {
        let pair = Pair::start(|| leading_places(&[""]).conf(&format!("{handler}\n")));
        check_leading_places(&pair, &[handler]);
    }
}

fn check_leading_places(pair: &Pair, handlers: &[&str]) {
    let mut differences = Vec::new();
    for (number, handler) in handlers.iter().enumerate() {
        for (way, (_, name)) in LEADS.iter().enumerate() {
            for rule in 0..REFUSALS.len() {
                let target = format!("/{number}-{way}-{rule}/{name}");
                for who in ["", ANN] {
                    let request = get(&target, who);
                    let seen: Vec<u16> = (pair.servers())
                        .map(|server| server.send(&request).status)
                        .collect();
                    // Handlers of a place that leads to a place with other handlers do not run:
                    // the request is refused at once.
                    let is_same = seen.iter().all(|status| *status == seen[0]);
                    let may_differ = ["Header", "Access", "Authen"]
                        .iter()
                        .any(|phase| handler.contains(phase));
                    let refuse = seen.iter().all(|status| *status >= 400);
                    if !refuse || !(is_same || may_differ) {
                        differences.push(format!("{handler} {target} {who}: {seen:?}"));
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Prints what the program of an `Action` sees.
const SHOWS: &str = r#"#!/usr/bin/perl
print "Content-Type: text/plain\n\n";
print "$_=", $ENV{$_} // '-', "\n" for qw(REQUEST_METHOD REQUEST_URI QUERY_STRING PATH_INFO PATH_TRANSLATED SCRIPT_NAME CONTENT_LENGTH CONTENT_TYPE REMOTE_USER AUTH_TYPE SEEN REDIRECT_SEEN), sort grep { /^REDIRECT_/ && !/PATH|SERVER_|SCRIPT|DOCUMENT|GATEWAY|MOD_PERL|PERL/ } keys %ENV;
my $body = '';
read STDIN, $body, $ENV{CONTENT_LENGTH} if $ENV{CONTENT_LENGTH};
print length $body, ' ', unpack('%32C*', $body), "\n";
"#;

/// Handlers of the place of a file, for which the program of an `Action` responds.
const ACTED_HANDLERS: [&str; 12] = [
    "PerlAccessHandler 'sub { 0 }'\nPerlFixupHandler 'sub { $_[0]->filename($_[0]->document_root . q(/other.act)) if $_[0]->is_initial_req; 0 }'",
    "PerlAccessHandler 'sub { 0 }'\nPerlFixupHandler 'sub { $_[0]->handler(q(default-handler)) if $_[0]->uri =~ m(page); 0 }'",
    "PerlAccessHandler 'sub { 0 }'\nPerlFixupHandler 'sub { $_[0]->handler(q(acts)); 0 }'",
    "PerlAccessHandler 'sub { 0 }'",
    "PerlAccessHandler 'sub { 403 }'",
    "PerlAccessHandler 'sub { $_[0]->subprocess_env(SEEN => 1); $_[0]->headers_out->set(q(X-Access) => 1); 0 }'",
    "PerlHeaderParserHandler 'sub { $_[0]->subprocess_env(SEEN => 2); 0 }'",
    "PerlHeaderParserHandler 'sub { $_[0]->args =~ /no/ ? 404 : -1 }'",
    "AuthType Own\nAuthName there\nRequire valid-user\nPerlAuthenHandler 'sub { $_[0]->user(q(ann)); 0 }'",
    "AuthType Own\nAuthName there\nRequire valid-user\nPerlAuthenHandler 'sub { 401 }'",
    "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\nPerlAccessHandler 'sub { 0 }'",
    "AuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\nRequire valid-user\nPerlAuthzHandler 'sub { $_[0]->user eq q(ann) ? 0 : 403 }'\nPerlFixupHandler 'sub { $_[0]->subprocess_env(SEEN => 3); -1 }'",
];

const ACTED_PROGRAMS: [&str; 5] = [
    "/cgi/shows.pl",
    "/registry/shows.pl",
    "/refused/shows.pl",
    "/closed/shows.pl",
    "/missing/shows.pl",
];

fn acted_site() -> Builder {
    let mut builder = Server::builder()
        .file("cgi/shows.pl", SHOWS)
        .file("users", &format!("ann:{SECRET}\n"))
        .file("htdocs/other.act", "the source of another page")
        .file("htdocs/page.shtml", "[<!--#include virtual=\"$QUERY_STRING\" -->]\n")
        .conf(
            "PerlModule Apache2::RequestRec Apache2::RequestIO Apache2::SubRequest Apache2::RequestUtil APR::Table Apache2::Access\n\
             <Location /looks>\nSetHandler modperl\n\
             PerlResponseHandler 'sub { my $r = shift; $r->content_type(q(text/plain)); my $s = $r->lookup_uri($r->args); $r->print($s->status, q( ), $s->handler // q(-), chr 10); $s->run; 0 }'\n</Location>\n\
             <Location /inside>\nSetHandler modperl\n\
             PerlResponseHandler 'sub { $_[0]->internal_redirect($_[0]->args); 0 }'\n</Location>\n\
             PerlTransHandler 'sub { my $r = shift; $r->uri($r->args) if $r->uri eq q(/led); -1 }'\n\
             <Files *.shtml>\nOptions +Includes\nSetOutputFilter INCLUDES\n</Files>\n\
             ScriptAlias /cgi/ @ROOT@/cgi/\n\
             <LocationMatch \"^/(registry|refused|closed)/\">\nSetHandler perl-script\n\
             PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n</LocationMatch>\n\
             Alias /registry/ @ROOT@/cgi/\nAlias /refused/ @ROOT@/cgi/\nAlias /closed/ @ROOT@/cgi/\n\
             <Location /refused>\nRequire all denied\n</Location>\n\
             <Location /closed>\nPerlAccessHandler 'sub { 403 }'\n</Location>\n",
        );
    for (number, handlers) in ACTED_HANDLERS.iter().enumerate() {
        for (program, path) in ACTED_PROGRAMS.iter().enumerate() {
            let place = format!("{number}-{program}");
            builder = builder
                .file(&format!("htdocs/{place}/page.act"), "the source")
                .file(&format!("htdocs/{place}/index.act"), "the source of an index")
                .conf(&format!(
                    "<Directory @ROOT@/htdocs/{place}>\nAddHandler acts .act\nAction acts {path}\nDirectoryIndex index.act\n{handlers}\n</Directory>\n"
                ));
        }
    }
    builder
}

#[test]
fn program_of_an_action_responds_after_perls_handlers_of_the_file() {
    let mut pair = Pair::start(acted_site);
    let mut differences = Vec::new();
    let large = "a large body ".repeat(20_000);
    for (number, handlers) in ACTED_HANDLERS.iter().enumerate() {
        for program in 0..ACTED_PROGRAMS.len() {
            let at = |path: &str| format!("/{number}-{program}/{path}");
            let requests = [
                Request::get(&at("page.act")),
                Request::get(&at("page.act")).field("Authorization", ANN),
                Request::get(&at("page.act/more?a=b&no")).field("Authorization", ANN),
                Request::get(&at("")).field("Authorization", ANN),
                Request::new("HEAD", &at("page.act")).field("Authorization", ANN),
                Request::post(&at("page.act?q"), "small=1").field("Authorization", ANN),
                Request::post(&at("page.act"), large.as_str()).field("Authorization", ANN),
                Request::get(&at("missing.act")).field("Authorization", ANN),
            ];
            for request in &requests {
                if let Err(difference) = pair.compare(request) {
                    differences.push(difference);
                }
            }
            // Unlike in Apache, no program responds to a request that Perl has led here. Nobody
            // gets the source.
            for asker in ["/looks", "/page.shtml", "/inside", "/led"] {
                let asked = format!("{asker}?{}", at("page.act"));
                let answer = pair
                    .ours()
                    .send(&Request::get(&asked).field("Authorization", ANN));
                let chosen = handlers.contains("default-handler");
                assert!(chosen || !answer.text().contains("the source"), "{asked}");
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// A body that is too large is refused before anything else, except where a local error document
/// answers.
#[test]
fn limit_of_the_body_and_other_refusals_come_in_the_order_of_apache() {
    let mut pair = Pair::start(|| {
        Server::builder()
            .file("htdocs/page.html", "page")
            .file("users", "")
            .conf(
                "LimitRequestBody 5\nRedirect 410 /gone\nRedirect 301 /moved http://example.test/\n\
                 RewriteEngine On\nRewriteRule ^/ruled - [F]\n\
                 <LocationMatch closed>\nRequire all denied\n</LocationMatch>\n\
                 <LocationMatch login>\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\n\
                 Require valid-user\n</LocationMatch>\n\
                 <LocationMatch text>\nErrorDocument 401 text\nErrorDocument 403 text\n</LocationMatch>\n\
                 <LocationMatch page>\nErrorDocument 403 /none\n\
                 ErrorDocument 404 /none\n</LocationMatch>\n",
            )
    });
    for (target, status) in [
        ("/closed", 413),
        ("/closed/text", 413),
        ("/closed/page", 403),
        ("/login", 413),
        ("/login/text", 413),
        ("/gone", 413),
        ("/moved", 413),
        ("/ruled", 413),
        ("/page.html", 413),
        ("/page/none", 413),
        ("/none", 413),
    ] {
        let answer = pair.send(&Request::post(target, "0123456789"));
        assert_eq!(answer.status, status, "{target}");
        pair.send(&Request::post(target, "01234"));
    }
}

/// Lines of user and group files as people write them, and credentials as clients send them.
#[test]
fn user_and_group_files_are_read_as_by_apache() {
    let users = format!(
        "# a comment\n#ann:{SECRET}\n\n  bob:{SECRET}  \r\nca\\\nrl:{SECRET}\nnone\neve:{SECRET}:more\n\
         dan::{SECRET}\nlast:{SECRET}"
    );
    let groups = "# staff: carl\n#off: bob\nstaff : eve  bob\nwheel: eve \\\n carl\nlast:bob";
    let site = || {
        let mut conf = String::from(
            "<Location />\nAuthType Basic\nAuthName there\nAuthUserFile @ROOT@/users\n\
             AuthGroupFile @ROOT@/groups\n</Location>\n",
        );
        for requirement in [
            "valid-user",
            "group staff",
            "group wheel",
            "group off",
            "group last",
        ] {
            let name = requirement.replace(' ', "-");
            let place = format!("<Location /{name}>\nRequire {requirement}\n</Location>\n");
            conf.push_str(&place);
        }
        Server::builder()
            .file("users", &users)
            .file("groups", groups)
            .file("htdocs/index.html", "")
            .conf(&conf)
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    let mut compare = |place: &str, credentials: &str| {
        let request = get(&format!("/{place}"), credentials);
        let compared = pair.compare(&request);
        differences.extend(compared.err().map(|why| format!("{credentials} {why}")));
    };
    for user in ["#ann", "ann", "bob", "carl", "none", "eve", "dan", "last"] {
        for password in ["secret", ""] {
            let credentials = basic(&format!("{user}:{password}"));
            for place in [
                "valid-user",
                "group-staff",
                "group-wheel",
                "group-off",
                "group-last",
            ] {
                compare(place, &credentials);
            }
        }
    }
    let bob = basic("bob:secret");
    for end in ["", "=", "==", "===", "!", " x", "%"] {
        compare("valid-user", &format!("{bob}{end}"));
    }
    for field in [
        "Basic",
        "Basic ",
        "Basic =",
        "Basic  Ym9iOnNlY3JldA==",
        "basic Ym9iOnNlY3JldA",
        "Basic Ym9iOnNlY3JldA==Ym9i",
    ] {
        compare("valid-user", field);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns credentials in base64 without padding.
fn basic(credentials: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = credentials
        .bytes()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))
        .collect();
    let number = |bits: &[u8]| (0..6).fold(0, |sum, at| sum * 2 + bits.get(at).unwrap_or(&0));
    let digits = bits
        .chunks(6)
        .map(|bits| char::from(DIGITS[usize::from(number(bits))]));
    format!("Basic {}", digits.collect::<String>())
}

const JUDGING: &str = "package Judging;\nuse Apache2::RequestRec ();\nuse Apache2::RequestUtil ();\nuse Apache2::Access ();\n\
    sub access { my $r = shift; ($r->dir_config('Role') // '') eq 'closed' || $r->uri =~ m{/admin} ? 403 : 0 }\n\
    sub nobody { $_[0]->note_basic_auth_failure; 401 }\n\
    sub ann { $_[0]->user('ann'); 0 }\n\
    sub deny { 403 }\n1;\n";

/// A path that an index, a fallback or a variant answers is judged by the path and the method of
/// the request, and not only by those of the file that answers.
#[test]
fn access_to_what_an_index_or_a_fallback_answers_is_decided_as_in_apache() {
    let rules = [
        ("expr", "Require expr \"%{REQUEST_URI} !~ m#/admin#\""),
        ("notexpr", "<RequireAll>\nRequire all granted\nRequire not expr \"%{REQUEST_URI} =~ m#/admin#\"\n</RequireAll>"),
        ("any", "<RequireAny>\nRequire expr \"%{REQUEST_URI} !~ m#/admin#\"\nRequire valid-user\n</RequireAny>\nAuthType Basic\nAuthName r\nAuthUserFile @ROOT@/users"),
        ("index", "Require expr \"%{REQUEST_URI} =~ m#run.cgi$#\""),
        ("handler", "PerlAccessHandler Judging::access"),
        ("limit", "AuthType Basic\nAuthName r\nPerlAuthenHandler Judging::nobody\n<LimitExcept GET HEAD>\nRequire valid-user\n</LimitExcept>"),
        ("posts", "AuthType Basic\nAuthName r\nPerlAuthenHandler Judging::nobody\n<Limit POST>\nRequire valid-user\n</Limit>"),
        ("method", "AuthType Basic\nAuthName r\nPerlAuthenHandler Judging::nobody\nRequire method GET\nRequire valid-user"),
        ("authz", "AuthType Basic\nAuthName r\nPerlAuthenHandler Judging::ann\nPerlAuthzHandler Judging::deny\n<Limit POST>\nRequire valid-user\n</Limit>"),
        ("file", "AuthType Basic\nAuthName r\nAuthUserFile @ROOT@/users\n<Limit POST>\nRequire valid-user\n</Limit>"),
    ];
    let site = || {
        let mut conf = String::from(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Judging\nDirectoryIndex run.cgi\nAddHandler cgi-script .cgi\n\
             <Directory @ROOT@/htdocs>\nOptions +ExecCGI +MultiViews\nRequire all granted\nAllowOverride All\n</Directory>\n\
             <LocationMatch \"/closed\">\nPerlSetVar Role closed\n</LocationMatch>\n",
        );
        let mut builder = Server::builder()
            .file("lib/Judging.pm", JUDGING)
            .file("users", &format!("ann:{SECRET}\n"));
        let script = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, map { qq{$_=$ENV{$_}\\n} } qw(REQUEST_METHOD REQUEST_URI);\n";
        for (name, lines) in &rules {
            conf += &format!(
                "<Directory @ROOT@/htdocs/place/{name}>\nFallbackResource /place/{name}/run.cgi\n</Directory>\n\
                 <Location /place/{name}>\n{lines}\n</Location>\n\
                 <Directory @ROOT@/htdocs/folder/{name}>\nFallbackResource /folder/{name}/run.cgi\n{lines}\n</Directory>\n"
            );
            for kind in ["place", "folder"] {
                let file = format!("htdocs/{kind}/{name}/run.cgi");
                builder = builder
                    .file(&file, script)
                    .file(&format!("htdocs/{kind}/{name}/in/page.html"), "page");
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(builder.folder_of(&file), mode).expect("own file");
            }
        }
        builder.conf(&conf)
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for kind in ["place", "folder"] {
        for (name, _) in &rules {
            for rest in [
                "",
                "run.cgi",
                "admin/users",
                "public",
                "closed/x",
                "run",
                "in/page.html",
            ] {
                // Apache answers DELETE of a file with 405, and Mehari with 404.
                let is_file = rest == "run" || rest.ends_with(".html");
                for method in ["GET", "POST", "DELETE"] {
                    if is_file && method == "DELETE" {
                        continue;
                    }
                    let mut request = get(&format!("/{kind}/{name}/{rest}"), "");
                    request.method = method.into();
                    differences.extend(pair.compare(&request).err());
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
