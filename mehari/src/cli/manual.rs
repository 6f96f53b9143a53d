//! `mehari manual`: writes the manual pages, and the completions of bash, zsh and fish.
//!
//! `make install` and the Debian package call the command. The pages of the commands and the
//! completions are made from the commands' options (`COMMANDS`). mehari.conf(5) is made from the
//! directive table.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, Parser};

use super::{arguments, COMMANDS};

mod completions;
mod configuration;
mod page;

pub use page::sentence;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Parser)]
#[command(
    name = "mehari manual",
    about = "Writes the manual pages and the shells' completions",
    after_help = "Examples:\n  mehari manual ~/.local/share\n  sudo mehari manual /usr/local/share\n\n\
                  man(1), bash, zsh and fish look for the files at these places below the folder:\n  \
                  man/man1, man/man5, bash-completion/completions, zsh/site-functions,\n  \
                  fish/vendor_completions.d"
)]
pub struct Options {
    /// The folder below which the files are written, such as `/usr/local/share`.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari manual", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let files = files();
    for (name, text) in &files {
        let path = options.folder.join(name);
        if let Err(error) = write(&path, text) {
            eprintln!("mehari manual: {}: {error}", path.display());
            return ExitCode::from(1);
        }
    }
    let folder = options.folder.display();
    sayln!("mehari manual: {} files below {folder}", files.len());
    ExitCode::SUCCESS
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// Returns the files: each file's path below the folder, and its bytes.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut root = grammar();
    root.build();
    let mut files = Vec::new();
    add_pages(&root, &mut files);
    files.push(("man/man5/mehari.conf.5".into(), configuration::page()));
    files.extend(completions::files(&grammar()));
    files
}

fn add_pages(command: &Command, files: &mut Vec<(String, Vec<u8>)>) {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    files.push((format!("man/man1/{name}.1"), page::page(command)));
    for subcommand in command.get_subcommands() {
        add_pages(subcommand, files);
    }
}

/// Returns the first line of a page. It holds no date, so the same sources give the same bytes.
fn title(name: &str, section: u8) -> String {
    format!(".TH \"{name}\" \"{section}\" \"\" \"Mehari {VERSION}\" \"Mehari\"\n")
}

/// Returns the grammar of the whole command line.
fn grammar() -> Command {
    let commands = COMMANDS.iter().map(|command| {
        let grammar = (command.grammar)().name(command.name);
        let about = grammar.get_about().cloned();
        grammar
            .about(about.unwrap_or_else(|| page::sentence(command.about).into()))
            .disable_help_subcommand(true)
    });
    Command::new("mehari")
        .version(VERSION)
        .about("A web application server for Perl")
        .subcommand_help_heading("COMMANDS")
        .disable_help_subcommand(true)
        .subcommands(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_grammar() {
        grammar().debug_assert();
    }
}
