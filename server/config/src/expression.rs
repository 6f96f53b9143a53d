//! Expressions of `<If>`, `Require expr` and `expr=` (the usual part of Apache's ap_expr).
//!
//! An expression is parsed when the configuration is read. [`Expression::holds`] evaluates the
//! expression for a request.

mod parse;

use parse::Dialect;

use crate::network::Network;
use crate::text::{Matched, Piece, Text, VariableSource};
use crate::{glob, Groups, Pattern};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    written: String,
    root: Node,
    terms: usize,
}

const MOST_TERMS: usize = 1000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Constant(bool),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    /// Compares strings as bytes, or whole numbers.
    Compare {
        left: Text,
        operator: Operator,
        right: Text,
        numbers: bool,
    },
    Match {
        text: Text,
        pattern: Pattern,
        negated: bool,
    },
    Among(Text, Vec<Text>),
    /// `-f`, `-z` and the like.
    Test(Test, Text),
    Within(Text, Network),
    Glob {
        text: Text,
        pattern: Text,
        caseless: bool,
        /// `-fnmatch`: wildcards match no slash.
        of_paths: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Test {
    Folder,
    File,
    Exists,
    Filled,
    Link,
    Executable,
    Empty,
    NotEmpty,
    True,
    RemoteWithin,
    /// `-U`, `-A`: the access rules admit a request for the URL path.
    Url,
    /// `-F`: the file exists, and the access rules admit it.
    AdmittedFile,
}

impl Expression {
    /// Parses an expression of `<If>`, `Require expr` or `SetEnvIfExpr`.
    ///
    /// # Errors
    ///
    /// The expected text, and the text that was found instead.
    pub fn parse(text: &str) -> Result<Expression, String> {
        Expression::parse_as(text, Dialect::Usual)
    }

    /// Parses the expression of a `ProxyHCExpr`, which may also use `hc('body')`.
    pub(crate) fn parse_check(text: &str) -> Result<Expression, String> {
        Expression::parse_as(text, Dialect::HealthCheck)
    }

    /// Parses the expression of an `SSLRequire`.
    pub(crate) fn parse_tls(text: &str) -> Result<Expression, String> {
        Expression::parse_as(text, Dialect::TlsRequirement)
    }

    fn parse_as(text: &str, dialect: Dialect) -> Result<Expression, String> {
        let (root, terms) = parse::parse(text, dialect)?;
        Ok(Expression {
            written: text.to_string(),
            root,
            terms,
        })
    }

    /// Tells whether the expression has too many terms. The limit keeps the evaluation from
    /// exhausting the stack.
    pub(crate) fn is_too_long(&self) -> bool {
        self.terms > MOST_TERMS
    }

    pub(crate) fn always() -> Expression {
        Expression {
            written: "true".to_string(),
            root: Node::Constant(true),
            terms: 1,
        }
    }

    pub(crate) fn not(&self) -> Expression {
        Expression {
            written: format!("!({})", self.written),
            root: Node::Not(Box::new(self.root.clone())),
            terms: self.terms,
        }
    }

    pub(crate) fn and(&self, other: &Expression) -> Expression {
        Expression {
            written: format!("({}) && ({})", self.written, other.written),
            root: Node::And(Box::new(self.root.clone()), Box::new(other.root.clone())),
            terms: self.terms + other.terms,
        }
    }

    pub(crate) fn or(&self, other: &Expression) -> Expression {
        Expression {
            written: format!("({}) || ({})", self.written, other.written),
            root: Node::Or(Box::new(self.root.clone()), Box::new(other.root.clone())),
            terms: self.terms + other.terms,
        }
    }

    /// Tells whether the expression has the variable `%{REMOTE_USER}`. As in Apache, other
    /// spellings of the same value (`%{ENV:REMOTE_USER}`) do not count.
    pub fn names_user(&self) -> bool {
        self.root.any_text(&|text| text.names("REMOTE_USER"))
    }

    /// Evaluates the expression, and notes the fields of the request that the evaluation reads. It
    /// stops as soon as the outcome is known.
    pub fn holds(&self, variables: &dyn VariableSource) -> bool {
        self.evaluate(variables).0
    }

    /// Evaluates the expression. Returns the text and the groups of the last pattern that has
    /// matched, too.
    pub fn evaluate(&self, variables: &dyn VariableSource) -> (bool, Option<(Vec<u8>, Groups)>) {
        let mut noted = Noted(Matched {
            variables,
            groups: None,
        });
        let holds = holds(&self.root, &mut noted);
        let groups = noted.0.groups;
        (holds, groups.map(|(text, groups)| (text.to_vec(), groups)))
    }
}

impl Node {
    /// Whether `is` holds for a text of the expression, whether or not an evaluation reads it.
    fn any_text(&self, is: &dyn Fn(&Text) -> bool) -> bool {
        match self {
            Node::Constant(_) => false,
            Node::Not(inner) => inner.any_text(is),
            Node::And(left, right) | Node::Or(left, right) => {
                left.any_text(is) || right.any_text(is)
            }
            Node::Compare { left, right, .. } => is(left) || is(right),
            Node::Match { text, .. } | Node::Test(_, text) | Node::Within(text, _) => is(text),
            Node::Among(text, members) => is(text) || members.iter().any(is),
            Node::Glob { text, pattern, .. } => is(text) || is(pattern),
        }
    }
}

/// A source that notes the fields of the request that are read.
struct Noted<'f>(Matched<'f>);

impl VariableSource for Noted<'_> {
    fn admits(&self, path: &[u8], file: Option<&Path>) -> bool {
        self.0.variables.admits(path, file)
    }

    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        if let Some(field) = piece.varying_field() {
            self.0.variables.note_varying(field);
        }
        self.0.put(piece, into);
    }
}

impl std::fmt::Display for Expression {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.written)
    }
}

impl serde::Serialize for Expression {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.written)
    }
}

fn holds(node: &Node, variables: &mut Noted) -> bool {
    match node {
        Node::Constant(value) => *value,
        Node::Not(inner) => !holds(inner, variables),
        Node::And(left, right) => holds(left, variables) && holds(right, variables),
        Node::Or(left, right) => holds(left, variables) || holds(right, variables),
        Node::Compare {
            left,
            operator,
            right,
            numbers,
        } => {
            let (left, right) = (left.of(variables), right.of(variables));
            let ordering = if *numbers {
                number(&left).cmp(&number(&right))
            } else {
                left.cmp(&right)
            };
            operator.accepts(ordering)
        }
        Node::Match {
            text,
            pattern,
            negated,
        } => {
            let bytes = text.of(variables);
            let groups = pattern.groups(&bytes);
            let matches = groups.is_some();
            if let (Some(groups), false) = (groups, *negated) {
                variables.0.groups = Some((bytes.into(), groups));
            }
            matches != *negated
        }
        Node::Among(text, members) => {
            let text = text.of(variables);
            // Like Apache, begins with the last member. The order decides which fields are read.
            let mut members = members.iter().rev();
            members.any(|member| member.of(variables) == text)
        }
        Node::Test(test, text) => test.passes(&text.of(variables), variables),
        Node::Within(text, network) => {
            address(&text.of(variables)).is_some_and(|ip| network.contains(ip))
        }
        Node::Glob {
            text,
            pattern,
            caseless,
            of_paths,
        } => {
            let (mut text, mut pattern) = (text.of(variables), pattern.of(variables));
            if *caseless {
                text.make_ascii_lowercase();
                pattern.make_ascii_lowercase();
            }
            if *of_paths {
                glob::matches_path(&pattern, &text)
            } else {
                glob::matches(&pattern, &text)
            }
        }
    }
}

fn address(text: &[u8]) -> Option<std::net::IpAddr> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Returns the number at the beginning of a text, as strtol(3) does.
pub(crate) fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (is_below, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let size = digits.fold(0_i64, |size, digit| {
        let digit = i64::from(digit - b'0');
        size.saturating_mul(10).saturating_add(digit)
    });
    if is_below {
        -size
    } else {
        size
    }
}

impl Operator {
    pub(crate) fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Operator::Equal => ordering.is_eq(),
            Operator::NotEqual => ordering.is_ne(),
            Operator::Less => ordering.is_lt(),
            Operator::LessOrEqual => ordering.is_le(),
            Operator::Greater => ordering.is_gt(),
            Operator::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Test {
    /// Returns the test with this letter.
    pub(crate) fn of_letter(letter: char) -> Option<Test> {
        Some(match letter {
            'd' => Test::Folder,
            'f' => Test::File,
            'e' => Test::Exists,
            's' => Test::Filled,
            'L' | 'h' | 'l' => Test::Link,
            'x' => Test::Executable,
            'z' => Test::Empty,
            'n' => Test::NotEmpty,
            'T' => Test::True,
            'R' => Test::RemoteWithin,
            'U' | 'A' => Test::Url,
            'F' => Test::AdmittedFile,
            _ => return None,
        })
    }

    /// Evaluates a test of files, which reads the disk. Configurations without such tests have no
    /// cost.
    pub(crate) fn passes(self, text: &[u8], variables: &dyn VariableSource) -> bool {
        let path = Path::new(OsStr::from_bytes(text));
        let metadata = || std::fs::metadata(path).ok();
        match self {
            Test::Folder => metadata().is_some_and(|found| found.is_dir()),
            Test::File => metadata().is_some_and(|found| found.is_file()),
            Test::Exists => metadata().is_some(),
            Test::Filled => metadata().is_some_and(|found| found.is_file() && found.len() > 0),
            Test::Link => std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()),
            Test::Executable => {
                metadata().is_some_and(|found| found.permissions().mode() & 0o111 != 0)
            }
            Test::Url => variables.admits(text, None),
            Test::AdmittedFile => metadata().is_some() && variables.admits(b"/", Some(path)),
            Test::Empty => text.is_empty(),
            Test::NotEmpty => !text.is_empty(),
            Test::True => {
                let off = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
                !(text.is_empty() || ["0", "off", "false", "no"].into_iter().any(off))
            }
            Test::RemoteWithin => {
                let mut remote = Vec::new();
                variables.put(&Piece::Variable("REMOTE_ADDR".into()), &mut remote);
                let network = std::str::from_utf8(text).ok().and_then(Network::parse);
                let inside = network.zip(address(&remote));
                inside.is_some_and(|(network, ip)| network.contains(ip))
            }
        }
    }
}

#[cfg(test)]
mod tests;
