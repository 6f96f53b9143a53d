//! Tests replays of recorded sessions over real sockets.
#![allow(clippy::unwrap_used)]

mod session;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mehari_record::session::har::Archive;
use mehari_record::session::replay::{play, Checks, Settings};
use mehari_record::session::Target;
use session::*;
use tokio::net::TcpListener;

#[tokio::test]
async fn each_replayed_user_logs_in_with_a_cookie_of_its_own() {
    let (site, address) = site().await;
    let archive = recorded_visit(address).await;
    // The recorded cookie is no longer valid.
    site.live.lock().unwrap().clear();
    let report = replay(&archive, settings_of(20)).await;
    assert!(report.is_good(), "{report}");
    assert_eq!((report.ok, report.entries.len()), (60, 3));
    assert_eq!(site.logins.load(Ordering::SeqCst), 21);
    assert_eq!(site.live.lock().unwrap().len(), 20);
    assert_eq!(report.response.len(), 60);
    let counts = &report.record.counts;
    assert_eq!((counts.attempted, counts.completed), (60, 60));
    assert_eq!((counts.statuses[&200], counts.statuses[&302]), (40, 20));
}

#[tokio::test]
async fn replay_against_another_server_sends_the_address_of_that_server() {
    let (_, first) = site().await;
    let (second_site, second) = site().await;
    let archive = recorded_visit(first).await;
    let to: Target = format!("http://{second}").parse().unwrap();
    let report = replay(
        &archive,
        Settings {
            to: Some(to),
            ..settings_of(1)
        },
    )
    .await;
    assert!(report.is_good(), "{report}");
    let addressed = second_site.addressed.lock().unwrap();
    assert_eq!(addressed[0], second.to_string());
    assert_eq!(addressed[1], format!("http://{second}/start"));
}

async fn recorded_news(address: SocketAddr) -> Archive {
    let recording = record(address, 1000).await;
    exchange(recording.address, "GET /news HTTP/1.1", b"").await;
    recording.end().await
}

#[tokio::test]
async fn answer_that_differs_from_the_recording_fails_and_the_difference_is_named() {
    let (site, address) = site().await;
    let mut archive = recorded_news(address).await;
    site.broken.store(true, Ordering::SeqCst);
    let report = replay(&archive, settings_of(2)).await;
    assert_eq!((report.ok, report.failed), (0, 2));
    assert!(!report.is_good());
    assert!(
        report.to_string().contains("status 500, recorded 200"),
        "{report}"
    );
    let none = Checks {
        status: false,
        body: false,
    };
    assert!(replay(
        &archive,
        Settings {
            checks: none,
            ..settings_of(1)
        }
    )
    .await
    .is_good());

    site.broken.store(false, Ordering::SeqCst);
    archive.log.entries[0].response.content.text = Some("newt".into());
    let report = replay(&archive, settings_of(1)).await;
    let problem = report.entries[0].problem.as_deref();
    assert_eq!(
        problem,
        Some("body differs from byte 4 on (4 bytes, recorded 4)")
    );
    assert_eq!(
        report.entries[0].excerpt,
        ["@@ line 1 @@", "-newt", "+news"]
    );
    assert!(report.to_string().contains(&format!("\n{:>47}-newt\n", "")));
    let status = Checks {
        status: true,
        body: false,
    };
    assert!(replay(
        &archive,
        Settings {
            checks: status,
            ..settings_of(1)
        }
    )
    .await
    .is_good());
}

#[tokio::test]
async fn late_answer_and_missing_answer_fail_the_entry() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_, address) = site().await;
    let archive = recorded_news(address).await;
    let to = |address: SocketAddr| Some(format!("http://{address}").parse().unwrap());
    let timeout = Duration::from_millis(50);
    let late = Settings {
        to: to(silent.local_addr().unwrap()),
        timeout,
        ..settings_of(1)
    };
    assert!(replay(&archive, late)
        .await
        .to_string()
        .contains("no answer in 0.05 s"));
    let gone = silent.local_addr().unwrap();
    drop(silent);
    let refused = replay(
        &archive,
        Settings {
            to: to(gone),
            ..settings_of(1)
        },
    )
    .await;
    assert!(
        refused.to_string().contains("cannot connect to"),
        "{refused}"
    );
}

/// Returns a recording of three requests: `/slow` takes 200 ms, `/news` starts 50 ms after the
/// start of `/slow`, and `/echo` starts 100 ms after both have ended.
fn overlapping(archive: &Archive) -> Archive {
    let template = &archive.log.entries[0];
    let entry = |path: &str, start_ms: u64, time: f64| {
        let mut entry = template.clone();
        let base = &template.request.url;
        entry.request.url = base.replace("/news", path);
        entry.started_unix_us = template.started_unix_us + start_ms * 1_000;
        entry.time = time;
        entry.response.content.text = None;
        entry
    };
    Archive::of(vec![
        entry("/slow", 0, 200.0),
        entry("/news", 50, 10.0),
        entry("/echo", 300, 1.0),
    ])
}

#[tokio::test]
async fn think_times_are_kept_and_parallel_requests_stay_parallel() {
    let (site, address) = site().await;
    let archive = overlapping(&recorded_news(address).await);
    site.times.lock().unwrap().clear();
    let begin = Instant::now();
    let report = replay(
        &archive,
        Settings {
            speed: 1.0,
            ..settings_of(1)
        },
    )
    .await;
    assert!(report.is_good(), "{report}");
    let times = site.times.lock().unwrap();
    let order: Vec<&str> = times.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(order, ["/slow", "/news", "/echo"]);
    // The test checks lower bounds from the begin of the replay only: on a busy machine each
    // request may arrive late, the first one too, but none arrives early.
    assert!(times[1].1 - begin >= Duration::from_millis(45));
    assert!(times[2].1 - begin >= Duration::from_millis(290));
}

#[tokio::test]
async fn request_waits_for_the_recorded_earlier_answer_even_without_pauses() {
    let (site, address) = site().await;
    let archive = overlapping(&recorded_news(address).await);
    site.times.lock().unwrap().clear();
    replay(&archive, settings_of(1)).await;
    let times = site.times.lock().unwrap();
    assert_eq!(times[2].0, "/echo");
    assert!(
        times[2].1 - times[0].1 >= Duration::from_millis(195),
        "the slow answer came first"
    );
}

#[tokio::test]
async fn entries_of_other_origins_are_left_out_and_reported() {
    let (_, address) = site().await;
    let mut archive = recorded_news(address).await;
    let mut foreign = archive.log.entries[0].clone();
    foreign.request.url = "http://192.0.2.1/advertisement".into();
    archive.log.entries.push(foreign);
    let report = replay(&archive, settings_of(1)).await;
    assert!(report.is_good());
    assert!(
        report.to_string().contains("1 entries of other origins"),
        "{report}"
    );
}

#[tokio::test]
async fn replay_that_is_stopped_early_reports_the_played_requests() {
    let (_, address) = site().await;
    let archive = overlapping(&recorded_news(address).await);
    let soon = tokio::time::sleep(Duration::from_millis(120));
    let report = play(
        &archive,
        Settings {
            speed: 1.0,
            ..settings_of(1)
        },
        soon,
    )
    .await
    .unwrap();
    assert!(report.interrupted && !report.is_good());
    assert!(report.unplayed >= 1, "{report}");
}

#[tokio::test]
async fn files_that_cannot_be_replayed_are_refused_with_one_line() {
    for (text, why) in [
        ("{", "expected a HAR 1.2 file"),
        (
            "{\"log\":{\"version\":\"2.0\",\"creator\":{}}}",
            "HAR version \"2.0\"",
        ),
    ] {
        let error = Archive::from_json(text, "x.har").unwrap_err().to_string();
        assert!(
            error.starts_with("x.har: ") && error.contains(why),
            "{error}"
        );
        assert!(!error.contains('\n'));
    }
    let empty = Archive::from_json("{\"log\":{\"version\":\"1.2\",\"creator\":{}}}", "x").unwrap();
    let error = play(&empty, settings_of(1), std::future::pending())
        .await
        .unwrap_err();
    assert!(error.contains("no entries"));
    let target = "http://host/path".parse::<Target>().unwrap_err();
    assert!(target.contains("without a path"));
    let checks = "status,boby".parse::<Checks>().unwrap_err();
    assert_eq!(checks, "expected `status`, `body` or `none`, got `boby`");
}
