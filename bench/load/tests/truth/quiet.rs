//! Tests the generator's bounds on an idle machine: figures within 1 % or 50 µs of the truth.

use crate::known::Server;
use crate::{figures, get, open, play};
use mehari_load::{Plan, Request, Schedule, Stop};
use std::time::Duration;

/// The percentiles under test. The 90th is left out: the stall begins there, and a single request
/// shifts the percentile by 20 ms.
const PERCENTS: [f64; 4] = [50.0, 85.0, 95.0, 99.0];

/// A path and its share of the requests.
type Weighted = (&'static str, u32);

/// Plays a case once. Returns the percentiles that differ from the truth by more than 1 % and by
/// more than 50 µs.
fn play_case(name: &str, paths: &[Weighted], schedule: &Schedule, requests: u64) -> Vec<String> {
    let server = Server::start();
    let weighted = |(path, weight): &Weighted| Request {
        weight: *weight,
        ..get(&server, path)
    };
    let mut plan = Plan::new(
        paths.iter().map(weighted).collect(),
        schedule.clone(),
        Stop::after_requests(requests),
    );
    plan.warm_up = Duration::from_millis(500);
    let outcome = play(&plan);
    let mut wrong = Vec::new();
    for (percent, figure) in PERCENTS.iter().zip(figures(&outcome, &PERCENTS)) {
        let difference = figure.measured.abs_diff(figure.truth);
        println!(
            "{name:<32} p{percent:<4} truth {:>9.1} µs  measured {:>9.1} µs  off by {:>7.1} µs",
            figure.truth as f64 / 1e3,
            figure.measured as f64 / 1e3,
            difference as f64 / 1e3
        );
        if difference > (figure.truth / 100).max(50_000) {
            wrong.push(format!("{name} p{percent}"));
        }
    }
    wrong
}

/// Run this test with `chrt -f 10 cargo test --release -p mehari-load --test truth -- --ignored
/// --nocapture`
///
/// A hypervisor may still take the core between the server's clock read and its write. A case is
/// therefore played up to three times, and one good result is enough.
#[test]
#[ignore = "needs a machine that does nothing else"]
fn on_a_quiet_machine_every_figure_is_within_one_percent_or_50_microseconds() {
    let closed = |connections| Schedule::Closed { connections };
    let stall: &[_] = &[("/?us=1000&frozen=1000/100", 1)];
    let mix: &[_] = &[("/?us=500", 9), ("/?us=20000", 1)];
    let failing: &[_] = &[("/?us=1000", 19), ("/?us=300&status=503", 1)];
    let fixed: &[_] = &[("/?us=2000", 1)];
    let cases: [(&str, &[Weighted], Schedule, u64); 9] = [
        ("fixed 2 ms, closed", fixed, closed(4), 4000),
        ("fixed 2 ms, open", fixed, open(500.0, 100), 4000),
        (
            "fixed 20 ms, open",
            &[("/?us=20000", 1)],
            open(200.0, 100),
            2000,
        ),
        ("stall 100 ms a second, open", stall, open(500.0, 500), 4000),
        ("stall 100 ms a second, closed", stall, closed(1), 2000),
        (
            "0.5 ms, one in ten 20 ms, open",
            mix,
            open(400.0, 200),
            3000,
        ),
        ("0.5 ms, one in ten 20 ms, closed", mix, closed(2), 2000),
        (
            "1 ms, 5 % 503 of 0.3 ms, open",
            failing,
            open(500.0, 100),
            3000,
        ),
        ("nothing, open", &[("/?us=0", 1)], open(1000.0, 100), 5000),
    ];
    let mut wrong = Vec::new();
    for (name, paths, schedule, requests) in cases {
        let mut found = Vec::new();
        for _ in 0..3 {
            found = play_case(name, paths, &schedule, requests);
            if found.is_empty() {
                break;
            }
            println!("  not within the bounds: {}", found.join(", "));
        }
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
