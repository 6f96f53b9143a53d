//! The isolation corpus in random order on the rungs `rewind` and `auto`. What each script prints
//! must be what a fresh perl prints.
//!
//! `made_up_...` asks scripts of several dirty deeds each, chosen at random (deeds.rs).
//! `corpus_...` asks the scripts of tests/fixtures/dirty too, while processes are killed, the site
//! is reloaded and clients leave (upheaval.rs). tests/corpus makes this run long.
//!
//! Variables of the environment: `MEHARI_TEST_SEED` repeats a run. `MEHARI_TEST_REQUESTS` and
//! `MEHARI_TEST_SECONDS` say when it ends, and `MEHARI_TEST_SKIP` leaves out the requests that a
//! stopped run has asked. With `MEHARI_TEST_COMPARE=0` the memory is not compared after each
//! rewind, which is faster.

mod dealer;
mod deeds;
mod dice;
mod figures;
mod pages;
mod upheaval;

use dice::{number_of, Dice};
use mehari_harness::fresh;
use mehari_harness::scripts::workers;
use mehari_harness::{Builder, Request, Rung, Server};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A site of three workers that serves the scripts with these texts as `made0.pl` and so on.
fn site(scripts: &[String]) -> Builder {
    let compare = number_of("MEHARI_TEST_COMPARE").unwrap_or(1);
    let mut builder = Server::builder()
        .ladder()
        .conf(&workers(3))
        .env("MEHARI_REWIND_COMPARE", &compare.to_string());
    for (number, text) in scripts.iter().enumerate() {
        builder = builder.file(&format!("scripts/{}", made(number)), text);
    }
    builder
}

fn made(number: usize) -> String {
    format!("made{number}.pl")
}

#[test]
fn made_up_dirty_scripts_answer_like_a_fresh_process() {
    let mut dice = Dice::thrown();
    let scripts = deeds::scripts(&mut dice);
    let server = site(&scripts).start();
    let request = |number: usize, rung: Rung| {
        Request::post(&rung.url(&made(number)), "what the client sends\n")
    };
    let expected: Vec<_> = (0..scripts.len())
        .map(|number| {
            let path = server.site.path(&format!("scripts/{}", made(number)));
            fresh::run(&path, Rung::Rewind, &request(number, Rung::Rewind))
        })
        .collect();
    let order: Vec<usize> = (0..scripts.len() * 4)
        .map(|_| dice.below(scripts.len()))
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(&number) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let rung = [Rung::Rewind, Rung::Auto][number % 2];
                    let answer = server.send(&request(number, rung));
                    let fresh = expected[number].essence();
                    assert_eq!(Some(answer.essence()), fresh, "{}", scripts[number]);
                }
            });
        }
    });
    assert_eq!(server.log.count("not as they were"), 0);
}
