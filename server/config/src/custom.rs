//! Directives that the site's Perl modules define (`PerlLoadModule`, `Apache2::Module::add`).
//!
//! A [`CustomDirective`] is the definition of a directive. A [`CustomUse`] is a line with such a
//! directive. The Perl callback of a line runs while the configuration is read, and again in each
//! zygote. For a line of a .htaccess file, the callback runs in the worker. The Perl module
//! Mehari::Directives calls the callbacks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::line::Word;
use crate::problem::{At, Fault};
use crate::{overrides, Overrides};

/// The source of container numbers. Each section, .htaccess file and server gets a number. The
/// lines with the same number change the same object of a module.
static NEXT_CONTAINER: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_container() -> u64 {
    NEXT_CONTAINER.fetch_add(1, Ordering::Relaxed)
}

/// A directive as its module defines it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CustomDirective {
    /// The name as the module writes it, without the `<` of a section.
    pub name: String,
    pub is_section: bool,
    pub takes: Takes,
    /// Apache's `req_override`: the allowed places, as bits.
    pub places: u32,
    /// The module's description of the expected arguments. May be empty.
    pub expected: String,
    pub module: String,
}

/// Apache's `args_how`: the arguments that a directive takes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub enum Takes {
    /// The whole text behind the name, as written in the file.
    Raw,
    Flag,
    /// A number of words within these limits, both included. `odd`: two words are not allowed
    /// (TAKE13).
    Words {
        least: usize,
        most: usize,
        odd: bool,
    },
    /// Any number of words. The callback runs for each word.
    Each,
    /// One word and any number of further words. The callback runs for each further word, together
    /// with the first.
    EachSecond,
}

/// The bits of Apache's `req_override`: the places where a directive may stand.
const OR_LIMIT: u32 = 1;
const OR_OPTIONS: u32 = 2;
const OR_FILE_INFO: u32 = 4;
const OR_AUTH: u32 = 8;
const OR_INDEXES: u32 = 16;
const OR_ALL: u32 = 31;
const IN_SECTIONS: u32 = 64;
const IN_SERVER: u32 = 128;

/// The place in which a line stands.
#[derive(Clone, Copy)]
pub(crate) enum Standing<'a> {
    Server,
    Section,
    Htaccess(&'a Overrides),
}

impl Standing<'_> {
    /// `$parms->override`: the directives that may stand in this place, as bits.
    pub fn bits(&self) -> u32 {
        match self {
            Standing::Server => IN_SERVER | OR_OPTIONS | OR_FILE_INFO | OR_INDEXES,
            Standing::Section => IN_SECTIONS | OR_ALL,
            Standing::Htaccess(may) => [
                (overrides::LIMIT, OR_LIMIT),
                (overrides::OPTIONS, OR_OPTIONS),
                (overrides::FILE_INFO, OR_FILE_INFO),
                (overrides::AUTH, OR_AUTH),
                (overrides::INDEXES, OR_INDEXES),
            ]
            .iter()
            .filter(|(class, _)| may.said.classes & class != 0)
            .fold(0, |bits, (_, bit)| bits | bit),
        }
    }
}

/// One line (or section) of the configuration that uses a custom directive.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CustomUse {
    /// The number of the line's section, .htaccess file or server (see `NEXT_CONTAINER`).
    pub container: u64,
    /// The number of the host.
    pub server: u32,
    pub file: String,
    pub line: u32,
    /// The path or pattern of the section. Empty outside of sections.
    pub path: String,
    /// The bits of the place in which the line stands (`Standing::bits`).
    pub standing: u32,
    pub name: String,
    /// Words, or one text for a directive that takes the line as written.
    pub arguments: Vec<String>,
    /// The lines of a section.
    pub lines: Vec<String>,
    /// Whether the line comes from a .htaccess file. The worker then gets the line, not the zygote.
    pub is_late: bool,
}

impl CustomUse {
    /// Encodes the use for Perl, with one field per line. `a` precedes an argument, and `l`
    /// precedes a line of a section.
    pub fn text(&self) -> String {
        let plain = |text: &str| text.replace(['\n', '\0'], " ");
        let mut text = format!(
            "{}\n{}\n{}\n{}\n{}\n{}\n{}",
            self.container,
            self.server,
            plain(&self.file),
            self.line,
            plain(&self.path),
            self.standing,
            plain(&self.name),
        );
        let arguments = self.arguments.iter().map(|argument| ('a', argument));
        for (kind, part) in arguments.chain(self.lines.iter().map(|line| ('l', line))) {
            text.push('\n');
            text.push(kind);
            text.push_str(&plain(part));
        }
        text
    }
}

impl CustomDirective {
    /// Parses a definition as the perl that reads the configuration sends it: name, args_how as a
    /// number, req_override, module, expected arguments.
    pub fn from_text(text: &str) -> Option<CustomDirective> {
        let mut fields = text.splitn(5, '\n');
        let name = fields.next()?;
        let takes = Takes::from_number(fields.next()?.parse().ok()?)?;
        let places = fields.next()?.parse().ok()?;
        let module = fields.next()?.to_string();
        let expected = fields.next()?.replace('\n', " ");
        let bare = name.strip_prefix('<');
        Some(CustomDirective {
            name: bare.unwrap_or(name).to_string(),
            is_section: bare.is_some(),
            takes,
            places,
            expected,
            module,
        })
    }

    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Checks that the directive may stand in this place.
    pub(crate) fn check_place(&self, name: &Word, standing: Standing) -> Result<(), Fault> {
        if self.places & standing.bits() != 0 {
            return Ok(());
        }
        let expected = match standing {
            Standing::Server => "in a section",
            Standing::Section => "outside of sections",
            Standing::Htaccess(_) if self.places & OR_ALL == 0 => "in the configuration",
            Standing::Htaccess(_) => "an AllowOverride that lets it stand here",
        };
        let message = format!(
            "{} of {} cannot stand here; expected it {expected}",
            self.name, self.module
        );
        Err(Fault::new(name.at, message))
    }

    /// Returns the arguments of a line. `raw` is the text behind the directive's name.
    pub(crate) fn arguments(
        &self,
        raw: &str,
        words: &[Word],
        end: At,
    ) -> Result<Vec<String>, Fault> {
        let (least, most) = match self.takes {
            Takes::Raw => return Ok(vec![raw.to_string()]),
            Takes::Flag => (1, 1),
            Takes::Words { least, most, .. } => (least, most),
            Takes::Each => (1, usize::MAX),
            Takes::EachSecond => (2, usize::MAX),
        };
        let expected = || {
            if self.expected.is_empty() {
                format!("`{} {}`", self.name, self.takes.usage())
            } else {
                format!("`{} {}`: {}", self.name, self.takes.usage(), self.expected)
            }
        };
        if words.len() < least {
            let message = format!("an argument is missing; expected {}", expected());
            return Err(Fault::new(end, message));
        }
        let is_two = matches!(self.takes, Takes::Words { odd: true, .. }) && words.len() == 2;
        let extra = words.get(most).or(is_two.then(|| &words[1]));
        if let Some(extra) = extra {
            let message = format!(
                "`{}` is one argument too many; expected {}",
                extra.text,
                expected()
            );
            return Err(Fault::new(extra.at, message));
        }
        if self.takes != Takes::Flag {
            return Ok(words.iter().map(|word| word.text.clone()).collect());
        }
        match words[0].text.to_ascii_lowercase().as_str() {
            "on" => Ok(vec!["1".to_string()]),
            "off" => Ok(vec!["0".to_string()]),
            _ => {
                let message = format!("expected {}, not `{}`", expected(), words[0].text);
                Err(Fault::new(words[0].at, message))
            }
        }
    }
}

impl Takes {
    /// Returns the kind with this number in Apache2::Const.
    fn from_number(number: u32) -> Option<Takes> {
        let words = |least, most| Takes::Words {
            least,
            most,
            odd: false,
        };
        Some(match number {
            0 => Takes::Raw,
            1 => words(1, 1),
            2 => words(2, 2),
            3 => Takes::Each,
            4 => Takes::EachSecond,
            5 => Takes::Flag,
            6 => words(0, 0),
            7 => words(1, 2),
            8 => words(3, 3),
            9 => words(2, 3),
            10 => words(1, 3),
            11 => Takes::Words {
                least: 1,
                most: 3,
                odd: true,
            },
            12 => words(0, usize::MAX),
            _ => return None,
        })
    }

    fn usage(self) -> &'static str {
        match self {
            Takes::Raw => "...",
            Takes::Flag => "On|Off",
            Takes::Each => "WORD...",
            Takes::EachSecond => "WORD WORD...",
            Takes::Words {
                least: 0, most: 0, ..
            } => "",
            Takes::Words { odd: true, .. } => "WORD [WORD WORD]",
            Takes::Words {
                least: 1, most: 1, ..
            } => "WORD",
            Takes::Words {
                least: 1, most: 2, ..
            } => "WORD [WORD]",
            Takes::Words {
                least: 1, most: 3, ..
            } => "WORD [WORD [WORD]]",
            Takes::Words {
                least: 2, most: 2, ..
            } => "WORD WORD",
            Takes::Words {
                least: 2, most: 3, ..
            } => "WORD WORD [WORD]",
            Takes::Words {
                least: 3, most: 3, ..
            } => "WORD WORD WORD",
            Takes::Words { .. } => "[WORD...]",
        }
    }
}
