//! Tests isolation with a corpus of scripts that change global state. The scripts run interleaved
//! in random order.
//!
//! `cgi` and `fork` give each request a process of its own. `rewind` and `auto` promise the same
//! effect. On these rungs a response must equal the response of a new perl process byte for byte.
//! On the other rungs a script may affect later runs of itself, but no other script.

use mehari_harness::answer::Essence;
use mehari_harness::fresh::{self, Fresh};
use mehari_harness::{Answer, Request, Rung, Server};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

const ROUNDS: u32 = 3;
const CONCURRENCY: usize = 4;
const CLEAN: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\nclean\";\n";

fn server() -> Server {
    Server::builder()
        .fixtures("dirty")
        .file("scripts/clean.pl", CLEAN)
        .ladder()
        .env("MEHARI_REWIND_COMPARE", "1")
        .conf("StartServers 4\nMinSpareServers 4\nMaxSpareServers 4\nMaxRequestWorkers 4\nTimeout 30\n")
        .start()
}

fn corpus(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the corpus was copied")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".pl") && name != "clean.pl")
        .collect();
    names.sort();
    assert!(names.len() >= 200, "the corpus has {} scripts", names.len());
    names
}

/// Returns a third of the corpus, chosen at random. A test that asks every script on many rungs
/// would take too long.
fn part_of_corpus(folder: &Path) -> Vec<String> {
    let mut names = corpus(folder);
    shuffle(&mut names);
    names.truncate(names.len() / 3);
    names
}

/// One request: the script, the rung, and the number that the request carries.
#[derive(Debug, Clone)]
struct Visit {
    script: String,
    rung: Rung,
    number: u32,
}

impl Visit {
    fn request(&self) -> Request {
        let target = format!("{}?n={}", self.rung.url(&self.script), self.number);
        if self.script.contains("stdin") {
            Request::post(&target, format!("first {0}\nsecond {0}\n", self.number))
        } else {
            Request::get(&target)
        }
    }
}

/// Returns a visit for every script on each rung, `ROUNDS` times, in random order. The seed is
/// printed. The same seed in `MEHARI_TEST_SEED` repeats the order.
fn visits(scripts: &[String], rungs: &[Rung]) -> Vec<Visit> {
    let mut visits = Vec::new();
    for round in 0..ROUNDS {
        for script in scripts {
            for &rung in rungs {
                visits.push(Visit {
                    script: script.clone(),
                    rung,
                    number: 7 + round,
                });
            }
        }
    }
    shuffle(&mut visits);
    visits
}

fn shuffle<T>(items: &mut [T]) {
    let seed = match std::env::var("MEHARI_TEST_SEED") {
        Ok(text) => text.parse().expect("MEHARI_TEST_SEED is a number"),
        Err(_) => std::time::UNIX_EPOCH
            .elapsed()
            .map_or(1, |time| time.as_nanos() as u64),
    };
    println!("MEHARI_TEST_SEED={seed}");
    let mut state = seed | 1;
    for at in (1..items.len()).rev() {
        // xorshift64 is a generator that gives the same sequence for the same seed.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(at, (state % (at as u64 + 1)) as usize);
    }
}

/// Applies `work` to every item in order, `CONCURRENCY` items at a time. Returns the texts that
/// `work` returns.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let complaints = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENCY {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(complaint) = work(item) {
                        complaints
                            .lock()
                            .expect("no panic under the lock")
                            .push(complaint);
                    }
                }
            });
        }
    });
    complaints.into_inner().expect("no panic under the lock")
}

/// The results of new perl processes, computed once for each script and number.
#[derive(Default)]
struct Expected(Mutex<HashMap<(String, u32), Fresh>>);

impl Expected {
    fn of(&self, folder: &Path, visit: &Visit) -> Fresh {
        let key = (visit.script.clone(), visit.number);
        if let Some(known) = self.0.lock().expect("no panic under the lock").get(&key) {
            return known.clone();
        }
        let found = fresh::run(&folder.join(&visit.script), visit.rung, &visit.request());
        self.0
            .lock()
            .expect("no panic under the lock")
            .insert(key, found.clone());
        found
    }
}

/// Returns the difference between a response and the result of a new process, or `None`.
fn difference(visit: &Visit, fresh: &Fresh, answer: &Answer) -> Option<String> {
    let got = answer.essence();
    (!fresh.allows(answer)).then(|| report(visit, fresh.essence().as_ref(), &got))
}

fn report(visit: &Visit, expected: Option<&Essence>, got: &Essence) -> String {
    let expected = match expected {
        Some(essence) => format!("{essence:?}"),
        None => "500 or 502, for it prints no header".to_owned(),
    };
    format!("{visit:?}\n  fresh:  {expected}\n  server: {got:?}")
}

/// Runs the scripts on all of `rungs`, interleaved, and compares the responses of the rungs in
/// `compared`.
fn answers_equal_those_of_fresh_processes(compared: &[Rung], rungs: &[Rung]) {
    let server = server();
    let folder = server.site.path("scripts");
    let is_small = rungs.len() == 1;
    let scripts = if is_small { corpus } else { part_of_corpus };
    let visits = visits(&scripts(&folder), rungs);
    visit_and_compare(&server, &visits, compared);
}

fn visit_and_compare(server: &Server, visits: &[Visit], compared: &[Rung]) {
    let folder = server.site.path("scripts");
    let expected = Expected::default();
    let wrong = in_parallel(visits, |visit| {
        let answer = server.connect().send(&visit.request().closing());
        if !compared.contains(&visit.rung) {
            return None;
        }
        match answer {
            Ok(answer) => difference(visit, &expected.of(&folder, visit), &answer),
            Err(error) => Some(format!("{visit:?}: {error}")),
        }
    });
    assert!(
        wrong.is_empty(),
        "{} answers differ:\n{}\n--- the log\n{}",
        wrong.len(),
        wrong.join("\n"),
        server.log.text()
    );
    assert_eq!(server.log.count("not as they were"), 0);
}

/// A script's process is rewound many times before its worker gets another script.
#[test]
fn rewound_process_always_answers_like_a_new_one() {
    let server = server();
    let scripts = corpus(&server.site.path("scripts"));
    let once = visits(&scripts, &[Rung::Rewind]);
    let often: Vec<Visit> = once.iter().flat_map(|it| vec![it.clone(); 3]).collect();
    visit_and_compare(&server, &often, &[Rung::Rewind]);
}

#[test]
fn isolated_rungs_always_answer_like_a_new_process() {
    answers_equal_those_of_fresh_processes(&Rung::ISOLATED, &Rung::ISOLATED);
}

#[test]
fn isolated_rungs_answer_like_a_new_process_beside_changed_workers() {
    answers_equal_those_of_fresh_processes(&Rung::ISOLATED, &Rung::ALL);
}

#[test]
fn auto_answers_like_a_fresh_process() {
    answers_equal_those_of_fresh_processes(&[Rung::Auto], &[Rung::Auto]);
}

#[test]
fn script_that_changes_its_process_harms_no_other_script_on_any_rung() {
    let server = server();
    let folder = server.site.path("scripts");
    let visits = visits(&part_of_corpus(&folder), &Rung::ALL);
    let wrong = in_parallel(&visits, |visit| {
        // The content of this response does not matter, but there must be a response.
        let mut connection = server.connect();
        let request = visit.request().closing();
        if let Err(error) = connection.send(&request) {
            return Some(format!("{visit:?}: {error}"));
        }
        let clean = server.get(&visit.rung.url("clean.pl"));
        (clean.status != 200 || clean.text() != "clean").then(|| {
            format!(
                "after {visit:?} clean.pl answers {} {:?}",
                clean.status,
                clean.text()
            )
        })
    });
    assert!(
        wrong.is_empty(),
        "{} of {} went wrong:\n{}",
        wrong.len(),
        visits.len(),
        wrong.join("\n")
    );
}
