//! `mehari directives`: prints the directive table, as text, as JSON or for the documentation.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use mehari_config::{Directive, DIRECTIVES};

use super::arguments;

#[derive(Parser)]
#[command(
    name = "mehari directives",
    about = "Prints the configuration directives and their defaults",
    after_help = "Examples:\n  mehari directives\n  mehari directives MaxClients\n  mehari directives compress\n  mehari directives --json"
)]
pub struct Options {
    /// Print only these directives, by name or alias. Any other word is searched in names and
    /// descriptions.
    #[arg(value_name = "NAME|WORD")]
    names: Vec<String>,
    /// Print the whole table as JSON.
    #[arg(long, conflicts_with_all = ["names", "markdown"])]
    json: bool,
    /// Print the text of docs/reference/directives.md.
    #[arg(long, conflicts_with = "names")]
    markdown: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari directives", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let text = if options.json {
        format!("{:#}\n", mehari_config::directives_json())
    } else if options.markdown {
        mehari_config::markdown()
    } else if options.names.is_empty() {
        list()
    } else {
        match options.names.iter().map(|name| one(name)).collect() {
            Ok(text) => text,
            Err(code) => return code,
        }
    };
    say!("{text}");
    ExitCode::SUCCESS
}

fn list() -> String {
    let mut text = String::new();
    for group in DIRECTIVES {
        text.push_str(&format!("{}\n", group.title));
        for row in group.rows {
            let value = row.ignored.unwrap_or(default(row));
            text.push_str(&format!("  {:<25} {value}\n", row.name));
        }
        text.push('\n');
    }
    text.push_str("The second column is the default, or the reason why a directive has no effect. `mehari directives NAME` says all about a directive. `mehari directives WORD` searches for a word.\n");
    text
}

fn default(row: &Directive) -> &'static str {
    match row.default {
        "" => row.otherwise,
        value => value,
    }
}

/// Returns the row of a directive, or the rows that a search for `word` finds.
fn one(word: &str) -> Result<String, ExitCode> {
    if let Some(row) = Directive::named(word) {
        return Ok(described(row));
    }
    let found = search(word);
    if found.is_empty() {
        let all = Directive::all().flat_map(|row| row.names());
        let hint = mehari_config::nearest(word, all)
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        eprintln!("mehari directives: no directive is named or described by `{word}`{hint}");
        return Err(ExitCode::from(1));
    }
    let lines = found.iter().map(|row| {
        let names: Vec<&str> = row.names().collect();
        let about = row.ignored.unwrap_or(row.about);
        format!("{}\n    {about}\n", names.join(", "))
    });
    Ok(lines.collect())
}

/// Returns the directives whose names contain `word`, then the directives whose descriptions
/// contain it. Case does not matter.
fn search(word: &str) -> Vec<&'static Directive> {
    let word = word.to_ascii_lowercase();
    let has = |text: &str| text.to_ascii_lowercase().contains(&word);
    let is_named = |row: &&'static Directive| row.names().any(has);
    let (named, others): (Vec<_>, Vec<_>) = Directive::all().partition(is_named);
    let described = others
        .into_iter()
        .filter(|row: &&Directive| has(row.about) || has(row.ignored.unwrap_or_default()));
    named.into_iter().chain(described).collect()
}

fn described(row: &Directive) -> String {
    let mut text = format!("{}\n", row.usage());
    let mut say = |label: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {label:<9} {value}\n"));
        }
    };
    say("meaning", row.about);
    say("ignored", row.ignored.unwrap_or_default());
    say("also", &row.aliases.join(", "));
    say("default", default(row));
    say("unit", row.unit);
    let tune = row.tune.map(|(least, most)| format!("{least} to {most}"));
    say("trial", &tune.unwrap_or_default());
    say("place", &row.describe_place());
    if !row.example.is_empty() {
        say("example", &format!("{} {}", row.name, row.example));
    }
    text
}
