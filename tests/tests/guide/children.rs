//! Tests child processes that outlive their request.

use crate::guide;
use mehari_harness::{eventually, Rung, PATIENCE};

#[test]
fn detached_child_outlives_the_request_and_finishes() {
    let server = guide();
    for script in ["fork_setsid.pl", "fork_exec.pl"] {
        for rung in Rung::ALL {
            let name = format!("logs/{script}.{}", rung.name());
            let log = server.site.path(&name);
            let url = format!("{}?log={}", rung.url(script), log.display());
            let answer = server.get(&url);
            assert_eq!(
                answer.expect(200),
                "Parent has finished\n",
                "{}",
                rung.name()
            );
            let done = eventually(PATIENCE, || {
                server.site.read(&name).ends_with("completed\n")
            });
            let text = server.site.read(&name);
            assert!(done, "{script} on {}: {text:?}", rung.name());
            assert_eq!(text, "started\n1\n2\n3\n4\n5\ncompleted\n");
        }
    }
}

#[test]
fn cleanup_runs_when_the_visitor_has_the_answer() {
    let server = mehari_harness::Server::builder()
        .fixtures("printed")
        .conf(crate::ONE_WORKER)
        .ladder()
        .start();
    for (count, rung) in Rung::SHARED.iter().enumerate() {
        let answer = server.get(&rung.url("cleanup.pl"));
        assert_eq!(answer.expect(200), "answered\n", "{}", rung.name());
        let has_run = eventually(PATIENCE, || {
            server.log.count("cleanup: has run") == count + 1
        });
        assert!(has_run, "{}: {}", rung.name(), server.log.text());
    }
}
