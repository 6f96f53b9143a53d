//! Tests that the certificate process is started again when it dies.

use super::authority::{free_ports, Authority, Plan};
use super::{plain, site, wait_for_certificates, IN_USE};
use mehari_harness::{eventually, needs, processes, Request, Server, PATIENCE};

/// Returns the process that does the work: the child of the one that watches over it.
fn worker(server: &Server) -> Option<processes::Pid> {
    let is_worker = |pid: processes::Pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.ends_with(b"certificate-process\0work\0")
    };
    let all = processes::descendants(server.pid());
    all.iter().map(|one| one.pid).find(|pid| is_worker(*pid))
}

/// Kills the process that does the work, and waits for the line about it.
pub fn kill(server: &Server) {
    let pid = worker(server).expect("the certificate process");
    processes::signal(pid, rustix::process::Signal::Kill);
    server
        .log
        .expect("the certificate process has ended (signal 9): the next one starts in");
}

#[test]
fn a_certificate_process_that_dies_is_followed_by_another() {
    needs!("pebble");
    let [http, tls] = free_ports();
    let store = tempfile::tempdir().expect("a folder");
    let mut authority = Authority::planned(Plan::of(http, tls));
    let conf = authority.conf(&store.path().join("md"));
    let server = site(http, tls, &conf).start();
    server.log.expect("site.example: localhost");
    // A domain of a reload is known to the next process, too.
    let text = server.site.read("httpd.conf");
    let text = text.replace(
        "ServerName site.example\n",
        "ServerName site.example\nServerAlias new.example\n",
    );
    server.site.write("httpd.conf", &text);
    assert!(
        server.control(&["reload"]).status.success(),
        "{}",
        server.log.text()
    );
    let first = worker(&server);
    kill(&server);
    let has_next = || worker(&server).is_some_and(|pid| Some(pid) != first);
    assert!(eventually(PATIENCE, has_next), "{}", server.log.text());
    assert_eq!(
        plain(http, &Request::get("/page.html")).expect(200),
        "a page"
    );
    authority.run();
    wait_for_certificates(&server, 1);
    let names = &server.status()["managed"][0]["names"];
    assert_eq!(names, &serde_json::json!(["site.example", "new.example"]));
    kill(&server);
    assert!(eventually(PATIENCE, || worker(&server).is_some()));
    // The certificate is in use already.
    assert_eq!(server.log.count(IN_USE), 1, "{}", server.log.text());
}
