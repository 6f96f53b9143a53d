//! The documents: each block of code runs, each link leads somewhere, the reference is complete.
//!
//! A page is a session in a folder of its own: its blocks run in their order. `block.rs` says which
//! kinds of blocks a page may have, `session.rs` runs them, `expected.rs` compares their output.

mod block;
mod expected;
mod links;
mod reference;
mod session;
mod transcript;

use mehari_harness::binary::workspace;
use mehari_harness::needs;
use session::Session;
use std::path::{Path, PathBuf};

/// Documents that a program writes, or that hold nothing but figures. Their blocks are tables.
const WRITTEN: &[&str] = &[
    "docs/reference/commands.md",
    "docs/reference/directives.md",
    "docs/reference/measured.md",
    "docs/reference/modperl-behaviours.md",
];

#[test]
fn every_block_of_the_documents_is_run_loaded_or_an_illustration() {
    let mut wrong = Vec::new();
    for page in code_pages() {
        wrong.extend(block::problems(&page, &read(&page)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tutorials_run_as_printed() {
    run_pages("docs/tutorial");
}

#[test]
fn guides_run_as_printed() {
    run_pages("docs/how-to");
}

#[test]
fn examples_of_the_reference_run_as_printed() {
    run_pages("docs/reference");
}

#[test]
fn examples_of_the_explanations_run_as_printed() {
    run_pages("docs/explanation");
}

#[test]
fn readme_runs_as_printed() {
    run_pages("README.md");
}

/// docs/terminal.svg shows the site of README.md, as its commands print it.
#[test]
fn picture_of_the_readme_is_what_the_commands_print() {
    let mut blocks = block::blocks(&read("README.md"));
    blocks.push(block::picture(&read("docs/terminal.svg")));
    if let Err(problem) = Session::run(&blocks) {
        panic!("{problem}");
    }
}

/// Each figure of README.md's table stands in docs/reference/measured.md.
#[test]
fn figures_of_the_readme_are_measured() {
    let measured = read("docs/reference/measured.md");
    let text = read("README.md");
    let cells = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('|').map(str::trim));
    let figures: Vec<&str> = cells
        .filter(|cell| cell.starts_with(|sign: char| sign.is_ascii_digit()))
        .collect();
    assert!(figures.len() >= 18, "{figures:?}");
    for figure in figures {
        assert!(measured.contains(figure), "{figure} was never measured");
    }
}

#[test]
fn readme_is_read_in_a_minute() {
    assert!(read("README.md").lines().count() < 120);
}

/// Runs the pages whose paths begin so. `MEHARI_PAGE=how-to/redis` chooses one.
fn run_pages(start: &str) {
    let only = std::env::var("MEHARI_PAGE").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in code_pages() {
        if !page.starts_with(start) || !page.contains(&only) {
            continue;
        }
        seen += 1;
        let text = read(&page);
        let packages = block::needs(&text);
        if !packages.is_empty() && !needs::packages(&packages) {
            continue;
        }
        if let Err(problem) = Session::run(&block::blocks(&text)) {
            wrong.push(format!("{page}, {problem}"));
        }
    }
    assert!(seen > 0 || !only.is_empty(), "no page below {start}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The documents with code, as paths from the top of the checkout.
fn code_pages() -> Vec<String> {
    let mut pages = documents();
    pages.retain(|page| !WRITTEN.contains(&page.as_str()));
    pages
}

/// README.md and the documents below docs/.
fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    add_documents(Path::new("docs"), &mut found);
    found.sort();
    assert!(found.len() > 20, "only {} documents", found.len());
    found
}

fn add_documents(folder: &Path, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(workspace().join(folder)).expect("a folder of documents");
    for entry in entries {
        let path = folder.join(entry.expect("an entry").file_name());
        if workspace().join(&path).is_dir() {
            add_documents(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path.display().to_string());
        }
    }
}

fn read(page: &str) -> String {
    let path: PathBuf = workspace().join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
