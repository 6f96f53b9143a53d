//! Tests files that a back end names in its response.

use mehari_harness::{BackEnd, Request, Server};
use std::io::Write;

#[test]
fn a_program_has_a_file_sent_from_allowed_folders_only() {
    let back_end = BackEnd::start(|heard, stream| {
        let target = heard.head.split(' ').nth(1).unwrap_or_default();
        let named = target.trim_start_matches("/back");
        let said = format!("HTTP/1.1 200 OK\r\nX-Sendfile: /files{named}\r\nContent-Type: text/x-own\r\nContent-Length: 4\r\n\r\njunk");
        stream.write_all(said.as_bytes()).is_ok()
    });
    let script = "#!/usr/bin/perl\nmy ($field, $value) = split /=/, $ENV{QUERY_STRING}, 2;\n\
        print \"Content-Type: text/x-script\\nX-Keep: 1\\n$field: $value\\n\\nnot this\";\n";
    let server = Server::builder()
        .file("scripts/send.pl", script)
        .file("private/page.txt", "0123456789")
        .file("secret.txt", "secret")
        .conf(&format!(
            "Alias /scripts @ROOT@/scripts\nAlias /inner @ROOT@/private\n\
             <Location /scripts>\nSetHandler perl-script\nOptions +ExecCGI\nXSendFile On\nXSendFilePath @ROOT@/private\n</Location>\n\
             <Location /inner>\nRequire all denied\n</Location>\n\
             <Location /off>\nSetHandler perl-script\n</Location>\n\
             ProxyPass /back {}/back\n",
            back_end.url()
        ))
        .start();
    let root = server.site.root().to_string_lossy().into_owned();
    let ask = |query: String| server.get(&format!("/scripts/send.pl?{query}"));
    for query in [
        format!("X-Sendfile={root}/private/page.txt"),
        "X-Sendfile=page.txt".to_string(),
        format!("X-LIGHTTPD-send-file={root}/private/page.txt"),
        "X-Accel-Redirect=/inner/page.txt".to_string(),
    ] {
        let answer = ask(query.clone());
        assert_eq!(answer.expect(200), "0123456789", "{query}");
        assert_eq!(
            answer.field("content-type").as_deref(),
            Some("text/x-script")
        );
        assert_eq!(answer.field("x-keep").as_deref(), Some("1"));
        assert_eq!(answer.field("x-sendfile"), None);
        assert!(answer.field("etag").is_some());
    }
    let part = Request::get("/scripts/send.pl?X-Sendfile=page.txt").field("Range", "bytes=2-4");
    assert_eq!(server.send(&part).expect(206), "234");
    assert_eq!(server.get("/inner/page.txt").status, 403);
    std::os::unix::fs::symlink(format!("{root}/secret.txt"), format!("{root}/private/link"))
        .expect("a link");
    for (query, status) in [
        (format!("X-Sendfile={root}/secret.txt"), 403),
        ("X-Sendfile=link".to_string(), 403),
        ("X-Sendfile=/etc/passwd".to_string(), 403),
        (format!("X-Sendfile={root}/private/../secret.txt"), 403),
        ("X-Sendfile=../secret.txt".to_string(), 500),
        ("X-Sendfile=missing".to_string(), 404),
        ("X-Sendfile=".to_string(), 500),
    ] {
        assert_eq!(ask(query.clone()).status, status, "{query}");
    }
    server.log.expect("names a file outside of XSendFilePath");
    // If the feature is off, the field is passed on, because it may be for a server in front of
    // Mehari.
    let answer = server.get("/back/x");
    assert_eq!(answer.expect(200), "junk");
    assert_eq!(answer.field("x-sendfile").as_deref(), Some("/files/x"));
    drop(back_end);
}
