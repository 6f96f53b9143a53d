//! Texts that are put together for each request: `%{NAME}`, `$1`, `%1`, `${map:key}`, functions.
//!
//! Expressions, rewriting and header rules share the pieces; each has its own way to write them. What
//! a piece stands for is asked of the [`Facts`] of a request.

use std::sync::Arc;

/// What a request says when it is asked.
pub trait Facts {
    /// Appends what the piece stands for: nothing where there is nothing.
    fn put(&self, piece: &Piece, into: &mut Vec<u8>);
}

/// Facts where there is no request.
pub struct Nothing;

impl Facts for Nothing {
    fn put(&self, _: &Piece, _: &mut Vec<u8>) {}
}

/// A text with pieces that differ from request to request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    pub(crate) written: String,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Literal(Vec<u8>),
    /// `%{REQUEST_URI}`: upper case.
    Variable(String),
    /// `%{HTTP:Accept}`, `%{req:Accept}`: a field of the request.
    Field(String),
    /// `%{resp:Content-Type}`: a field of the response.
    Response(String),
    /// `%{ENV:NAME}`, `%{reqenv:NAME}`.
    Environment(String),
    /// `%{SSL:NAME}` and `%{NAME}s` of header rules.
    Tls(String),
    /// `%{LA-U:NAME}`, `%{LA-F:NAME}`: as it will be later in the request.
    Ahead(String),
    /// `$N`: of the last match of the rule or the expression.
    Group(usize),
    /// `%N`: of the last condition of the rule.
    Condition(usize),
    /// `${map:key|default}`.
    Map {
        name: String,
        key: Text,
        default: Text,
    },
    /// `tolower(...)`.
    Call(Function, Text),
    /// `%t`: when the request came; `%D`: how long it has taken so far.
    Time,
    Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Lower,
    Upper,
    Escape,
    Unescape,
}

impl Function {
    pub(crate) fn named(name: &str) -> Option<Function> {
        Some(match name {
            "tolower" => Function::Lower,
            "toupper" => Function::Upper,
            "escape" => Function::Escape,
            "unescape" => Function::Unescape,
            _ => return None,
        })
    }

    pub fn apply(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Function::Lower => bytes.to_ascii_lowercase(),
            Function::Upper => bytes.to_ascii_uppercase(),
            Function::Escape => escaped(bytes),
            Function::Unescape => unescaped(bytes),
        }
    }
}

/// Everything but unreserved bytes and slashes percent-encoded.
pub fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            encoded.push(byte);
        } else {
            encoded.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    encoded
}

/// Percent signs decoded; one without two digits stays.
pub fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, others @ ..] = rest {
        let digit = |at: usize| (*others.get(at)? as char).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = &others[2..];
            }
            _ => {
                decoded.push(*first);
                rest = others;
            }
        }
    }
    decoded
}

impl Text {
    pub fn literal(text: &str) -> Text {
        Text {
            written: text.to_string(),
            pieces: match text.is_empty() {
                true => Vec::new(),
                false => vec![Piece::Literal(text.as_bytes().to_vec())],
            },
        }
    }

    /// As rewriting writes it: `%{NAME}`, `%{ENV:NAME}`, `%{HTTP:Name}`, `$1`, `%1`, `${map:key|default}`.
    pub(crate) fn rewriting(text: &str) -> Result<Text, String> {
        Parser { rest: text }.whole(text, Dialect::Rewriting)
    }

    /// As expressions write it within quotes: `%{NAME}`, `%{req:Name}`, `$1`.
    pub(crate) fn expression(text: &str) -> Result<Text, String> {
        Parser { rest: text }.whole(text, Dialect::Expression)
    }

    /// As `Header` writes it: `%{NAME}e`, `%{NAME}s`, `%t`, `%D`, `%%`.
    pub(crate) fn header(text: &str) -> Result<Text, String> {
        Parser { rest: text }.whole(text, Dialect::Header)
    }

    /// As `SetEnvIf` and the Match directives write it: `$1` only.
    pub(crate) fn groups(text: &str) -> Text {
        let mut parser = Parser { rest: text };
        parser.whole(text, Dialect::Groups).unwrap_or_default()
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether it is the same for every request.
    pub fn is_fixed(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Literal(_)))
    }

    pub fn put(&self, facts: &dyn Facts, into: &mut Vec<u8>) {
        for piece in &self.pieces {
            piece.put(facts, into);
        }
    }

    pub fn of(&self, facts: &dyn Facts) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put(facts, &mut bytes);
        bytes
    }
}

impl Piece {
    pub fn put(&self, facts: &dyn Facts, into: &mut Vec<u8>) {
        match self {
            Piece::Literal(bytes) => into.extend_from_slice(bytes),
            Piece::Call(function, text) => {
                into.extend_from_slice(&function.apply(&text.of(facts)));
            }
            other => facts.put(other, into),
        }
    }
}

impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.written)
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Dialect {
    Rewriting,
    Expression,
    Header,
    Groups,
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn whole(&mut self, written: &str, dialect: Dialect) -> Result<Text, String> {
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        while let Some(character) = self.rest.chars().next() {
            match self.piece(dialect)? {
                Some(piece) => {
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(piece);
                }
                None => {
                    let mut width = character.len_utf8();
                    let next = self.rest[width..].chars().next();
                    let quotes = character == '\\'
                        && next.is_some_and(|next| "$%\\".contains(next))
                        && dialect != Dialect::Header;
                    let doubled = dialect == Dialect::Header && self.rest.starts_with("%%");
                    let taken = match (quotes || doubled, next) {
                        (true, Some(next)) => {
                            width += next.len_utf8();
                            next
                        }
                        _ => character,
                    };
                    let mut buffer = [0; 4];
                    literal.extend_from_slice(taken.encode_utf8(&mut buffer).as_bytes());
                    self.rest = &self.rest[width..];
                }
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Text {
            written: written.to_string(),
            pieces,
        })
    }

    /// The piece the rest begins with, taken; `None`: a plain character.
    fn piece(&mut self, dialect: Dialect) -> Result<Option<Piece>, String> {
        let rest = self.rest;
        let digit = |at: usize| (*rest.as_bytes().get(at)? as char).to_digit(10);
        match (rest.as_bytes(), dialect) {
            ([b'$', ..], Dialect::Rewriting | Dialect::Expression | Dialect::Groups)
                if digit(1).is_some() =>
            {
                self.rest = &rest[2..];
                Ok(digit(1).map(|number| Piece::Group(number as usize)))
            }
            ([b'%', ..], Dialect::Rewriting) if digit(1).is_some() => {
                self.rest = &rest[2..];
                Ok(digit(1).map(|number| Piece::Condition(number as usize)))
            }
            ([b'$', b'{', ..], Dialect::Rewriting) => {
                let inner = self.braced(2)?;
                map(inner).map(Some)
            }
            ([b'%', b'{', ..], Dialect::Rewriting | Dialect::Expression) => {
                let inner = self.braced(2)?;
                variable(inner).map(Some)
            }
            ([b'%', ..], Dialect::Header) if !rest.starts_with("%%") => {
                self.header_piece().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What is between the brace at `start - 1` and its partner, which is taken.
    fn braced(&mut self, start: usize) -> Result<&'t str, String> {
        let mut depth = 1;
        for (at, byte) in self.rest.bytes().enumerate().skip(start) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inner = &self.rest[start..at];
                self.rest = &self.rest[at + 1..];
                return Ok(inner);
            }
        }
        Err(format!("expected `}}` behind `{}`", self.rest))
    }

    fn header_piece(&mut self) -> Result<Piece, String> {
        let wrong = "expected %{NAME}e, %{NAME}s, %t, %D or %% behind `%`";
        match self.rest.as_bytes() {
            [b'%', b't', ..] => {
                self.rest = &self.rest[2..];
                Ok(Piece::Time)
            }
            [b'%', b'D', ..] => {
                self.rest = &self.rest[2..];
                Ok(Piece::Duration)
            }
            [b'%', b'{', ..] => {
                let name = self.braced(2)?.to_string();
                let kind = self.rest.chars().next();
                self.rest = self.rest.get(1..).unwrap_or_default();
                match kind {
                    Some('e') => Ok(Piece::Environment(name)),
                    Some('s') => Ok(Piece::Tls(name)),
                    _ => Err(wrong.to_string()),
                }
            }
            _ => Err(wrong.to_string()),
        }
    }
}

/// `NAME`, `ENV:NAME`, `req:Name`, ...
pub(crate) fn variable(inner: &str) -> Result<Piece, String> {
    let Some((kind, name)) = inner.split_once(':') else {
        let upper = inner.to_ascii_uppercase();
        return match is_variable(&upper) {
            true => Ok(Piece::Variable(upper)),
            false => {
                let nearest = crate::nearest(&upper, VARIABLES.iter().copied());
                let hint =
                    nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                Err(format!(
                    "expected a variable such as HTTP_HOST, not `{inner}`{hint}"
                ))
            }
        };
    };
    let name = name.to_string();
    Ok(match kind.to_ascii_lowercase().as_str() {
        "env" | "reqenv" => Piece::Environment(name),
        "http" | "req" | "req_novary" => Piece::Field(name),
        "resp" => Piece::Response(name),
        "ssl" => Piece::Tls(name),
        "la-u" | "la-f" => Piece::Ahead(name.to_ascii_uppercase()),
        "osenv" => Piece::Literal(std::env::var(&name).unwrap_or_default().into_bytes()),
        function => match Function::named(function) {
            Some(function) => Piece::Call(function, Text::expression(&name)?),
            None => {
                return Err(format!(
                    "expected ENV:, HTTP:, req: or resp:, not `{kind}:`"
                ))
            }
        },
    })
}

fn map(inner: &str) -> Result<Piece, String> {
    let (name, rest) = inner
        .split_once(':')
        .ok_or_else(|| format!("expected ${{MAP:KEY}}, not `${{{inner}}}`"))?;
    // The first `|` outside of braces begins the default.
    let mut depth = 0;
    let at = rest.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        byte == b'|' && depth == 0
    });
    let (key, default) = at.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
    Ok(Piece::Map {
        name: name.to_string(),
        key: Text::rewriting(key)?,
        default: Text::rewriting(default)?,
    })
}

/// The variables expressions and rewriting know. `HTTP_` and the rest of a field's name are more.
pub(crate) const VARIABLES: &[&str] = &[
    "REQUEST_METHOD",
    "REQUEST_SCHEME",
    "REQUEST_URI",
    "REQUEST_FILENAME",
    "SCRIPT_FILENAME",
    "DOCUMENT_ROOT",
    "QUERY_STRING",
    "PATH_INFO",
    "REMOTE_ADDR",
    "REMOTE_HOST",
    "REMOTE_PORT",
    "REMOTE_USER",
    "REMOTE_IDENT",
    "AUTH_TYPE",
    "SERVER_NAME",
    "SERVER_ADDR",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "SERVER_SOFTWARE",
    "SERVER_ADMIN",
    "API_VERSION",
    "HTTPS",
    "IS_SUBREQ",
    "THE_REQUEST",
    "TIME",
    "TIME_YEAR",
    "TIME_MON",
    "TIME_DAY",
    "TIME_HOUR",
    "TIME_MIN",
    "TIME_SEC",
    "TIME_WDAY",
    "CONTENT_TYPE",
    "HANDLER",
    "REQUEST_STATUS",
    "CONN_REMOTE_ADDR",
    "CONTEXT_PREFIX",
    "CONTEXT_DOCUMENT_ROOT",
    "SCRIPT_USER",
    "SCRIPT_GROUP",
    "IPV6",
    "REQUEST_LOG_ID",
    "CONN_LOG_ID",
];

fn is_variable(name: &str) -> bool {
    VARIABLES.contains(&name)
        || name
            .strip_prefix("HTTP_")
            .is_some_and(|rest| !rest.is_empty())
}

/// Groups of the last match over the facts of a request.
pub struct Matched<'f> {
    pub facts: &'f dyn Facts,
    pub groups: Option<(Arc<[u8]>, crate::Groups)>,
}

impl Facts for Matched<'_> {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        match (piece, &self.groups) {
            (Piece::Group(number), Some((text, groups))) => {
                into.extend_from_slice(groups.get(text, *number).unwrap_or_default());
            }
            (other, _) => self.facts.put(other, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    impl Facts for Names {
        fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
            let text = match piece {
                Piece::Variable(name) => format!("<{name}>"),
                Piece::Map { name, key, .. } => {
                    format!("<{name} {}>", String::from_utf8_lossy(&key.of(self)))
                }
                other => format!("<{other:?}>"),
            };
            into.extend_from_slice(text.as_bytes());
        }
    }

    #[test]
    fn texts_are_read_in_each_dialect() {
        let of = |text: Result<Text, String>| {
            String::from_utf8(text.expect("right").of(&Names)).expect("text")
        };
        assert_eq!(of(Text::rewriting("a%{HTTP_HOST}b")), "a<HTTP_HOST>b");
        assert_eq!(
            of(Text::rewriting("/$1?%2\\$3")),
            "/<Group(1)>?<Condition(2)>$3"
        );
        assert_eq!(
            of(Text::rewriting("${m:%{HTTP_HOST}|x}")),
            "<m <HTTP_HOST>>"
        );
        assert_eq!(
            of(Text::header("%% %t %{X}e")),
            "% <Time> <Environment(\"X\")>"
        );
        assert_eq!(of(Text::expression("100%")), "100%");
        assert!(Text::rewriting("%{HTTP_HOST").is_err());
        assert!(Text::rewriting("%{REQUST_URI}")
            .expect_err("unknown")
            .contains("REQUEST_URI"));
        assert!(Text::header("%{X}q").is_err());
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(escaped(b"/a b%"), b"/a%20b%25");
        assert_eq!(unescaped(b"/a%20b%2"), b"/a b%2");
    }
}
