//! The documented behaviours of mod_perl, one row each, run on Mehari and on Apache with mod_perl.
//!
//! `tests/behaviours/*.rows` hold the rows. A file stands for one page of mod_perl's documentation;
//! a row is a piece of Perl (or a configuration) and requests. Both servers must answer a row
//! alike, unless the row is marked `@differs`; the answers to a marked row must differ.
//! docs/reference/modperl-behaviours.md is the table of all rows. Three environment variables
//! change the run:
//!
//! * `MEHARI_BEHAVIOURS=WORD` runs the rows with the word in their page or title;
//! * `MEHARI_SHOW_MARKED=1`, with `--nocapture`, prints the answers of the marked rows;
//! * `MEHARI_WRITE_TABLE=1` writes the table instead of comparing it.

mod compare;
mod row;
mod site;
mod table;

use mehari_harness::{apache, needs};
use row::Row;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("behaviours")
}

/// All rows, or those selected by the environment.
fn rows() -> Vec<Row> {
    let word = std::env::var("MEHARI_BEHAVIOURS").unwrap_or_default();
    let mut rows = row::read_all(&folder());
    rows.retain(|row| row.name().contains(&word));
    rows
}

#[test]
fn documented_behaviours_are_the_same_as_under_mod_perl() {
    if !needs::packages(&apache::PACKAGES) {
        return;
    }
    let rows = rows();
    let mut servers: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        servers.entry(row.server_name()).or_default().push(row);
    }
    let wrong: Vec<String> = servers
        .values()
        .flat_map(|rows| compare::run(rows))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} rows:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_table_of_behaviours_is_up_to_date() {
    let path = folder().join("../../docs/reference/modperl-behaviours.md");
    let text = table::of(&row::read_all(&folder()));
    if std::env::var_os("MEHARI_WRITE_TABLE").is_some() {
        std::fs::write(&path, &text).expect("the table can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/reference/modperl-behaviours.md is not what the rows say; MEHARI_WRITE_TABLE=1 writes it"
    );
}
