//! A waterfall for a terminal.

use super::{milliseconds, told, walk};
use crate::anatomy::{Anatomy, TracedPart};
use std::fmt::Write as _;

/// The width of the bars in characters.
const WIDTH: usize = 24;
/// The longest name in characters.
const LONGEST: usize = 100;

/// Writes the waterfall. Times are in milliseconds.
pub fn text(anatomy: &Anatomy) -> String {
    let mut text = format!(
        "{} {}\nstatus {}, request {} from {}: {} ms\n\n{:>8} {:>8} {:>8}  {:WIDTH$}  part\n",
        shown(&anatomy.method),
        shown(&anatomy.target),
        anatomy.status,
        anatomy.request_id,
        shown(&anatomy.client),
        milliseconds(anatomy.took),
        "from",
        "took",
        "rest",
        "",
    );
    put_parts(&mut text, &anatomy.parts, (0, anatomy.took));
    let sum: u64 = anatomy.parts.iter().map(|part| part.took).sum();
    let _ = writeln!(
        text,
        "{:>8} {:>8} {:>8}  {:WIDTH$}  sum of the outer parts",
        "",
        milliseconds(sum),
        "",
        "",
    );
    if !anatomy.after.is_empty() {
        let from = anatomy.after.iter().map(|part| part.from).min();
        let until = anatomy.after.iter().map(|part| part.from + part.took).max();
        let _ = writeln!(text, "\nbeside the front, after the worker's response:");
        let (from, until) = (from.unwrap_or_default(), until.unwrap_or_default());
        put_parts(&mut text, &anatomy.after, (from, until - from));
    }
    if anatomy.left_out > 0 {
        let _ = writeln!(text, "{} further parts were not kept", anatomy.left_out);
    }
    text
}

fn put_parts(text: &mut String, parts: &[TracedPart], window: (u64, u64)) {
    walk(parts, 0, &mut |part, depth| {
        let name: String = shown(&told(part)).chars().take(LONGEST).collect();
        let _ = writeln!(
            text,
            "{:>8} {:>8} {:>8}  {}  {:depth$}{name}",
            milliseconds(part.from),
            milliseconds(part.took),
            milliseconds(part.rest),
            bar(part.from.saturating_sub(window.0), part.took, window.1),
            "",
            depth = 2 * depth,
        );
    });
}

fn bar(from: u64, took: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    let cell = |at: u64| (u128::from(at) * WIDTH as u128 / whole).min(WIDTH as u128) as usize;
    let first = cell(from).min(WIDTH - 1);
    let last = cell(from.saturating_add(took)).max(first + 1);
    let mark = |at: usize| {
        if (first..last).contains(&at) {
            '#'
        } else {
            '.'
        }
    };
    (0..WIDTH).map(mark).collect()
}

/// Escapes what could change the terminal or the order of its characters.
pub(super) fn shown(text: &str) -> String {
    let is_harmful = |character: char| {
        character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            shown.extend(character.escape_unicode())
        } else {
            shown.push(character)
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_of_a_terminal_are_shown_as_text() {
        assert_eq!(shown("a\u{1b}[2J\u{9b}ü"), "a\\u{1b}[2J\\u{9b}ü");
        assert_eq!(shown("\u{202e}cba"), "\\u{202e}cba");
    }

    #[test]
    fn bar_shows_start_and_length() {
        assert_eq!(bar(0, 100, 100), "#".repeat(24));
        assert_eq!(bar(50, 25, 100), format!("{}######......", ".".repeat(12)));
        assert_eq!(bar(100, 0, 100), format!("{}#", ".".repeat(23)));
        assert_eq!(bar(0, u64::MAX, 1).len(), 24);
    }
}
