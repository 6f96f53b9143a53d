//! `mehari directives`: the directive table, for a person, a program or the documentation.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use mehari_config::{Directive, DIRECTIVES};

use super::arguments;

#[derive(Parser)]
#[command(
    name = "mehari directives",
    about = "The configuration directives and their defaults",
    after_help = "Examples:\n  mehari directives\n  mehari directives MaxClients\n  mehari directives --json"
)]
struct Options {
    /// Only these, by name or alias.
    names: Vec<String>,
    /// The whole table as JSON.
    #[arg(long, conflicts_with_all = ["names", "markdown"])]
    json: bool,
    /// The text of docs/directives.md.
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
    text.push_str("The second column is what holds when a directive is not written. `mehari directives NAME` says more.\n");
    text
}

fn default(row: &Directive) -> &'static str {
    match row.default {
        "" => row.otherwise,
        value => value,
    }
}

fn one(name: &str) -> Result<String, ExitCode> {
    let Some(row) = Directive::named(name) else {
        let all = Directive::all().flat_map(|row| row.names());
        let hint = mehari_config::nearest(name, all)
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        eprintln!("mehari directives: there is no directive `{name}`{hint}");
        return Err(ExitCode::from(1));
    };
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
    say("tuner", &tune.unwrap_or_default());
    say(
        "place",
        match row.place {
            mehari_config::Place::Server => "outside of sections",
            mehari_config::Place::Shared => "outside of sections; in <VirtualHost> it does nothing",
            mehari_config::Place::Host => "outside of sections and in <VirtualHost>",
            mehari_config::Place::Team => {
                "outside of sections; in <VirtualHost> with PerlOptions +Clone or +Parent"
            }
            mehari_config::Place::Perl => {
                "outside of sections; in <VirtualHost> with PerlOptions +Parent"
            }
            mehari_config::Place::Everywhere => "outside of and inside sections",
        },
    );
    if !row.example.is_empty() {
        say("example", &format!("{} {}", row.name, row.example));
    }
    Ok(text)
}
