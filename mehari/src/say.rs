//! What a command prints. Whoever reads it may leave early (`mehari bench --json | head`): that ends the command, as it ends any
//! other in a pipe. What else goes wrong is told, and is a failure.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// As a shell tells of a command that a broken pipe ended.
const BROKEN_PIPE: i32 = 128 + libc::SIGPIPE;

pub fn say(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) else {
        return;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(BROKEN_PIPE);
    }
    eprintln!("mehari: cannot write to standard output: {error}");
    std::process::exit(1);
}

/// `print!`, but a reader that leaves is no panic.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::say(format_args!($($text)*)) };
}

/// `println!` likewise.
macro_rules! sayln {
    ($($text:tt)*) => { $crate::say::say(format_args!("{}\n", format_args!($($text)*))) };
}
