//! Tests how files are sent: routes, representations, conditions, ranges.

mod stand;

use mehari_config::{Handler, Rung};
use stand::Stand;

#[test]
fn paths_lead_where_they_should() {
    let stand = Stand::plain();
    let rows = [
        ("/", 200, "the index\n"),
        ("//", 200, "the index\n"),
        ("/./index.html", 200, "the index\n"),
        ("/%69ndex.html", 200, "the index\n"),
        ("/index.html?query", 200, "the index\n"),
        ("/index.html/more", 404, ""),
        ("/folder/inside.html", 200, "inside\n"),
        ("/folder%2finside.html", 404, ""),
        ("/folder/", 403, ""),
        ("/folder/none", 404, ""),
        ("/.well-known/token", 200, "token"),
        ("/folder/.well-known/", 404, ""),
        ("/.htaccess", 404, ""),
        ("/%2ehtaccess", 404, ""),
        ("/file.txt~", 404, ""),
        ("/file.txt%7e", 404, ""),
        ("/empty.txt", 200, ""),
    ];
    let mut client = stand.client();
    for (path, status, body) in rows {
        let response = client.get(path);
        assert_eq!(response.status, status, "{path}");
        if status == 200 {
            assert_eq!(response.text(), body, "{path}");
        }
    }
    let moved = client.get("/folder?a=b");
    assert_eq!(
        (moved.status, moved.field("location")),
        (301, Some("http://localhost/folder/?a=b"))
    );
    let moved = client.get("//folder");
    assert_eq!(
        moved.field("location"),
        Some("http://localhost/folder/"),
        "never another host"
    );
}

#[test]
fn the_source_of_an_executable_script_is_never_sent() {
    use std::os::unix::fs::PermissionsExt;

    let status = |mode: u32, handler: Option<Handler>| {
        let stand = Stand::new(|site| {
            let script = site.main.mapping.document_root.join("hello.pl");
            std::fs::set_permissions(script, PermissionsExt::from_mode(mode)).expect("own file");
            site.by_name = None;
            site.main.base.handlers.set = handler;
            site.main.base.handlers.exec_cgi = false;
        });
        stand.client().get("/hello.pl").status
    };
    let registry = || Some(Handler::Script(Rung::Registry));
    let named = || Some(Handler::Named("words".into()));
    assert_eq!(status(0o755, None), 403);
    assert_eq!(status(0o755, Some(Handler::File)), 403);
    assert_eq!(status(0o755, registry()), 403);
    assert_eq!(status(0o755, named()), 403, "no Action has this name");
    // Without the execute permission the file is sent as a file, as in Apache.
    assert_eq!(status(0o644, None), 200);
    assert_eq!(status(0o644, Some(Handler::File)), 200);
    assert_eq!(status(0o644, registry()), 403);
    assert_eq!(status(0o644, named()), 200);
}

#[test]
fn a_denied_path_is_forbidden() {
    let stand = Stand::new(|site| site.main.base.denied = true);
    assert_eq!(stand.client().get("/file.txt").status, 403);
}

#[test]
fn conditions_are_honoured() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let whole = client.get("/file.txt");
    let etag = whole.field("etag").expect("an ETag").to_string();
    let date = whole.field("last-modified").expect("a date").to_string();
    let old = "Sun, 06 Nov 1994 08:49:37 GMT";
    let rows = [
        (format!("If-None-Match: {etag}"), 304),
        (format!("If-None-Match: W/{etag}"), 304),
        (format!("If-None-Match: \"x\", {etag}"), 304),
        ("If-None-Match: *".into(), 304),
        ("If-None-Match: \"x\"".into(), 200),
        (format!("If-Modified-Since: {date}"), 304),
        (format!("If-Modified-Since: {old}"), 200),
        ("If-Modified-Since: yesterday".into(), 200),
        (
            format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {date}"),
            200,
        ),
        (format!("If-Match: {etag}"), 200),
        (format!("If-Match: W/{etag}"), 412),
        ("If-Match: \"x\"".into(), 412),
        ("If-Match: *".into(), 200),
        (format!("If-Unmodified-Since: {date}"), 200),
        (format!("If-Unmodified-Since: {old}"), 412),
        ("Range: bytes=2-4".into(), 206),
        (format!("Range: bytes=2-4\r\nIf-Range: {etag}"), 206),
        (format!("Range: bytes=2-4\r\nIf-Range: {date}"), 206),
        ("Range: bytes=2-4\r\nIf-Range: \"x\"".into(), 200),
        (format!("Range: bytes=2-4\r\nIf-Range: {old}"), 200),
        (format!("Range: bytes=2-4\r\nIf-Range: W/{etag}"), 200),
        (format!("Range: bytes=2-4\r\nIf-None-Match: {etag}"), 304),
        ("Range: bytes=100-".into(), 416),
        ("Range: nonsense".into(), 200),
    ];
    for (fields, status) in rows {
        let request = format!("GET /file.txt HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        let response = client.ask(&request);
        assert_eq!(response.status, status, "{fields}");
        match status {
            206 => assert_eq!(response.text(), "234", "{fields}"),
            200 => assert_eq!(response.text(), "0123456789", "{fields}"),
            304 => assert_eq!(response.field("etag"), Some(etag.as_str()), "{fields}"),
            416 => assert_eq!(
                response.field("content-range"),
                Some("bytes */10"),
                "{fields}"
            ),
            _ => {}
        }
    }
}

#[test]
fn several_ranges_come_in_parts() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let response = client.ask("GET /file.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1, -2\r\n\r\n");
    assert_eq!(response.status, 206);
    let media_type = response.field("content-type").expect("a type").to_string();
    let boundary = media_type
        .strip_prefix("multipart/byteranges; boundary=")
        .expect("parts");
    let part = |range: &str, text: &str| {
        format!("--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes {range}/10\r\n\r\n{text}\r\n")
    };
    let expected = part("0-1", "01") + &part("8-9", "89") + &format!("--{boundary}--\r\n");
    assert_eq!(response.text(), expected);
    let response =
        client.ask("GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=1000000-\r\n\r\n");
    assert_eq!(response.body.len(), 2_000_000);
}

#[test]
fn a_changed_file_is_noticed_at_once() {
    let stand = Stand::plain();
    let mut client = stand.client();
    let mut etags = std::collections::HashSet::new();
    for round in 0..20 {
        let text = format!("round {round:04}");
        std::fs::write(stand.root.join("file.txt"), &text).expect("written");
        let response = client.get("/file.txt");
        assert_eq!(response.text(), text);
        etags.insert(response.field("etag").expect("an ETag").to_string());
    }
    assert_eq!(etags.len(), 20, "same second, same size, other tag");
    std::fs::remove_file(stand.root.join("file.txt")).expect("removed");
    assert_eq!(client.get("/file.txt").status, 404);
    std::fs::write(stand.root.join("file.txt"), "back").expect("written");
    assert_eq!(client.get("/file.txt").text(), "back");
}

#[test]
fn a_neighbour_is_sent_to_those_who_accept_it() {
    let stand = Stand::plain();
    let write = |name: &str, text: &str| {
        std::fs::write(stand.root.join(name), text).expect("written");
    };
    write("style.css", "plain");
    write("style.css.gz", "gzipped");
    write("style.css.br", "brotlied");
    let mut client = stand.client();
    let rows = [
        ("", "plain", None),
        ("Accept-Encoding: gzip\r\n", "gzipped", Some("gzip")),
        ("Accept-Encoding: gzip, br\r\n", "brotlied", Some("br")),
        (
            "Accept-Encoding: gzip, br;q=0.5\r\n",
            "gzipped",
            Some("gzip"),
        ),
        ("Accept-Encoding: gzip;q=0, zstd\r\n", "plain", None),
        ("Accept-Encoding: *\r\n", "brotlied", Some("br")),
    ];
    let mut etags = std::collections::HashSet::new();
    for (fields, text, coding) in rows {
        let request = format!("GET /style.css HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let response = client.ask(&request);
        assert_eq!(response.text(), text, "{fields}");
        assert_eq!(response.field("content-encoding"), coding, "{fields}");
        assert_eq!(response.field("vary"), Some("Accept-Encoding"), "{fields}");
        assert_eq!(response.field("content-type"), Some("text/css"), "{fields}");
        etags.insert(response.field("etag").expect("an ETag").to_string());
    }
    assert_eq!(etags.len(), 3, "a tag for each representation");
    // A file system's clock advances in steps. The sleep is longer than a step.
    let mut request = "GET /style.css HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n";
    std::thread::sleep(std::time::Duration::from_millis(20));
    write("style.css", "newer");
    assert_eq!(
        client.ask(request).text(),
        "newer",
        "an older neighbour is not the file"
    );
    request = "GET /style.css HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(client.ask(request).text(), "newer");
}

#[test]
fn what_cannot_be_read_is_forbidden_not_waited_for() {
    let stand = Stand::plain();
    let fifo = stand.root.join("pipe.txt");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .expect("mkfifo");
    assert!(made.success());
    assert_eq!(stand.client().get("/pipe.txt").status, 403);
    std::os::unix::fs::symlink("/nonexistent", stand.root.join("broken.txt")).expect("a link");
    assert_eq!(stand.client().get("/broken.txt").status, 403);
    std::os::unix::fs::symlink("file.txt", stand.root.join("link.txt")).expect("a link");
    assert_eq!(stand.client().get("/link.txt").text(), "0123456789");
}

#[test]
fn a_new_site_answers_the_next_request() {
    let stand = Stand::plain();
    let mut client = stand.client();
    assert_eq!(client.get("/file.txt").status, 200);
    let mut site = stand::site::site(&stand.root);
    site.main.base.denied = true;
    stand.replace_site(site);
    assert_eq!(client.get("/file.txt").status, 403);
}
