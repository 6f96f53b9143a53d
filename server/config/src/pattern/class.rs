//! Reads a class such as `[^a-z\d]`.

use super::bytes::Bytes;
use super::cursor::Cursor;

/// Reads what follows `[`. Returns the class for the linear engine, unless only PCRE2 knows what
/// the class is, or whether it is wrong.
pub(super) fn read(text: &mut Cursor) -> Option<String> {
    let mut class = Class {
        is_known: !is_name(text),
        negated: text.take(b"^"),
        text,
        bytes: Bytes::none(),
    };
    class.read();
    class.is_known.then(|| class.bytes.write(class.negated))
}

/// Tells whether a `[` before this place may begin a name such as `[:alpha:]`. A name is wrong
/// outside of a class.
fn is_name(text: &Cursor) -> bool {
    let end = match text.peek() {
        Some(b':') => ":]",
        Some(b'.') => ".]",
        Some(b'=') => "=]",
        _ => return false,
    };
    let mut inner = *text;
    inner.next();
    let before = inner.until(end);
    before.is_some_and(|before| before.contains('\\') || !before.contains(']'))
}

struct Class<'c, 't> {
    text: &'c mut Cursor<'t>,
    negated: bool,
    bytes: Bytes,
    is_known: bool,
}

impl Class<'_, '_> {
    fn read(&mut self) {
        // A `]` at the start is an element.
        let mut next = self.text.next();
        while let Some(byte) = next {
            let element = self.element(byte);
            self.add(element);
            next = self.text.next();
            if next == Some(b']') {
                return;
            }
        }
        self.is_known = false;
    }

    /// Adds an element, or the range that begins with it. A hyphen beside a set, such as in `\d-z`,
    /// is wrong.
    fn add(&mut self, first: Option<u8>) {
        let is_range = self.text.peek() == Some(b'-') && self.text.rest().get(1) != Some(&b']');
        let last = if is_range {
            self.text.next();
            let byte = self.text.next();
            byte.and_then(|byte| self.element(byte))
        } else {
            first
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= last => self.bytes.add_range(first, last),
            (None, None) if !is_range => {}
            _ => self.is_known = false,
        }
    }

    /// Reads an element. Returns its byte; a set is added.
    fn element(&mut self, byte: u8) -> Option<u8> {
        match byte {
            b'[' => self.bracket(),
            b'\\' => self.escape(),
            other => Some(other),
        }
    }

    fn set(&mut self, bytes: Option<Bytes>) -> Option<u8> {
        match bytes {
            Some(bytes) => self.bytes.add(&bytes),
            None => self.is_known = false,
        }
        None
    }

    /// `[:alpha:]` is a set. A `[` that begins no such name is an element.
    fn bracket(&mut self) -> Option<u8> {
        if !is_name(self.text) {
            return Some(b'[');
        }
        let name = self
            .text
            .until(":]")
            .and_then(|name| name.strip_prefix(':'));
        let bytes = name.and_then(Bytes::named);
        if let (Some(name), Some(_)) = (name, &bytes) {
            self.text.at += ":".len() + name.len() + ":]".len();
        }
        self.set(bytes)
    }

    fn escape(&mut self) -> Option<u8> {
        let letter = self.text.next().unwrap_or(b'E');
        if let Some(bytes) = Bytes::escaped(letter) {
            return self.set(Some(bytes));
        }
        match letter {
            b'b' => Some(0x08),
            b'Q' => {
                self.text.quoted();
                self.set(None)
            }
            b'c' => {
                self.text.next();
                self.set(None)
            }
            other => match self.text.single(other) {
                Some(byte) => Some(byte),
                None => self.set(None),
            },
        }
    }
}
