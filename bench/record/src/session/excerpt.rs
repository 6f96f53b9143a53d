//! Shows where two bodies differ: the first difference with the lines around it. `mehari parity`
//! and `mehari replay` print it.

/// Lines that an excerpt shows before and after the difference.
const AROUND: usize = 2;
/// In how many lines of each side the excerpt searches for the end of the difference.
const REACH: usize = 8;
/// The most characters of a line that an excerpt shows.
const WIDTH: usize = 160;

/// Decodes both bodies as UTF-8, or both as Latin-1. Returns `None` if a body contains a NUL byte.
pub fn texts(old: &[u8], new: &[u8]) -> Option<[String; 2]> {
    if old.contains(&0) || new.contains(&0) {
        return None;
    }
    if let (Ok(a), Ok(b)) = (std::str::from_utf8(old), std::str::from_utf8(new)) {
        return Some([a.to_owned(), b.to_owned()]);
    }
    Some([old, new].map(|bytes| bytes.iter().map(|byte| char::from(*byte)).collect()))
}

/// Returns the first difference of two texts with the lines around it. Lines of the first
/// text begin with `-`, lines of the second with `+`, and common lines with a space.
pub fn excerpt(old: &str, new: &str) -> Vec<String> {
    let a: Vec<&str> = old.split('\n').collect();
    let b: Vec<&str> = new.split('\n').collect();
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (gone, come) = meeting(&a[start..], &b[start..]);
    let after = a[start + gone..]
        .iter()
        .zip(&b[start + come..])
        .take_while(|(a, b)| a == b)
        .count();
    let column = match (a.get(start), b.get(start)) {
        (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let mut lines = vec![format!("@@ line {} @@", start + 1)];
    let mut show = |sign: &str, some: &[&str], from: usize| {
        lines.extend(some.iter().map(|line| format!("{sign}{}", cut(line, from))));
    };
    show(" ", &a[start.saturating_sub(AROUND)..start], 0);
    show("-", &a[start..start + gone], column);
    show("+", &b[start..start + come], column);
    show(" ", &a[start + gone..start + gone + after.min(AROUND)], 0);
    lines
}

/// Returns the number of lines to skip on each side until both sides have an equal line. Chooses
/// the nearest equal lines.
fn meeting(a: &[&str], b: &[&str]) -> (usize, usize) {
    for sum in 1..=2 * REACH {
        for gone in sum.saturating_sub(REACH)..=sum.min(REACH) {
            let come = sum - gone;
            if a.get(gone).is_some_and(|line| b.get(come) == Some(line)) {
                return (gone, come);
            }
        }
    }
    (a.len().min(REACH), b.len().min(REACH))
}

/// Returns the part of a long line around its first difference, with visible control characters.
fn cut(line: &str, column: usize) -> String {
    let start = column.saturating_sub(WIDTH / 4);
    let start = if line.chars().count() <= WIDTH {
        0
    } else {
        start
    };
    let mut shown = String::new();
    if start > 0 {
        shown.push_str("... ");
    }
    for character in line.chars().skip(start).take(WIDTH) {
        if character.is_control() && character != '\t' {
            shown.extend(character.escape_default())
        } else {
            shown.push(character)
        }
    }
    if line.chars().count() > start + WIDTH {
        shown.push_str(" ...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excerpt_shows_the_first_difference_and_the_lines_around_it() {
        for (old, new, shown) in [
            (
                "a\nb\nc\nd\ne\nf",
                "a\nb\nc\nD\ne\nf",
                "@@ line 4 @@| b| c|-d|+D| e| f",
            ),
            ("a\nb", "a\nx\nb", "@@ line 2 @@| a|+x| b"),
            ("a\nb", "a", "@@ line 2 @@| a|-b"),
            ("a\r\n", "a\n", "@@ line 1 @@|-a\\r|+a| "),
        ] {
            assert_eq!(excerpt(old, new).join("|"), shown);
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_difference() {
        let long = "x".repeat(1000);
        let lines = excerpt(&format!("{long}a{long}"), &format!("{long}b{long}"));
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("xax") && lines[2].contains("xbx"));
        assert!(lines.iter().all(|line| line.len() < 200));
    }

    #[test]
    fn bytes_are_not_shown_as_text() {
        assert!(texts(b"a\0", b"b").is_none());
        assert_eq!(texts(b"\xe4", b"b"), Some(["\u{e4}".into(), "b".into()]));
    }
}
