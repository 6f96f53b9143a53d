//! Tests edge scripts together with both protocols, the response cache and compression.

use super::site;
use mehari_harness::{eventually, needs, Request, Server, PATIENCE};
use std::process::Command;

const PROTOCOLS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];

/// Returns the status, the fields and the body that curl receives.
fn curl(server: &Server, protocol: &str, path: &str, more: &[&str]) -> String {
    let url = format!("http://{}{path}", server.address);
    let output = Command::new("curl")
        .args(["-s", "-i", protocol])
        .args(more)
        .arg(url)
        .output();
    let output = output.expect("curl runs").stdout;
    String::from_utf8_lossy(&output).replace('\r', "")
}

#[test]
fn response_scripts_are_asked_over_both_protocols() {
    needs!("curl");
    let behind = r#"
        local r = lighty.r
        r.resp_header["X-Seen"] = r.req_item.http_status .. " " .. r.req_attr["request.protocol"] .. " " .. (r.req_header["X-Asked"] or "-")
        r.resp_header["X-Made"] = nil
        local query = r.req_attr["uri.query"]
        if query == "status" then return 203 end
        if query == "instead" then r.resp_body.set("instead") return 404 end
        if query == "file" then r.resp_body.set({ "<", { filename = r.req_attr["physical.doc-root"] .. "/page.txt" }, ">" }) end
        if query == "slow" then for i = 1, 60000 do end r.resp_header["X-Slow"] = r.req_header["X-Asked"] end
        if query == "error" then error("so") end
    "#;
    let made = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\nX-Made: perl\\n\\nmade\";\n";
    let server = site("LuaAttractResponse lua/behind.lua\n", &[("behind", behind)])
        .file("scripts/made.pl", made)
        .file("htdocs/page.txt", "page")
        .start();
    for (protocol, version) in PROTOCOLS.into_iter().zip(["HTTP/1.1", "HTTP/2.0"]) {
        for page in ["/registry/made.pl", "/page.txt"] {
            let own = page.rsplit('/').next().unwrap_or_default();
            let own = own.split('.').next().unwrap_or_default();
            for (query, status, body) in [
                ("", 200, own),
                ("?status", 203, own),
                ("?instead", 404, "instead"),
                ("?file", 200, "<page>"),
                ("?slow", 200, own),
                ("?error", 500, ""),
            ] {
                let said = curl(
                    &server,
                    protocol,
                    &format!("{page}{query}"),
                    &["-H", "X-Asked: me"],
                );
                let (head, sent) = said.split_once("\n\n").expect("head and body");
                let (head, at) = (
                    head.to_ascii_lowercase(),
                    format!("{protocol} {page}{query}: {said}"),
                );
                let first = head.lines().next().unwrap_or_default();
                assert!(first.contains(&status.to_string()), "{at}");
                assert!(!head.contains("x-made"), "{at}");
                if query == "?error" {
                    continue;
                }
                assert_eq!(sent, body, "{at}");
                let seen = format!("x-seen: 200 {version} me").to_ascii_lowercase();
                assert!(head.lines().any(|line| line == seen), "{at}");
                let length = format!("content-length: {}", body.len());
                let has_length = head.lines().any(|line| line == length);
                assert!(has_length || version == "HTTP/2.0", "{at}");
                assert_eq!(head.contains("x-slow: me"), query == "?slow", "{at}");
            }
            let none = curl(&server, protocol, page, &["-I"]);
            assert!(none.to_ascii_lowercase().contains("x-seen: 200"), "{none}");
        }
    }
    let told = || server.log.count("behind.lua:10: so");
    eventually(PATIENCE, || told() >= 4);
    assert_eq!(told(), 4);
}

#[test]
fn kept_pages_are_seen_by_scripts_each_time_and_kept_as_the_program_made_them() {
    needs!("curl");
    let before = r#"
        lighty.r.req_env["FROM_EDGE"] = lighty.r.req_attr["uri.query"]
        if lighty.r.req_attr["uri.path"] == "/short.pl" then lighty.r.req_attr["uri.path"] = "/registry/kept.pl" end
        if lighty.r.req_attr["uri.path"] == "/edge" then
            lighty.header["Content-Type"] = "text/plain"
            lighty.content = { ("edge "):rep(200) }
            return 200
        end
    "#;
    let behind = r#"
        lighty.status.seen = (lighty.status.seen or 0) + 1
        lighty.r.resp_header["X-Seen"] = tostring(lighty.status.seen)
        if lighty.r.req_header["X-Instead"] then lighty.r.resp_body.set(("instead "):rep(200)) end
    "#;
    let kept = "#!/usr/bin/perl\nour $n++; print \"Content-type: text/plain\\nCache-Control: max-age=60\\n\\n\";\n\
        print \"run $n for $ENV{FROM_EDGE} \", 'word ' x 200;\n";
    let server = site(
        "LuaAttractRawURL lua/before.lua\n<Location /registry>\nLuaAttractResponse lua/behind.lua\n</Location>\n\
        CacheEnable disk /registry\nCacheHeader On\nAddOutputFilterByType DEFLATE text/plain\n",
        &[("before", before), ("behind", behind)],
    )
    .file("scripts/kept.pl", kept)
    .start();
    let word = "word ".repeat(200);
    let page = "/registry/kept.pl?x";
    let first = server.get(page);
    assert_eq!(first.expect(200), format!("run 1 for x {word}"));
    assert_eq!(first.field("x-seen").as_deref(), Some("1"));
    let instead = server.send(&Request::get(page).field("X-Instead", "1"));
    assert_eq!(instead.expect(200), "instead ".repeat(200));
    // What a script has put in the page's place does not affect later requests over either
    // protocol.
    for (number, path) in [(3, page), (4, "/short.pl?x")] {
        let answer = server.get(path);
        assert_eq!(answer.expect(200), format!("run 1 for x {word}"), "{path}");
        assert_eq!(answer.field("x-seen"), Some(number.to_string()), "{path}");
    }
    for protocol in PROTOCOLS {
        for (path, more, body) in [
            (page, "X-Request-ID: 1", format!("run 1 for x {word}")),
            (page, "X-Instead: 1", "instead ".repeat(200)),
            ("/edge", "X-Request-ID: 1", "edge ".repeat(200)),
        ] {
            let said = curl(&server, protocol, path, &["--compressed", "-H", more]);
            let (head, sent) = said.split_once("\n\n").expect("head and body");
            assert_eq!(sent, body, "{protocol} {path} {more}: {head}");
        }
    }
}
