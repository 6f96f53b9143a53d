//! Prints the output of commands. If the reader closes the pipe early (`mehari bench --json |
//! head`), the command ends without a message, as usual. Any other error is reported, and the
//! command fails.

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

/// Prints like `print!`, but does not panic if the reader has closed the pipe.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::say(format_args!($($text)*)) };
}

/// Prints like `println!`, but does not panic if the reader has closed the pipe.
macro_rules! sayln {
    ($($text:tt)*) => { $crate::say::say(format_args!("{}\n", format_args!($($text)*))) };
}
