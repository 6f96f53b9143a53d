//! Tests that the configurations in the documents are valid.

use mehari_config::Site;
use std::path::{Path, PathBuf};

/// Returns the blocks of a document in Apache's language, with the numbers of their first lines.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut block, line) {
            (None, "```apache") => block = Some((number + 2, String::new())),
            (Some(_), "```") => found.extend(block.take()),
            (Some((_, lines)), line) => *lines += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    found
}

/// Returns all documents below a folder.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("docs/") {
        let path = entry.expect("a document").path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_configuration_of_the_documents_is_read_without_a_problem() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folder = tempfile::tempdir().expect("a folder");
    let conf = folder.path().join("site.conf");
    let mut read = 0;
    for path in documents(&docs) {
        let text = std::fs::read_to_string(&path).expect("a document");
        for (line, block) in blocks(&text) {
            std::fs::write(&conf, block).expect("written");
            if let Err(problems) = Site::load(&conf, &[]) {
                panic!("{}, line {line} on: {problems}", path.display());
            }
            read += 1;
        }
    }
    assert!(read > 5, "{read} blocks");
}

#[test]
fn a_comment_behind_a_directive_is_a_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let conf = folder.path().join("site.conf");
    for line in [
        "KeepAlive On # always",
        "MaxRequestWorkers 4 #four",
        "Timeout # soon",
    ] {
        std::fs::write(&conf, format!("{line}\n")).expect("written");
        let told = Site::load(&conf, &[]).expect_err("a problem").to_string();
        assert!(
            told.contains("; a comment needs a line of its own"),
            "{line}: {told}"
        );
    }
}
