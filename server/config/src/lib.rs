//! The directive table and the typed `Site` it fills. Knows no HTTP and no Perl.

mod change;
mod site;

pub use change::Change;
pub use site::*;

/// Edit distance between two words, for "did you mean".
pub fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}
