//! Finds the Perl files, and reads what their comments say: the title and published figures.

use std::path::{Path, PathBuf};

/// What the comments of a file say.
#[derive(Debug, Default, PartialEq)]
pub struct Head {
    /// The comment lines at the beginning of the file, after a `#!` line.
    pub title: Vec<String>,
    /// Figures of a document: the sub's name and its time, in a unit that the figures share.
    pub published: Vec<(String, f64)>,
    /// Whether all subs must return and print the same.
    pub has_equal_results: bool,
    /// Whether the file asks for the time on the wall.
    pub waits: bool,
}

/// Returns the files, and of folders all files that end in `.pl`, sorted. The paths are absolute.
///
/// # Errors
/// A file or folder cannot be read, or a folder has no such file.
pub fn found(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in paths {
        let told = |cause: std::io::Error| format!("{}: {cause}", path.display());
        let full = std::fs::canonicalize(path).map_err(told)?;
        if !full.is_dir() {
            files.push(full);
            continue;
        }
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(&full).map_err(told)? {
            let file = entry.map_err(told)?.path();
            if file.extension().is_some_and(|end| end == "pl") {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            return Err(format!(
                "{}: expected files that end in .pl",
                path.display()
            ));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

impl Head {
    /// Reads the comments of the file.
    ///
    /// # Errors
    /// The file cannot be read, or a published figure is not `NAME NUMBER`.
    pub fn read(file: &Path) -> Result<Head, String> {
        let text = std::fs::read(file).map_err(|cause| format!("{}: {cause}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        Head::of(&text).map_err(|(line, reason)| format!("{}:{line}: {reason}", file.display()))
    }

    fn of(text: &str) -> Result<Head, (usize, String)> {
        let mut head = Head::default();
        let mut is_title = true;
        for (at, line) in text.lines().enumerate() {
            let comment = line.strip_prefix('#').map(str::trim);
            if let Some(figure) = comment.and_then(|it| it.strip_prefix("published:")) {
                head.published
                    .push(published(figure).map_err(|reason| (at + 1, reason))?);
                is_title = false;
            } else if let Some(results) = comment.and_then(|it| it.strip_prefix("results:")) {
                head.has_equal_results = is_equal(results).map_err(|reason| (at + 1, reason))?;
                is_title = false;
            } else if let Some(clock) = comment.and_then(|it| it.strip_prefix("clock:")) {
                head.waits = is_wall(clock.trim()).map_err(|reason| (at + 1, reason))?;
                is_title = false;
            } else if let (true, Some(comment)) = (is_title, comment) {
                if at > 0 || !comment.starts_with('!') {
                    head.title.push(comment.to_owned());
                }
            } else {
                is_title = false;
            }
        }
        Ok(head)
    }
}

fn published(text: &str) -> Result<(String, f64), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| {
        word.parse()
            .ok()
            .filter(|it: &f64| it.is_finite() && *it > 0.0)
    };
    match words[..] {
        [name, figure] => number(figure).map(|it| (name.to_owned(), it)),
        _ => None,
    }
    .ok_or_else(|| format!("expected `# published: NAME 3.44`, not `{}`", text.trim()))
}

fn is_wall(text: &str) -> Result<bool, String> {
    match text {
        "wall" => Ok(true),
        "cpu" => Ok(false),
        _ => Err(format!(
            "expected `# clock: wall` or `# clock: cpu`, not `{text}`"
        )),
    }
}

/// Reads `equal`, or `differ` and the reason.
fn is_equal(text: &str) -> Result<bool, String> {
    match text.trim().split_once(' ') {
        None if text.trim() == "equal" => Ok(true),
        Some(("differ" | "differ,", reason)) if !reason.trim().is_empty() => Ok(false),
        _ => Err(format!(
            "expected `# results: equal` or `# results: differ, because ...`, not `{}`",
            text.trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_give_the_title_and_the_published_figures() {
        let text = "#!/usr/bin/perl\n# Ways to print\n# (a book)\n# published: list 2.58\n\n# not the title\nsub list { }\n";
        let head = Head::of(text).expect("a head");
        assert_eq!(head.title, ["Ways to print", "(a book)"]);
        assert_eq!(head.published, [("list".to_owned(), 2.58)]);
        let equal = Head::of("# results: equal\n").expect("a head");
        assert!(equal.has_equal_results && equal.title.is_empty());
        let differ = Head::of("# results: differ, because each sleeps\n").expect("a head");
        assert!(!differ.has_equal_results);
        assert!(Head::of("# clock: wall\n").expect("a head").waits);
        assert!(Head::of("# clock: sun\n").is_err());
        for wrong in ["same", "differ", ""] {
            let (_, reason) = Head::of(&format!("# results: {wrong}\n")).expect_err(wrong);
            assert!(reason.ends_with(&format!("not `{wrong}`")), "{reason}");
        }
        for wrong in ["list", "list 2 s", "list x", "list -1"] {
            let (line, reason) = Head::of(&format!("\n# published: {wrong}\n")).expect_err(wrong);
            assert_eq!(line, 2, "{reason}");
        }
    }
}
