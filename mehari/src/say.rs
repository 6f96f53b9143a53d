//! Output of commands. A reader may leave early (`mehari bench --json | head`), which ends the
//! command quietly, as usual in a pipe. Any other error is reported and is a failure.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// The exit status that a shell reports for a broken pipe.
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

/// `print!` without a panic if the reader leaves.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::say(format_args!($($text)*)) };
}

/// `println!` without a panic if the reader leaves.
macro_rules! sayln {
    ($($text:tt)*) => { $crate::say::say(format_args!("{}\n", format_args!($($text)*))) };
}
