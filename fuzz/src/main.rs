//! The program `mehari-fuzz SECONDS [SEED [TARGET]]`. It spends half of the time on the parsers and
//! half on a live server, or the whole time on one target.

use mehari_fuzz::{corpus, live, mutate::Random, targets};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

const LIVE: &str = "live";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |place: usize| words.get(place).map(String::as_str);
    let Some(seconds) = word(0).and_then(|word| word.parse::<f64>().ok()) else {
        eprintln!("usage: mehari-fuzz SECONDS [SEED [TARGET]]");
        return ExitCode::from(2);
    };
    let now = || {
        UNIX_EPOCH
            .elapsed()
            .map_or(1, |time| time.as_nanos() as u64)
    };
    let seed = word(1).and_then(|word| word.parse().ok());
    let seed = seed.unwrap_or_else(now);
    println!("seed {seed}");
    let wanted = word(2);
    let names = || targets::ALL.iter().map(|target| target.name);
    if let Some(unknown) = wanted.filter(|name| *name != LIVE && names().all(|it| it != *name)) {
        let all: Vec<_> = names().chain([LIVE]).collect();
        let all = all.join(", ");
        eprintln!("mehari-fuzz: there is no target `{unknown}`; expected one of {all}");
        return ExitCode::from(2);
    }
    let is_wanted = |name: &str| wanted.is_none_or(|it| it == name);
    let (parsers, server) = match wanted {
        Some(_) => (seconds, seconds),
        None => (seconds / 2.0 / targets::ALL.len() as f64, seconds / 2.0),
    };
    let mut random = Random::new(seed);
    let mut failed = false;
    // A panicking target prints its message to stderr. Its input is kept in a file.
    for target in targets::ALL.iter().filter(|it| is_wanted(it.name)) {
        match target.run(Duration::from_secs_f64(parsers), &mut random) {
            Ok(count) => println!("{}: {count} inputs", target.name),
            Err(input) => {
                failed = true;
                let kept = corpus::keep(target.name, &input);
                println!("{}: FAILED, the input is {}", target.name, kept.display());
            }
        }
    }
    if is_wanted(LIVE) {
        match live::run(Duration::from_secs_f64(server), &mut random) {
            Ok(count) => println!("live: {count} connections"),
            Err((why, input)) => {
                failed = true;
                let kept = corpus::keep(LIVE, &input);
                println!("live: FAILED, {why}; the input is {}", kept.display());
            }
        }
    }
    ExitCode::from(u8::from(failed))
}
