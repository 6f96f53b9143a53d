//! The two option grammars of the originals on raw bytes: APR's `getopt` (ab) and GNU's
//! `getopt_long` (httperf). The grammars are written by hand, because no library reads exactly what
//! these two read.
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
