//! Tests that memory does not grow with the number of requests. The test measures the memory of its
//! process, so it is the only test of this file.

mod known;

use known::Server;
use mehari_load::{run, Control, Moment, Plan, Recorder, Request, Schedule, Stop};

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("a Linux /proc");
    let pages: u64 = text
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .expect("pages");
    pages * 4096
}

#[test]
fn ten_times_the_requests_take_no_more_memory() {
    let server = Server::start();
    let request = Request::get(&server.url("/")).expect("a good URL");
    let play = |requests| {
        let schedule = Schedule::Closed { connections: 4 };
        let plan = Plan::new(
            vec![request.clone()],
            schedule,
            Stop::after_requests(requests),
        );
        let outcome =
            run(&plan, &Control::new(), |_| Recorder::new(Moment::NEVER)).expect("a good plan");
        assert_eq!(outcome.totals().completed, requests);
        resident()
    };
    let few = play(5_000);
    let many = play(50_000);
    assert!(
        many < few + (2 << 20),
        "{few} bytes after 5,000 requests, {many} after 50,000 more"
    );
}
