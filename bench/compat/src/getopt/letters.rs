//! Reads options like APR's `getopt`: letters after one dash, several together or with an attached
//! argument.

use super::Word;

/// Reads options like `-abc`. Like APR, stops at the first word that is no option.
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
    /// Returns a reader of `words`. `grammar` is a getopt string: a `:` after a letter means an
    /// argument.
    pub fn new(words: &'a [Word], grammar: &'a str) -> Letters<'a> {
        Letters {
            words,
            grammar,
            word: 0,
            letter: 0,
        }
    }

    /// Returns the words that have not been read.
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

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    #[test]
    fn letters_may_stand_together_and_take_attached_arguments() {
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
    fn after_an_unknown_letter_its_word_counts_as_unread() {
        let line = words("-Qk url");
        let mut letters = Letters::new(&line, "k");
        assert_eq!(letters.next(), Some(Letter::Unknown('Q')));
        assert_eq!(letters.rest().len(), 2);
    }

    #[test]
    fn a_missing_argument_is_reported_with_its_letter() {
        let line = words("-n");
        let mut letters = Letters::new(&line, "n:");
        assert_eq!(letters.next(), Some(Letter::ArgumentMissing('n')));
        assert!(letters.rest().is_empty());
    }
}
