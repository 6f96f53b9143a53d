//! Tests the file status in edge scripts: it comes from watched files without a system call, and is
//! always current.

use super::site;
use mehari_harness::{eventually, needs, trace, Connection, Request, PATIENCE};
use std::fs;

/// A Lua script that prints the size of a file, or that the file does not exist.
const SIZE: &str = r#"
    if lighty.env["uri.path"] ~= "/" then return end
    local known = lighty.stat(lighty.env["physical.doc-root"] .. "/data/page.txt")
    lighty.content = { known and tostring(known.st_size) or "none" }
    return 200
"#;

fn ask(connection: &mut Connection) -> String {
    let answer = connection.send(&Request::get("/"));
    answer.expect("an answer").expect(200)
}

#[test]
fn a_changed_file_is_seen_by_the_next_request_and_an_unchanged_one_is_not_looked_at() {
    needs!("strace");
    let server = site("LuaAttractRawURL lua/size.lua\n", &[("size", SIZE)])
        .file("htdocs/data/other.txt", "other")
        .start();
    let page = server.site.path("htdocs/data/page.txt");
    let mut connection = server.connect();
    assert_eq!(ask(&mut connection), "none");
    // The folder is watched only after a thread has read it.
    let is_watched = || {
        let calls = trace::calls(&server, "file,inotify_add_watch", || {
            server.get("/").expect(200);
        });
        let of_loop = format!("{} ", server.pid());
        let is_ours = |line: &&String| line.starts_with(&of_loop) && line.contains("/data");
        calls.iter().any(|line| is_ours(&line))
    };
    assert!(eventually(PATIENCE, is_watched));
    for size in [3, 5, 7] {
        fs::write(&page, "x".repeat(size)).expect("written");
        assert_eq!(ask(&mut connection), size.to_string());
        fs::remove_file(&page).expect("removed");
        assert_eq!(ask(&mut connection), "none");
        let beside = server.site.path("htdocs/data/new.txt");
        fs::write(&beside, "x".repeat(size + 1)).expect("written");
        fs::rename(&beside, &page).expect("renamed");
        assert_eq!(ask(&mut connection), (size + 1).to_string());
    }
    let rounds = 300;
    let looks = trace::calls(&server, "file,fstat,newfstatat,statx", || {
        for _ in 0..rounds {
            assert_eq!(ask(&mut connection), "8");
        }
    });
    let looks = looks.iter().filter(|line| line.contains("page.txt"));
    // The front looks at the file once a second in any case, and strace makes the rounds slow.
    assert!(looks.count() < rounds / 5);
}
