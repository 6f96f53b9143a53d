//! Parses texts. In each dialect the pieces are written differently.

use super::{Function, Piece, Text};

/// The deepest nesting of a map in the key of another map.
const DEEPEST: usize = 16;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dialect {
    Rewriting,
    Expression,
    Header,
    Groups,
}

pub(super) struct Parser<'t> {
    pub rest: &'t str,
}

impl<'t> Parser<'t> {
    pub fn whole(&mut self, written: &str, dialect: Dialect) -> Result<Text, String> {
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
                None if dialect == Dialect::Expression && character == '\\' => {
                    self.escaped(&mut literal);
                }
                None => self.plain(character, dialect, &mut literal),
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

    /// Takes a plain character, or the character that a backslash or a first `%` quotes.
    fn plain(&mut self, character: char, dialect: Dialect, literal: &mut Vec<u8>) {
        self.rest = &self.rest[character.len_utf8()..];
        let next = self.rest.chars().next();
        let quoted = match (character, dialect, next) {
            ('\\', Dialect::Header, Some('t')) => Some('\t'),
            ('\\', Dialect::Header, Some('r')) => Some('\r'),
            ('\\', Dialect::Header, Some('n')) => Some('\n'),
            ('\\', Dialect::Header, Some('\\')) => next,
            ('\\', Dialect::Rewriting | Dialect::Groups, _) => next,
            ('%', Dialect::Header, Some('%')) => next,
            _ => None,
        };
        if quoted.is_some() {
            self.rest = &self.rest[next.map_or(0, char::len_utf8)..];
        }
        let taken = quoted.unwrap_or(character);
        literal.extend_from_slice(taken.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Takes a backslash and what it escapes in the text of an expression.
    fn escaped(&mut self, literal: &mut Vec<u8>) {
        let rest = &self.rest[1..];
        let is_octal = |c: &u8| (b'0'..=b'7').contains(c);
        let digits = rest.bytes().take(3).take_while(is_octal).count();
        if let (Ok(code), true) = (u8::from_str_radix(&rest[..digits], 8), digits > 0) {
            literal.push(code);
            self.rest = &rest[digits..];
            return;
        }
        let mut characters = rest.chars();
        let mut buffer = [0; 4];
        match characters.next() {
            Some('n') => literal.push(b'\n'),
            Some('r') => literal.push(b'\r'),
            Some('t') => literal.push(b'\t'),
            Some('b') => literal.push(8),
            Some('f') => literal.push(12),
            Some(other) => literal.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes()),
            None => literal.push(b'\\'),
        }
        self.rest = characters.as_str();
    }

    /// Takes the piece at the beginning of the rest. `None`: the rest begins with a plain
    /// character.
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
                if dialect == Dialect::Rewriting && is_unknown_field(inner) {
                    // Apache's rewriting knows only some fields in this way: others are empty.
                    return Ok(Some(Piece::Literal(Vec::new())));
                }
                variable(inner).map(Some)
            }
            ([b'%', ..], Dialect::Header) if !rest.starts_with("%%") => {
                self.header_piece().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Takes the text between the opening brace at `start - 1` and its closing brace.
    fn braced(&mut self, start: usize) -> Result<&'t str, String> {
        let mut depth = 1;
        for (at, byte) in self.rest.bytes().enumerate().skip(start) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth > DEEPEST {
                return Err(format!("expected braces no deeper than {DEEPEST}"));
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
                    Some('e') => Ok(Piece::OrNull(Box::new(Piece::Environment(name)))),
                    Some('s') => Ok(Piece::OrNull(Box::new(Piece::Tls(name)))),
                    _ => Err(wrong.to_string()),
                }
            }
            _ => Err(wrong.to_string()),
        }
    }
}

/// Parses the text between the braces of `%{...}`: `NAME`, `ENV:NAME`, `req:Name` and so on.
pub(crate) fn variable(inner: &str) -> Result<Piece, String> {
    let Some((kind, name)) = inner.split_once(':') else {
        let upper = inner.to_ascii_uppercase();
        if upper.starts_with("SSL_") {
            return Ok(Piece::Tls(upper));
        }
        return if is_variable(&upper) {
            Ok(Piece::Variable(upper))
        } else {
            let nearest = crate::nearest(&upper, VARIABLES.iter().copied());
            let hint = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            Err(format!(
                "expected a variable such as HTTP_HOST, not `{inner}`{hint}"
            ))
        };
    };
    let name = name.to_string();
    Ok(match kind.to_ascii_lowercase().as_str() {
        // mod_include's expressions call the function `v`.
        "env" | "reqenv" | "v" => Piece::Environment(name),
        "http" | "req" => Piece::Field(name),
        "req_novary" | "http_novary" => Piece::UnvariedField(name),
        "note" => Piece::Note(name),
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
    // The first `|` outside of braces separates the key from the default.
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

/// The variables of expressions and rewriting, except those of request fields, `HTTP_...`.
const VARIABLES: &[&str] = &[
    "REQUEST_METHOD",
    "REQUEST_SCHEME",
    "REQUEST_URI",
    "DOCUMENT_URI",
    "LAST_MODIFIED",
    "HTTP2",
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

/// Tells whether a variable of rewriting has the form of a request field, but is none in Apache.
fn is_unknown_field(name: &str) -> bool {
    const KNOWN: [&str; 8] = [
        "ACCEPT",
        "COOKIE",
        "FORWARDED",
        "HOST",
        "PROXY_CONNECTION",
        "REFERER",
        "USER_AGENT",
        "",
    ];
    let upper = name.to_ascii_uppercase();
    let field = upper.strip_prefix("HTTP_");
    field.is_some_and(|field| !KNOWN.contains(&field) && !field.contains(':'))
}

fn is_variable(name: &str) -> bool {
    VARIABLES.contains(&name)
        || name
            .strip_prefix("HTTP_")
            .is_some_and(|rest| !rest.is_empty())
}
