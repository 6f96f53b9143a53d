//! Reads options by the two grammars of the original tools: APR's `getopt` (ab) and GNU's
//! `getopt_long` (httperf). Arguments are raw bytes. The readers are written by hand, because no
//! library accepts exactly the same options.
//!
//! The accepted forms are a part of the tools' interface: bundled letters (`-kc 10`), attached
//! arguments (`-n100`), and any unique prefix of a long option.

mod letters;
mod long;

pub use letters::{Letter, Letters};
pub use long::{long_options, Long, LongError, Takes};

pub type Word = Vec<u8>;

#[cfg(test)]
fn words(line: &str) -> Vec<Word> {
    line.split_whitespace()
        .map(|word| word.as_bytes().to_vec())
        .collect()
}
