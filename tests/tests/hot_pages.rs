//! Counts the pages that a small script writes in each request on the rung `rewind`: the server
//! copies all of them back after each request.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Rung, Server};

/// A hello page wrote to 25 pages before the server brought together what each request writes.
const MOST: u64 = 20;

fn hot_pages(conf: &str) -> u64 {
    let server = Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf(conf)
        .env("MEHARI_REWIND_COMPARE", "1")
        .env("PASSED_ON", "a value")
        .file("scripts/hello.pl", &plain("print 'hello';"))
        .start();
    for _ in 0..17 {
        let answer = server.get(&Rung::Rewind.url("hello.pl"));
        assert_eq!(answer.expect(200), "hello");
    }
    assert_eq!(server.log.count("not as they were"), 0);
    let pages = &server.status()["pool"]["scripts"][0]["hot_pages"];
    pages.as_u64().expect("a number")
}

/// Returns the least of eight servers' counts. The addresses of a process decide which data share a
/// page, so the counts of two servers differ by up to four.
fn least_hot_pages(conf: &str) -> u64 {
    let counts = (0..8).map(|_| hot_pages(conf));
    counts.min().expect("eight counts")
}

#[test]
fn hello_page_writes_to_few_pages() {
    let pages = hot_pages("");
    assert!(pages <= MOST, "{pages} pages");
}

/// DBI has an END block, which would write to about twenty pages (perl/xs/script/ends.c).
#[test]
fn script_without_a_database_writes_no_more_pages_with_dbi_preloaded() {
    mehari_harness::needs!("libdbi-perl");
    let (with, without) = (least_hot_pages("PerlModule DBI\n"), least_hot_pages(""));
    assert!(with <= without + 4, "{with} with DBI, {without} without");
}

/// The process has such a variable before its first request.
#[test]
fn variable_of_the_environment_that_is_passed_on_is_not_written() {
    let passes = "PassEnv PASSED_ON\nPerlPassEnv PASSED_ON\n";
    let (with, without) = (least_hot_pages(passes), least_hot_pages(""));
    assert!(with <= without + 1, "{with} with it, {without} without");
}
