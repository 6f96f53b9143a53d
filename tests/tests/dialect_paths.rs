//! From URL paths to files: `UserDir`, `AllowEncodedSlashes`, suffixes and their meaning; each answer as Apache's.

use mehari_harness::{Builder, Pair, Request, Server};

const WHERE: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } qw(SCRIPT_NAME PATH_INFO SCRIPT_FILENAME REQUEST_URI);\n";

fn host(name: &str, lines: &str) -> String {
    format!("<VirtualHost *:*>\nServerName {name}\nScriptAlias /cgi/ @ROOT@/cgi/\n{lines}\n</VirtualHost>\n")
}

fn site() -> Builder {
    let hosts = [
        host("plain", ""),
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
