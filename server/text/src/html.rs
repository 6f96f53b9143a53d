//! Escapes text for HTML: the five characters that could be markup become entities. Reads such
//! entities again.

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

/// Replaces `&lt;`, `&gt;`, `&quot;`, `&amp;` and numeric entities of single bytes by what they
/// stand for. Everything else stays.
pub fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'&') {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let entity = rest
            .iter()
            .position(|byte| *byte == b';')
            .map(|end| &rest[..end]);
        match entity.and_then(|entity| Some((byte_of(entity)?, entity.len() + 1))) {
            Some((byte, length)) => {
                plain.push(byte);
                rest = &rest[length..];
            }
            None => plain.push(b'&'),
        }
    }
    plain.extend_from_slice(rest);
    plain
}

fn byte_of(entity: &[u8]) -> Option<u8> {
    match entity {
        b"lt" => Some(b'<'),
        b"gt" => Some(b'>'),
        b"quot" => Some(b'"'),
        b"amp" => Some(b'&'),
        _ => {
            let digits = std::str::from_utf8(entity.strip_prefix(b"#")?).ok()?;
            let byte = digits.parse::<u8>().ok()?;
            let is_shown = byte >= b' ' && !(0x7f..0xa0).contains(&byte);
            (is_shown && digits.bytes().all(|digit| digit.is_ascii_digit())).then_some(byte)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_read_again() {
        for (text, plain) in [
            (&b"a=1&amp;b=2"[..], &b"a=1&b=2"[..]),
            (b"&lt;&gt;&quot;&#39;&#228;", b"<>\"'\xe4"),
            (
                b"a&b &amp &none; &#0; &#10; &#+9; &#300; &;",
                b"a&b &amp &none; &#0; &#10; &#+9; &#300; &;",
            ),
            (b"&amp;amp;", b"&amp;"),
        ] {
            assert_eq!(unescape(text), plain, "{}", text.escape_ascii());
        }
    }

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
