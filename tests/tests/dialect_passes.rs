//! Tests which URLs of back ends the lines `ProxyPass` and `ProxyPassMatch` lead to. Each response
//! must equal Apache's.

use mehari_harness::{BackEnd, Builder, Pair, Request, Server};
use std::io::Write;

/// Starts a back end that answers with the target of the request.
fn back_end() -> BackEnd {
    BackEnd::start(|request, stream| {
        let line = request.head.lines().next().unwrap_or_default().to_owned();
        let length = line.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{line}"
        );
        let _ = stream.write_all(answer.as_bytes());
        false
    })
}

/// The lines for paths below `/N/`. `@` is the number N, `BACK` the back end, and `MANY` a balancer
/// with the same back end.
const LINES: &[&str] = &[
    "ProxyPassMatch ^(/@/.*)$ BACK",
    "ProxyPassMatch ^/@/.*$ BACK/px",
    "ProxyPassMatch ^/@/.*$ BACK/px/",
    "ProxyPassMatch ^/@/ BACK",
    "ProxyPassMatch /@/.*\\.gif$ BACK",
    "ProxyPassMatch ^/@/.*$ MANY",
    "ProxyPassMatch ^/@/.*$ MANY/px",
    "ProxyPassMatch ^(/@/.*)$ MANY$1",
    "ProxyPassMatch ^/@(/.*)$ MANY$1",
    "ProxyPassMatch ^/@(/.*)$ BACK$1",
    "ProxyPassMatch ^/@/(.*)$ BACK/px/$2",
    "ProxyPassMatch ^/@/(.*)$ BACK/px/\\$1\\q",
    "ProxyPassMatch ^/@/.*$ BACK nocanon",
    "<LocationMatch ^/@/.*$>\nProxyPass BACK\n</LocationMatch>",
    "<LocationMatch ^/@/.*$>\nProxyPassMatch BACK/px\n</LocationMatch>",
    "<LocationMatch ^/@/(.*)$>\nProxyPassMatch BACK/px/$1\n</LocationMatch>",
    "<LocationMatch ^/@/.*$>\nProxyPass MANY\n</LocationMatch>",
    "<Location /@/>\nProxyPassMatch BACK/px\n</Location>",
    "<Location /@/>\nProxyPass BACK/px/\n</Location>",
    "RewriteRule ^/@/(.*)$ BACK/px/$1 [P]",
    "RewriteRule ^/@/(.*)$ BACK/px/$1 [P,NE]",
];

/// The modules that only this test needs. Mehari ignores the lines.
const MODULES: &str = "\
    LoadModule slotmem_shm_module /usr/lib/apache2/modules/mod_slotmem_shm.so\n\
    LoadModule proxy_balancer_module /usr/lib/apache2/modules/mod_proxy_balancer.so\n\
    LoadModule lbmethod_byrequests_module /usr/lib/apache2/modules/mod_lbmethod_byrequests.so\n";

fn site(url: &str) -> Builder {
    let mut lines = format!("{MODULES}<Proxy balancer://many>\nBalancerMember {url}\n</Proxy>\n");
    for (number, line) in LINES.iter().enumerate() {
        let line = line.replace('@', &number.to_string());
        lines += &line.replace("BACK", url).replace("MANY", "balancer://many");
        lines.push('\n');
    }
    Server::builder().conf(&format!("RewriteEngine On\n{lines}"))
}

#[test]
fn paths_lead_to_the_urls_to_which_they_lead_in_apache() {
    let behind = back_end();
    let url = behind.url();
    let mut pair = Pair::start(|| site(&url));
    let mut differences = Vec::new();
    for (number, line) in LINES.iter().enumerate() {
        for rest in ["", "k", "a/b.gif", "a%20b", "a%25?c=d", "%C3%A4"] {
            let request = Request::get(&format!("/{number}/{rest}"));
            let difference = pair.compare(&request).err();
            differences.extend(difference.map(|difference| format!("{line}\n{difference}")));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(pair.get("/0/k").text(), "GET /0/k HTTP/1.1");
}

#[test]
fn slashes_that_are_kept_stay_as_sent_behind_rules_as_in_apache() {
    let behind = back_end();
    let url = behind.url();
    let site = || {
        Server::builder().conf(&format!(
            "AllowEncodedSlashes NoDecode\nRewriteEngine On\n\
             RewriteRule ^/rw/(.*)$ /$1 [PT]\nProxyPass /px/ {url}/px/\n\
             RewriteRule ^/p/(.*)$ {url}/$1 [P]\n"
        ))
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for rest in ["a", "a%2Fb", "a%2fb", "a%20b%2Fc", "%C3%A4%2F?q=%2F"] {
        for start in ["/px/", "/rw/px/", "/p/px/"] {
            let request = Request::get(&format!("{start}{rest}"));
            differences.extend(pair.compare(&request).err());
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn section_for_a_part_of_a_back_end_applies_to_the_paths_that_lead_there() {
    let behind = back_end();
    let url = behind.url();
    let site = || {
        Server::builder().conf(&format!(
            "ProxyPass /app/ {url}/\nProxyPass /deep/ {url}/one/\n\
             <Location /here>\nProxyPass {url}/here\n</Location>\n\
             <Proxy {url}/admin>\nRequire all denied\n</Proxy>\n\
             <Proxy {url}/one/two>\nRequire all denied\n</Proxy>\n\
             <Proxy {url}/here/inner*>\nRequire all denied\n</Proxy>\n"
        ))
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for path in [
        "/app/admin",
        "/app/admin/x?y",
        "/app/administer",
        "/app/other/admin",
        "/app/",
        "/app/one/two",
        "/deep/two/x",
        "/deep/tw",
        "/deep/",
        "/here/inner",
        "/here/inner/x",
        "/here/out",
        "/here",
    ] {
        differences.extend(pair.compare(&Request::get(path)).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(pair.get("/app/admin/x").status, 403);
}

#[test]
fn responses_of_back_ends_reach_the_client_as_in_apache() {
    let behind = BackEnd::start(|request, stream| {
        let target = request.head.split(' ').nth(1).unwrap_or_default();
        let fields = match target {
            "/be/twice" => "Content-Length: 2\r\nContent-Length: 2\r\n",
            "/be/path" => "Content-Length: 2\r\nSet-Cookie: a=1; Path=/be/x; HttpOnly\r\n",
            "/be/exact" => "Content-Length: 2\r\nSet-Cookie: a=1; path=/be\r\n",
            _ => "Content-Length: 2\r\nSet-Cookie: a=1; Path=/other\r\n",
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{fields}");
        let _ = write!(stream, "{head}Connection: close\r\n\r\nok");
        false
    });
    let url = behind.url();
    let site = || {
        let lines = "ProxyPassReverseCookiePath /be /fe\n";
        Server::builder().conf(&format!("ProxyPass /px/ {url}/be/\n{lines}"))
    };
    let mut pair = Pair::start(site);
    for path in ["twice", "path", "exact", "none"] {
        assert_eq!(pair.get(&format!("/px/{path}")).expect(200), "ok");
    }
    drop(behind);
}
