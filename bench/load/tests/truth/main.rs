//! Tests the generator's figures against the clock of a server whose behaviour is known.
//!
//! A loaded machine may delay both sides, so no test uses an absolute time. Each answer carries the
//! server's own times, which are the truth. Truth and figure differ only by the time that the
//! answer's bytes need to reach the client. The tests know this time for each request. The module
//! `quiet` (ignored by default) adds the bounds of 1 % or 50 µs.

#[path = "../known/mod.rs"]
mod known;
mod quiet;

use std::sync::atomic::Ordering;
use std::time::Duration;

use known::{percentile, Both, Server, VerifiedSample};
use mehari_load::{
    run, Arrivals, Control, FailureKind, Moment, Pick, Plan, Request, RunOutcome, Schedule, Stop,
};

fn get(server: &Server, path: &str) -> Request {
    Request::get(&server.url(path)).expect("a good URL")
}

fn play(plan: &Plan) -> RunOutcome<Both> {
    run(plan, &Control::new(), |_| Both::new()).expect("a good plan")
}

fn known(outcome: &RunOutcome<Both>) -> Vec<VerifiedSample> {
    outcome
        .threads
        .iter()
        .flat_map(|thread| thread.observer.known.iter().copied())
        .collect()
}

fn open(rate: f64, most_connections: usize) -> Schedule {
    Schedule::Open {
        rate,
        arrivals: Arrivals::Constant,
        most_connections,
    }
}

/// The true and the measured value of one percentile in nanoseconds.
#[derive(Debug)]
struct Figure {
    truth: u64,
    measured: u64,
    longest_way: u64,
}

fn figures(outcome: &RunOutcome<Both>, percents: &[f64]) -> Vec<Figure> {
    let mut all = known(outcome);
    all.retain(|known| known.sample.measured);
    let mut response = mehari_record::Latency::new();
    for thread in &outcome.threads {
        response
            .add(&thread.observer.recorder.response)
            .expect("one shape");
    }
    let mut truth: Vec<u64> = all.iter().map(VerifiedSample::true_response).collect();
    let longest_way = all
        .iter()
        .map(|known| known.sample.done.0.saturating_sub(known.wrote))
        .max();
    percents
        .iter()
        .map(|percent| Figure {
            truth: percentile(&mut truth, *percent),
            measured: response.value_at_percentile(*percent),
            longest_way: longest_way.unwrap_or(0),
        })
        .collect()
}

/// Checks what holds on every machine. No answer is complete before the server wrote it. Each
/// percentile lies between the truth and the truth plus the longest time of an answer's way.
fn hold_against_truth(outcome: &RunOutcome<Both>, percents: &[f64]) {
    // The two clocks are compared through the wall clock, which is exact to a few microseconds.
    let joint = 20_000;
    for known in known(outcome) {
        assert!(
            known.sample.done.0 + joint >= known.wrote,
            "answered before it was: {known:?}"
        );
        assert!(
            known.sample.service() >= known.true_service(),
            "shorter than the server took: {known:?}"
        );
        assert!(
            known.sample.response() >= known.sample.service(),
            "{known:?}"
        );
    }
    for figure in figures(outcome, percents) {
        let (low, high) = (
            figure.truth.saturating_sub(joint),
            figure.truth + figure.longest_way + joint,
        );
        let digits = |value: u64| value / 500;
        assert!(figure.measured + digits(low) >= low, "{figure:?}");
        assert!(figure.measured <= high + digits(high), "{figure:?}");
    }
}

#[test]
fn a_closed_loop_measures_fixed_service_times() {
    let server = Server::start();
    let schedule = Schedule::Closed { connections: 4 };
    let plan = Plan::new(
        vec![get(&server, "/?us=2000")],
        schedule,
        Stop::after_requests(400),
    );
    let outcome = play(&plan);
    assert_eq!(known(&outcome).len(), 400);
    assert_eq!(server.log.connections.load(Ordering::Relaxed), 4);
    assert!(known(&outcome)
        .iter()
        .all(|known| known.true_service() >= 2_000_000));
    hold_against_truth(&outcome, &[50.0, 90.0, 97.5]);
}

#[test]
fn a_bimodal_mix_shows_both_modes() {
    let server = Server::start();
    let mut requests = vec![get(&server, "/?us=500"), get(&server, "/?us=20000")];
    (requests[0].weight, requests[1].weight) = (9, 1);
    let plan = Plan::new(requests, open(400.0, 200), Stop::after_requests(1200));
    let outcome = play(&plan);
    let slow = known(&outcome)
        .iter()
        .filter(|known| known.sample.request == 1)
        .count();
    assert!(
        (70..170).contains(&slow),
        "{slow} of 1200 by a weight of one in ten"
    );
    hold_against_truth(&outcome, &[50.0, 85.0, 99.0]);
    let response = figures(&outcome, &[50.0, 98.0]);
    assert!(
        response[0].truth < 20_000_000 && response[1].measured >= 20_000_000,
        "{response:?}"
    );
}

/// The standard example of a stall is 100 s with answers in 1 ms, then 100 s without answers. This
/// test uses a hundredth of the time and ten times the rate. The true values are mean 250 ms, p75
/// 500 ms, p99 980 ms. A closed loop with one connection would report 1 ms.
#[test]
fn an_open_loop_measures_a_stall_and_a_closed_loop_misses_it() {
    let server = Server::start();
    let path = "/?us=1000&frozen=2000/1000";
    let plan = Plan::new(
        vec![get(&server, path)],
        open(1000.0, 3000),
        Stop::after_requests(2000),
    );
    let opened = play(&plan);
    hold_against_truth(&opened, &[50.0, 75.0, 99.0]);
    let figures = figures(&opened, &[75.0, 99.0]);
    // Half of all arrivals fall into the freeze. On average they wait for half of its length.
    assert!(
        figures[0].measured > 400_000_000 && figures[1].measured > 950_000_000,
        "{figures:?}"
    );

    let server = Server::start();
    let mut plan = plan.clone();
    plan.requests = vec![get(&server, path)];
    plan.schedule = Schedule::Closed { connections: 1 };
    plan.stop = Stop::after_time(Duration::from_secs(2));
    let closed = play(&plan);
    let mut response: Vec<u64> = known(&closed)
        .iter()
        .map(|known| known.sample.response())
        .collect();
    assert!(response.len() > 200, "{} answers", response.len());
    assert!(percentile(&mut response, 99.0) < 500_000_000);
    hold_against_truth(&closed, &[50.0, 90.0]);
}

#[test]
fn the_wait_for_a_connection_is_reported_apart_from_the_generators_own_delay() {
    let server = Server::start();
    // 200 requests per second of 10 ms each need two connections, but the plan has one.
    let plan = Plan::new(
        vec![get(&server, "/?us=10000")],
        open(200.0, 1),
        Stop::after_requests(100),
    );
    let outcome = play(&plan);
    hold_against_truth(&outcome, &[50.0, 90.0]);
    let last = known(&outcome).last().copied().expect("answers");
    // The k-th arrival waits for k x (10 - 5) ms.
    assert!(last.sample.busy_lag() >= 99 * 4_900_000, "{last:?}");
    let busy: u64 = known(&outcome)
        .iter()
        .map(|known| known.sample.busy_lag())
        .sum();
    let late: u64 = known(&outcome)
        .iter()
        .map(|known| known.sample.client_lag())
        .sum();
    assert!(late < busy / 10, "late {late} busy {busy}");
}

#[test]
fn every_kind_of_failure_is_counted_once_and_in_its_class() {
    for schedule in [Schedule::Closed { connections: 8 }, open(300.0, 100)] {
        let server = Server::start();
        let paths = [
            "/?status=503",
            "/?end=reset",
            "/?end=short",
            "/?end=hang",
            "/?us=100",
        ];
        let mut requests: Vec<Request> = paths.iter().map(|path| get(&server, path)).collect();
        for (request, weight) in requests.iter_mut().zip([5, 2, 2, 1, 90]) {
            request.weight = weight;
        }
        let mut plan = Plan::new(requests, schedule, Stop::after_requests(600));
        plan.connection.timeout = Duration::from_millis(300);
        let outcome = play(&plan);
        let count = |kind| {
            outcome
                .threads
                .iter()
                .map(|thread| thread.observer.count(kind))
                .sum::<u64>()
        };
        let log = &server.log;
        let by_server = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!(count(FailureKind::Reset), by_server(&log.resets));
        assert_eq!(count(FailureKind::ShortBody), by_server(&log.shorts));
        assert_eq!(count(FailureKind::TimeOut), by_server(&log.hangs));
        assert!(
            by_server(&log.hangs) > 0 && by_server(&log.resets) > 0 && by_server(&log.shorts) > 0
        );
        let unavailable = known(&outcome)
            .iter()
            .filter(|known| known.sample.status == 503)
            .count();
        assert_eq!(unavailable as u64, by_server(&log.unavailable));
        let totals = outcome.totals();
        assert_eq!(
            (totals.planned, totals.completed + totals.failed),
            (600, 600)
        );
        assert_eq!(
            totals.completed,
            by_server(&log.answered) + by_server(&log.unavailable)
        );
        for failure in outcome
            .threads
            .iter()
            .flat_map(|thread| &thread.observer.failures)
        {
            if failure.kind == FailureKind::TimeOut {
                assert!(
                    failure.at.since(failure.begun) >= 300_000_000,
                    "{failure:?}"
                );
            }
        }
    }
}

#[test]
fn refused_connections_fail_by_class_and_the_run_ends() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", free.local_addr().expect("bound"));
    drop(free);
    let request = Request::get(&url).expect("a good URL");
    for schedule in [Schedule::Closed { connections: 3 }, open(1000.0, 10)] {
        let outcome = play(&Plan::new(
            vec![request.clone()],
            schedule,
            Stop::after_requests(30),
        ));
        let refused: u64 = outcome
            .threads
            .iter()
            .map(|thread| thread.observer.count(FailureKind::Connect))
            .sum();
        assert_eq!((refused, outcome.totals().completed), (30, 0));
    }
}

#[test]
fn requests_under_way_at_the_end_count_as_unfinished() {
    let server = Server::start();
    let mut plan = Plan::new(
        vec![get(&server, "/?end=hang")],
        open(100.0, 5),
        Stop::after_time(Duration::from_millis(500)),
    );
    plan.drain = Some(Duration::ZERO);
    let outcome = play(&plan);
    let unfinished: u64 = outcome
        .threads
        .iter()
        .map(|thread| thread.observer.count(FailureKind::Unfinished))
        .sum();
    // Five requests hang. The others were intended but never started. Their waiting time counts,
    // too.
    assert_eq!(unfinished, 50);
    let recorder = &outcome.threads[0].observer.recorder;
    let quantile = recorder.response.quantile(50.0, &recorder.unended);
    assert!(matches!(
        quantile,
        mehari_record::Quantile::AtLeast(_) | mehari_record::Quantile::TooFew
    ));
}

#[test]
fn requests_of_the_warm_up_are_sent_and_not_counted() {
    let server = Server::start();
    let mut plan = Plan::new(
        vec![get(&server, "/")],
        open(500.0, 10),
        Stop::after_requests(100),
    );
    plan.warm_up = Duration::from_millis(200);
    let outcome = play(&plan);
    let measured = known(&outcome)
        .iter()
        .filter(|known| known.sample.measured)
        .count();
    assert_eq!((measured, known(&outcome).len()), (100, 200));
    let counted: u64 = outcome
        .threads
        .iter()
        .map(|thread| thread.observer.recorder.completed)
        .sum();
    assert_eq!(counted, 100);
    assert!(known(&outcome)
        .iter()
        .all(|known| known.sample.measured == (known.sample.intended >= Moment(200_000_000))));
}

#[test]
fn requests_in_order_are_repeated_from_the_first() {
    let server = Server::start();
    let requests = vec![
        get(&server, "/?body=1"),
        get(&server, "/?body=2"),
        get(&server, "/?body=3"),
    ];
    let mut plan = Plan::new(
        requests,
        Schedule::Closed { connections: 1 },
        Stop::after_requests(7),
    );
    plan.pick = Pick::InOrder;
    let order: Vec<usize> = known(&play(&plan))
        .iter()
        .map(|known| known.sample.request)
        .collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0]);
}
