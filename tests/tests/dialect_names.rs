//! Tests the server's own name and port: `ServerName` with a port, `UseCanonicalName`,
//! `UseCanonicalPhysicalPort`. The results are compared with Apache's.

use mehari_harness::{Builder, Pair, Request, Server};

const NAMES: &str = "package Names;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::RequestUtil ();\nuse Apache2::URI ();\n\
    sub handler {\n\
        my $r = shift;\n\
        $r->content_type('text/plain');\n\
        $r->print(join ' ', @ENV{qw(SERVER_NAME SERVER_PORT REQUEST_SCHEME)}, $ENV{HTTPS} || '-', $r->get_server_name, $r->get_server_port, $r->construct_url('/there'));\n\
        return 0;\n\
    }\n1;\n";

fn host(name: &str, lines: &str) -> String {
    format!("<VirtualHost *:*>\nServerName {name}\n{lines}</VirtualHost>\n")
}

fn site() -> Builder {
    Server::builder()
        .file("lib/Names.pm", NAMES)
        .file("htdocs/folder/page.html", "page")
        .conf("PerlSwitches -I@ROOT@/lib\nPerlModule Names\n")
        .conf("<Location /names>\nSetHandler perl-script\nPerlResponseHandler Names\n</Location>\n")
        .conf("Redirect /moved /there\n")
        .conf(&host("asked.example:8123", "ServerAlias *.asked.example\n"))
        .conf(&host(
            "own.example:8124",
            "UseCanonicalName On\nServerAlias *.own.example\n",
        ))
        .conf(&host("bare.example", "UseCanonicalName On\n"))
        .conf(&host("https://front.example", "UseCanonicalName On\n"))
        .conf(&host("https://odd.example:8126", "UseCanonicalName On\n"))
        .conf(&host("https://asks.example", ""))
        .conf(&host("physical.example", "UseCanonicalPhysicalPort On\n"))
        .conf(&host(
            "both.example:8125",
            "UseCanonicalName On\nUseCanonicalPhysicalPort On\n",
        ))
}

#[test]
fn server_calls_itself_what_apache_does() {
    let mut pair = Pair::start(site).mask(&[(r"\b[3-6]\d{4}\b", "(port)")]);
    for name in [
        "asked.example",
        "asked.example:80",
        "Asked.Example:8080",
        "www.asked.example",
        "own.example",
        "www.own.example:8080",
        "bare.example",
        "bare.example:8080",
        "physical.example",
        "physical.example:8080",
        "both.example:8080",
        "front.example",
        "odd.example",
        "asks.example",
        "asks.example:8080",
    ] {
        for target in ["/names", "/moved?a=b", "/folder"] {
            pair.send(&Request::get(target).host(name));
        }
    }
    let names = |name: &str| {
        pair.ours()
            .send(&Request::get("/names").host(name))
            .expect(200)
    };
    assert_eq!(
        names("Asked.Example:8080"),
        "asked.example 8080 http - asked.example 8080 http://asked.example:8080/there"
    );
    assert_eq!(
        names("www.own.example"),
        "own.example 8124 http - own.example 8124 http://own.example:8124/there"
    );
    assert!(names("bare.example:8080").starts_with("bare.example 80 "));
}

const STRICT: &str = "
    StrictHostCheck On
    ServerName main.test
    <Directory @ROOT@/htdocs>
        Require all granted
    </Directory>
";

/// Hosts of one address. The value of the first one counts.
fn hosts_of(first: &str, second: &str) -> String {
    format!(
        "{STRICT}<VirtualHost *:*>\nServerName one.test\nServerAlias *.one.test\n{first}\n\
         </VirtualHost>\n<VirtualHost *:*>\nServerName two.test\n{second}\n</VirtualHost>\n"
    )
}

#[test]
fn unknown_names_are_refused_where_apache_refuses_them() {
    let on = "StrictHostCheck On";
    let off = "StrictHostCheck Off";
    for conf in [
        STRICT.to_owned(),
        hosts_of("", ""),
        hosts_of(off, on),
        hosts_of(on, off),
    ] {
        let site = || {
            Server::builder()
                .file("htdocs/page.html", "a page")
                .conf(&conf)
        };
        let mut pair = Pair::start(site);
        for host in [
            "main.test",
            "MAIN.test",
            "x.main.test",
            "one.test",
            "one.test:81",
            "x.one.test",
            "two.test",
            "two.test.",
            "x.two.test",
            "unknown.test",
            "127.0.0.1",
            "localhost",
            "*",
        ] {
            for target in ["/page.html", "/none.html"] {
                let request = Request::get(target).host(host);
                if let Err(why) = pair.compare(&request) {
                    panic!("{conf}\n{host}: {why}");
                }
            }
        }
        let asked = Request::get("http://unknown.test/page.html").host("main.test");
        pair.send(&asked);
    }
}
