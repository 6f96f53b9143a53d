//! Compares the two engines of regular expressions. An expression that the linear engine runs must
//! find the same groups as in PCRE2: a rule that refuses a request depends on this.

use crate::mutate::Random;
use mehari_config::Pattern;

/// The parts of which expressions are made.
const PARTS: &[&str] = &[
    "a",
    "b",
    "A",
    "_",
    "1",
    "-",
    " ",
    "\u{e9}",
    "/",
    ".",
    "^",
    "$",
    "|",
    "(",
    "(",
    ")",
    ")",
    "(?:",
    "(?i)",
    "(?i:",
    "(?-i)",
    "(?s)",
    "(?-s)",
    "(?m)",
    "(?x)",
    "(?U)",
    "(?J)",
    "(?<n>",
    "(?P<n>",
    "(?'n'",
    "(?|",
    "(?=",
    "(?!",
    "(?<=",
    "(?>",
    "(?#c)",
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "*+",
    "{2}",
    "{1,2}",
    "{0,1}",
    "{,2}",
    "{2,}?",
    "{",
    "}",
    "{a}",
    "[",
    "[^",
    "]",
    "[ab]",
    "[^a]",
    "[a-b]",
    "[]a]",
    "[^]a]",
    "[[:alpha:]]",
    "[[:^digit:]]",
    "[[:word:]-]",
    "[\\w-]",
    "[a\\-b]",
    "[\\d_]",
    "[&&]",
    "[a--b]",
    "[~~]",
    "[\\b]",
    "[\\]]",
    "[A-z]",
    "\\w",
    "\\W",
    "\\d",
    "\\D",
    "\\s",
    "\\S",
    "\\h",
    "\\v",
    "\\R",
    "\\N",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "\\Z",
    "\\G",
    "\\K",
    "\\Q",
    "\\E",
    "\\1",
    "\\2",
    "\\g1",
    "\\k<n>",
    "\\.",
    "\\/",
    "\\-",
    "\\_",
    "\\n",
    "\\t",
    "\\e",
    "\\x41",
    "\\x{62}",
    "\\xe9",
    "\\101",
    "\\0",
    "\\cA",
    "\\<",
    "\\>",
    "\\\"",
    "\\#",
    "#",
    "\n",
    "&&",
    "~",
    "\\p{L}",
    "\\p{Lu}",
    "\\X",
    "\\C",
    "\\Qa.b\\E",
    "\\\\",
];

/// The parts of the text in which the expressions search.
const TEXT: &[&[u8]] = &[
    b"a",
    b"b",
    b"A",
    b"B",
    b"_",
    b"1",
    b"-",
    b" ",
    b"\n",
    b"\r",
    b"\xe9",
    b"\xc3\xa9",
    b"\xff",
    b"/",
    b".",
    b"]",
    b"\\",
    b"&",
    b"~",
    b"\0",
    b"\x08",
    b"\x0b",
    b"z",
];

/// The longest expression in parts, and the longest text. PCRE2 gives up on expressions that
/// backtrack too long, and then finds no match.
const LONGEST: usize = 12;

/// Makes PCRE2 run an expression: the linear engine has no atomic groups. A quantifier that follows
/// is still an error.
const ATOMIC: &str = "(?>)(?-i)";

fn parts<T: Copy>(all: &[T], random: &mut Random) -> Vec<T> {
    let count = random.below(LONGEST + 1);
    (0..count).map(|_| *random.pick(all)).collect()
}

/// The input is the seed of expressions, and of texts for each of them.
pub fn engines(input: &[u8]) {
    let seed = input.iter().fold(0, |seed: u64, byte| {
        seed.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte)
    });
    let random = &mut Random::new(seed);
    for _ in 0..100 {
        let expression = parts(PARTS, random).concat();
        let texts: Vec<_> = (0..8).map(|_| parts(TEXT, random).concat()).collect();
        compare(&expression, &texts);
    }
}

fn compare(expression: &str, texts: &[Vec<u8>]) {
    let ours = Pattern::new(expression);
    let theirs = Pattern::new(&format!("{ATOMIC}{expression}"));
    assert_eq!(
        ours.is_ok(),
        theirs.is_ok(),
        "{expression:?}: {ours:?} and {theirs:?}"
    );
    let (Ok(ours), Ok(theirs)) = (ours, theirs) else {
        return;
    };
    for text in texts {
        for from in 0..=text.len() {
            assert_eq!(
                ours.groups_at(text, from),
                theirs.groups_at(text, from),
                "{expression:?} in {:?} from {from}",
                text.escape_ascii().to_string()
            );
        }
    }
}
