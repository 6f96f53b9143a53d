//! Parses a page with elements `<!--#name attribute="value" -->`. The text between the elements is
//! sent unchanged.

use super::condition::LazyCondition;
use bytes::Bytes;
use mehari_text::html::unescape;
use std::ops::Range;

/// The most attributes of an element.
const MOST: usize = 64;
/// The most elements and conditions of one request. All included pages count, because pages may
/// include each other.
pub const ELEMENTS: u32 = 100_000;

pub struct Page {
    pub source: Bytes,
    pub parts: Vec<PagePart>,
}

pub enum PagePart {
    /// A range of the source.
    Text(Range<usize>),
    Element {
        name: String,
        attributes: Attributes,
    },
    /// `None`: the attribute `expr` is missing.
    If(Option<LazyCondition>),
    Elif(Option<LazyCondition>),
    Else,
    Endif,
    /// An invalid element, with the reason.
    Wrong(String),
}

/// The attributes of an element: names in lower case, and unchanged values.
pub type Attributes = Vec<(String, Vec<u8>)>;

pub(super) const START: &[u8] = b"<!--#";
pub(super) const END: &[u8] = b"-->";

impl Page {
    /// Parses a page. `legacy`: whether conditions have the older syntax.
    pub fn parse(source: Bytes, legacy: bool) -> Page {
        let mut parts = Vec::new();
        let mut at = 0;
        // Parsing stops at the first element beyond the limit.
        for _ in 0..=ELEMENTS {
            let Some(start) = memchr::memmem::find(&source[at..], START) else {
                break;
            };
            if start > 0 {
                parts.push(PagePart::Text(at..at + start));
            }
            let begin = at + start + START.len();
            let element = element(&source[begin..], legacy);
            parts.push(element.part);
            at = begin + element.length;
        }
        if at < source.len() {
            parts.push(PagePart::Text(at..source.len()));
        }
        Page { source, parts }
    }
}

/// An element that was read after the mark `<!--#`.
pub(super) struct Element {
    pub part: PagePart,
    /// The length in bytes, which includes `-->`.
    pub length: usize,
    /// Whether the text ends before the element does. More text may then change the result.
    pub is_open: bool,
}

/// Parses the element after the mark `<!--#`.
pub(super) fn element(text: &[u8], legacy: bool) -> Element {
    let mut reader = Reader { text, at: 0 };
    if let Some((name, attributes)) = reader.element() {
        return Element {
            part: meaning(name, attributes, legacy),
            length: reader.at,
            is_open: false,
        };
    }
    // As in Apache, the page continues after the next end mark.
    let end = memchr::memmem::find(text, END).map(|end| end + END.len());
    let length = end.unwrap_or(text.len());
    let shown = text[..length.min(40)].escape_ascii();
    Element {
        part: PagePart::Wrong(format!("`<!--#{shown}` cannot be read")),
        length,
        is_open: end.is_none() || END[..END.len() - 1].starts_with(reader.rest()),
    }
}

fn meaning(name: String, attributes: Attributes, legacy: bool) -> PagePart {
    let condition = || {
        let mut found = attributes.iter().filter(|(name, _)| name == "expr");
        let (_, text) = found.next()?;
        Some(LazyCondition::new(text, legacy))
    };
    match name.as_str() {
        "if" => PagePart::If(condition()),
        "elif" => PagePart::Elif(condition()),
        "else" => PagePart::Else,
        "endif" => PagePart::Endif,
        "config" | "set" => PagePart::Element { name, attributes },
        // As in Apache, entities stand for their characters.
        _ => {
            let plain = attributes
                .into_iter()
                .map(|(name, value)| (name, unescape(&value)));
            let attributes = plain.collect();
            PagePart::Element { name, attributes }
        }
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    fn element(&mut self) -> Option<(String, Attributes)> {
        let name = self.word(|byte| byte.is_ascii_alphabetic())?;
        let mut attributes = Vec::new();
        loop {
            self.blanks();
            if self.rest().starts_with(END) {
                self.at += END.len();
                return Some((name, attributes));
            }
            if attributes.len() == MOST {
                return None;
            }
            let name = self.word(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))?;
            self.blanks();
            if self.rest().first() != Some(&b'=') {
                return None;
            }
            self.at += 1;
            self.blanks();
            attributes.push((name, self.value()?));
        }
    }

    fn blanks(&mut self) {
        let blanks = self
            .rest()
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        self.at += blanks.count();
    }

    fn word(&mut self, fits: impl Fn(u8) -> bool) -> Option<String> {
        let length = self.rest().iter().take_while(|byte| fits(**byte)).count();
        let word = std::str::from_utf8(&self.rest()[..length]).ok()?;
        self.at += length;
        (!word.is_empty()).then(|| word.to_ascii_lowercase())
    }

    /// Reads a quoted value, in which `\` precedes an inner quote, or a word.
    fn value(&mut self) -> Option<Vec<u8>> {
        let quote = *self.rest().first()?;
        if !b"\"'`".contains(&quote) {
            let ends = |byte: &&u8| !byte.is_ascii_whitespace();
            let length = self.rest().iter().take_while(ends).count();
            let word = &self.rest()[..length];
            let word = word.strip_suffix(END).unwrap_or(word);
            self.at += word.len();
            return (!word.is_empty()).then(|| word.to_vec());
        }
        self.at += 1;
        let mut value = Vec::new();
        loop {
            let byte = *self.rest().first()?;
            self.at += 1;
            match (byte, self.rest().first()) {
                (byte, _) if byte == quote => return Some(value),
                (b'\\', Some(next)) if *next == quote => {
                    value.push(quote);
                    self.at += 1;
                }
                _ => value.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_anybody_goes_through() {
        let text = "<!--#a-->".repeat(ELEMENTS as usize + 1000);
        let page = Page::parse(Bytes::from(text), false);
        let elements = page.parts.iter();
        let elements = elements.filter(|part| matches!(part, PagePart::Element { .. }));
        assert_eq!(elements.count(), ELEMENTS as usize + 1);
    }

    fn is_readable(asked: &Option<LazyCondition>) -> bool {
        asked.as_ref().and_then(LazyCondition::condition).is_some()
    }

    fn shown(text: &str) -> String {
        let page = Page::parse(Bytes::copy_from_slice(text.as_bytes()), false);
        let part = |part: &PagePart| match part {
            PagePart::Text(range) => format!("[{}]", &text[range.clone()]),
            PagePart::Element { name, attributes } => {
                let all = attributes.iter();
                let all =
                    all.map(|(name, value)| format!(" {name}={}", String::from_utf8_lossy(value)));
                format!("<{name}{}>", all.collect::<String>())
            }
            PagePart::If(asked) => format!("<if {}>", is_readable(asked)),
            PagePart::Elif(asked) => format!("<elif {}>", is_readable(asked)),
            PagePart::Else => "<else>".into(),
            PagePart::Endif => "<endif>".into(),
            PagePart::Wrong(_) => "<wrong>".into(),
        };
        page.parts.iter().map(part).collect()
    }

    #[test]
    fn elements_are_read_and_the_rest_is_text() {
        for (text, expected) in [
            ("plain", "[plain]"),
            ("", ""),
            ("a<!--#echo var=\"X\" -->b", "[a]<echo var=X>[b]"),
            ("<!--#ECHO Var='a\"b'-->", "<echo var=a\"b>"),
            ("<!--#set var=x value=`a\\`b` -->", "<set var=x value=a`b>"),
            ("<!--#echo var=X-->", "<echo var=X>"),
            (
                "<!-- comment --><!--# echo -->",
                "[<!-- comment -->]<wrong>",
            ),
            (
                "<!--#if expr=\"true\" -->y<!--#else -->n<!--#endif-->",
                "<if true>[y]<else>[n]<endif>",
            ),
            ("<!--#if expr=\"((\" -->", "<if false>"),
            ("<!--#if -->", "<if false>"),
            ("a<!--#echo var=\"X -->b", "[a]<wrong>[b]"),
            ("a<!--#echo var", "[a]<wrong>"),
            ("<!--#echo var=-->x", "<wrong>[x]"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        let many = format!("<!--#echo {}-->", "var=\"a\" ".repeat(MOST + 1));
        assert_eq!(shown(&many), "<wrong>");
    }
}
