//! Hints for people who know other tools: for an option of such a tool, what has the same meaning
//! here. `mehari serve` and `mehari bench` each have a table of such options.

use std::ffi::OsString;

/// An option that a command does not have: the option, whose it is, and what to write instead.
pub type Foreign = (&'static str, &'static str, &'static str);

/// Returns the hint for the first option of another tool.
pub fn hint(options: &[Foreign], arguments: &[OsString]) -> Option<String> {
    let words = arguments.iter().filter_map(|word| word.to_str());
    let mut words = words.take_while(|word| *word != "--");
    words.find_map(|word| {
        let mut options = options.iter();
        let (option, tool, instead) = options.find(|(option, ..)| is(word, option))?;
        Some(format!(
            "{option} is an option of {tool}; expected {instead}"
        ))
    })
}

/// Whether the word is the option: alone, with `=VALUE`, or a letter with its value behind.
fn is(word: &str, option: &str) -> bool {
    match word.strip_prefix(option) {
        Some("") => true,
        Some(rest) if option.starts_with("--") => rest.starts_with('='),
        Some(_) => option.len() == 2,
        None => false,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn hint(options: &[Foreign], line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        super::hint(options, &words)
    }

    /// Asserts that no hint stands for an option that the command has.
    pub fn none_is_our_own(options: &[Foreign], grammar: &clap::Command) {
        for (option, ..) in options {
            let exists = grammar.get_arguments().any(|argument| {
                let short = argument.get_short().map(|letter| format!("-{letter}"));
                let long = argument.get_long().map(|name| format!("--{name}"));
                short.as_deref() == Some(*option) || long.as_deref() == Some(*option)
            });
            assert!(!exists, "{option}");
        }
    }
}
