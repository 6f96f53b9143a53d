//! The text of a terminal: commands with their output, and the numbers of ports in both.

use super::expected::is_shown;
use std::collections::BTreeMap;

/// The line of a page that ends its last server.
pub const INTERRUPT: &str = "^C";

/// Replaces numbers that stand alone.
pub fn replace_numbers(text: &str, swaps: BTreeMap<u16, u16>) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|sign: char| sign.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number
            .find(|sign: char| !sign.is_ascii_digit())
            .unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        let other = number
            .parse()
            .ok()
            .and_then(|number: u16| swaps.get(&number));
        replaced.push_str(before);
        match other {
            Some(other) => replaced.push_str(&other.to_string()),
            None => replaced.push_str(number),
        }
        rest = after;
    }
    replaced + rest
}

/// The commands behind `$`, each with the output that the page shows.
pub fn commands(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line
            .strip_prefix("$ ")
            .or((line == INTERRUPT).then_some(line))
        {
            found.push((command.to_owned(), String::new()));
            continue;
        }
        let Some((command, shown)) = found.last_mut() else {
            return Err(format!(
                "`{line}` stands before the first command (`$ ...`)"
            ));
        };
        if shown.is_empty() && command.ends_with('\\') {
            *command += &format!("\n{line}");
        } else {
            *shown += &format!("{line}\n");
        }
    }
    if found.is_empty() {
        Err("there is no command (`$ ...`)".into())
    } else {
        Ok(found)
    }
}

pub fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Whether a server has printed the shown lines, among others.
pub fn is_printed(shown: &str, output: &str) -> bool {
    let mut pattern = vec!["..."];
    for line in shown.lines() {
        pattern.extend([line, "..."]);
    }
    is_shown(&pattern, &lines(output))
}

pub fn differs(command: &str, shown: &str, output: &str) -> String {
    format!("`{command}` printed\n{output}\nand the page shows\n{shown}")
}
