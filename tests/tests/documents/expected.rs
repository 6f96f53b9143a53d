//! Compares what a command printed with what a page shows.
//!
//! `...` stands for any text within a line, and for any lines where a line holds nothing else.

/// Whether the output is what the page shows.
pub fn is_shown(shown: &[&str], output: &[&str]) -> bool {
    match shown.split_first() {
        None => output.iter().all(|line| line.trim().is_empty()),
        Some((&"...", rest)) => (0..=output.len()).any(|skip| is_shown(rest, &output[skip..])),
        Some((line, rest)) => output
            .split_first()
            .is_some_and(|(first, output)| is_line(line, first) && is_shown(rest, output)),
    }
}

/// Whether one line is as shown.
pub fn is_line(shown: &str, line: &str) -> bool {
    let line = line.trim_end();
    let mut parts = shown.trim_end().split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Replaces numbers with their units by `#`, and blanks by one blank.
pub fn without_figures(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words = line.split_whitespace().map(without_figure);
        let words: Vec<String> = words.filter(|word| !is_unit(word)).collect();
        words.join(" ")
    });
    lines.map(|line| line + "\n").collect()
}

fn without_figure(word: &str) -> String {
    if word.starts_with(char::is_alphabetic) {
        return word.to_owned(); // a name, such as p99
    }
    let mut text = String::new();
    for sign in word.chars() {
        if !sign.is_ascii_digit() {
            text.push(sign);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    // "12,345.6" is one number.
    text.replace("#,#", "#").replace("#.#", "#")
}

fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', ')']);
    ["ns", "us", "µs", "ms", "s", "B", "KiB", "MiB", "kB", "MB"].contains(&word)
}

#[test]
fn dots_stand_for_text_and_for_lines() {
    assert!(is_shown(
        &["a...c", "...", "z"],
        &["abc", "1", "2", "z", ""]
    ));
    assert!(is_shown(&["..."], &[]));
    assert!(!is_shown(&["a...c"], &["abd"]));
    assert!(!is_shown(&["a"], &["a", "b"]));
    assert!(!is_shown(&["a", "b"], &["a"]));
    assert!(!is_line("...ab...ab", "ab"));
}

#[test]
fn figures_are_compared_as_figures() {
    let one = "p99   12.5 ms  1,234 requests\n";
    assert_eq!(
        without_figures(one),
        without_figures("p99 7 µs 9 requests\n")
    );
    assert_ne!(
        without_figures(one),
        without_figures("p50 7 µs 9 requests\n")
    );
}
