//! Tests the programs of whole methods (Script), and the methods that a place admits
//! (AllowMethods). Each response is compared with Apache's.

use mehari_harness::{Pair, Request, Server};

const NAMES: [&str; 9] = [
    "REQUEST_METHOD",
    "REQUEST_URI",
    "SCRIPT_NAME",
    "PATH_INFO",
    "QUERY_STRING",
    "REDIRECT_URL",
    "REDIRECT_STATUS",
    "REDIRECT_QUERY_STRING",
    "REMOTE_USER",
];

/// A program that prints what it is told and the request's body.
fn teller() -> String {
    format!(
        "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\";\n\
         print map {{ \"$_=\" . ($ENV{{$_}} // 'undef') . \"\\n\" }} qw({});\nprint <STDIN>;\n",
        NAMES.join(" ")
    )
}

fn pair(rules: &str) -> Pair {
    let conf = format!(
        "<Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\n</Directory>\n\
         AddHandler cgi-script .cgi\nScriptAlias /cgi-bin/ @ROOT@/cgi/\n\
         DirectoryIndex index.html\n{rules}\n"
    );
    Pair::start(|| {
        Server::builder()
            .conf(&conf)
            .file("cgi/all", &teller())
            .file("cgi/other", &teller())
            .file("htdocs/own.cgi", &teller())
            .file("htdocs/page.html", "page")
            .file("htdocs/folder/index.html", "index")
            .file("htdocs/bare/x.txt", "x")
            .file("htdocs/below/page.html", "below")
    })
}

/// Sends a form to Mehari alone and returns the status.
fn send_form(server: &Server, target: &str) -> u16 {
    server.send(&Request::form(target, "a=1")).status
}

#[test]
fn get_asks_the_program_only_with_a_question_mark() {
    let mut pair = pair("Script GET /cgi-bin/all");
    for (target, is_asked) in [
        ("/page.html", false),
        ("/page.html?", true),
        ("/page.html?a=1", true),
        ("/page.html/info?a=1", true),
        ("/missing%20one.html?a=%20b", true),
        ("/missing.html", false),
        ("/folder/?a", true),
        ("/folder/", false),
        ("/bare/?a", false),
        ("/folder?a", false),
        ("/own.cgi?a", false),
        ("/cgi-bin/all?a", false),
    ] {
        let answer = pair.get(target);
        let text = answer.text();
        let told = text.contains("SCRIPT_NAME=/cgi-bin/all\nPATH_INFO=/");
        assert_eq!(told, is_asked, "{target}: {text}");
        assert_eq!(
            pair.send(&Request::new("HEAD", target)).status,
            answer.status
        );
    }
    assert_eq!(pair.form("/page.html?a", "b").status, 200);
}

#[test]
fn other_methods_always_ask_the_program() {
    let mut pair = pair(
        "Script POST /cgi-bin/all\nScript PUT /cgi-bin/all\nScript BREW /cgi-bin/all\n\
         Script put /cgi-bin/nothing\n\
         <Location /below>\nScript PUT /cgi-bin/other\n</Location>",
    );
    for target in [
        "/page.html",
        "/missing/one?a=b",
        "/folder/",
        "/below/page.html",
    ] {
        for method in ["POST", "PUT", "BREW"] {
            let mut request = Request::form(target, "a=1&b=2");
            request.method = method.to_string();
            let answer = pair.send(&request);
            assert_eq!(answer.status, 200, "{method} {target}");
            assert!(
                answer.text().ends_with("a=1&b=2"),
                "{method} {target}: {}",
                answer.text()
            );
        }
        let status = pair.ours().send(&Request::new("DELETE", target)).status;
        assert!([404, 405].contains(&status), "{target}: {status}");
    }
}

#[test]
fn places_that_refuse_do_not_ask_the_program() {
    let mut pair = pair(
        "Script POST /cgi-bin/all\n\
         <Location /folder>\nRequire all denied\n</Location>\n\
         <Location /cgi-bin/other>\nRequire all denied\n</Location>\n\
         <Location /below>\nScript POST /cgi-bin/other\n</Location>",
    );
    for target in ["/folder/", "/folder/missing", "/below/page.html"] {
        assert_eq!(pair.form(target, "a=1").status, 403, "{target}");
    }
}

#[test]
fn places_behind_perl_refuse_a_program_elsewhere() {
    let server = Server::builder()
        .conf(
            "PerlSwitches -I@ROOT@/lib\nScriptAlias /cgi-bin/ @ROOT@/cgi/\n\
             Script POST /cgi-bin/all\n\
             <Location /guarded>\nPerlAccessHandler My::Gate\n</Location>\n",
        )
        .file(
            "lib/My/Gate.pm",
            "package My::Gate;\nsub handler { 403 }\n1;\n",
        )
        .file("cgi/all", &teller())
        .file("htdocs/guarded/name.txt", "x")
        .file("htdocs/open.txt", "x")
        .start();
    assert_eq!(send_form(&server, "/guarded/name.txt"), 403);
    assert_eq!(send_form(&server, "/open.txt"), 200);
}

#[test]
fn place_admits_the_methods_that_it_admits_in_apache() {
    let conf = "LoadModule allowmethods_module /usr/lib/apache2/modules/mod_allowmethods.so\n\
        <Directory @ROOT@>\nRequire all granted\nOptions +ExecCGI\nAddHandler cgi-script .cgi\nAllowMethods GET\n</Directory>\n\
        <Location /folder>\nAllowMethods POST PUT\n</Location>\n\
        <Location /own.cgi>\nAllowMethods reset\n</Location>\n\
        <Location /closed>\nAllowMethods POST\nRequire all denied\n</Location>\n\
        DirectoryIndex index.html\nErrorDocument 405 /page.html\n";
    let site = || {
        let builder = Server::builder()
            .conf(conf)
            .file("htdocs/own.cgi", &teller())
            .file("htdocs/page.html", "page")
            .file("htdocs/folder/index.html", "index");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        let path = builder.folder_of("htdocs/own.cgi");
        std::fs::set_permissions(path, mode).expect("own file");
        builder
    };
    let pair = Pair::start(site);
    let mut differences = Vec::new();
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "FOO"] {
        for target in [
            "/page.html",
            "/folder/index.html",
            "/own.cgi",
            "/closed/x",
            "/missing",
        ] {
            let request = Request::new(method, target);
            let seen = pair.servers().map(|server| server.send(&request).status);
            let seen: Vec<u16> = seen.collect();
            if seen.iter().any(|one| *one != seen[0]) {
                differences.push(format!("{method} {target}: {seen:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let answer = pair
        .ours()
        .send(&Request::new("DELETE", "/folder/index.html"));
    assert_eq!(answer.status, 405);
    assert_eq!(answer.field("allow").as_deref(), Some("POST, PUT"));
}
