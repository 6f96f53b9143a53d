//! Tests access rules, rewriting, header rules, conditions and .htaccess files that the front
//! evaluates without a worker.

use mehari_harness::{eventually, needs, trace, Request, Server, PATIENCE};

fn with(target: &str, fields: &[(&str, &str)]) -> Request {
    let mut request = Request::get(target);
    for (name, value) in fields {
        request.fields.retain(|(known, _)| known != name);
        request.fields.push((name.to_string(), value.to_string()));
    }
    request
}

#[test]
fn password_lets_its_user_in_and_reaches_the_script_and_the_log() {
    let server = Server::builder()
        .file("users", "ann:$apr1$NqkTvRE0$/STroNqJjSB1yzS6wWw.B.\nbob:$2y$05$QAv293Q4htw6AgO25dVYO.9cxAH1Xl41dzDdB3DOhhL22/fv80x6K\n")
        .file("groups", "staff: ann\n")
        .file("htdocs/page.html", "page")
        .file("scripts/who.pl", "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\n\n$ENV{REMOTE_USER} $ENV{AUTH_TYPE}};")
        .ladder()
        .conf(
            "CustomLog @ROOT@/logs/access combined\n\
             <Location />\nAuthType Basic\nAuthName \"Mem\"\nAuthUserFile @ROOT@/users\nAuthGroupFile @ROOT@/groups\nRequire valid-user\n</Location>\n\
             <Location /page.html>\nRequire group staff\n</Location>\n",
        )
        .start();
    // ann:secret, bob:secret, ann:wrong
    let (ann, bob, wrong) = (
        "Basic YW5uOnNlY3JldA==",
        "Basic Ym9iOnNlY3JldA==",
        "Basic YW5uOndyb25n",
    );
    let ask = |target: &str, who: &str| server.send(&with(target, &[("Authorization", who)]));
    let unknown = server.get("/page.html");
    assert_eq!(unknown.status, 401);
    assert_eq!(
        unknown.field("WWW-Authenticate"),
        Some("Basic realm=\"Mem\"".to_string())
    );
    assert_eq!(ask("/page.html", ann).expect(200), "page");
    assert_eq!(ask("/page.html", ann).expect(200), "page");
    assert_eq!(ask("/page.html", bob).status, 401);
    assert_eq!(ask("/page.html", wrong).status, 401);
    for rung in mehari_harness::Rung::ALL {
        assert_eq!(
            ask(&rung.url("who.pl"), bob).expect(200),
            "bob Basic",
            "{}",
            rung.name()
        );
    }
    let logged = eventually(PATIENCE, || {
        server.site.read("logs/access").contains(" - ann [")
    });
    assert!(logged, "{}", server.site.read("logs/access"));
}

#[test]
fn addresses_methods_and_variables_decide_which_requests_are_allowed() {
    let server = Server::builder()
        .file("htdocs/index.html", "in")
        .conf(
            "SetEnvIf User-Agent ^Good let_in\n\
             <Location /ip>\nRequire ip 10.0.0.0/8\n</Location>\n\
             <Location /local>\nRequire local\n</Location>\n\
             <Location /env>\nRequire env let_in\n</Location>\n\
             <Location /not>\n<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.0/8\n</RequireAll>\n</Location>\n\
             <Location /post>\n<LimitExcept GET>\nRequire all denied\n</LimitExcept>\n</Location>\n\
             <Location /old>\nOrder Deny,Allow\nDeny from all\nAllow from 127.0.0.1\n</Location>\n\
             <Location /any>\nOrder Deny,Allow\nDeny from all\nSatisfy Any\nRequire env let_in\n</Location>\n\
             Alias /ip @ROOT@/htdocs\nAlias /local @ROOT@/htdocs\nAlias /env @ROOT@/htdocs\nAlias /not @ROOT@/htdocs\n\
             Alias /post @ROOT@/htdocs\nAlias /old @ROOT@/htdocs\nAlias /any @ROOT@/htdocs\n",
        )
        .start();
    let good = [("User-Agent", "Goodness")];
    for (target, fields, expected) in [
        ("/ip/", &[][..], 403),
        ("/local/", &[], 200),
        ("/env/", &[], 403),
        ("/env/", &good, 200),
        ("/not/", &[], 403),
        ("/post/", &[], 200),
        ("/old/", &[], 200),
        ("/any/", &[], 403),
        ("/any/", &good, 200),
    ] {
        assert_eq!(
            server.send(&with(target, fields)).status,
            expected,
            "{target}"
        );
    }
    let mut post = Request::get("/post/");
    post.method = "DELETE".into();
    assert_eq!(server.send(&post).status, 403);
}

#[test]
fn rules_of_the_server_and_of_folders_lead_to_the_expected_paths() {
    let server = Server::builder()
        .file("htdocs/index.html", "home")
        .file("htdocs/real.html", "real")
        .file("htdocs/app/index.html", "app home")
        .file("htdocs/app/front.html", "front")
        .file("htdocs/app/there.html", "there")
        .file("names", "red  /real.html\n")
        .conf(
            "RewriteEngine On\n\
             RewriteMap names txt:@ROOT@/names\n\
             RewriteRule ^/plain$ /real.html [L]\n\
             RewriteRule ^/moved/(.*)$ http://example.com/$1?x=1 [R=301,QSA,L]\n\
             RewriteRule ^/gone$ - [G]\n\
             RewriteRule ^/no$ - [F]\n\
             RewriteCond %{HTTP_HOST} ^(\\w+)\\.special$ [NC]\n\
             RewriteRule ^/host$ /%1.html [PT]\n\
             RewriteRule ^/map/(.*)$ ${names:$1|/index.html} [PT]\n\
             RewriteRule ^/loop(.*)$ /loop/x$1 [N]\n\
             Redirect permanent /old http://example.com/new\n\
             RedirectMatch 302 ^/m/(\\d+)$ /n/$1\n\
             <Directory @ROOT@/htdocs/app>\n\
             RewriteEngine On\n\
             RewriteCond %{REQUEST_FILENAME} !-f\n\
             RewriteCond %{REQUEST_FILENAME} !-d\n\
             RewriteRule ^ front.html [L,QSA]\n\
             </Directory>\n",
        )
        .start();
    assert_eq!(server.get("/plain").expect(200), "real");
    let moved = server.get("/moved/a?y=2");
    assert_eq!(
        (moved.status, moved.field("Location")),
        (301, Some("http://example.com/a?x=1&y=2".to_string()))
    );
    assert_eq!(server.get("/gone").status, 410);
    assert_eq!(server.get("/no").status, 403);
    assert_eq!(
        server
            .send(&with("/host", &[("Host", "real.special")]))
            .expect(200),
        "real"
    );
    assert_eq!(server.get("/map/red").expect(200), "real");
    assert_eq!(server.get("/map/blue").expect(200), "home");
    assert_eq!(server.get("/loop").status, 500);
    let old = server.get("/old/a%20b?q");
    assert_eq!(
        (old.status, old.field("Location")),
        (301, Some("http://example.com/new/a%20b?q".to_string()))
    );
    let matched = server.get("/m/12");
    let expected = format!("http://{}/n/12", server.address);
    assert_eq!(
        (matched.status, matched.field("Location")),
        (302, Some(expected))
    );
    assert_eq!(server.get("/app/there.html").expect(200), "there");
    assert_eq!(server.get("/app/any/thing?x").expect(200), "front");
    assert_eq!(server.get("/app/").expect(200), "app home");
}

#[test]
fn headers_and_conditions_change_what_is_sent() {
    let server = Server::builder()
        .file("htdocs/a.html", "a")
        .file("scripts/in.pl", "print qq{Content-Type: text/plain\nX-Own: 1\n\n$ENV{HTTP_X_ADDED} $ENV{WHICH}};")
        .ladder()
        .conf(
            "Header set X-Set \"one %D\"\nHeader always append X-Always yes\nHeader always unset X-Own\n\
             Header edit Content-Type ^text/ten text/x\nRequestHeader set X-Added there\n\
             ExpiresActive On\nExpiresByType text/html A60\n\
             ErrorDocument 404 \"not here\"\n\
             <If \"%{QUERY_STRING} =~ /if/\">\nSetEnv WHICH if\n</If>\n<Else>\nSetEnv WHICH else\n</Else>\n",
        )
        .start();
    let page = server.get("/a.html");
    assert!(page
        .field("X-Set")
        .is_some_and(|value| value.starts_with("one D=")));
    assert_eq!(page.field("Cache-Control"), Some("max-age=60".to_string()));
    let missing = server.get("/missing");
    assert_eq!(
        (
            missing.status,
            missing.field("X-Set"),
            missing.field("X-Always")
        ),
        (404, None, Some("yes".to_string()))
    );
    let url = mehari_harness::Rung::Registry.url("in.pl");
    let answer = server.get(&format!("{url}?if"));
    assert_eq!(answer.field("X-Own"), None);
    assert_eq!(answer.expect(200), "there if");
    assert_eq!(server.get(&url).expect(200), "there else");
}

#[test]
fn htaccess_files_apply_whichever_path_was_requested_first() {
    let server = Server::builder()
        .file("htdocs/a/open.html", "open")
        .file("htdocs/a/secret.html", "secret")
        .file(
            "htdocs/a/.htaccess",
            "<Files secret.html>\nRequire all denied\n</Files>\n",
        )
        .conf("<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n")
        .start();
    assert_eq!(server.get("/a/open.html").status, 200);
    assert_eq!(server.get("/a/secret.html").status, 403);
    assert_eq!(server.get("/a/open.html").status, 200);
}

#[test]
fn htaccess_is_read_once_and_watched_afterwards() {
    needs!("strace");
    let server = Server::builder()
        .file("htdocs/a/.htaccess", "Header set X-From one\n")
        .file("htdocs/a/b/page.html", "page")
        .file("htdocs/closed/page.html", "page")
        .file("htdocs/closed/.htaccess", "Require all denied\n")
        .conf("<Directory @ROOT@/htdocs>\nAllowOverride FileInfo\n</Directory>\n")
        .start();
    let from = || server.get("/a/b/page.html").field("X-From");
    assert_eq!(from().as_deref(), Some("one"));
    server
        .site
        .write("htdocs/a/.htaccess", "Header set X-From two\n");
    assert!(eventually(PATIENCE, || from().as_deref() == Some("two")));
    server
        .site
        .write("htdocs/a/.htaccess", "Header set X-From two\nNonsense\n");
    assert!(eventually(PATIENCE, || server.get("/a/b/page.html").status == 500));
    server
        .log
        .expect("/htdocs/a/.htaccess:2:1: there is no directive `Nonsense`");
    // A .htaccess with a directive that is not allowed has the same effect as an unreadable one.
    assert_eq!(server.get("/closed/page.html").status, 500);
    server
        .site
        .write("htdocs/a/.htaccess", "Header set X-From three\n");
    assert!(eventually(PATIENCE, || from().as_deref() == Some("three")));
    let seen = looks_at_htaccess(&server, || {
        for _ in 0..100 {
            assert_eq!(from().as_deref(), Some("three"));
        }
    });
    assert_eq!(seen, Vec::<String>::new());
}

/// Returns the system calls that name a .htaccess while `what` runs.
fn looks_at_htaccess(server: &Server, what: impl FnOnce()) -> Vec<String> {
    let mut lines = trace::calls(server, "file", what);
    lines.retain(|line| line.contains(".htaccess"));
    lines
}

#[test]
fn folders_are_listed_and_links_refused_as_options_says() {
    let server = Server::builder()
        .file("htdocs/list/one.txt", "1")
        .file("htdocs/list/.hidden", "no")
        .file("htdocs/views/page.html", "view")
        .file("htdocs/secret.txt", "secret")
        .file("htdocs/fall/index.html", "fallen")
        .conf(
            "<Location /list>\nOptions Indexes\n</Location>\n\
             <Location /views>\nOptions +MultiViews\n</Location>\n\
             <Directory @ROOT@/htdocs/closed>\nOptions -FollowSymLinks\n</Directory>\n\
             <Location /fall>\nFallbackResource /fall/index.html\n</Location>\n",
        )
        .start();
    std::fs::create_dir(server.site.path("htdocs/closed")).expect("a folder");
    std::os::unix::fs::symlink(
        server.site.path("htdocs/secret.txt"),
        server.site.path("htdocs/closed/link.txt"),
    )
    .expect("a link");
    let listing = server.get("/list/").expect(200);
    assert!(
        listing.contains("./one.txt") && !listing.contains("hidden"),
        "{listing}"
    );
    assert_eq!(server.get("/views/page").expect(200), "view");
    assert_eq!(server.get("/closed/link.txt").status, 403);
    assert_eq!(server.get("/fall/a/b").expect(200), "fallen");
}
