//! The program `mehari-fuzz SECONDS [SEED]`. It spends half of the time on the parsers and half on
//! a live server.

use mehari_fuzz::{corpus, live, mutate::Random, targets};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(seconds) = words.next().and_then(|word| word.parse::<f64>().ok()) else {
        eprintln!("usage: mehari-fuzz SECONDS [SEED]");
        return ExitCode::from(2);
    };
    let seed = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| {
            UNIX_EPOCH
                .elapsed()
                .map_or(1, |time| time.as_nanos() as u64)
        });
    println!("seed {seed}");
    let share = Duration::from_secs_f64(seconds / 2.0 / targets::ALL.len() as f64);
    let mut random = Random::new(seed);
    let mut failed = false;
    // A panicking target prints its message to stderr. Its input is kept in a file.
    for target in targets::ALL {
        match target.run(share, &mut random) {
            Ok(count) => println!("{}: {count} inputs", target.name),
            Err(input) => {
                failed = true;
                let kept = corpus::keep(target.name, &input);
                println!("{}: FAILED, the input is {}", target.name, kept.display());
            }
        }
    }
    match live::run(Duration::from_secs_f64(seconds / 2.0), &mut random) {
        Ok(count) => println!("live: {count} connections"),
        Err((why, input)) => {
            failed = true;
            let kept = corpus::keep("live", &input);
            println!("live: FAILED, {why}; the input is {}", kept.display());
        }
    }
    ExitCode::from(u8::from(failed))
}
