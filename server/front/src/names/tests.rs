//! Questions and what is remembered of the answers, with a resolver of the test's own.

use super::{Answer, Name, Names, Question, AT_ONCE};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(120);

fn within<R>(what: impl std::future::Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, what)
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn name(text: &str) -> Answer {
    Answer::Name(Some(Name {
        text: text.into(),
        is_confirmed: true,
    }))
}

#[test]
fn an_answer_is_asked_for_once() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let names = Names::with(
        |_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            name("a.example")
        },
        LONG,
    );
    let question = Question::NameOf(address(1));
    within(async {
        assert!(names.known(&question).is_none());
        for _ in 0..3 {
            let said = names.known(&question);
            let said = match said {
                Some(said) => said,
                None => names.ask(&question).await,
            };
            assert_eq!(*said, name("a.example"));
        }
    });
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
}

/// Resolvers that wait until the test lets them go.
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn slow(_: &Question) -> Answer {
    let open = GATE.0.lock().expect("never poisoned");
    drop(GATE.1.wait_while(open, |open| !*open));
    name("late.example")
}

#[test]
fn who_takes_too_long_has_failed_and_what_comes_later_is_kept() {
    let names = Names::with(slow, Duration::from_millis(20));
    within(async {
        // More than are asked at once: nobody waits for longer than the patience.
        for last in 0..=AT_ONCE as u8 {
            let said = names.ask(&Question::NameOf(address(last))).await;
            assert_eq!(*said, Answer::Failed, "{last}");
        }
        let first = Question::NameOf(address(0));
        assert_eq!(names.known(&first).as_deref(), Some(&Answer::Failed));
        *GATE.0.lock().expect("never poisoned") = true;
        GATE.1.notify_all();
        let kept = async {
            while names.known(&first).as_deref() != Some(&name("late.example")) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let came = tokio::time::timeout(LONG, kept).await;
        assert!(came.is_ok(), "what comes later is not kept");
    });
}
