//! Reads options like GNU's `getopt_long`: names after two dashes, any unique prefix of a name, and
//! letters for some names.

use super::Word;

/// Whether a long option takes an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    Argument,
    /// An argument in the form `--name=value` only.
    Perhaps,
}

/// A long option in the table of options.
#[derive(Debug, Clone, Copy)]
pub struct Long {
    pub name: &'static str,
    pub takes: Takes,
}

#[derive(Debug, PartialEq, Eq)]
pub enum LongError {
    /// The unknown word as typed, up to any `=`.
    Unrecognized(String),
    Ambiguous(String, Vec<&'static str>),
    ArgumentMissing(&'static str),
    ArgumentUnwanted(&'static str),
    UnknownLetter(char),
    LetterArgumentMissing(char),
}

/// An option: its full name, and its argument if it has one.
pub type FoundOption = (&'static str, Option<Word>);

/// Reads every option of `words` in order. Other words are skipped, and `--` ends the options.
/// `letters` maps short options to the names of long options.
pub fn long_options(
    words: &[Word],
    table: &[Long],
    letters: &[(char, &'static str)],
) -> Vec<Result<FoundOption, LongError>> {
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
) -> Result<FoundOption, LongError> {
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
    found: &mut Vec<Result<FoundOption, LongError>>,
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
    use super::super::words;
    use super::*;

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
    fn a_unique_prefix_of_a_long_name_is_accepted() {
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
    fn an_ambiguous_prefix_is_refused_with_all_matching_names() {
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
    fn a_letter_may_be_repeated_in_one_word() {
        let found = long_options(&words("-vv"), TABLE, &[('v', "verbose")]);
        assert_eq!(found, [Ok(("verbose", None)), Ok(("verbose", None))]);
    }
}
