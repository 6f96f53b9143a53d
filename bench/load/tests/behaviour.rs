//! Tests how the generator uses connections: sessions, cookies, slow clients, source addresses,
//! ends.

mod known;

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use known::{Both, Server};
use mehari_load::{
    run, script, Arrivals, Builder, Burst, Control, Moment, OnFailure, Plan, Request, RunOutcome,
    Schedule, Session, Sources, Stop,
};

fn get(server: &Server, path: &str) -> Request {
    Request::get(&server.url(path)).expect("a good URL")
}

fn play(plan: &Plan) -> RunOutcome<Both> {
    run(plan, &Control::new(), |_| Both::new()).expect("a good plan")
}

#[test]
fn a_session_keeps_its_connection_its_order_its_think_time_and_its_cookies() {
    let server = Server::start();
    let text = "session cookies\nGET /?cookie=id=7\nthink 50ms\nGET /a\n+ GET /b\n";
    let urls = [server.url("/")];
    let (requests, sessions) =
        script::read(text, "script", &urls, &Builder::default()).expect("a good script");
    let mut plan = Plan::new(
        requests,
        Schedule::Closed { connections: 2 },
        Stop::after_requests(10),
    );
    plan.sessions = sessions;
    let outcome = play(&plan);
    let ends: Vec<_> = outcome
        .threads
        .iter()
        .flat_map(|thread| &thread.observer.sessions)
        .collect();
    assert_eq!(ends.len(), 10);
    assert!(ends
        .iter()
        .all(|end| end.complete && end.calls_answered == 3 && end.connections == 1));
    assert!(ends
        .iter()
        .all(|end| end.at.since(end.intended) >= 50_000_000));
    assert_eq!(server.log.connections.load(Ordering::Relaxed), 10);
    // Both calls of the second burst carry the cookie of the first answer.
    assert_eq!(
        *server.log.cookies.lock().expect("a lock"),
        vec!["id=7"; 20]
    );
}

#[test]
fn a_session_ends_or_goes_on_after_a_failure_as_planned() {
    for (on_failure, answered, complete) in [(OnFailure::End, 1, false), (OnFailure::GoOn, 2, true)]
    {
        let server = Server::start();
        let requests = vec![
            get(&server, "/"),
            get(&server, "/?end=reset"),
            get(&server, "/"),
        ];
        let mut plan = Plan::new(
            requests,
            Schedule::Closed { connections: 1 },
            Stop::after_requests(1),
        );
        let session = Session::of_calls([0, 1, 2], Duration::ZERO);
        plan.sessions = vec![Session {
            on_failure,
            ..session
        }];
        let end = play(&plan).threads[0].observer.sessions[0];
        assert_eq!(
            (end.calls_answered, end.calls_failed, end.complete),
            (answered, 1, complete)
        );
    }
}

#[test]
fn the_calls_of_a_replay_come_no_earlier_than_recorded() {
    let server = Server::start();
    let mut plan = Plan::new(
        vec![get(&server, "/")],
        Schedule::Open {
            rate: 100.0,
            arrivals: Arrivals::Constant,
            most_connections: 10,
        },
        Stop::after_requests(2),
    );
    let burst = |milliseconds| Burst {
        calls: vec![0],
        think: Duration::ZERO,
        not_before: Some(Duration::from_millis(milliseconds)),
    };
    let session = Session::of_calls([], Duration::ZERO);
    plan.sessions = vec![Session {
        bursts: vec![burst(0), burst(120)],
        ..session
    }];
    let outcome = play(&plan);
    let known = outcome
        .threads
        .iter()
        .flat_map(|thread| &thread.observer.known);
    let mut intended: Vec<u64> = known.map(|known| known.sample.intended.0).collect();
    intended.sort_unstable();
    assert_eq!(intended, [0, 10_000_000, 120_000_000, 130_000_000]);
}

#[test]
fn a_slow_client_slows_the_server() {
    let server = Server::start();
    let path = "/?body=12000000";
    let mut plan = Plan::new(
        vec![get(&server, path)],
        Schedule::Closed { connections: 1 },
        Stop::after_requests(1),
    );
    play(&plan);
    let fast = server.log.longest_write_ns.load(Ordering::Relaxed);
    plan.connection.throttle = Some(12_000_000);
    let outcome = play(&plan);
    let slow = server.log.longest_write_ns.load(Ordering::Relaxed);
    let sample = outcome.threads[0].observer.known[0].sample;
    assert!(
        sample.service() >= 900_000_000,
        "{} ns for a second's worth of bytes",
        sample.service()
    );
    // The client's buffer takes the first bytes at once. The server spends the rest of the second
    // with writing.
    assert!(
        slow >= 300_000_000 && slow > fast,
        "the server wrote for {slow} ns, {fast} ns before"
    );
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let server = Server::start();
    let mut plan = Plan::new(
        vec![get(&server, "/")],
        Schedule::Closed { connections: 3 },
        Stop::after_requests(50),
    );
    plan.connection.keep_alive = false;
    let outcome = play(&plan);
    assert_eq!(server.log.connections.load(Ordering::Relaxed), 50);
    let known = &outcome.threads[0].observer.known;
    assert!(known
        .iter()
        .all(|known| known.sample.connect.is_some() && !known.sample.kept_alive));
}

#[test]
fn source_addresses_are_taken_in_turn() {
    let server = Server::start();
    let mut plan = Plan::new(
        vec![get(&server, "/")],
        Schedule::Closed { connections: 4 },
        Stop::after_requests(40),
    );
    let sources =
        ["127.0.0.5", "127.0.0.6"].map(|text| text.parse::<IpAddr>().expect("an address"));
    plan.connection.sources = Sources::Fixed(sources.to_vec());
    plan.connection.keep_alive = false;
    assert_eq!(play(&plan).totals().completed, 40);
    let peers = server.log.peers.lock().expect("a lock");
    for source in sources {
        assert_eq!(peers.iter().filter(|peer| peer.ip() == source).count(), 20);
    }
}

#[test]
fn a_stop_ends_the_run_and_reports_requests_under_way_as_unfinished() {
    let server = Server::start();
    let plan = Plan::new(
        vec![get(&server, "/?end=hang")],
        Schedule::Closed { connections: 3 },
        Stop::after_time(Duration::from_secs(600)),
    );
    let control = Control::new();
    let other = control.clone();
    let waiter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        other.stop();
    });
    let outcome = run(&plan, &control, |_| Both::new()).expect("a good plan");
    waiter.join().expect("no panic");
    assert!(outcome.interrupted && outcome.totals().failed == 3);
}

#[test]
fn every_arrival_of_an_open_loop_has_its_planned_start() {
    let server = Server::start();
    let schedule = Schedule::Open {
        rate: 1000.0,
        arrivals: Arrivals::Constant,
        most_connections: 50,
    };
    let mut plan = Plan::new(vec![get(&server, "/")], schedule, Stop::after_requests(500));
    plan.threads = Some(2);
    let outcome = play(&plan);
    let known = outcome
        .threads
        .iter()
        .flat_map(|thread| &thread.observer.known);
    let mut intended: Vec<Moment> = known.map(|known| known.sample.intended).collect();
    intended.sort_unstable();
    let planned: Vec<Moment> = (0..500).map(|number| Moment(number * 1_000_000)).collect();
    assert_eq!(intended, planned);
}
