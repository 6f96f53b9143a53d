//! Keeps names and values in one block of memory: header fields, or the variables of a request.
//!
//! The fields of a request are copied into the block at once. Values that a script sets are
//! appended.

/// The place of one pair in the block: its name, then its value.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    value: usize,
    end: usize,
}

#[derive(Debug, Default, Clone)]
pub struct Fields {
    text: Vec<u8>,
    spans: Vec<Span>,
    changed: bool,
}

impl Fields {
    /// Appends a pair of the request.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(name);
        let value_start = self.text.len();
        self.text.extend_from_slice(value);
        self.spans.push(Span {
            start,
            value: value_start,
            end: self.text.len(),
        });
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let spans = self.spans.iter();
        spans.map(|span| {
            (
                &self.text[span.start..span.value],
                &self.text[span.value..span.end],
            )
        })
    }

    /// Returns the value of the first pair of this name. The case of names does not matter.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let mut all = self.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Replaces all pairs of this name by one pair.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.unset(name);
        self.push(name, value);
    }

    pub fn unset(&mut self, name: &[u8]) {
        let text = &self.text;
        self.spans
            .retain(|span| !text[span.start..span.value].eq_ignore_ascii_case(name));
        self.changed = true;
    }

    /// Appends a pair and keeps the other pairs of this name.
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        self.push(name, value);
        self.changed = true;
    }

    /// Removes all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.changed = false;
    }

    /// Returns whether a script has changed the pairs.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the number of bytes in use, including replaced values.
    pub fn size(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_replaced_in_any_case() {
        let mut fields = Fields::default();
        fields.push(b"Accept", b"text/html");
        fields.push(b"X-One", b"1");
        fields.push(b"x-one", b"2");
        assert!(!fields.is_changed());
        assert_eq!(fields.get(b"x-ONE"), Some(&b"1"[..]));
        fields.set(b"X-one", b"3");
        assert!(fields.is_changed());
        let all: Vec<_> = fields.iter().collect();
        assert_eq!(all, [(&b"Accept"[..], &b"text/html"[..]), (b"X-one", b"3")]);
        fields.unset(b"accept");
        assert_eq!(fields.get(b"Accept"), None);
    }
}
