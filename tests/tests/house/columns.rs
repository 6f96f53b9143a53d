//! Tests that prose fits 100 columns: documents, and comments of source files.

use std::path::{Path, PathBuf};

const MOST: usize = 100;

/// Folders whose files are not checked: builds, programs of other authors, kept inputs.
const FOREIGN: &[&str] = &["target", ".git", "build", "fixtures", "corpus", "results"];

/// Files that another program writes.
const WRITTEN: &[&str] = &["ppport.h", "directives.md", "modperl-behaviours.md"];

/// Documents with wide tables of figures, whose rows may be longer than 100 columns.
const WIDE_TABLES: &[&str] = &["README.md", "bench.md", "lua.md", "measured.md"];

#[test]
fn prose_fits_a_hundred_columns() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    let mut read = 0;
    for file in files(&top) {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        read += 1;
        for (number, line) in long_lines(&file, &text) {
            wrong.push(format!("{}:{number}: {line}", file.display()));
        }
    }
    assert!(read > 500, "only {read} files were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn long_line_is_found_in_prose_and_ignored_in_code() {
    let long = "word ".repeat(30);
    let found = |file: &str, text: &str| long_lines(Path::new(file), text).len();
    for (file, line) in [
        ("a.rs", format!("    /// {long}")),
        ("a.c", format!(" * {long}")),
        ("a.pm", format!("# {long}")),
        ("script", format!("# {long}")),
        ("a.md", long.clone()),
        ("a.md", format!("| {long} | {long} |")),
    ] {
        assert_eq!(found(file, &line), 1, "{file}: {line}");
    }
    for (file, line) in [
        ("a.rs", format!("let text = \"{long}\";")),
        ("a.pm", format!("*$name = sub {{ '{long}' }};")),
        ("a.md", format!("    {long}")),
        ("a.md", format!("```\n{long}\n```")),
        ("a.md", format!("https://{}", "x".repeat(MOST))),
        ("README.md", format!("| {long} | 1 |")),
    ] {
        assert_eq!(found(file, &line), 0, "{file}: {line}");
    }
}

/// Returns the lines of prose that are too long, with their numbers.
fn long_lines<'t>(file: &Path, text: &'t str) -> Vec<(usize, &'t str)> {
    let is_document = file.extension().is_some_and(|end| end == "md");
    let mut in_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        in_code ^= is_document && line.trim_start().starts_with("```");
        let is_prose = if is_document {
            !in_code && is_prose_of_document(file, line)
        } else {
            is_comment(file, line.trim_start())
        };
        if is_prose && line.chars().count() > MOST && !is_one_word(line) {
            found.push((index + 1, line));
        }
    }
    found
}

/// Returns whether a line outside of fences is prose: neither indented code nor a row of a wide
/// table.
fn is_prose_of_document(file: &Path, line: &str) -> bool {
    let may_be_wide = WIDE_TABLES.iter().any(|name| file.ends_with(name));
    !(line.starts_with("    ") || may_be_wide && line.starts_with('|'))
}

/// Returns whether a source line is a comment and nothing else.
fn is_comment(file: &Path, line: &str) -> bool {
    let starts: &[&str] = match file.extension().and_then(|end| end.to_str()) {
        Some("rs" | "js") => &["// ", "/// ", "//! "],
        Some("c" | "h" | "xs" | "css") => &["/* ", "* "],
        Some("pm" | "pl" | "t" | "psgi" | "PL" | "sh" | "toml" | "fcgi") | None => &["# "],
        Some(_) => &[],
    };
    starts.iter().any(|start| line.starts_with(start))
}

/// Returns whether the line cannot be broken, because it is one word after its comment mark, such
/// as a URL.
fn is_one_word(line: &str) -> bool {
    line.split_whitespace()
        .any(|word| word.chars().count() > MOST - 20)
}

/// Returns all files below a folder, without those of the lists above.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the checkout");
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_named = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
        if path.is_symlink() || is_named(FOREIGN) || is_named(WRITTEN) {
            continue;
        } else if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
