//! The scripts of a run, each with its request and with what a fresh perl answers.

use crate::deeds;
use crate::dice::Dice;
use crate::{made, site};
use mehari_harness::fresh::{self, Fresh};
use mehari_harness::{Request, Rung, Server};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// A script, and its answer by a fresh perl.
pub struct DirtyPage {
    pub name: String,
    pub fresh: Fresh,
}

/// Returns a script's request. Scripts that read their input get some.
pub fn request(name: &str, rung: Rung) -> Request {
    let target = format!("{}?n=7", rung.url(name));
    if name.starts_with("made") || name.contains("stdin") {
        Request::post(&target, "first line\nsecond line\n")
    } else {
        Request::get(&target)
    }
}

/// Starts a server for the made-up scripts and those of tests/fixtures/dirty.
pub fn serve(dice: &mut Dice) -> (Server, Vec<DirtyPage>) {
    let scripts = deeds::scripts(dice);
    let server = site(&scripts)
        .fixtures("dirty")
        .conf("Timeout 60\nWorkerQueueTimeout 60\nWorkerQueueTarget Off\n")
        .start();
    let mut names: Vec<String> = std::fs::read_dir(server.site.path("scripts"))
        .expect("the corpus was copied")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".pl") && !name.starts_with("made"))
        .collect();
    names.sort();
    assert!(names.len() >= 90, "the corpus has {} scripts", names.len());
    names.extend((0..scripts.len()).map(made));
    let pages = run_fresh(&server, names);
    (server, pages)
}

fn run_fresh(server: &Server, names: Vec<String>) -> Vec<DirtyPage> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let path = server.site.path(&format!("scripts/{name}"));
                    let fresh = fresh::run(&path, Rung::Rewind, &request(name, Rung::Rewind));
                    let name = name.clone();
                    let mut found = found.lock().expect("no panic under the lock");
                    found.push(DirtyPage { name, fresh });
                }
            });
        }
    });
    let mut pages = found.into_inner().expect("no panic under the lock");
    // The same seed must lead to the same scripts.
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    pages
}
