//! The two option grammars the originals use, on raw bytes: APR's `getopt` (ab) and GNU's `getopt_long` (httperf).
//!
//! What they accept is part of the tools' interface: bundled letters (`-kc 10`), attached arguments (`-n100`),
//! and for long options any prefix that fits one name only.

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
