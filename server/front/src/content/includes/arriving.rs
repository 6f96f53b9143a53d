//! Parses a page that arrives in pieces: the response of a program.

use super::page::{element, PagePart, END, START};

/// The most bytes of an element. A longer element is an invalid one, which ends with the text that
/// has arrived.
const LONGEST: usize = 1 << 20;

/// The text that has arrived and is not parsed yet.
pub struct Arriving {
    text: Vec<u8>,
    /// The position behind the parsed text.
    at: usize,
    /// The position before which no end mark completes the element that begins at `at`.
    searched: usize,
    legacy: bool,
}

pub enum ArrivedPart {
    Text(Vec<u8>),
    Element(PagePart),
}

impl Arriving {
    /// `legacy`: whether conditions have the older syntax.
    pub fn new(legacy: bool) -> Arriving {
        Arriving {
            text: Vec::new(),
            at: 0,
            searched: 0,
            legacy,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.text.drain(..self.at);
        self.searched = self.searched.saturating_sub(self.at);
        self.at = 0;
        self.text.extend_from_slice(bytes);
    }

    /// Returns the next part. `is_whole`: no more text arrives. `None`: more text is needed, or the
    /// page has ended.
    pub fn next(&mut self, is_whole: bool) -> Option<ArrivedPart> {
        let rest = &self.text[self.at..];
        let length = match memchr::memmem::find(rest, START) {
            Some(0) => return self.element(is_whole).map(ArrivedPart::Element),
            Some(start) => start,
            None if is_whole => rest.len(),
            None => rest.len() - begun_mark(rest),
        };
        let text = rest[..length].to_vec();
        self.at += length;
        (!text.is_empty()).then_some(ArrivedPart::Text(text))
    }

    fn element(&mut self, is_whole: bool) -> Option<PagePart> {
        let begin = self.at + START.len();
        let is_whole = is_whole || self.text.len() - begin > LONGEST;
        // Only a new end mark can complete the element.
        let new = begin.max(self.searched);
        let has_end = memchr::memmem::find(&self.text[new..], END).is_some();
        let read = (has_end || is_whole).then(|| element(&self.text[begin..], self.legacy));
        match read.filter(|read| is_whole || !read.is_open) {
            Some(read) => {
                self.at = begin + read.length;
                Some(read.part)
            }
            None => {
                self.searched = begin.max(self.text.len().saturating_sub(END.len() - 1));
                None
            }
        }
    }
}

/// Returns the length of the beginning of a start mark at the end of a text.
fn begun_mark(text: &[u8]) -> usize {
    let lengths = (1..START.len()).rev();
    let mut lengths = lengths.filter(|length| text.ends_with(&START[..*length]));
    lengths.next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of a page that arrives in pieces of `size` bytes.
    fn shown(text: &str, size: usize) -> String {
        let mut arriving = Arriving::new(false);
        let mut shown = String::new();
        let mut take = |arriving: &mut Arriving, is_whole| {
            while let Some(part) = arriving.next(is_whole) {
                shown += &match part {
                    ArrivedPart::Text(text) => String::from_utf8_lossy(&text).into_owned(),
                    ArrivedPart::Element(PagePart::Element { name, attributes }) => {
                        format!("[{name} {}]", attributes.len())
                    }
                    ArrivedPart::Element(PagePart::Wrong(_)) => "[wrong]".into(),
                    ArrivedPart::Element(_) => "[condition]".into(),
                };
            }
        };
        for piece in text.as_bytes().chunks(size) {
            arriving.push(piece);
            take(&mut arriving, false);
        }
        take(&mut arriving, true);
        shown
    }

    #[test]
    fn page_has_the_same_parts_however_it_arrives() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a < b <!- <!-- c --> d <!--", "a < b <!- <!-- c --> d <!--"),
            (
                "a<!--#echo var=\"X\" -->b<!--#if expr=\"true\"-->c<!--#endif -->",
                "a[echo 1]b[condition]c[condition]",
            ),
            ("<!--#set var='a' value='--> b' -->c", "[set 2]c"),
            ("<!--#echo ===-->a<!--#echo var=-->b", "[wrong]a[wrong]b"),
            ("a<!--#echo var=X", "a[wrong]"),
            ("a<!--#echo var=X--", "a[wrong]"),
            (
                "a<!--#echo var='X' --> <!--#echo var=\"b --> c",
                "a[echo 1] [wrong] c",
            ),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(shown(text, size), expected, "{text} in pieces of {size}");
            }
        }
    }

    #[test]
    fn parts_are_returned_as_soon_as_they_are_complete() {
        let mut arriving = Arriving::new(false);
        arriving.push(b"text<!--#echo var='a' --");
        assert!(matches!(arriving.next(false), Some(ArrivedPart::Text(text)) if text == b"text"));
        assert!(arriving.next(false).is_none());
        arriving.push(b">");
        assert!(matches!(
            arriving.next(false),
            Some(ArrivedPart::Element(_))
        ));
        assert!(arriving.next(false).is_none() && arriving.next(true).is_none());
    }

    #[test]
    fn element_that_never_ends_is_bounded() {
        let mut arriving = Arriving::new(false);
        arriving.push(b"<!--#echo var='");
        for _ in 0..LONGEST / 1000 {
            arriving.push(&[b'x'; 1000]);
            assert!(arriving.next(false).is_none());
        }
        arriving.push(&[b'x'; 1000]);
        assert!(matches!(
            arriving.next(false),
            Some(ArrivedPart::Element(PagePart::Wrong(_)))
        ));
    }
}
