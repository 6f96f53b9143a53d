//! Tests names: a bare word is the name of at most one type of the repository, and each path in
//! ARCHITECTURE.md leads to a file.

use super::tokens::tokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Bare words: alone, they do not say what a type is. Beside such a word, the name of a type needs
/// a noun.
const BARE: &[&str] = &[
    "About", "Asked", "Ended", "Entry", "Exchange", "Found", "Given", "Heard", "Held", "Info",
    "Kept", "Kind", "Known", "Led", "Made", "Outcome", "Part", "Place", "Question", "Said", "Seen",
    "State", "Thing", "Told", "Whole", "Wrong",
];

/// The words that introduce a type.
const TYPES: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// Folders whose files ARCHITECTURE.md names by their last part, such as `framing.rs`.
const ROOTS: &[&str] = &[
    "server",
    "mehari",
    "bench",
    "pages",
    "perl",
    "tests",
    "packaging",
];

#[test]
fn bare_word_names_one_type_at_most() {
    let mut found = BTreeMap::new();
    let mut read = 0;
    for root in ["bench", "fuzz", "mehari", "pages", "server", "tests"] {
        for file in files(&top().join(root)) {
            if file.extension().is_some_and(|end| end == "rs") {
                read += 1;
                note_types(&file, &text(&file), &mut found);
            }
        }
    }
    assert!(read > 500, "only {read} sources were read");
    let wrong: Vec<String> = found
        .iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(word, files)| format!("{word}: {}", files.join(", ")))
        .collect();
    assert!(wrong.is_empty(), "types need names:\n{}", wrong.join("\n"));
}

#[test]
fn second_type_of_a_bare_word_is_found() {
    let mut found = BTreeMap::new();
    let file = Path::new("a.rs");
    note_types(file, "pub struct Known<'a> { at: &'a str }", &mut found);
    note_types(
        file,
        "// struct Known;\nenum Login { Known(u8) }",
        &mut found,
    );
    assert_eq!(
        found["Known"].len(),
        1,
        "comments and variants are no types"
    );
    note_types(file, "pub(crate) type Known = u8;", &mut found);
    assert_eq!(found["Known"].len(), 2);
}

#[test]
fn each_path_in_the_architecture_leads_to_a_file() {
    let document = text(&top().join("ARCHITECTURE.md"));
    let names = paths(&document);
    assert!(names.len() > 60, "only {} paths were found", names.len());
    let all = all_files();
    let missing = names.into_iter().filter(|name| !exists(name, &all));
    let missing: Vec<&str> = missing.collect();
    assert!(missing.is_empty(), "no such files: {missing:?}");
}

#[test]
fn path_of_a_missing_file_is_found() {
    let all = all_files();
    for name in ["server/http/src/http1/framing.rs", "framing.rs", "perl/xs/"] {
        assert!(exists(name, &all), "{name}");
    }
    for name in [
        "server/http/src/http1/frame.rs",
        "no_such_file.rs",
        "perl/no/",
    ] {
        assert!(!exists(name, &all), "{name}");
    }
    assert_eq!(
        paths("`a/b.rs` (`x`), `c.c`; `d`\n`perl/f/`"),
        ["a/b.rs", "c.c", "perl/f/"]
    );
}

/// Adds the types of a source that have a bare word as their name.
fn note_types(file: &Path, source: &str, found: &mut BTreeMap<String, Vec<String>>) {
    for pair in tokens(source).windows(2) {
        if TYPES.contains(&pair[0]) && BARE.contains(&pair[1]) {
            let files = found.entry(pair[1].to_string()).or_default();
            files.push(file.display().to_string());
        }
    }
}

/// Returns the file names and folders between backquotes.
fn paths(document: &str) -> Vec<&str> {
    let quoted = document.split('`').skip(1).step_by(2);
    quoted.filter(|text| is_path(text)).collect()
}

fn is_path(text: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./".contains(one);
    let is_file = [".rs", ".c", ".h", ".pm", ".pl"]
        .iter()
        .any(|end| text.ends_with(end));
    let is_folder = text.ends_with('/') && ROOTS.iter().any(|root| text.starts_with(root));
    text.chars().all(is_plain) && (is_file || is_folder)
}

/// Returns whether a file of the repository has this path, or a path that ends with it.
fn exists(name: &str, all: &[PathBuf]) -> bool {
    top().join(name).exists() || all.iter().any(|file| file.ends_with(name))
}

fn all_files() -> Vec<PathBuf> {
    let roots = ROOTS.iter().map(|root| top().join(root));
    roots.flat_map(|root| files(&root)).collect()
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the files below a folder, without those that a build writes.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("target") && !path.ends_with("build") {
            found.extend(files(&path));
        }
    }
    found
}
