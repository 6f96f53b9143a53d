//! Makes the completions of bash, zsh and fish from the commands' options.

use clap::builder::PossibleValuesParser;
use clap::Command;
use clap_complete::Shell;
use mehari_config::{Rung, DIRECTIVES};

/// The beginning of a line for fish. The rest of the line lists the words that complete
/// `mehari directives`.
const FISH_DIRECTIVES: &str =
    "complete -c mehari -n \"__fish_mehari_using_subcommand directives\" -f -a";

/// Returns the files: each file's path below the folder of the manual, and its bytes.
pub fn files(grammar: &Command) -> Vec<(String, Vec<u8>)> {
    let grammar = with_values(grammar.clone());
    let shells = [
        (Shell::Bash, "bash-completion/completions/mehari"),
        (Shell::Zsh, "zsh/site-functions/_mehari"),
        (Shell::Fish, "fish/vendor_completions.d/mehari.fish"),
    ];
    let file = |(shell, path): (Shell, &str)| {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut grammar.clone(), "mehari", &mut text);
        if shell == Shell::Fish {
            // For fish, clap_complete writes no values of positional arguments.
            let line = format!("{FISH_DIRECTIVES} \"{}\"\n", directives().join(" "));
            text.extend_from_slice(line.as_bytes());
        }
        (path.to_owned(), text)
    };
    shells.map(file).to_vec()
}

/// Adds the values that shells may offer. The grammar of the commands does not have these values: a
/// command checks its words with a message of its own, or takes other words too.
fn with_values(grammar: Command) -> Command {
    let rungs = Rung::ALL.map(Rung::name);
    grammar
        .mut_subcommand("serve", |serve| {
            serve.mut_arg("rung", |rung| {
                rung.value_parser(PossibleValuesParser::new(rungs))
            })
        })
        .mut_subcommand("directives", |command| {
            command.mut_arg("names", |names| {
                names.value_parser(PossibleValuesParser::new(directives()))
            })
        })
}

fn directives() -> Vec<&'static str> {
    let rows = DIRECTIVES.iter().flat_map(|group| group.rows);
    rows.map(|row| row.name).collect()
}
