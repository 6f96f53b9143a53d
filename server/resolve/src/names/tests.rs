//! Tests queries and remembered answers, with a resolver of the test.

use super::{Answer, Name, Names, Query, AT_ONCE};
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
fn a_remembered_answer_is_not_asked_again() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let names = Names::with(
        |_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            name("a.example")
        },
        LONG,
    );
    let query = Query::NameOf(address(1));
    within(async {
        assert!(names.known(&query).is_none());
        for _ in 0..3 {
            let said = names.known(&query);
            let said = match said {
                Some(said) => said,
                None => names.ask(&query).await,
            };
            assert_eq!(*said, name("a.example"));
        }
    });
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
}

/// The gate at which resolvers wait until the test opens it.
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn slow(_: &Query) -> Answer {
    let open = GATE.0.lock().expect("never poisoned");
    drop(GATE.1.wait_while(open, |open| !*open));
    name("late.example")
}

#[test]
fn a_late_answer_fails_its_request_and_is_kept_for_the_next() {
    let names = Names::with(slow, Duration::from_millis(20));
    within(async {
        // More queries than run at once. No request waits longer than the limit.
        for last in 0..=AT_ONCE as u8 {
            let said = names.ask(&Query::NameOf(address(last))).await;
            assert_eq!(*said, Answer::Failed, "{last}");
        }
        let first = Query::NameOf(address(0));
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

/// The number of lookups of names that have waited at the gate.
static ASKED: AtomicUsize = AtomicUsize::new(0);
static SLOW_GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn slow_for_names(query: &Query) -> Answer {
    if let Query::AddressesOf(_) = query {
        return Answer::Addresses(Vec::new());
    }
    ASKED.fetch_add(1, Ordering::Relaxed);
    let open = SLOW_GATE.0.lock().expect("never poisoned");
    drop(SLOW_GATE.1.wait_while(open, |open| !*open));
    name("slow.example")
}

#[test]
fn a_slow_name_does_not_delay_lookups_of_another_kind() {
    let names = Names::with(slow_for_names, LONG);
    let one = Query::NameOf(address(1));
    within(async {
        let many = async {
            let asking = (0..3 * AT_ONCE).map(|_| names.ask(&one));
            for said in join_all(asking).await {
                assert_eq!(*said, name("slow.example"));
            }
        };
        let others = async {
            // Different names take all turns of their kind.
            let impatient = (2..2 * AT_ONCE as u8).map(|last| {
                let query = Query::NameOf(address(last));
                let names = &names;
                async move {
                    let wait = Duration::from_millis(20);
                    drop(tokio::time::timeout(wait, names.ask(&query)).await);
                }
            });
            join_all(impatient).await;
            let said = names.ask(&Query::AddressesOf("a.example".into())).await;
            assert_eq!(*said, Answer::Addresses(Vec::new()));
            assert_eq!(ASKED.load(Ordering::Relaxed), AT_ONCE);
            *SLOW_GATE.0.lock().expect("never poisoned") = true;
            SLOW_GATE.1.notify_all();
        };
        tokio::join!(many, others);
    });
    // A query was not run if no request waited for it any more.
    assert_eq!(ASKED.load(Ordering::Relaxed), AT_ONCE);
}

async fn join_all<F: std::future::Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (one, done) in all.iter_mut().zip(&mut done) {
            if done.is_none() {
                if let std::task::Poll::Ready(output) = one.as_mut().poll(cx) {
                    *done = Some(output);
                }
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[test]
fn remembered_failures_are_bounded() {
    let names = Names::with(|_| Answer::Failed, LONG);
    for number in 0..=super::ANSWERS as u32 {
        let query = Query::NameOf(IpAddr::from(number.to_be_bytes()));
        names.book.keep(&query, Answer::Failed);
    }
    assert!(names.book.known.borrow().len() <= super::ANSWERS);
}
