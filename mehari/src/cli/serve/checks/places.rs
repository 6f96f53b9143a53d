//! Finds the line of the configuration that causes a problem of the machine, such as a missing
//! certificate. The checks of the machine know the directive's value, but not its line.

use mehari_config::{Note, Problem, Site};
use std::path::Path;

/// Gives a problem without a position the position of its directive. The directive's name, or the
/// word "log", and one of the directive's arguments must stand in the message.
pub fn place(problem: &mut Problem, site: &Site) {
    if !problem.file.as_os_str().is_empty() {
        return;
    }
    let is_cause =
        |note: &&Note| is_named(note, &problem.message) && has_argument(note, &problem.message);
    if let Some(note) = site.source.notes.iter().find(is_cause) {
        problem.file.clone_from(&note.file);
        problem.line = note.line;
        problem.column = note.column;
    }
}

fn is_named(note: &Note, message: &str) -> bool {
    let mut words = message.split([' ', ':']);
    words.any(|word| word.eq_ignore_ascii_case(note.directive))
        || (note.directive.ends_with("Log") && message.starts_with("the log "))
}

/// Whether the message has an argument of the directive. The message may have the whole path of a
/// relative one.
fn has_argument(note: &Note, message: &str) -> bool {
    let line = line_of(&note.file, note.line).unwrap_or_default();
    let mut arguments = line.split_whitespace().skip(1);
    arguments.any(|word| {
        let word = word.trim_matches(['"', '\'', '>']);
        word.len() > 1 && message.contains(word)
    })
}

fn line_of(file: &Path, number: u32) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let index = (number as usize).checked_sub(1)?;
    text.lines().nth(index).map(str::to_owned)
}
