//! Finds the functions, constants and macros of a test program, and which of them a test reaches.
//! An item reaches each item that its tokens can name.

use super::tokens::with_strings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The items of a test program, by their names.
#[derive(Debug, Default)]
pub struct Items(BTreeMap<String, Vec<Item>>);

#[derive(Debug)]
pub struct Item {
    pub name: String,
    /// All tokens after the name.
    pub tokens: Vec<String>,
    file: PathBuf,
    is_public: bool,
    is_test: bool,
}

impl Items {
    /// Adds the items of a source.
    pub fn read(&mut self, file: &Path, source: &str) {
        let tokens = with_strings(source);
        let (mut at, mut is_test) = (0, false);
        while at < tokens.len() {
            is_test |= tokens[at..].starts_with(&["#", "[", "test", "]"]);
            let Some((name, end)) = item_at(&tokens, at) else {
                at += 1;
                continue;
            };
            let item = Item {
                name: tokens[name].to_owned(),
                tokens: tokens[name + 1..end]
                    .iter()
                    .map(|one| one.to_string())
                    .collect(),
                file: file.to_owned(),
                is_public: is_public(&tokens[..at]),
                is_test,
            };
            self.0.entry(item.name.clone()).or_default().push(item);
            (at, is_test) = (end, false);
        }
    }

    /// Returns the tests in the order of their names.
    pub fn tests(&self) -> impl Iterator<Item = &Item> {
        let all = self.0.values().flatten();
        all.filter(|item| item.is_test)
    }

    /// Returns an item and the items that it reaches.
    pub fn reached_from<'i>(&'i self, start: &'i Item) -> Vec<&'i Item> {
        let (mut reached, mut at) = (vec![start], 0);
        let mut seen = BTreeSet::new();
        while let Some(&item) = reached.get(at) {
            for token in &item.tokens {
                if seen.insert((token, &item.file)) {
                    reached.extend(self.meant(token, &item.file));
                }
            }
            at += 1;
        }
        reached
    }

    /// Returns the items that a token in `file` can name. A file's own item hides the others.
    fn meant(&self, token: &str, file: &Path) -> Vec<&Item> {
        let all = self.0.get(token).map_or(&[][..], Vec::as_slice);
        let own: Vec<&Item> = all.iter().filter(|item| item.file == file).collect();
        if own.is_empty() {
            return all.iter().filter(|item| item.is_seen_by(file)).collect();
        }
        own
    }
}

impl Item {
    /// Returns whether another file can name the item. A module sees the private items of the
    /// modules around it.
    fn is_seen_by(&self, file: &Path) -> bool {
        let around = self.file.with_extension("");
        let is_root = around.ends_with("main") || around.ends_with("mod");
        let folder = around.parent().filter(|_| is_root).unwrap_or(&around);
        self.is_public || file.starts_with(folder)
    }
}

/// Returns the place of the name of the item that starts at `at`, and the place after the item.
fn item_at(tokens: &[&str], at: usize) -> Option<(usize, usize)> {
    let next = *tokens.get(at + 1)?;
    match tokens[at] {
        "fn" if next != "(" => Some((at + 1, body_end(tokens, at))),
        "macro_rules" => Some((at + 2, body_end(tokens, at))),
        "const" | "static" if next != "fn" => Some((at + 1, statement_end(tokens, at))),
        _ => None,
    }
}

/// Returns whether `pub` stands before an item.
fn is_public(before: &[&str]) -> bool {
    let words = before.iter().rev();
    let words = words.take_while(|one| !["{", "}", ";", "]"].contains(one));
    words.take(5).any(|one| *one == "pub")
}

/// Returns the place after the body of the function at `at`, or after the semicolon of a function
/// without a body.
fn body_end(tokens: &[&str], at: usize) -> usize {
    let opens = (at..tokens.len()).find(|&index| tokens[index] == "{");
    let ends = statement_end(tokens, at);
    match opens {
        Some(opens) if opens < ends => closing(tokens, opens),
        _ => ends,
    }
}

/// Returns the place after the brace that closes the one at `at`.
fn closing(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0usize;
    for (index, &token) in tokens.iter().enumerate().skip(at) {
        depth += usize::from(token == "{");
        depth -= usize::from(token == "}");
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns the place after the semicolon of the constant at `at`.
fn statement_end(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0usize;
    for (index, &token) in tokens.iter().enumerate().skip(at) {
        match token {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => return index + 1,
            _ => {}
        }
    }
    tokens.len()
}
