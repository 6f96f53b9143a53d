use super::*;
use mehari_config::{BackEndAddress, Speech};

fn member() -> BackEnd {
    let address = BackEndAddress::Tcp("10.0.0.1".into(), 8080);
    BackEnd {
        path: "/base".into(),
        ..BackEnd::new(Speech::Http, address, "10.0.0.1:8080".into())
    }
}

fn line(name: &str, value: &str, settings: &ProxySettings) -> String {
    let mut line = Vec::new();
    let value = value.as_bytes();
    let field = httparse::Header { name, value };
    push_line(&field, settings, &member(), &mut line);
    String::from_utf8(line).expect("text")
}

#[test]
fn a_location_on_the_back_end_becomes_one_here() {
    let rule = |url: &str, path: &str| ProxySettings {
        reverse: vec![(url.into(), path.into())],
        ..ProxySettings::default()
    };
    let cases = [
        ("http://in:81/", "/app/", "http://in:81/x?y", "/app/x?y"),
        ("http://in:81", "/app", "http://in:81/x", "/app/x"),
        ("http://in:81", "/app", "http://in:81", "/app"),
        ("http://in:81/", "/", "http://in:81/x", "/x"),
        ("http://in:81", "/", "http://in:81/x", "/x"),
        ("http://in:8", "/app", "http://in:81/x", "http://in:81/x"),
        (
            "http://in:81/a",
            "/app",
            "http://in:81/about",
            "http://in:81/about",
        ),
        (
            "balancer://pool",
            "/app",
            "http://10.0.0.1:8080/base/x",
            "/app/x",
        ),
        (
            "balancer://pool/",
            "/app/",
            "http://10.0.0.1:8080/base/x",
            "/app/x",
        ),
        (
            "http://in:81",
            "/app",
            "https://elsewhere/x",
            "https://elsewhere/x",
        ),
    ];
    for (url, path, value, expected) in cases {
        let settings = rule(url, path);
        for name in ["Location", "content-location", "URI"] {
            assert_eq!(
                line(name, value, &settings),
                format!("{name}: {expected}\r\n")
            );
        }
        let other = format!("X-Other: {value}\r\n");
        assert_eq!(line("X-Other", value, &settings), other);
    }
}

#[test]
fn cookies_change_their_domain_and_path() {
    let settings = ProxySettings {
        cookie_domain: vec![("in.example".into(), "www.example".into())],
        cookie_path: vec![("/base".into(), "/app".into())],
        ..ProxySettings::default()
    };
    let cases = [
        (
            "path=/base; Path=/base/x; Domain=IN.example; HttpOnly",
            "path=/base; Path=/app; Domain=www.example; HttpOnly",
        ),
        (
            "a=b;path=/other;domain=x.example",
            "a=b;path=/other;domain=x.example",
        ),
        ("a=b", "a=b"),
    ];
    for (value, expected) in cases {
        assert_eq!(
            line("Set-Cookie", value, &settings),
            format!("Set-Cookie: {expected}\r\n")
        );
    }
}
