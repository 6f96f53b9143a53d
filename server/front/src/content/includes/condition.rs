//! Parses and evaluates the conditions of `if` and `elif`. A condition is one of Apache's common
//! expressions, or an older expression of mod_include: `"$NAME" = /regex/ && ! ( ... )`. Variables
//! in older expressions are expanded during evaluation.

use mehari_config::{Expression, Pattern, VariableSource};
use std::cell::OnceCell;
use std::cmp::Ordering;

/// A condition that is parsed at its first evaluation. A page may have many conditions that are
/// never evaluated.
pub struct LazyCondition {
    text: Vec<u8>,
    legacy: bool,
    read: OnceCell<Option<Condition>>,
}

impl LazyCondition {
    pub fn new(text: &[u8], legacy: bool) -> LazyCondition {
        LazyCondition {
            text: text.to_vec(),
            legacy,
            read: OnceCell::new(),
        }
    }

    /// Returns the condition, which the first call parses. `None`: the text is not a valid
    /// condition.
    pub fn condition(&self) -> Option<&Condition> {
        let read = || Condition::parse(&self.text, self.legacy).ok();
        self.read.get_or_init(read).as_ref()
    }
}

pub enum Condition {
    Common(Expression),
    Legacy(Node),
}

pub enum Node {
    /// A single text. The condition holds if the text is not empty.
    Text(Vec<u8>),
    Compare(Vec<u8>, Sign, Vec<u8>),
    Match(Vec<u8>, Pattern, bool),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const DEEPEST: usize = 64;
/// The most words and signs of a condition. Without a limit, evaluation could exhaust the stack.
const TOKENS: usize = 2000;

impl Condition {
    pub fn parse(text: &[u8], legacy: bool) -> Result<Condition, String> {
        if !legacy {
            let text = std::str::from_utf8(text).map_err(|_| "expected UTF-8".to_string())?;
            return Expression::parse(text).map(Condition::Common);
        }
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            depth: 0,
        };
        let node = parser.or()?;
        match parser.tokens.next() {
            None => Ok(Condition::Legacy(node)),
            Some(_) => Err("expected the end of the expression".into()),
        }
    }

    /// Evaluates the condition. `text` expands the variables in a text.
    pub fn holds(&self, variables: &dyn VariableSource, text: &dyn Fn(&[u8]) -> Vec<u8>) -> bool {
        match self {
            Condition::Common(expression) => expression.holds(variables),
            Condition::Legacy(node) => node.holds(text),
        }
    }
}

impl Node {
    fn holds(&self, text: &dyn Fn(&[u8]) -> Vec<u8>) -> bool {
        match self {
            Node::Text(written) => !text(written).is_empty(),
            Node::Compare(left, sign, right) => sign.accepts(text(left).cmp(&text(right))),
            Node::Match(left, pattern, negated) => pattern.matches(&text(left)) != *negated,
            Node::Not(inner) => !inner.holds(text),
            Node::And(left, right) => left.holds(text) && right.holds(text),
            Node::Or(left, right) => left.holds(text) || right.holds(text),
        }
    }
}

impl Sign {
    fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Sign::Equal => ordering.is_eq(),
            Sign::NotEqual => ordering.is_ne(),
            Sign::Less => ordering.is_lt(),
            Sign::LessOrEqual => ordering.is_le(),
            Sign::Greater => ordering.is_gt(),
            Sign::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Token {
    Text(Vec<u8>),
    Regex(String),
    Sign(Sign),
    Not,
    And,
    Or,
    Open,
    Close,
}

fn tokens(text: &[u8]) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_ascii();
    while !rest.is_empty() {
        if found.len() == TOKENS {
            return Err(format!("expected an expression of {TOKENS} words at most"));
        }
        const SIGNS: [(&[u8], Token); 13] = [
            (b"&&", Token::And),
            (b"||", Token::Or),
            (b"==", Token::Sign(Sign::Equal)),
            (b"!=", Token::Sign(Sign::NotEqual)),
            (b"<=", Token::Sign(Sign::LessOrEqual)),
            (b">=", Token::Sign(Sign::GreaterOrEqual)),
            (b"=", Token::Sign(Sign::Equal)),
            (b"<", Token::Sign(Sign::Less)),
            (b">", Token::Sign(Sign::Greater)),
            (b"!", Token::Not),
            (b"(", Token::Open),
            (b")", Token::Close),
            (b"&", Token::And),
        ];
        if let Some((sign, token)) = SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign)) {
            found.push(token);
            rest = rest[sign.len()..].trim_ascii_start();
            continue;
        }
        // A slash after a comparison sign begins a regular expression. Any other slash begins a
        // path.
        let compared = matches!(found.last(), Some(Token::Sign(_)));
        let (token, behind) = match rest[0] {
            quote @ (b'"' | b'\'') => {
                let (text, behind) = closed(rest, quote)?;
                (Token::Text(text), behind)
            }
            b'/' if compared => {
                let (text, behind) = closed(rest, b'/')?;
                let text = String::from_utf8(text).map_err(|_| "expected UTF-8".to_string())?;
                (Token::Regex(text), behind)
            }
            _ => word(rest),
        };
        found.push(token);
        rest = behind.trim_ascii_start();
    }
    Ok(found)
}

/// Returns the text between two marks, and the rest. `\` escapes a mark.
fn closed(text: &[u8], mark: u8) -> Result<(Vec<u8>, &[u8]), String> {
    let mut inner = Vec::new();
    let mut bytes = text.iter().enumerate().skip(1);
    while let Some((at, &byte)) = bytes.next() {
        match (byte, text.get(at + 1)) {
            (byte, _) if byte == mark => return Ok((inner, &text[at + 1..])),
            (b'\\', Some(next)) if *next == mark => {
                inner.push(mark);
                bytes.next();
            }
            _ => inner.push(byte),
        }
    }
    Err(format!("expected {} to be closed", char::from(mark)))
}

/// Reads a text. Words that only blanks separate are one text.
fn word(text: &[u8]) -> (Token, &[u8]) {
    let ends = |at: usize| b"=!<>()&|\"'".contains(&text[at]);
    let end = (1..text.len()).find(|at| ends(*at)).unwrap_or(text.len());
    (
        Token::Text(text[..end].trim_ascii_end().to_vec()),
        &text[end..],
    )
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
}

impl Parser {
    fn takes(&mut self, token: &Token) -> bool {
        self.tokens.next_if(|next| next == token).is_some()
    }

    fn or(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("expected an expression no deeper than {DEEPEST}"));
        }
        let mut node = self.and()?;
        while self.takes(&Token::Or) {
            node = Node::Or(Box::new(node), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut node = self.not()?;
        while self.takes(&Token::And) {
            node = Node::And(Box::new(node), Box::new(self.not()?));
        }
        Ok(node)
    }

    fn not(&mut self) -> Result<Node, String> {
        let mut negated = false;
        while self.takes(&Token::Not) {
            negated = !negated;
        }
        let node = self.comparison()?;
        Ok(if negated {
            Node::Not(Box::new(node))
        } else {
            node
        })
    }

    fn comparison(&mut self) -> Result<Node, String> {
        if self.takes(&Token::Open) {
            let node = self.or()?;
            return if self.takes(&Token::Close) {
                Ok(node)
            } else {
                Err("expected `)`".into())
            };
        }
        let Some(Token::Text(left)) = self.tokens.next() else {
            return Err("expected a text".into());
        };
        let Some(Token::Sign(sign)) = self.tokens.next_if(|next| matches!(next, Token::Sign(_)))
        else {
            return Ok(Node::Text(left));
        };
        match (self.tokens.next(), sign) {
            (Some(Token::Text(right)), sign) => Ok(Node::Compare(left, sign, right)),
            (Some(Token::Regex(regex)), Sign::Equal | Sign::NotEqual) => {
                let pattern = Pattern::new(&regex)?;
                Ok(Node::Match(left, pattern, sign == Sign::NotEqual))
            }
            _ => Err("expected a text or /a regular expression/".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::Nothing;

    #[test]
    fn older_expressions_are_read_as_mod_include_reads_them() {
        let text = |written: &[u8]| match written {
            b"$A" => b"abc".to_vec(),
            b"$NONE" => Vec::new(),
            other => other.to_vec(),
        };
        for (written, expected) in [
            ("$A", Some(true)),
            ("$NONE", Some(false)),
            ("! $NONE", Some(true)),
            ("$A = abc", Some(true)),
            ("\"$A\" == 'abc'", Some(true)),
            ("$A != abc", Some(false)),
            ("$A = /^a.c$/", Some(true)),
            ("$A != /^x/ && $NONE", Some(false)),
            ("$A = abd || ( $A && ! $NONE )", Some(true)),
            ("$A < abd && $A >= abc", Some(true)),
            ("a b = 'a b'", Some(true)),
            ("( $A", None),
            ("$A =", None),
            ("= $A", None),
            ("$A = /(/", None),
            ("'open", None),
            ("", None),
        ] {
            let condition = Condition::parse(written.as_bytes(), true);
            let found = condition
                .ok()
                .map(|condition| condition.holds(&Nothing, &text));
            assert_eq!(found, expected, "{written}");
        }
        let deep = "(".repeat(1000);
        assert!(Condition::parse(deep.as_bytes(), true).is_err());
    }
}
