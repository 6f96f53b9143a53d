//! `RewriteRule` and `RewriteCond`: what they hold, and how their arguments are read.
//!
//! The front runs them (`front::rewrite`). In a server or virtual host they see the URL path, in a
//! `<Directory>` or .htaccess what lies behind the folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::expression::{Operator, Test};
use crate::{Change, Expression, Pattern, Text};

/// All that one scope says about rewriting.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Rewriting {
    /// `RewriteEngine`; `None` is not said.
    pub engine: Option<bool>,
    pub rules: Vec<Arc<RewriteRule>>,
    /// `RewriteBase`, for a folder.
    pub base: Option<String>,
    /// `RewriteOptions Inherit`: the outer scope's rules run after these.
    pub inherit: bool,
    /// The folder of the section or .htaccess the rules stand in, with a closing slash.
    pub folder: Option<PathBuf>,
}

impl Rewriting {
    /// Applies one scope's changes. A scope with rules of its own takes the place of those further
    /// out, unless it inherits them.
    pub(crate) fn apply(&mut self, changes: &[Change], folder: Option<&Path>) {
        let mut own = Rewriting::default();
        let mut speaks = false;
        for change in changes {
            match change {
                Change::RewriteEngine(on) => own.engine = Some(*on),
                Change::RewriteRule(rule) => own.rules.push(rule.clone()),
                Change::RewriteBase(base) => own.base = Some(base.clone()),
                Change::RewriteInherit(inherit) => own.inherit = *inherit,
                _ => continue,
            }
            speaks = true;
        }
        if !speaks {
            return;
        }
        if own.inherit {
            own.rules.extend_from_slice(&self.rules);
        }
        own.engine = own.engine.or(self.engine);
        own.folder = folder.map(|folder| folder.join(""));
        *self = own;
    }

    pub fn is_on(&self) -> bool {
        self.engine == Some(true) && !self.rules.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RewriteRule {
    pub conditions: Vec<RewriteCondition>,
    pub pattern: Pattern,
    pub negated: bool,
    /// `None`: `-`, nothing is replaced.
    pub substitution: Option<Text>,
    pub flags: Flags,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RewriteCondition {
    pub subject: Text,
    pub check: Check,
    pub negated: bool,
    /// `[OR]`: it or the next one.
    pub or_next: bool,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    Match(Pattern),
    #[serde(skip)]
    File(FileTest),
    /// `<x`, `>x`, `=x`, `<=x`, `>=x` by bytes, `-eq` and the like by number.
    #[serde(skip)]
    Compare(Comparison),
    Expression(Expression),
}

/// `-f`, `-d` and the like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileTest(Test);

impl FileTest {
    pub fn passes(self, path: &[u8], facts: &dyn crate::Facts) -> bool {
        self.0.passes(path, facts)
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
        let number = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.trim().parse::<i64>().unwrap_or(0)
        };
        self.operator.accepts(match self.numbers {
            true => number(subject).cmp(&number(&self.with)),
            false => subject.cmp(&self.with),
        })
    }
}

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Flags {
    pub last: bool,
    pub end: bool,
    /// `R`: the status of the redirect.
    pub redirect: Option<u16>,
    pub forbidden: bool,
    pub gone: bool,
    pub proxy: bool,
    pub pass_through: bool,
    pub append_query: bool,
    pub discard_query: bool,
    pub query_last: bool,
    pub no_escape: bool,
    pub chain: bool,
    pub skip: u32,
    /// `N`: from the first rule again, so often at most.
    pub next: Option<u32>,
    pub environment: Vec<(String, Option<Text>)>,
    pub cookies: Vec<Text>,
    pub media_type: Option<Text>,
    pub handler: Option<String>,
    pub discard_path_info: bool,
    pub escape_groups: bool,
    pub no_subrequest: bool,
}

/// Rounds of `[N]` when the rule does not say.
const ROUNDS: u32 = 32;

impl RewriteCondition {
    /// The arguments of `RewriteCond`; an error says which word is wrong, and why.
    pub(crate) fn parse(words: &[&str]) -> Result<RewriteCondition, (usize, String)> {
        let mut caseless = false;
        let mut or_next = false;
        if let Some(flags) = words.get(2) {
            for (name, _) in flag_list(flags).map_err(|why| (2, why))? {
                match name.to_ascii_uppercase().as_str() {
                    "NC" | "NOCASE" => caseless = true,
                    "OR" | "ORNEXT" => or_next = true,
                    "NV" | "NOVARY" => {}
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
            });
        }
        Ok(RewriteCondition {
            subject: Text::rewriting(subject).map_err(|why| (0, why))?,
            check: check(pattern, caseless).map_err(|why| (1, why))?,
            negated,
            or_next,
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
            // As a subrequest would find it: as a file.
            'F' | 'U' => 'f',
            letter => letter,
        };
        if let Some(test) = Test::of_letter(letter).filter(|_| !"znTR".contains(letter)) {
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

fn compiled(pattern: &str, caseless: bool) -> Result<Pattern, String> {
    let compiled = match caseless {
        true => Pattern::caseless(pattern),
        false => Pattern::new(pattern),
    };
    compiled.map_err(|why| format!("expected a regular expression ({why}), not `{pattern}`"))
}

impl RewriteRule {
    /// The arguments of `RewriteRule`; an error says which word is wrong, and why.
    pub(crate) fn parse(
        words: &[&str],
        conditions: Vec<RewriteCondition>,
    ) -> Result<RewriteRule, (usize, String)> {
        let mut flags = Flags::default();
        let mut caseless = false;
        if let Some(list) = words.get(2) {
            for (name, value) in flag_list(list).map_err(|why| (2, why))? {
                match name.to_ascii_uppercase().as_str() {
                    "NC" | "NOCASE" => caseless = true,
                    _ => flags.hear(name, value).map_err(|why| (2, why))?,
                }
            }
        }
        let (negated, pattern) = match words[0].strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, words[0]),
        };
        Ok(RewriteRule {
            conditions,
            pattern: compiled(pattern, caseless).map_err(|why| (0, why))?,
            negated,
            substitution: match words[1] {
                "-" => None,
                text => Some(Text::rewriting(text).map_err(|why| (1, why))?),
            },
            flags,
        })
    }
}

/// `[NAME,NAME=VALUE,...]`.
fn flag_list(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or_else(|| format!("expected flags in brackets such as [L,R=301], not `{text}`"))?;
    let flags = inner
        .split(',')
        .map(str::trim)
        .filter(|flag| !flag.is_empty());
    Ok(flags
        .map(|flag| flag.split_once('=').unwrap_or((flag, "")))
        .collect())
}

impl Flags {
    fn hear(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = |value: &str| Text::rewriting(value);
        match name.to_ascii_uppercase().as_str() {
            "L" | "LAST" => self.last = true,
            "END" => self.end = true,
            "R" | "REDIRECT" => self.redirect = Some(redirect_status(value)?),
            "F" | "FORBIDDEN" => self.forbidden = true,
            "G" | "GONE" => self.gone = true,
            "P" | "PROXY" => {
                return Err("expected ProxyPass: the flag P is not followed yet".into())
            }
            "PT" | "PASSTHROUGH" => self.pass_through = true,
            "QSA" | "QSAPPEND" => self.append_query = true,
            "QSD" | "QSDISCARD" => self.discard_query = true,
            "QSL" | "QSLAST" => self.query_last = true,
            "NE" | "NOESCAPE" => self.no_escape = true,
            "NS" | "NOSUBREQ" => self.no_subrequest = true,
            "C" | "CHAIN" => self.chain = true,
            "B" | "BNP" | "BNE" => self.escape_groups = true,
            "DPI" | "DISCARDPATH" => self.discard_path_info = true,
            "S" | "SKIP" => self.skip = number(name, value)?,
            "N" | "NEXT" => {
                self.next = Some(match value {
                    "" => ROUNDS,
                    value => number(name, value)?.min(10_000),
                });
            }
            "E" | "ENV" => {
                let (variable, value) = match value.split_once(':') {
                    Some((variable, value)) => (variable, Some(text(value)?)),
                    None => match value.strip_prefix('!') {
                        Some(variable) => (variable, None),
                        None => (value, Some(Text::default())),
                    },
                };
                if variable.is_empty() {
                    return Err(format!("expected E=NAME:VALUE, not `{name}={value:?}`"));
                }
                self.environment.push((variable.to_string(), value));
            }
            "CO" | "COOKIE" => self.cookies.push(text(value)?),
            "T" | "TYPE" | "H" | "HANDLER" => {
                return Err(format!(
                    "expected ForceType or SetHandler: the flag {name} is not followed yet"
                ));
            }
            "UNSAFEALLOW3F" | "UNSAFEPREFIXSTAT" | "UNC" => {}
            _ => {
                const KNOWN: &[&str] = &[
                    "L", "END", "R", "F", "G", "P", "PT", "QSA", "QSD", "QSL", "NC", "NE", "NS",
                    "C", "S", "N", "E", "CO", "T", "H", "B", "DPI",
                ];
                return Err(format!(
                    "expected flags among {}, not `{name}`",
                    KNOWN.join(", ")
                ));
            }
        }
        Ok(())
    }
}

fn number(name: &str, value: &str) -> Result<u32, String> {
    value
        .parse()
        .map_err(|_| format!("expected a number behind {name}=, not `{value}`"))
}

/// 302 where none is said. Beyond 3xx the substitution is dropped and the status answered.
fn redirect_status(value: &str) -> Result<u16, String> {
    match value.to_ascii_lowercase().as_str() {
        "" | "temp" => Ok(302),
        "permanent" => Ok(301),
        "seeother" => Ok(303),
        value => {
            let status = value
                .parse()
                .ok()
                .filter(|status| (300..=599).contains(status));
            status.ok_or_else(|| format!("expected a status from 300 to 599, not `{value}`"))
        }
    }
}

/// `RewriteMap`: where `${name:key}` is looked up.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewriteMap {
    /// `txt:FILE`, and with `rnd:FILE` one of the values that `|` parts.
    File { path: PathBuf, random: bool },
    #[serde(skip)]
    Internal(crate::Function),
}

impl RewriteMap {
    pub(crate) fn parse(text: &str, root: &std::path::Path) -> Result<RewriteMap, String> {
        let (kind, rest) = text.split_once(':').unwrap_or(("txt", text));
        match kind {
            "txt" | "rnd" => Ok(RewriteMap::File {
                path: root.join(rest),
                random: kind == "rnd",
            }),
            "int" => crate::Function::named(rest)
                .map(RewriteMap::Internal)
                .ok_or_else(|| format!("expected tolower, toupper, escape or unescape, not `{rest}`")),
            _ => Err(format!(
                "expected txt:FILE, rnd:FILE or int:FUNCTION, not `{text}`: programs and databases are not asked while a request waits"
            )),
        }
    }
}
