//! Tests the stores of the response cache other than memory: a folder, and Redis.

use crate::{check, start, target};
use mehari_harness::{eventually, needs, Redis, Request, Server, PATIENCE};
use std::process::Command;

#[test]
fn pages_in_a_folder_outlive_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display();
    let conf = format!("CacheRoot {root}/pages\nServerName example.test\nDocumentRoot {root}\n");
    let page = target("j", &["Cache-Control: max-age=600", "Vary: X"]);
    let request = || Request::get(&page).field("X", "y").host("example.test");
    let files = || {
        let entries = std::fs::read_dir(folder.path().join("pages"));
        let names = entries.into_iter().flatten().flatten();
        let is_page = |name: &std::fs::DirEntry| name.path().extension().is_some();
        names.filter(is_page).count()
    };
    let server = start(&conf);
    check(&server.send(&request()), 1, "MISS");
    assert!(eventually(PATIENCE, || files() == 1));
    drop(server);
    let server = start(&conf);
    // The folder is read when it is first used, and the first request waits for this.
    check(&server.send(&request()), 1, "HIT");
    let output = server.control(&["cache", "purge", "//example.test/*"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("forgot 1 page"));
    assert!(eventually(PATIENCE, || files() == 0));
}

#[test]
fn machines_share_pages_in_redis_and_work_without_it() {
    needs!("redis-server");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display();
    let mut redis = Redis::start();
    let conf = format!(
        "CacheRedis unix://{}?db=1\nServerName example.test\nDocumentRoot {root}\n",
        redis.socket().display()
    );
    let fresh = "Cache-Control: max-age=600";
    let ask = |server: &Server, page: &str, language: &str| {
        let request = Request::get(&target(page, &[fresh, "Vary: Accept-Language"]));
        let request = request.field("Accept-Language", language);
        server.send(&request.host("example.test"))
    };
    let (one, other) = (start(&conf), start(&conf));
    check(&ask(&one, "l", "de"), 1, "MISS");
    check(&ask(&one, "l", "en"), 2, "MISS");
    // The page is written to Redis after the response was sent.
    let socket = redis.socket();
    let keys = |count: &str| {
        let mut said = Command::new("redis-cli");
        said.arg("-s").arg(&socket).args(["-n", "1", "dbsize"]);
        let said = said.output().expect("redis-cli runs");
        String::from_utf8_lossy(&said.stdout).trim() == count
    };
    assert!(eventually(PATIENCE, || keys("1")));
    check(&ask(&other, "l", "de"), 1, "HIT");
    check(&ask(&other, "l", "en"), 2, "HIT");
    one.control(&["cache", "purge", "/fork/*"]);
    assert!(eventually(PATIENCE, || keys("0")));
    redis.stop();
    check(&ask(&one, "m", "de"), 1, "MISS");
    check(&ask(&one, "m", "de"), 1, "HIT");
    one.log.expect("CacheRedis: ");
}
