//! The short form of fuzz/run for `make test`. It runs the whole corpora, and then mutations from a
//! new seed for a moment.

use mehari_fuzz::{corpus, live, mutate::Random, targets};
use std::time::{Duration, UNIX_EPOCH};

fn random() -> Random {
    let seed = UNIX_EPOCH
        .elapsed()
        .map_or(1, |time| time.as_nanos() as u64);
    println!("seed {seed}");
    Random::new(seed)
}

#[test]
fn parsers_survive_malformed_input() {
    let mut random = random();
    for target in targets::ALL {
        if let Err(input) = target.run(Duration::from_millis(400), &mut random) {
            let kept = corpus::keep(target.name, &input);
            panic!("{}: {}", target.name, kept.display());
        }
    }
}

#[test]
fn the_server_survives_malformed_clients() {
    if let Err((why, input)) = live::run(Duration::from_secs(3), &mut random()) {
        panic!("{why}: {}", corpus::keep("live", &input).display());
    }
}
