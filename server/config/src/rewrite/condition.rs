//! `RewriteCond`: a condition of a rule.

use crate::expression::{Operator, Test};
use crate::{Expression, Pattern, Piece, Text};

use super::compiled;
use super::flags::flag_list;
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RewriteCondition {
    pub subject: Text,
    pub check: Check,
    pub negated: bool,
    /// `[OR]`: this condition or the next condition must be true.
    pub or_next: bool,
    /// `[NV]`: the fields that the condition reads are not added to Vary.
    pub unvaried: bool,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    Match(Pattern),
    #[serde(skip)]
    File(FileTest),
    /// `-U`: the text is a URL path that is not refused to everybody.
    Path,
    /// `<x`, `>x`, `=x`, `<=x`, `>=x` by bytes, `-eq` and the like by number.
    #[serde(skip)]
    Compare(Comparison),
    Expression(Expression),
}

/// `-f`, `-d` and the like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileTest(Test);

impl FileTest {
    pub fn passes(self, path: &[u8], variables: &dyn crate::VariableSource) -> bool {
        self.0.passes(path, variables)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    operator: Operator,
    with: Vec<u8>,
    numbers: bool,
}

impl Comparison {
    pub fn holds(&self, subject: &[u8]) -> bool {
        let number = crate::expression::number;
        self.operator.accepts(if self.numbers {
            number(subject).cmp(&number(&self.with))
        } else {
            subject.cmp(&self.with)
        })
    }
}

/// Collects the request fields that a text reads, also in the keys of maps.
fn fields_in<'t>(text: &'t Text, into: &mut Vec<Cow<'t, str>>) {
    for piece in text.pieces() {
        match piece {
            Piece::Map { key, .. } => fields_in(key, into),
            piece => into.extend(piece.varying_field()),
        }
    }
}

impl RewriteCondition {
    /// Returns the request fields that the condition reads and that Vary must name.
    pub fn fields(&self) -> Vec<Cow<'_, str>> {
        let mut fields = Vec::new();
        if !self.unvaried {
            fields_in(&self.subject, &mut fields);
        }
        fields
    }

    /// Parses the arguments of `RewriteCond`. An error gives the index of the wrong word and the
    /// reason.
    pub(crate) fn parse(words: &[&str]) -> Result<RewriteCondition, (usize, String)> {
        let mut caseless = false;
        let mut or_next = false;
        let mut unvaried = false;
        if let Some(flags) = words.get(2) {
            for (name, _) in flag_list(flags).map_err(|why| (2, why))? {
                match name.to_ascii_uppercase().as_str() {
                    "NC" | "NOCASE" => caseless = true,
                    "OR" | "ORNEXT" => or_next = true,
                    "NV" | "NOVARY" => unvaried = true,
                    _ => return Err((2, format!("expected NC, OR or NV, not `{name}`"))),
                }
            }
        }
        let (negated, pattern) = match words[1].strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, words[1]),
        };
        let subject = words[0];
        if subject.eq_ignore_ascii_case("expr") {
            let expression = Expression::parse(pattern).map_err(|why| (1, why))?;
            return Ok(RewriteCondition {
                subject: Text::default(),
                check: Check::Expression(expression),
                negated,
                or_next,
                unvaried,
            });
        }
        Ok(RewriteCondition {
            subject: Text::rewriting(subject).map_err(|why| (0, why))?,
            check: check(pattern, caseless).map_err(|why| (1, why))?,
            negated,
            or_next,
            unvaried,
        })
    }
}

fn check(pattern: &str, caseless: bool) -> Result<Check, String> {
    const NUMBERS: &[(&str, Operator)] = &[
        ("-eq", Operator::Equal),
        ("-ne", Operator::NotEqual),
        ("-lt", Operator::Less),
        ("-le", Operator::LessOrEqual),
        ("-gt", Operator::Greater),
        ("-ge", Operator::GreaterOrEqual),
    ];
    for (word, operator) in NUMBERS {
        if let Some(with) = pattern.strip_prefix(word).filter(|with| !with.is_empty()) {
            let with = with.as_bytes().to_vec();
            return Ok(Check::Compare(Comparison {
                operator: *operator,
                with,
                numbers: true,
            }));
        }
    }
    if let [b'-', letter] = pattern.as_bytes() {
        let letter = match *letter as char {
            'U' => return Ok(Check::Path),
            // Unlike Apache, Mehari makes no subrequest for `-F`. A subrequest would find the same
            // file.
            'F' => 'f',
            letter => letter,
        };
        if let Some(test) = Test::of_letter(letter).filter(|_| !"znTRA".contains(letter)) {
            return Ok(Check::File(FileTest(test)));
        }
    }
    const STRINGS: &[(&str, Operator)] = &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("=", Operator::Equal),
    ];
    for (sign, operator) in STRINGS {
        if let Some(with) = pattern.strip_prefix(sign) {
            let with = if with == "\"\"" { "" } else { with };
            let with = with.as_bytes().to_vec();
            return Ok(Check::Compare(Comparison {
                operator: *operator,
                with,
                numbers: false,
            }));
        }
    }
    compiled(pattern, caseless).map(Check::Match)
}
