//! `mehari lua-pool`: runs a process of the Lua pool. Only the server starts this command. Its
//! standard input is a listening socket.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let seconds = match words.as_slice() {
        ["--timeout", seconds] => seconds.parse().ok(),
        _ => None,
    };
    let Some(seconds) = seconds else {
        eprintln!("mehari lua-pool: the server starts this itself; expected `--timeout SECONDS`");
        return ExitCode::from(2);
    };
    match mehari_lua_pool::serve(Duration::from_secs(seconds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mehari lua-pool: {error}");
            ExitCode::FAILURE
        }
    }
}
