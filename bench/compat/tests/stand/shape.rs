//! Computes the shape of an output: its lines, with masked numbers and with single blanks.
//!
//! Lines that depend on the measured values are left out: ab's warnings about its mean, repeated
//! progress lines, and repeated rows of histograms.

pub fn of(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut doubt = false;
    for line in text.split('\n') {
        if std::mem::take(&mut doubt) {
            continue;
        }
        if line.starts_with("WARNING: The median") || line.starts_with("ERROR: The median") {
            doubt = true;
            continue;
        }
        let line = masked(line);
        let repeats = [
            "Completed #",
            "# #",
            ":",
            "reply-rate = #",
            "session-rate = #",
        ];
        if repeats.contains(&line.trim()) && lines.contains(&line) {
            continue;
        }
        if line.trim() == ":" {
            continue;
        }
        lines.push(line);
    }
    lines
}

/// Replaces numbers such as `1.5e+06` and `12` by `#`.
pub fn masked(line: &str) -> String {
    let mut shape = String::new();
    let bytes: Vec<char> = line.chars().collect();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_digit() {
            at = after_number(&bytes, at);
            shape.push('#');
        } else if bytes[at] == ' ' {
            while bytes.get(at) == Some(&' ') {
                at += 1;
            }
            shape.push(' ');
        } else {
            shape.push(bytes[at]);
            at += 1;
        }
    }
    shape
}

fn after_number(text: &[char], mut at: usize) -> usize {
    let digits = |mut at: usize| {
        while text.get(at).is_some_and(char::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let is_digit = |at: usize| text.get(at).is_some_and(char::is_ascii_digit);
    at = digits(at);
    if text.get(at) == Some(&'.') && is_digit(at + 1) {
        at = digits(at + 1);
    }
    if text.get(at) == Some(&'e') && matches!(text.get(at + 1), Some('+' | '-')) && is_digit(at + 2)
    {
        at = digits(at + 2);
    }
    at
}

/// Returns the first line in which two shapes differ, with the lines around it; `None` if the
/// shapes are equal.
pub fn difference(theirs: &[String], ours: &[String]) -> Option<String> {
    let longest = theirs.len().max(ours.len());
    let at = (0..longest).find(|&at| theirs.get(at) != ours.get(at))?;
    let shown = |lines: &[String]| {
        lines
            .iter()
            .enumerate()
            .skip(at.saturating_sub(2))
            .take(6)
            .map(|(number, line)| format!("    {number:3} {line}\n"))
            .collect::<String>()
    };
    Some(format!(
        "  line {at} differs; theirs:\n{}  ours:\n{}",
        shown(theirs),
        shown(ours)
    ))
}

#[test]
fn numbers_are_masked_and_words_are_not() {
    assert_eq!(
        masked("Total: 5.33606e+06 bytes,  in 300 s"),
        "Total: # bytes, in # s"
    );
    assert_ne!(of("a 1\nb 2"), of("a 1\n\nb 2"));
    assert!(difference(&of("a 1"), &of("a 2")).is_none());
    assert!(difference(&of("a 1"), &of("b 1")).is_some());
}
