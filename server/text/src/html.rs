//! Escapes text for HTML: the five characters that could be markup become entities.

/// Escapes `text` for element content and for attribute values in quotes of either kind.
pub fn escape(text: &str) -> String {
    let mut escaped = Vec::with_capacity(text.len());
    push(text.as_bytes(), "&#39;", &mut escaped);
    // This cannot fail, because ASCII bytes were replaced by ASCII.
    String::from_utf8(escaped).unwrap_or_default()
}

/// Appends the escaped `text`. `apostrophe` stands for `'`: Apache keeps `'`, lighttpd writes
/// `&#x27;`.
pub fn push(text: &[u8], apostrophe: &str, into: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'&' => into.extend_from_slice(b"&amp;"),
            b'<' => into.extend_from_slice(b"&lt;"),
            b'>' => into.extend_from_slice(b"&gt;"),
            b'"' => into.extend_from_slice(b"&quot;"),
            b'\'' => into.extend_from_slice(apostrophe.as_bytes()),
            other => into.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_markup_become_entities() {
        let escaped = escape("<a href='\u{e4}' title=\"b & c\">");
        assert_eq!(
            escaped,
            "&lt;a href=&#39;\u{e4}&#39; title=&quot;b &amp; c&quot;&gt;"
        );
        let mut text = Vec::new();
        push(b"it's", "'", &mut text);
        assert_eq!(text, b"it's");
    }
}
