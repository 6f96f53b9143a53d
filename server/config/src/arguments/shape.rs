//! The shape of a directive's arguments: their number and their types.

use super::Arguments;
use crate::problem::Fault;

/// The arguments a directive takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// `On` or `Off`.
    Flag,
    /// A whole number within bounds, both included.
    Number { least: u64, most: u64 },
    /// A time within bounds in seconds, both included. A unit `ms`, `s`, `min` or `h` may follow
    /// the number.
    Time { least: u64, most: u64 },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One file or folder, relative to `ServerRoot`.
    Path,
    /// One of these values, each of one or more words. All of them say what Mehari always does.
    /// `why` says why there is no other value.
    Only {
        values: &'static [&'static str],
        why: &'static str,
    },
    /// Words as `usage` describes them, with the least and the greatest number of words.
    Words {
        usage: &'static str,
        least: usize,
        most: usize,
    },
}

impl Shape {
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Shape::Flag => "On",
            Shape::Number { .. } | Shape::Time { .. } => "2",
            Shape::Choice(words) => words[0],
            Shape::Path => "/srv/example",
            Shape::Only { values, .. } => values[0],
            Shape::Words { .. } => "",
        }
    }

    pub(crate) const fn wrong(self) -> &'static str {
        match self {
            Shape::Flag | Shape::Choice(_) | Shape::Only { .. } => "maybe",
            Shape::Number { .. } | Shape::Time { .. } => "many",
            Shape::Path => "/one /two",
            Shape::Words { .. } => "",
        }
    }

    /// Returns the arguments as the documentation prints them.
    pub fn usage(&self) -> String {
        match self {
            Shape::Flag => "On|Off".into(),
            Shape::Number { least, most } if *most == u64::MAX => {
                format!("NUMBER ({least} or more)")
            }
            Shape::Number { least, most } => format!("NUMBER ({least} to {most})"),
            Shape::Time { least, most } => format!("SECONDS ({least} to {most})"),
            Shape::Choice(words) => words.join("|"),
            Shape::Path => "PATH".into(),
            Shape::Only { values, .. } => values[0].into(),
            Shape::Words { usage, .. } => usage.to_string(),
        }
    }

    fn count(&self) -> (usize, usize) {
        match self {
            Shape::Words { least, most, .. } => (*least, *most),
            Shape::Only { values, .. } => {
                let counts = values.iter().map(|value| value.split(' ').count());
                (1, counts.max().unwrap_or(1))
            }
            _ => (1, 1),
        }
    }

    /// Checks the number of words and the type of each.
    pub(crate) fn check(&self, arguments: &Arguments) -> Result<(), Fault> {
        let (least, most) = self.count();
        let words = arguments.words;
        if words.len() < least {
            return Err(Fault::new(
                arguments.end,
                self.expected(arguments, "an argument is missing"),
            ));
        }
        if let Some(extra) = words.get(most) {
            let what = format!("`{}` is one argument too many", extra.text);
            return Err(Fault::new(extra.at, self.expected(arguments, &what)));
        }
        match self {
            Shape::Flag => arguments.flag().map(drop),
            Shape::Number { .. } => arguments.number().map(drop),
            Shape::Time { .. } => arguments.time().map(drop),
            Shape::Choice(_) => arguments.choice().map(drop),
            Shape::Path => arguments.filled(0).map(drop),
            Shape::Only { values, why } => arguments.only(values, why),
            Shape::Words { .. } => Ok(()),
        }
    }

    fn expected(&self, arguments: &Arguments, what: &str) -> String {
        format!("{what}; expected `{} {}`", arguments.name, self.usage())
    }
}
