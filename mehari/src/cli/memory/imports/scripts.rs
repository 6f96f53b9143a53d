//! Finds what the compiled scripts of a server import: the `use` lines of their files.
//!
//! Only lists of literal words are taken, because a measurement evaluates the list.

use crate::cli::console;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The most bytes of a script that are read.
const LONGEST: u64 = 4 << 20;

/// What follows `use` in scripts, with the number of scripts that say so.
pub fn of_server(control: Option<PathBuf>) -> Result<BTreeMap<String, usize>, String> {
    let server = console::watched(control)?;
    let answer = server.inspect("any", "scripts", "")?;
    let rows = answer["rows"].as_array().cloned().unwrap_or_default();
    let mut uses = BTreeMap::new();
    for row in &rows {
        let text = row[0].as_str().and_then(read).unwrap_or_default();
        let mut own = uses_of(&text);
        own.sort();
        own.dedup();
        for one in own {
            *uses.entry(one).or_default() += 1;
        }
    }
    match (rows.is_empty(), uses.is_empty()) {
        (true, _) => Err("the worker has not compiled a script yet".to_owned()),
        (_, true) => Err("the compiled scripts use no module with an import".to_owned()),
        _ => Ok(uses),
    }
}

fn read(file: &str) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(file).ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns what follows `use` in a script, without pragmas and empty lists.
fn uses_of(text: &str) -> Vec<String> {
    let mut uses = Vec::new();
    let mut in_pod = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('=') {
            in_pod = !line.starts_with("=cut");
        } else if line.starts_with("__END__") || line.starts_with("__DATA__") {
            break;
        }
        let begins = |rest: &&str| rest.starts_with(|first: char| first.is_ascii_uppercase());
        let rest = line.trim_start().strip_prefix("use ").map(str::trim_start);
        let Some(rest) = rest.filter(begins).filter(|_| !in_pod) else {
            continue;
        };
        let mut statement = rest.to_owned();
        while !statement.contains(';') {
            let Some(next) = lines.next() else { break };
            statement = format!("{statement} {}", next.trim());
        }
        uses.extend(literal_use(statement.split(';').next().unwrap_or_default()));
    }
    uses
}

/// Returns the module with its list, if the import is not empty and the list has only literal
/// words.
fn literal_use(statement: &str) -> Option<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || ":_".contains(letter);
    let end = statement.find(|letter| !is_of_name(letter));
    let (name, list) = statement.split_at(end.unwrap_or(statement.len()));
    let list = without_version(list.trim());
    if list.is_empty() {
        return Some(name.to_owned());
    }
    let has_word = is_literal(list)?;
    has_word.then(|| format!("{name} {list}"))
}

/// A number before the list is the least version of the module.
fn without_version(list: &str) -> &str {
    let is_of_version = |letter: char| letter.is_ascii_digit() || "._".contains(letter);
    let number = list.strip_prefix('v').unwrap_or(list);
    if !number.starts_with(|first: char| first.is_ascii_digit()) {
        return list;
    }
    let rest = number.trim_start_matches(is_of_version).trim_start();
    if rest.starts_with([',', '=']) {
        list
    } else {
        rest
    }
}

/// Returns whether a list of literal words has a word. `None`: the list has anything else.
fn is_literal(list: &str) -> Option<bool> {
    let mut rest = list;
    let mut has_word = false;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() || "(),".contains(first) {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (inner, after, quote) = match rest.strip_prefix("qw") {
            Some(words) => {
                let words = words.trim_start();
                let open = words.chars().next()?;
                let close = match open {
                    '(' => ')',
                    '[' => ']',
                    '<' => '>',
                    '{' => '}',
                    '/' | '|' | '!' => open,
                    _ => return None,
                };
                let (inner, after) = words[open.len_utf8()..].split_once(close)?;
                (inner, after, open)
            }
            None if "'\"".contains(first) => {
                let (inner, after) = rest[1..].split_once(first)?;
                (inner, after, first)
            }
            None => return None,
        };
        let is_plain = |letter: char| !"\\$@".contains(letter) || (quote != '"' && letter != '\\');
        if !inner.chars().all(is_plain) {
            return None;
        }
        has_word |= !inner.trim().is_empty();
        rest = after;
    }
    Some(has_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_a_script_are_found_and_nothing_is_taken_that_could_run() {
        let script = "#!/usr/bin/perl\nuse strict; use warnings;\nuse POSIX;\n  use CGI 4.0 qw(:standard);\n\
            use Data::Dumper ();\nuse List::Util\n    qw(sum\n    max);\nuse Carp 'croak', \"confess\";\n\
            use Foo::Bar (system('id'));\nuse Foo `id`;\nuse Foo \"@{[ id() ]}\";\nuse Foo -e => 1;\nuse Foo 1.5;\n\
            use lib 'lib';\n=pod\n\nuse Not::This;\n\n=cut\nuse Time::HiRes qw'time';\nuse Socket qw/$x @y/;\n\
            __END__\nuse Nor::That;\n";
        assert_eq!(
            uses_of(script),
            [
                "POSIX",
                "CGI qw(:standard)",
                "List::Util qw(sum max)",
                "Carp 'croak', \"confess\"",
                "Foo",
                "Socket qw/$x @y/",
            ]
        );
        assert_eq!(uses_of("use POSIX"), ["POSIX"]);
        assert!(uses_of("use Foo qw(").is_empty());
    }
}
