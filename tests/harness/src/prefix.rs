//! Starts a command by another program, which changes its own process first and then executes the
//! command.

use std::process::Command;

/// Returns `words`, with the program and the arguments of `command` after them. Folder and
/// environment are those of `command`.
pub(crate) fn before(command: &Command, words: &[&str]) -> Command {
    let (program, arguments) = words.split_first().expect("a prefix has a program");
    let mut whole = Command::new(program);
    whole.args(arguments);
    whole.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        whole.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => whole.env(name, value),
            None => whole.env_remove(name),
        };
    }
    whole
}
