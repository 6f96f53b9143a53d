//! `ServerTiming`: permitted clients get the stages of their requests, and others get nothing.

use mehari_harness::scripts::plain;
use mehari_harness::{needs, BackEnd, Request, Rung, Server};
use std::collections::BTreeMap;
use std::process::Command;

const PLACES: &str = "<Location /registry>
    ServerTiming On
</Location>
<Location /fork>
    ServerTiming 127.0.0.1
</Location>
<Location /perlrun>
    ServerTiming 192.0.2.0/24
</Location>
<Location /cgi>
    <If \"%{HTTP_COOKIE} == 'timing=1'\">
        ServerTiming On
    </If>
</Location>
<Location /file.txt>
    ServerTiming 192.0.2.1 127.0.0.0/8
</Location>
";

fn server() -> mehari_harness::Builder {
    Server::builder()
        .ladder()
        .conf(PLACES)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("htdocs/file.txt", "file")
}

/// Reads a value of Server-Timing: names with their durations. The syntax is W3C's.
fn stages(value: &str) -> BTreeMap<String, f64> {
    let stage = |text: &str| {
        let mut words = text.split(';');
        let name = words.next().expect("a name").to_owned();
        let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        assert!(!name.is_empty() && name.bytes().all(is_of_token), "{value}");
        let duration = words.next().expect("a duration");
        let duration = duration.strip_prefix("dur=").expect("a duration");
        if let Some(description) = words.next() {
            let times = description.strip_prefix("desc=\"").expect("a description");
            let count = times.strip_suffix(" times\"").expect("a count");
            assert!(count.parse::<u32>().expect("a number") > 1, "{value}");
        }
        assert_eq!(words.next(), None, "{value}");
        (name, duration.parse().expect("a number"))
    };
    value.split(", ").map(stage).collect()
}

/// Checks that the stages of the front make up less than the whole.
fn check(value: &str, expected: &[&str]) {
    let stages = stages(value);
    for name in expected {
        assert!(stages.contains_key(*name), "{name}: {value}");
    }
    let total = stages["total"];
    for (name, duration) in &stages {
        assert!(*duration <= total + 0.001, "{name}: {value}");
    }
}

#[test]
fn permitted_client_gets_the_stages_and_no_other_does() {
    let server = server().start();
    for (path, expected) in [
        (
            "/registry/hello.pl",
            &["route", "queue", "Perl", "script", "total"][..],
        ),
        ("/registry/missing.pl", &["route", "total"]),
        ("/fork/hello.pl", &["queue", "Perl", "script"]),
        ("/file.txt", &["route", "total"]),
    ] {
        let answer = server.get(path);
        let fields = answer.all("server-timing");
        assert_eq!(fields.len(), 1, "{path}: {fields:?}");
        check(&fields[0], expected);
    }
    for path in ["/perlrun/hello.pl", "/cgi/hello.pl", "/auto/hello.pl"] {
        let answer = server.get(path);
        assert_eq!(answer.all("server-timing"), [""; 0], "{path}");
        assert_eq!(answer.expect(200), "Hello");
    }
    let asked = Request::get(&Rung::Cgi.url("hello.pl")).field("Cookie", "timing=1");
    let answer = server.send(&asked);
    check(
        &answer.field("server-timing").expect("the field"),
        &["program"],
    );
}

#[test]
fn field_comes_over_each_protocol() {
    needs!("curl");
    let server = server().start();
    let url = format!("http://127.0.0.1:{}/registry/hello.pl", server.port());
    for protocol in ["--http1.1", "--http2-prior-knowledge"] {
        let output = Command::new("curl")
            .args([
                "--silent",
                "--noproxy",
                "*",
                "--dump-header",
                "-",
                protocol,
                &url,
            ])
            .output()
            .expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let fields = text.lines().filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("server-timing").then_some(value)
        });
        let fields: Vec<&str> = fields.collect();
        assert_eq!(fields.len(), 1, "{protocol}: {text}");
        check(fields[0], &["queue", "Perl", "script", "total"]);
        assert!(text.ends_with("Hello"), "{protocol}: {text}");
    }
}

#[test]
fn own_field_of_a_program_stays_and_a_kept_page_gets_times_of_its_own() {
    let script = "print \"Content-Type: text/plain\\nServer-Timing: app;dur=1\\n\\nown\";";
    let server = Server::builder()
        .ladder()
        .file("scripts/own.pl", &format!("#!/usr/bin/perl\n{script}\n"))
        .conf("<Location /fork>\nServerTiming On\n</Location>\n")
        .start();
    let answer = server.get(&Rung::Fork.url("own.pl"));
    let fields = answer.all("server-timing");
    assert_eq!(fields[0], "app;dur=1", "{fields:?}");
    check(&fields[1], &["total"]);
    let back_end = BackEnd::start(|_, stream| {
        use std::io::Write;
        let page = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 4\r\n\r\npage";
        let _ = stream.write_all(page.as_bytes());
        true
    });
    let server = Server::builder()
        .conf(&format!("ProxyPass /back {}/\n", back_end.url()))
        .conf("ServerTiming On\nCacheEnable disk /back\n")
        .start();
    let values: Vec<Vec<String>> = (0..3)
        .map(|_| server.get("/back").all("server-timing"))
        .collect();
    for fields in &values {
        assert_eq!(fields.len(), 1, "{values:?}");
    }
    check(&values[0][0], &["back-end", "total"]);
    let last = stages(&values[2][0]);
    assert!(!last.contains_key("back-end"), "from the cache: {values:?}");
    drop(back_end);
}
