//! The two option grammars the originals use, on raw bytes: APR's `getopt` (ab) and GNU's `getopt_long` (httperf).
//!
//! What they accept is part of the tools' interface: bundled letters (`-kc 10`), attached arguments (`-n100`),
//! and for long options any prefix that fits one name only.

pub type Word = Vec<u8>;

/// Walks `-abc`-style options; stops at the first word that is not one, as APR does.
pub struct Letters<'a> {
    words: &'a [Word],
    grammar: &'a str,
    word: usize,
    letter: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Letter {
    Option(char),
    With(char, Word),
    Unknown(char),
    ArgumentMissing(char),
}

impl<'a> Letters<'a> {
    /// `grammar` is a getopt string: each letter, with a `:` when it takes an argument.
    pub fn new(words: &'a [Word], grammar: &'a str) -> Letters<'a> {
        Letters {
            words,
            grammar,
            word: 0,
            letter: 0,
        }
    }

    /// The words from the first one not consumed on.
    pub fn rest(&self) -> &'a [Word] {
        &self.words[self.word.min(self.words.len())..]
    }

    fn takes_argument(&self, letter: char) -> Option<bool> {
        if letter == ':' {
            return None;
        }
        let at = self.grammar.find(letter)?;
        Some(self.grammar[at + letter.len_utf8()..].starts_with(':'))
    }

    fn next_word(&mut self) {
        self.word += 1;
        self.letter = 0;
    }
}

impl Iterator for Letters<'_> {
    type Item = Letter;

    fn next(&mut self) -> Option<Letter> {
        let word = self.words.get(self.word)?;
        if self.letter == 0 {
            if word.first() != Some(&b'-') || word.len() == 1 {
                return None;
            }
            if word[1] == b'-' {
                self.next_word();
                return None;
            }
            self.letter = 1;
        }
        let letter = char::from(word[self.letter]);
        self.letter += 1;
        let last = self.letter >= word.len();
        match self.takes_argument(letter) {
            None | Some(false) => {
                if last {
                    self.next_word();
                }
                Some(match self.takes_argument(letter) {
                    None => Letter::Unknown(letter),
                    Some(_) => Letter::Option(letter),
                })
            }
            Some(true) if !last => {
                let argument = word[self.letter..].to_vec();
                self.next_word();
                Some(Letter::With(letter, argument))
            }
            Some(true) => {
                self.next_word();
                let Some(argument) = self.words.get(self.word).cloned() else {
                    return Some(Letter::ArgumentMissing(letter));
                };
                self.next_word();
                Some(Letter::With(letter, argument))
            }
        }
    }
}

/// Whether a long option takes an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    Argument,
    /// Only in the form `--name=value`.
    Perhaps,
}

/// The table row of a long option.
#[derive(Debug, Clone, Copy)]
pub struct Long {
    pub name: &'static str,
    pub takes: Takes,
}

#[derive(Debug, PartialEq, Eq)]
pub enum LongError {
    /// The word as typed, up to any `=`.
    Unrecognized(String),
    Ambiguous(String, Vec<&'static str>),
    ArgumentMissing(&'static str),
    ArgumentUnwanted(&'static str),
    UnknownLetter(char),
    LetterArgumentMissing(char),
}

/// An option as found: its full name, and its argument if it has one.
pub type Found = (&'static str, Option<Word>);

/// Every option of `words` in order; words that are no options are passed over, `--` ends them.
/// `letters` maps short options to a long row's name.
pub fn long_options(
    words: &[Word],
    table: &[Long],
    letters: &[(char, &'static str)],
) -> Vec<Result<Found, LongError>> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == b"--" {
            break;
        }
        if let Some(long) = word.strip_prefix(b"--") {
            found.push(long_option(long, table, &mut rest));
        } else if word.len() > 1 && word[0] == b'-' {
            short_options(&word[1..], table, letters, &mut rest, &mut found);
        }
    }
    found
}

fn long_option<'w>(
    text: &[u8],
    table: &[Long],
    rest: &mut impl Iterator<Item = &'w Word>,
) -> Result<Found, LongError> {
    let (name, value) = match text.iter().position(|&byte| byte == b'=') {
        Some(at) => (&text[..at], Some(text[at + 1..].to_vec())),
        None => (text, None),
    };
    let row = row_named(&String::from_utf8_lossy(name), table)?;
    match (row.takes, value) {
        (Takes::Nothing, Some(_)) => Err(LongError::ArgumentUnwanted(row.name)),
        (Takes::Argument, None) => match rest.next() {
            Some(next) => Ok((row.name, Some(next.clone()))),
            None => Err(LongError::ArgumentMissing(row.name)),
        },
        (_, value) => Ok((row.name, value)),
    }
}

fn row_named<'t>(name: &str, table: &'t [Long]) -> Result<&'t Long, LongError> {
    if let Some(exact) = table.iter().find(|row| row.name == name) {
        return Ok(exact);
    }
    let fitting: Vec<&Long> = table
        .iter()
        .filter(|row| row.name.starts_with(name))
        .collect();
    match fitting[..] {
        [] => Err(LongError::Unrecognized(name.to_string())),
        [one] => Ok(one),
        _ => Err(LongError::Ambiguous(
            name.to_string(),
            fitting.iter().map(|row| row.name).collect(),
        )),
    }
}

fn short_options<'w>(
    word: &[u8],
    table: &[Long],
    letters: &[(char, &'static str)],
    rest: &mut impl Iterator<Item = &'w Word>,
    found: &mut Vec<Result<Found, LongError>>,
) {
    for (at, &byte) in word.iter().enumerate() {
        let letter = char::from(byte);
        let row = letters
            .iter()
            .find(|(known, _)| *known == letter)
            .and_then(|(_, name)| table.iter().find(|row| row.name == *name));
        let Some(row) = row else {
            found.push(Err(LongError::UnknownLetter(letter)));
            continue;
        };
        if row.takes != Takes::Argument {
            found.push(Ok((row.name, None)));
            continue;
        }
        let attached = &word[at + 1..];
        let argument = if attached.is_empty() {
            rest.next().cloned()
        } else {
            Some(attached.to_vec())
        };
        found.push(match argument {
            Some(argument) => Ok((row.name, Some(argument))),
            None => Err(LongError::LetterArgumentMissing(letter)),
        });
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        line.split_whitespace()
            .map(|word| word.as_bytes().to_vec())
            .collect()
    }

    #[test]
    fn letters_bundle_and_take_attached_arguments() {
        let line = words("-kc 10 -n100 url -k");
        let mut letters = Letters::new(&line, "n:c:k");
        let found: Vec<Letter> = letters.by_ref().collect();
        assert_eq!(
            found,
            [
                Letter::Option('k'),
                Letter::With('c', b"10".to_vec()),
                Letter::With('n', b"100".to_vec()),
            ]
        );
        assert_eq!(letters.rest(), &words("url -k")[..]);
    }

    #[test]
    fn an_unknown_letter_inside_a_bundle_leaves_its_word() {
        let line = words("-Qk url");
        let mut letters = Letters::new(&line, "k");
        assert_eq!(letters.next(), Some(Letter::Unknown('Q')));
        assert_eq!(letters.rest().len(), 2);
    }

    #[test]
    fn a_missing_argument_is_told_with_its_letter() {
        let line = words("-n");
        let mut letters = Letters::new(&line, "n:");
        assert_eq!(letters.next(), Some(Letter::ArgumentMissing('n')));
        assert!(letters.rest().is_empty());
    }

    const TABLE: &[Long] = &[
        Long {
            name: "num-calls",
            takes: Takes::Argument,
        },
        Long {
            name: "num-conns",
            takes: Takes::Argument,
        },
        Long {
            name: "rate",
            takes: Takes::Argument,
        },
        Long {
            name: "print-reply",
            takes: Takes::Perhaps,
        },
        Long {
            name: "verbose",
            takes: Takes::Nothing,
        },
    ];

    #[test]
    fn long_names_may_be_cut_while_they_stay_unique() {
        let found = long_options(&words("--ra 10 --num-con=5 x --print-r"), TABLE, &[]);
        assert_eq!(
            found,
            [
                Ok(("rate", Some(b"10".to_vec()))),
                Ok(("num-conns", Some(b"5".to_vec()))),
                Ok(("print-reply", None)),
            ]
        );
    }

    #[test]
    fn long_names_that_fit_two_are_refused_with_both() {
        let found = long_options(&words("--num-c 5"), TABLE, &[]);
        assert_eq!(
            found[0],
            Err(LongError::Ambiguous(
                "num-c".into(),
                vec!["num-calls", "num-conns"]
            ))
        );
    }

    #[test]
    fn letters_repeat_in_one_word() {
        let found = long_options(&words("-vv"), TABLE, &[('v', "verbose")]);
        assert_eq!(found, [Ok(("verbose", None)), Ok(("verbose", None))]);
    }
}
