//! Texts with parts that change per request: `%{NAME}`, `$1`, `%1`, `${map:key}`, functions.
//!
//! Expressions, rewriting and header rules share these pieces, but write them differently. The
//! [`VariableSource`] of a request gives the values.

mod function;
mod parse;

use std::borrow::Cow;
use std::sync::Arc;

pub use function::Function;
pub(crate) use parse::variable;
use parse::{Dialect, Parser};

/// A source of the values that texts and expressions need, usually a request.
pub trait VariableSource {
    /// Appends the value of the piece, which may be empty.
    fn put(&self, piece: &Piece, into: &mut Vec<u8>);

    /// Tells whether the access rules admit a request for a URL path, or for a file.
    fn admits(&self, _path: &[u8], _file: Option<&std::path::Path>) -> bool {
        false
    }

    /// Notes that the outcome of a condition depends on this field of the request.
    fn note_varying(&self, _field: Cow<'_, str>) {}
}

/// A source in which every variable is empty, for texts without a request.
pub struct Nothing;

impl VariableSource for Nothing {
    fn put(&self, _: &Piece, _: &mut Vec<u8>) {}
}

/// A text whose pieces may have other values for each request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    pub(crate) written: String,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Literal(Vec<u8>),
    /// `%{REQUEST_URI}`: a variable, whose name is in upper case.
    Variable(String),
    /// `%{HTTP:Accept}`, `%{req:Accept}`: a field of the request.
    Field(String),
    /// `%{req_novary:Accept}`: the same, but a condition does not add the field to Vary.
    UnvariedField(String),
    /// `%{resp:Content-Type}`: a field of the response.
    Response(String),
    /// `hc('body')`: the body of the response to a health check.
    CheckedBody,
    /// `%{ENV:NAME}`, `%{reqenv:NAME}`.
    Environment(String),
    /// `%{note:NAME}`: a note that `Header note` has made.
    Note(String),
    /// `%{SSL:NAME}`, and `%{NAME}s` of header rules: a variable of the TLS connection.
    Tls(String),
    /// A variable of a `Header` line, which reads `(null)` if it is not set.
    OrNull(Box<Piece>),
    /// `%{LA-U:NAME}`, `%{LA-F:NAME}`: the value that the variable will have in a later phase.
    Ahead(String),
    /// `$N`: a group of the last match of the rule or the expression.
    Group(usize),
    /// `%N`: a group of the last condition of the rule.
    Condition(usize),
    /// `${map:key|default}`.
    Map {
        name: String,
        key: Text,
        default: Text,
    },
    /// `tolower(...)`.
    Call(Function, Text),
    /// `%t`: the time when the request arrived. `%D`: the time since the request arrived.
    Time,
    Duration,
}

impl Text {
    pub fn literal(text: &str) -> Text {
        Text {
            written: text.to_string(),
            pieces: if text.is_empty() {
                Vec::new()
            } else {
                vec![Piece::Literal(text.as_bytes().to_vec())]
            },
        }
    }

    /// Tells whether the literal parts of the text contain this path segment. The segments `.` and
    /// `..` count only between two slashes of the same literal. At the end of a literal, the value
    /// of the next piece could continue the segment.
    pub fn has_segment(&self, segment: &[u8]) -> bool {
        let is_dots = matches!(segment, b"." | b"..");
        self.pieces.iter().any(|piece| {
            let Piece::Literal(literal) = piece else {
                return false;
            };
            let mut parts = literal.split(|byte| *byte == b'/');
            if is_dots {
                parts.next();
                parts.next_back();
            }
            parts.any(|part| part == segment)
        })
    }

    /// Parses the syntax of rewriting: `%{NAME}`, `%{ENV:NAME}`, `%{HTTP:Name}`, `$1`, `%1`,
    /// `${map:key|default}`.
    pub(crate) fn rewriting(text: &str) -> Result<Text, String> {
        Parser { rest: text }.whole(text, Dialect::Rewriting)
    }

    /// Parses the syntax of quoted text in expressions: `%{NAME}`, `%{req:Name}`, `$1`.
    ///
    /// # Errors
    ///
    /// The expected text, and the text that was found instead.
    pub fn expression(text: &str) -> Result<Text, String> {
        Parser { rest: text }.whole(text, Dialect::Expression)
    }

    /// Parses the syntax of `Header`: `%{NAME}e`, `%{NAME}s`, `%t`, `%D`, `%%`.
    pub(crate) fn header(text: &str) -> Result<Text, String> {
        Parser { rest: text }.whole(text, Dialect::Header)
    }

    /// Parses the syntax of `SetEnvIf` and the Match directives, which have only `$1`.
    pub fn groups(text: &str) -> Text {
        let mut parser = Parser { rest: text };
        parser.whole(text, Dialect::Groups).unwrap_or_default()
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Tells whether the text has the value of this variable, also as the argument of a function.
    pub fn names(&self, variable: &str) -> bool {
        self.pieces.iter().any(|piece| piece.names(variable))
    }

    /// Tells whether the text is the same for every request.
    pub fn is_fixed(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Literal(_)))
    }

    pub fn put(&self, variables: &dyn VariableSource, into: &mut Vec<u8>) {
        for piece in &self.pieces {
            piece.put(variables, into);
        }
    }

    pub fn of(&self, variables: &dyn VariableSource) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put(variables, &mut bytes);
        bytes
    }
}

impl Piece {
    pub fn put(&self, variables: &dyn VariableSource, into: &mut Vec<u8>) {
        match self {
            Piece::Literal(bytes) => into.extend_from_slice(bytes),
            Piece::Call(function, text) => {
                into.extend_from_slice(&function.apply(&text.of(variables)));
            }
            other => variables.put(other, into),
        }
    }

    fn names(&self, variable: &str) -> bool {
        match self {
            Piece::Variable(name) => name == variable,
            Piece::OrNull(piece) => piece.names(variable),
            Piece::Call(_, text) => text.names(variable),
            Piece::Map { key, default, .. } => key.names(variable) || default.names(variable),
            _ => false,
        }
    }

    /// Returns the field of the request on which the piece depends and that Vary must name. Host
    /// is left out.
    pub fn varying_field(&self) -> Option<Cow<'_, str>> {
        match self {
            Piece::Field(name) if !name.eq_ignore_ascii_case("host") => {
                Some(Cow::Borrowed(name.as_str()))
            }
            Piece::Variable(name) if name != "HTTP_HOST" => {
                let words = name.strip_prefix("HTTP_")?.split('_').map(capitalized);
                Some(words.collect::<Vec<_>>().join("-").into())
            }
            _ => None,
        }
    }
}

/// Returns a word in the usual case of fields' names.
fn capitalized(word: &str) -> String {
    let mut word = word.to_ascii_lowercase();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}

impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.written)
    }
}

/// A source that knows the groups of the last match. It takes all other values from `variables`.
pub struct Matched<'f> {
    pub variables: &'f dyn VariableSource,
    pub groups: Option<(Arc<[u8]>, crate::Groups)>,
}

impl VariableSource for Matched<'_> {
    fn admits(&self, path: &[u8], file: Option<&std::path::Path>) -> bool {
        self.variables.admits(path, file)
    }

    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        match (piece, &self.groups) {
            (Piece::Group(number), Some((text, groups))) => {
                into.extend_from_slice(groups.get(text, *number).unwrap_or_default());
            }
            (other, _) => self.variables.put(other, into),
        }
    }
}

impl crate::Pattern {
    /// Matches `bytes` and returns `to` with `$1` to `$9` replaced by the groups. `None`: the
    /// pattern does not match.
    pub(crate) fn expand(&self, bytes: &[u8], to: &str) -> Option<Vec<u8>> {
        let groups = self.groups(bytes)?;
        let matched = Matched {
            variables: &Nothing,
            groups: Some((bytes.into(), groups)),
        };
        Some(Text::groups(to).of(&matched))
    }
}

#[cfg(test)]
mod tests;
