use super::*;
use mehari_config::{LogFormat, LogTarget};
use std::time::UNIX_EPOCH;

fn json(target: LogTarget) -> AccessLogSettings {
    AccessLogSettings {
        format: AccessFormat::Json,
        ..AccessLogSettings::combined(target)
    }
}

fn own_line(format: &str, entry: &AccessEntry<'_>) -> String {
    let format = LogFormat::parse(format).expect(format);
    let mut line = Vec::new();
    custom::write(
        &mut line,
        &format.items,
        entry,
        b"21/Nov/2026:20:25:01 +0000",
    );
    String::from_utf8(line).expect("ASCII")
}

#[test]
fn a_log_format_gives_the_same_line_as_apache() {
    let environment = [("NAME", "value"), ("RULED", "by none")];
    let environment = environment.map(|(name, value)| (name.to_string(), value.to_string()));
    let variables = ["by one", "by another"].map(|value| (b"RULED".to_vec(), value.into()));
    let entry = AccessEntry {
        status: 404,
        name: Some(b"client.example.test"),
        more: More {
            peer: b"10.0.0.1",
            peer_port: 4000,
            server_addr: b"127.0.0.2",
            server_port: 8080,
            server_name: b"www.example.test",
            fields: &[
                (b"Host", b"example.test"),
                (b"Cookie", b"a=1; session=x\"y"),
            ],
            response: b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nX-Two:  words \r\n",
            environment: [&environment, &[]],
            variables: &variables,
            query: None,
            notes: &[(b"kept".to_vec(), b"for the log".to_vec())],
            method: None,
            path: None,
            removed: &[],
            file: b"/srv/hello.pl",
            handler: "registry",
            first_status: 200,
            resource: b"/error.pl?x",
            kept: 3,
            ends: Ending::Kept,
            bytes_in: 80,
            bytes_out: 2500,
            backend_us: 240,
            cache: "HIT",
            tls: None,
            variables_of_conditions: None,
        },
        ..entry()
    };
    for (format, expected) in [
        (
            "%a %{c}a %h %A",
            "127.0.0.1 10.0.0.1 client.example.test 127.0.0.2",
        ),
        ("%B %b %I %O %S", "2326 2326 80 2500 2580"),
        ("%{session}C %{none}C", "x\\\"y -"),
        ("%D %T %{ms}T %{us}T", "250 0 0 250"),
        ("%{NAME}e %{RULED}e %{OTHER}e", "value by another -"),
        ("%{kept}n %{lost}n", "for the log -"),
        ("%f %R %l %L", "/srv/hello.pl registry - 4711"),
        ("%H %m %r", "HTTP/1.1 GET GET /hello.pl?a=1 HTTP/1.1"),
        ("%{host}i %{x-none}i %{x-two}o", "example.test - words"),
        ("%k %X %P %u", "3 + 124 -"),
        ("%p %{local}p %{remote}p", "8080 8080 4000"),
        ("%U%q %>U %s %>s %<s", "/hello.pl?x /error.pl 200 404 200"),
        (
            "%t %{sec}t.%{usec_frac}t %{msec}t",
            "[21/Nov/2026:20:25:01 +0000] 1795292701.123456 1795292701123",
        ),
        ("%{%Y}t %{end:usec}t", "2026 1795292701123706"),
        ("%v %V", "www.example.test example.test"),
        ("%404,500{Host}i %!404{Host}i", "example.test -"),
        (
            "%{queue}Q %{backend}Q %{worker}Q %{cache}Q %{SSL_PROTOCOL}x",
            "3 240 124 HIT -",
        ),
    ] {
        assert_eq!(
            own_line(format, &entry),
            format!("{expected}\n"),
            "{format}"
        );
    }
}

fn entry() -> AccessEntry<'static> {
    AccessEntry {
        remote: b"127.0.0.1",
        name: None,
        user: None,
        time: UNIX_EPOCH + Duration::from_micros(1_795_292_701_123_456),
        method: b"GET",
        target: b"/hello.pl?a=1",
        protocol: b"HTTP/1.1",
        status: 200,
        bytes: 2326,
        referer: Some(b"http://example.test/"),
        user_agent: Some(b"wrk/4"),
        request_id: 4711,
        worker: Some(124),
        queue_us: 3,
        more: More::default(),
        total_us: 250,
    }
}

fn combined_line(entry: &AccessEntry<'_>) -> String {
    let mut line = Vec::new();
    combined::write(&mut line, entry, b"21/Nov/2026:20:25:01 +0000");
    String::from_utf8(line).expect("combined lines are ASCII")
}

fn json_line(entry: &AccessEntry<'_>) -> serde_json::Value {
    let mut line = Vec::new();
    json::write(&mut line, entry, b"2026-11-21T20:25:01.123456Z");
    assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
    serde_json::from_slice(&line).expect("a line is one JSON object")
}

#[test]
fn combined_line_equals_apaches_line() {
    assert_eq!(
        combined_line(&entry()),
        "127.0.0.1 - - [21/Nov/2026:20:25:01 +0000] \"GET /hello.pl?a=1 HTTP/1.1\" 200 2326 \
         \"http://example.test/\" \"wrk/4\"\n"
    );
}

#[test]
fn combined_line_shows_missing_values_as_apache_does() {
    let bare = AccessEntry {
        user: Some(b""),
        method: b"",
        bytes: 0,
        status: 408,
        referer: None,
        user_agent: Some(b""),
        ..entry()
    };
    assert_eq!(
        combined_line(&bare),
        "127.0.0.1 - \"\" [21/Nov/2026:20:25:01 +0000] \"-\" 408 - \"-\" \"\"\n"
    );
}

#[test]
fn a_client_cannot_forge_a_combined_line() {
    let forged = AccessEntry {
        user: Some(b"frank"),
        target: b"/\" 200 1 \"-\" \"x\"\n10.0.0.1 - - [",
        user_agent: Some(b"a\\\" \x1b[2J\xff"),
        ..entry()
    };
    assert_eq!(
        combined_line(&forged),
        "127.0.0.1 - frank [21/Nov/2026:20:25:01 +0000] \
         \"GET /\\\" 200 1 \\\"-\\\" \\\"x\\\"\\n10.0.0.1 - - [ HTTP/1.1\" 200 2326 \
         \"http://example.test/\" \"a\\\\\\\" \\x1b[2J\\xff\"\n"
    );
}

#[test]
fn json_line_has_every_field_by_name() {
    let expected = serde_json::json!({
        "time": "2026-11-21T20:25:01.123456Z", "remote_addr": "127.0.0.1", "remote_user": null,
        "method": "GET", "target": "/hello.pl?a=1", "protocol": "HTTP/1.1", "status": 200,
        "bytes": 2326, "referer": "http://example.test/", "user_agent": "wrk/4",
        "request_id": 4711, "worker": 124, "queue_us": 3, "total_us": 250,
    });
    assert_eq!(json_line(&entry()), expected);
}

#[test]
fn a_client_cannot_forge_a_json_field() {
    let forged = AccessEntry {
        user: Some("zoé".as_bytes()),
        target: b"/\",\"status\":500,\"x\":\"",
        user_agent: Some(b"\xff\n\\"),
        worker: None,
        ..entry()
    };
    let line = json_line(&forged);
    assert_eq!(line["status"], 200);
    assert_eq!(line["target"], "/\",\"status\":500,\"x\":\"");
    assert_eq!(line["user_agent"], "\\xff\n\\");
    assert_eq!(line["remote_user"], "zoé");
    assert_eq!(line["worker"], serde_json::Value::Null);
    assert_eq!(line.as_object().map(|fields| fields.len()), Some(14));
}

#[test]
fn recorded_lines_reach_the_file_without_a_flush() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let errors = ErrorLog::open(&LogTarget::Off, LogLevel::Error).expect("off needs no file");
    let log = AccessLog::open(
        &AccessLogSettings::combined(LogTarget::File(path.clone())),
        &errors,
    )
    .expect("opens");
    log.record(&entry());
    let begun = std::time::Instant::now();
    while std::fs::read(&path).expect("readable").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn rotation_under_load_loses_and_tears_no_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let errors = ErrorLog::open(&LogTarget::Off, LogLevel::Error).expect("off needs no file");
    let target = LogTarget::File(path.clone());
    let log = AccessLog::open(&json(target), &errors).expect("opens");
    let mut id = 0;
    for turn in 0..20 {
        for _ in 0..700 {
            id += 1;
            log.record(&AccessEntry {
                request_id: id,
                ..entry()
            });
        }
        std::fs::rename(&path, folder.path().join(format!("old.{turn}"))).expect("renamed");
        log.reopen(None);
        assert!(log.flush(Duration::from_secs(20)));
        assert!(path.exists(), "flush waits for the reopening before it");
    }
    let mut seen = Vec::new();
    for file in std::fs::read_dir(folder.path()).expect("listed") {
        let text = std::fs::read_to_string(file.expect("an entry").path()).expect("read");
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("whole line");
            seen.push(line["request_id"].as_u64().expect("a number"));
        }
    }
    seen.sort_unstable();
    assert!(seen.into_iter().eq(1..=id));
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let errors = ErrorLog::open(&LogTarget::Off, LogLevel::Error).expect("off needs no file");
    let target = LogTarget::File("/nonexistent/access.log".into());
    let error = AccessLog::open(&json(target), &errors)
        .err()
        .expect("refused");
    assert!(error.to_string().contains("/nonexistent/access.log"));
}
