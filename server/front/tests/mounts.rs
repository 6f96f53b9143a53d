//! Tests where handlers and applications respond, with configurations in httpd.conf's language.

mod stand;

use mehari_config::Site;
use stand::Stand;

/// Makes a stand with the site of this configuration. `ROOT` stands for the stand's directory.
fn stand(text: &str) -> Stand {
    Stand::new(|site| {
        let root = site.main.mapping.document_root.display().to_string();
        let conf = site.main.mapping.document_root.join("site.conf");
        let text = format!("DocumentRoot {root}\n{}", text.replace("ROOT", &root));
        std::fs::write(&conf, text).expect("written");
        *site = Site::load(&conf, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    })
}

#[test]
fn an_application_is_told_where_it_is_mounted() {
    let stand = stand(
        "<Location /app>\nSetHandler psgi\nPSGIApp ROOT/app.psgi\n</Location>\n\
         <Location /app/admin>\nRequire all denied\n</Location>\n",
    );
    let rows = [
        ("/app", "/app", ""),
        ("/app/", "/app", "/"),
        ("/app/a%20b", "/app", "/a b"),
        ("/app//x///y", "/app", "//x///y"),
        ("//app/x", "//app", "/x"),
        ("/app/x%2fy", "/app", "/x/y"),
        ("/app/.hidden", "/app", "/.hidden"),
        ("/app/file.txt~", "/app", "/file.txt~"),
    ];
    let mut client = stand.client();
    for (path, script, info) in rows {
        let response = client.get(path);
        let text = response.text();
        assert!(
            text.contains(&format!("script {script}\ninfo {info}\n")),
            "{path}: {text}"
        );
    }
    for path in [
        "/app/admin",
        "/app/admin/x",
        "//app///admin",
        "/app/%61dmin",
        "/app%2fadmin",
    ] {
        assert_eq!(client.get(path).status, 403, "{path}");
    }
    assert_eq!(client.get("/application").status, 404);
    assert_eq!(client.get("/file.txt").status, 200);
}

#[test]
fn an_application_at_the_root_has_no_script_name() {
    let stand = stand("<Location />\nSetHandler psgi\nPSGIApp ROOT/app.psgi\n</Location>\n");
    let mut client = stand.client();
    for (path, info) in [("/", "/"), ("/file.txt", "/file.txt"), ("//a//b", "//a//b")] {
        let text = client.get(path).text();
        assert!(
            text.contains(&format!("script \ninfo {info}\n")),
            "{path}: {text}"
        );
    }
    let options = client.ask("OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n").text();
    assert!(
        options.contains("method OPTIONS\n"),
        "an application answers its own methods"
    );
}

#[test]
fn a_handler_is_told_what_exists_of_its_path_and_one_segment_more() {
    let stand = stand(
        "<Location /hello>\nSetHandler modperl\nPerlResponseHandler My::Hello\n</Location>\n\
         <Location /folder/deep>\nSetHandler perl-script\nPerlResponseHandler My::Deep\n</Location>\n",
    );
    let mut client = stand.client();
    let rows = [
        ("/hello", "/hello", ""),
        ("/hello/a/b", "/hello", "/a/b"),
        ("/folder/deep/x", "/folder/deep", "/x"),
    ];
    for (path, script, info) in rows {
        let text = client.get(path).text();
        assert!(
            text.contains(&format!("script {script}\ninfo {info}\n")),
            "{path}: {text}"
        );
    }
}

#[test]
fn aliases_lead_to_their_folders() {
    let stand = stand(
        "Alias /docs/ ROOT/folder/\nAlias /one ROOT/file.txt\n\
         <Directory ROOT/folder>\nRequire all denied\n</Directory>\n\
         <Files *.bin>\nRequire all denied\n</Files>\n",
    );
    let mut client = stand.client();
    assert_eq!(
        client.get("/docs/inside.html").status,
        403,
        "denied under its own name too"
    );
    assert_eq!(client.get("/one").text(), "0123456789");
    assert_eq!(client.get("/large.bin").status, 403);
    assert_eq!(
        client.get("/hello.pl").text(),
        "#!/usr/bin/perl\n",
        "without a handler it is a file"
    );
}

#[test]
fn an_index_may_be_a_script_or_stand_elsewhere() {
    let stand = stand(
        "DirectoryIndex none.html echo.pl /file.txt\n<Files *.pl>\nSetHandler perl-script\n\
         PerlResponseHandler ModPerl::Registry\nOptions +ExecCGI\n</Files>\n",
    );
    let mut client = stand.client();
    let text = client.get("/?q").text();
    assert!(
        text.contains("target /?q\nscript /echo.pl\ninfo \nquery q\n"),
        "{text}"
    );
    assert_eq!(client.get("/folder/").text(), "0123456789");
    let text = client.get("/echo.pl/more/path").text();
    assert!(
        text.contains("script /echo.pl\ninfo /more/path\n"),
        "{text}"
    );
}
