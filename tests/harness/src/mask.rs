//! Replaces what may differ between two runs of a program (dates, ids, ports, folders) by fixed
//! words. The rest can then be compared byte for byte.

use crate::server::Server;
use regex::bytes::Regex;

/// The patterns for every program and their replacements, in the order in which they are applied.
const COMMON: &[(&str, &str)] = &[
    (
        r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d\d[- ]\w{3}[- ]\d{4} \d\d:\d\d:\d\d(?: GMT)?",
        "(date)",
    ),
    (
        r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}",
        "(date)",
    ),
    (r"\b[0-9a-f]{32}\b", "(id)"),
    (r"\b1[789]\d{8}\b", "(time)"),
    // Debian's releases have different versions.
    (r"\bmod_perl/2\.0\.\d+", "mod_perl/2.0"),
];

/// The patterns of one test and the patterns for every program.
pub struct Mask {
    patterns: Vec<(Regex, &'static str)>,
}

impl Mask {
    /// Makes a mask with a test's own patterns. Panics if a pattern is invalid.
    pub fn new(own: &[(&'static str, &'static str)]) -> Mask {
        let patterns = own
            .iter()
            .chain(COMMON)
            .map(|(pattern, word)| (Regex::new(pattern).expect("a regular expression"), *word))
            .collect();
        Mask { patterns }
    }

    /// Returns the text with all variable parts replaced, including the server's port and folder.
    pub fn apply(&self, server: &Server, text: &[u8]) -> Vec<u8> {
        let root = server.site.root().display().to_string();
        let mut text = replace(text, &root, "(root)");
        text = replace(&text, &format!(r"\b{}\b", server.port()), "(port)");
        for (pattern, word) in &self.patterns {
            text = pattern.replace_all(&text, word.as_bytes()).into_owned();
        }
        text
    }
}

fn replace(text: &[u8], pattern: &str, word: &str) -> Vec<u8> {
    let pattern = Regex::new(pattern).expect("a folder or number is a regular expression");
    pattern.replace_all(text, word.as_bytes()).into_owned()
}
