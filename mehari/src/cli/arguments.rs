//! Parses arguments with clap, with errors in one line, and makes tokio runtimes. Many commands use
//! this module.

use clap::error::ErrorKind;
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the options. If that fails, prints clap's message and returns the exit status. The help
/// is printed in full, an error in one line with the nearest right word.
pub fn parse<O: clap::Parser>(command: &str, arguments: Vec<OsString>) -> Result<O, ExitCode> {
    let all = std::iter::once(OsString::from(command)).chain(arguments);
    O::try_parse_from(all).map_err(|error| {
        if !error.use_stderr() {
            say!("{}{error}", purpose::<O>(command));
            return ExitCode::SUCCESS;
        }
        let told = match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => missing_arguments::<O>(),
            _ => one_line(&error.to_string()),
        };
        eprintln!("{command}: {told}");
        ExitCode::from(2)
    })
}

/// Returns what the command does, for the lines before its help. Empty: the help says it itself.
fn purpose<O: clap::Parser>(command: &str) -> String {
    let name = command.trim_start_matches("mehari ");
    let known = super::COMMANDS.iter().find(|one| one.name == name);
    match known.filter(|_| O::command().get_about().is_none()) {
        Some(one) => format!("{}\n\n", super::manual::sentence(one.about)),
        None => String::new(),
    }
}

/// Returns the message for a command without arguments. It takes the place of clap's long help.
fn missing_arguments<O: clap::Parser>() -> String {
    let command = O::command();
    let words: Vec<&str> = command
        .get_subcommands()
        .map(|one| one.get_name())
        .collect();
    format!(
        "a word is missing; expected {} (--help says more)",
        words.join(", ")
    )
}

/// Shortens clap's error, tip and usage to one line, because `--help` has the usage.
fn one_line(text: &str) -> String {
    let told = text.split("\n\nUsage:").next().unwrap_or(text);
    let told = told
        .split("\n\nFor more information")
        .next()
        .unwrap_or(told);
    let mut line = String::new();
    // Leaves out clap's tip about words that look like options, because it seldom helps.
    let parts = told.lines().map(str::trim);
    for part in parts.filter(|part| !part.is_empty() && !part.starts_with("tip: to pass ")) {
        let part = part
            .trim_start_matches("error: ")
            .trim_start_matches("tip: ");
        let joint = if line.is_empty() {
            ""
        } else if line.ends_with(':') {
            " "
        } else {
            "; "
        };
        line.push_str(joint);
        line.push_str(part);
    }
    for (words, expected) in NUMBERS {
        line = line.replace(words, expected);
    }
    if let Some((before, range)) = line.split_once(" is not in ") {
        let (before, _) = before.rsplit_once(": ").unwrap_or((before, ""));
        line = format!("{before}: expected {}", range.replace("..=", " to "));
    }
    line + " (--help says more)"
}

/// What Rust says of a text that is not a number, and what was expected.
const NUMBERS: &[(&str, &str)] = &[
    ("invalid digit found in string", "expected a whole number"),
    (
        "cannot parse integer from empty string",
        "expected a whole number",
    ),
    ("invalid float literal", "expected a number"),
    ("cannot parse float from empty string", "expected a number"),
    (
        "number too large to fit in target type",
        "expected a smaller number",
    ),
    (
        "number would be zero for non-zero type",
        "expected a number above 0",
    ),
];

/// Makes a runtime with one thread, so recording and replaying use as little of the machine as
/// possible.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| format!("cannot start: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Options {
        #[arg(long)]
        users: usize,
        #[arg(long)]
        port: u16,
    }

    fn refusal(argument: &str) -> String {
        match <Options as clap::Parser>::try_parse_from(["mehari replay", argument]) {
            Ok(_) => panic!("{argument} was accepted"),
            Err(error) => one_line(&error.to_string()),
        }
    }

    #[test]
    fn wrong_arguments_get_one_line_with_the_nearest_word() {
        assert_eq!(
            refusal("--user=3"),
            "unexpected argument '--user' found; a similar argument exists: '--users' (--help says more)"
        );
        assert_eq!(
            refusal("--users=x"),
            "invalid value 'x' for '--users <USERS>': expected a whole number (--help says more)"
        );
        assert_eq!(
            refusal("--port=99999"),
            "invalid value '99999' for '--port <PORT>': expected 0 to 65535 (--help says more)"
        );
    }
}
