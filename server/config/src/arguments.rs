//! The arguments of a directive: words with their positions, read according to the row's shape.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::line::Word;
use crate::problem::{At, Fault};

mod shape;

pub use shape::Shape;

/// The words behind a directive's name. [`Shape::check`] has checked the number of the words.
pub(crate) struct Arguments<'a> {
    /// The directive's name in the table.
    pub name: &'static str,
    pub shape: &'a Shape,
    pub words: &'a [Word],
    /// The position behind the last word, where a missing word would be.
    pub end: At,
}

impl Arguments<'_> {
    /// Returns the word at `index`. If the word is missing, the fault names the expected arguments.
    pub fn word(&self, index: usize) -> Result<&Word, Fault> {
        self.words.get(index).ok_or_else(|| {
            let usage = self.shape.usage();
            Fault::new(
                self.end,
                format!("an argument is missing; expected `{} {usage}`", self.name),
            )
        })
    }

    pub fn text(&self, index: usize) -> Result<&str, Fault> {
        Ok(&self.word(index)?.text)
    }

    /// Returns the word at `index`, which must not be empty.
    pub fn filled(&self, index: usize) -> Result<&str, Fault> {
        let word = self.word(index)?;
        if word.text.is_empty() {
            Err(self.fault(index, "expected a value, not an empty word".to_string()))
        } else {
            Ok(&word.text)
        }
    }

    /// Returns the words from `index` on as written, with their quotes.
    pub fn written(&self, index: usize) -> String {
        written(self.words.get(index..).unwrap_or_default())
    }

    /// Returns a fault with the position of the word at `index`.
    pub fn fault(&self, index: usize, message: impl Into<String>) -> Fault {
        let at = self.words.get(index).map_or(self.end, |word| word.at);
        Fault::new(at, message)
    }

    pub fn flag(&self) -> Result<bool, Fault> {
        let text = self.text(0)?;
        match text.to_ascii_lowercase().as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(self.fault(0, format!("expected On or Off, not `{text}`"))),
        }
    }

    pub fn number(&self) -> Result<u64, Fault> {
        let text = self.text(0)?;
        let (least, most) = match *self.shape {
            Shape::Number { least, most } => (least, most),
            _ => (0, u64::MAX),
        };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text
            .parse()
            .ok()
            .filter(|number| digits && (least..=most).contains(number));
        number.ok_or_else(|| {
            let bounds = match most {
                u64::MAX => format!("{least} or more"),
                _ => format!("{least} to {most}"),
            };
            self.fault(
                0,
                format!("expected a whole number, {bounds}, not `{text}`"),
            )
        })
    }

    /// Returns a number that fits into 32 bits, as the row's limits ensure.
    pub fn number_u32(&self) -> Result<u32, Fault> {
        Ok(u32::try_from(self.number()?).unwrap_or(u32::MAX))
    }

    pub fn number_usize(&self) -> Result<usize, Fault> {
        Ok(usize::try_from(self.number()?).unwrap_or(usize::MAX))
    }

    pub fn time(&self) -> Result<Duration, Fault> {
        let text = self.text(0)?;
        let (least, most) = match *self.shape {
            Shape::Time { least, most } => (least, most),
            _ => (0, u64::MAX / 1000),
        };
        let bounds = Duration::from_secs(least)..=Duration::from_secs(most);
        duration(text)
            .filter(|time| bounds.contains(time))
            .ok_or_else(|| {
                let expected =
                    format!("expected seconds, {least} to {most} (or 500ms, 2min), not `{text}`");
                self.fault(0, expected)
            })
    }

    /// Returns a time that is not 0.
    pub fn time_above_zero(&self) -> Result<Duration, Fault> {
        let time = self.time()?;
        if time.is_zero() {
            return Err(self.fault(0, "expected a time above 0"));
        }
        Ok(time)
    }

    pub fn choice(&self) -> Result<&'static str, Fault> {
        let text = self.text(0)?;
        let words: &[&'static str] = match *self.shape {
            Shape::Choice(words) => words,
            _ => &[],
        };
        let is_meant = |word: &&&'static str| word.eq_ignore_ascii_case(text);
        words.iter().find(is_meant).copied().ok_or_else(|| {
            let expected = format!("expected {}, not `{text}`", words.join(", "));
            self.fault(0, expected)
                .or_nearest(text, words.iter().copied())
        })
    }

    /// Checks that the words are one of `values`, in any case. `why` says why there is no other
    /// value.
    pub fn only(&self, values: &[&str], why: &str) -> Result<(), Fault> {
        let words: Vec<&str> = self.words.iter().map(|word| &*word.text).collect();
        let written = words.join(" ");
        if values
            .iter()
            .any(|value| value.eq_ignore_ascii_case(&written))
        {
            return Ok(());
        }
        let expected = self.shape.usage();
        let message = format!(
            "expected `{} {expected}`, not `{written}`: {why}",
            self.name
        );
        Err(self.fault(0, message))
    }

    /// Returns the path of a file or folder. A path that is not absolute is relative to `root`.
    pub fn path(&self, index: usize, root: &Path) -> Result<PathBuf, Fault> {
        Ok(plain(&root.join(self.filled(index)?)))
    }
}

/// Returns the path without `.` and `..` segments, as Apache reads the paths of its configuration.
/// A final slash stays. Sections compare folders by their segments, so each folder must have one
/// name.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            Component::ParentDir if plain.has_root() => {}
            other => plain.push(other),
        }
    }
    let ends_with_slash = path.as_os_str().as_bytes().ends_with(b"/");
    if ends_with_slash && plain.file_name().is_some() {
        plain.as_mut_os_string().push("/");
    }
    plain
}

/// Returns the words as written, with their quotes.
pub(crate) fn written(words: &[Word]) -> String {
    // One quoted word is a whole expression.
    if let [word] = words {
        return word.text.clone();
    }
    let written = words.iter().map(|word| match word.quote {
        Some(quote) => format!("{quote}{}{quote}", word.text),
        None => word.text.clone(),
    });
    written.collect::<Vec<_>>().join(" ")
}

/// Parses a time: `20`, `20s`, `500ms`, `2min` (or `2mi`, Apache's spelling), `1h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let milliseconds = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "s" => number.checked_mul(1000)?,
        "ms" => number,
        "mi" | "min" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        _ => return None,
    };
    Some(Duration::from_millis(milliseconds))
}
