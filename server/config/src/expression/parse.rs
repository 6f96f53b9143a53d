//! Parses expressions by recursive descent with a limited depth.

use super::{Node, Operator, Test, MOST_TERMS};
use crate::network::Network;
use crate::text::{variable, Function, Piece, Text};
use crate::Pattern;

const DEEPEST: usize = 64;

/// Parses an expression. Returns its root and the number of its terms.
pub(super) fn parse(text: &str, dialect: Dialect) -> Result<(Node, usize), String> {
    let mut parser = Parser {
        rest: text,
        dialect,
        depth: 0,
        terms: 0,
    };
    let node = parser.or()?;
    if parser.next_is("") {
        Ok((node, parser.terms))
    } else {
        Err(format!(
            "expected the end of the expression at `{}`",
            parser.rest
        ))
    }
}

/// How an expression is written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dialect {
    Usual,
    /// The older form of `SSLRequire`: `eq` and the like compare texts.
    TlsRequirement,
    /// `ProxyHCExpr`: the expression is about the response to a health check.
    HealthCheck,
}

struct Parser<'t> {
    rest: &'t str,
    dialect: Dialect,
    depth: usize,
    /// The number of terms read so far.
    terms: usize,
}

impl<'t> Parser<'t> {
    /// Skips blanks and tells whether the rest begins with `start`. With an empty `start`, tells
    /// whether nothing is left.
    fn next_is(&mut self, start: &str) -> bool {
        self.rest = self.rest.trim_start();
        if start.is_empty() {
            self.rest.is_empty()
        } else {
            self.rest.starts_with(start)
        }
    }

    fn take(&mut self, start: &str) -> bool {
        let is_next = self.next_is(start);
        if is_next {
            self.rest = &self.rest[start.len()..];
        }
        is_next
    }

    /// Takes a word such as `-eq` if it ends at a word boundary.
    fn take_word(&mut self, word: &str) -> bool {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if self.next_is(word) && ends(&self.rest[word.len()..]) {
            self.rest = &self.rest[word.len()..];
            return true;
        }
        false
    }

    fn go_deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            Err(format!("expected an expression no deeper than {DEEPEST}"))
        } else {
            Ok(())
        }
    }

    fn or(&mut self) -> Result<Node, String> {
        self.go_deeper()?;
        let mut node = self.and()?;
        while self.take("||") || self.take_word("or") {
            node = Node::Or(Box::new(node), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut node = self.not()?;
        while self.take("&&") || self.take_word("and") {
            node = Node::And(Box::new(node), Box::new(self.not()?));
        }
        Ok(node)
    }

    fn not(&mut self) -> Result<Node, String> {
        self.terms += 1;
        if self.terms > MOST_TERMS {
            return Err(format!(
                "expected an expression of {MOST_TERMS} terms at most"
            ));
        }
        let mut negated = false;
        while self.take_word("not") || self.next_is("!") && !self.next_is("!~") {
            self.take("!");
            negated = !negated;
        }
        let node = self.condition()?;
        Ok(if negated {
            Node::Not(Box::new(node))
        } else {
            node
        })
    }

    fn condition(&mut self) -> Result<Node, String> {
        if self.take("(") {
            let node = self.or()?;
            return if self.take(")") {
                Ok(node)
            } else {
                Err(format!("expected `)` at `{}`", self.rest))
            };
        }
        for (word, value) in [("true", true), ("false", false)] {
            if self.take_word(word) {
                return Ok(Node::Constant(value));
            }
        }
        if self.next_is("-") && !self.is_number() {
            let letter = self.rest[1..].chars().next();
            if let Some(test) = letter.and_then(Test::of_letter) {
                let after = self.rest[2..].chars().next();
                if after.is_none_or(|after| !after.is_alphanumeric()) {
                    self.rest = &self.rest[2..];
                    return Ok(Node::Test(test, self.word()?));
                }
            }
            return Err(format!(
                "expected a test such as -f, -d, -z, -n or -U at `{}`",
                self.rest
            ));
        }
        let left = self.word()?;
        self.comparison(left)
    }

    /// Tells whether a number below zero is next.
    fn is_number(&self) -> bool {
        let digits = self.rest.strip_prefix('-').unwrap_or_default();
        digits.starts_with(|c: char| c.is_ascii_digit())
    }

    fn comparison(&mut self, left: Text) -> Result<Node, String> {
        for (sign, negated) in [("=~", false), ("!~", true)] {
            if self.take(sign) {
                let pattern = self.regex()?;
                return Ok(Node::Match {
                    text: left,
                    pattern,
                    negated,
                });
            }
        }
        const STRINGS: &[(&str, Operator)] = &[
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("=", Operator::Equal),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        const NUMBERS: &[(&str, Operator)] = &[
            ("eq", Operator::Equal),
            ("ne", Operator::NotEqual),
            ("le", Operator::LessOrEqual),
            ("ge", Operator::GreaterOrEqual),
            ("lt", Operator::Less),
            ("gt", Operator::Greater),
        ];
        for (sign, operator) in STRINGS {
            if self.take(sign) {
                let right = self.word()?;
                return Ok(Node::Compare {
                    left,
                    operator: *operator,
                    right,
                    numbers: false,
                });
            }
        }
        for (word, operator) in NUMBERS {
            if self.take_word(word) || self.take_word(&format!("-{word}")) {
                let right = self.word()?;
                return Ok(Node::Compare {
                    left,
                    operator: *operator,
                    right,
                    numbers: self.dialect != Dialect::TlsRequirement,
                });
            }
        }
        if self.take_word("-ipmatch") {
            let right = self.word()?;
            let network = Network::parse(&right.written);
            let network =
                network.ok_or_else(|| format!("expected an address, not `{}`", right.written))?;
            return Ok(Node::Within(left, network));
        }
        for (word, caseless) in [
            ("-strmatch", false),
            ("-strcmatch", true),
            ("-fnmatch", false),
        ] {
            if self.take_word(word) {
                let pattern = self.word()?;
                return Ok(Node::Glob {
                    text: left,
                    pattern,
                    caseless,
                    of_paths: word == "-fnmatch",
                });
            }
        }
        if self.take_word("in") || self.take_word("-in") {
            return self.members(left);
        }
        Err(format!(
            "expected ==, !=, =~, !~, -eq or `in` at `{}`",
            self.rest
        ))
    }

    fn members(&mut self, left: Text) -> Result<Node, String> {
        if !self.take("{") {
            return Err(format!("expected `{{` at `{}`", self.rest));
        }
        let mut members = vec![self.word()?];
        while self.take(",") {
            members.push(self.word()?);
        }
        if self.take("}") {
            Ok(Node::Among(left, members))
        } else {
            Err(format!("expected `}}` at `{}`", self.rest))
        }
    }

    /// Parses a regular expression: `/.../i` or `m#...#i`.
    fn regex(&mut self) -> Result<Pattern, String> {
        let expected = format!(
            "expected a regular expression such as /^a/ at `{}`",
            self.rest.trim_start()
        );
        if self.next_is("m") {
            self.take("m");
        }
        let mark = self
            .rest
            .trim_start()
            .chars()
            .next()
            .ok_or_else(|| expected.clone())?;
        if mark.is_alphanumeric() || mark.is_whitespace() {
            return Err(expected);
        }
        self.rest = &self.rest.trim_start()[mark.len_utf8()..];
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        let end = loop {
            match characters.next() {
                None => return Err(expected),
                Some((at, character)) if character == mark => break at,
                Some((_, '\\')) => {
                    let next = characters.next().map(|(_, next)| next);
                    if next != Some(mark) {
                        text.push('\\');
                    }
                    text.extend(next);
                }
                Some((_, other)) => text.push(other),
            }
        };
        self.rest = &self.rest[end + mark.len_utf8()..];
        let flags = self.rest.bytes().take_while(u8::is_ascii_lowercase).count();
        let (letters, rest) = self.rest.split_at(flags);
        self.rest = rest;
        let caseless = letters.contains('i');
        let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
        if caseless {
            Pattern::caseless(&text)
        } else {
            Pattern::new(&text)
        }
        .map_err(wrong)
    }

    /// Parses a word and the words that `.` joins to it.
    fn word(&mut self) -> Result<Text, String> {
        let mut text = self.part()?;
        while self.next_is(".") && !self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.take(".");
            let more = self.part()?;
            text.written.push_str(&more.written);
            text.pieces.extend(more.pieces);
        }
        Ok(text)
    }

    fn part(&mut self) -> Result<Text, String> {
        self.next_is("");
        let rest = self.rest;
        let expected = || format!("expected a word, a quoted text or %{{VARIABLE}} at `{rest}`");
        let piece = |written: &str, piece| Text {
            written: written.to_string(),
            pieces: vec![piece],
        };
        match rest.chars().next().ok_or_else(expected)? {
            quote @ ('"' | '\'') => self.quoted(quote),
            '%' if rest.starts_with("%{") => {
                let end = closing(rest).ok_or_else(expected)?;
                self.rest = &rest[end + 1..];
                Ok(piece(&rest[..=end], variable(&rest[2..end])?))
            }
            '$' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.rest = &rest[2..];
                let number = (rest.as_bytes()[1] - b'0') as usize;
                Ok(piece(&rest[..2], Piece::Group(number)))
            }
            '-' if self.is_number() => {
                let width = 1 + rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                self.rest = &rest[width..];
                Ok(Text::literal(&rest[..width]))
            }
            first if first.is_alphanumeric() || first == '/' || first == ':' => {
                let fits = |c: char| c.is_alphanumeric() || "_-./:*".contains(c);
                let end = rest.find(|c: char| !fits(c)).unwrap_or(rest.len());
                let name = &rest[..end];
                self.rest = &rest[end..];
                if !self.rest.starts_with('(') {
                    return Ok(Text::literal(name));
                }
                self.call(name)
            }
            _ => Err(expected()),
        }
    }

    /// Parses the call of a function: `tolower(...)`, `req('Name')`.
    fn call(&mut self, name: &str) -> Result<Text, String> {
        self.go_deeper()?;
        self.take("(");
        let argument = self.word()?;
        self.depth -= 1;
        if !self.take(")") {
            return Err(format!("expected `)` at `{}`", self.rest));
        }
        let piece = match Function::named(name) {
            Some(function) => Piece::Call(function, argument),
            None if name == "hc" => self.checked(&argument)?,
            None => variable(&format!("{name}:{}", argument.written))?,
        };
        Ok(Text {
            written: name.to_string(),
            pieces: vec![piece],
        })
    }

    /// Returns the piece of `hc('body')`.
    fn checked(&self, argument: &Text) -> Result<Piece, String> {
        if self.dialect != Dialect::HealthCheck {
            Err("expected hc('body') only in ProxyHCExpr".to_string())
        } else if argument.written != "body" {
            Err(format!(
                "expected hc('body'), not hc('{}')",
                argument.written
            ))
        } else {
            Ok(Piece::CheckedBody)
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Text, String> {
        let inner = &self.rest[1..];
        let mut escaped = false;
        let end = inner.char_indices().find(|(_, character)| {
            let ends = *character == quote && !escaped;
            escaped = *character == '\\' && !escaped;
            ends
        });
        let (end, _) = end.ok_or_else(|| format!("expected {quote} to be closed"))?;
        self.rest = &inner[end + 1..];
        Text::expression(&inner[..end])
    }
}

/// Returns the position of the brace that closes the variable at the beginning of the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        byte == b'}' && depth == 0
    })
}
