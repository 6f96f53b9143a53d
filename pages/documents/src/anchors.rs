//! The anchors of headings, by GitHub's rule: links work there and in the site.

use std::collections::HashMap;

/// The anchors of one page.
#[derive(Default)]
pub struct Anchors {
    /// How often each plain anchor was asked for.
    counts: HashMap<String, usize>,
}

impl Anchors {
    /// Returns the anchor of the next heading with this text. The second heading with a text gets
    /// the suffix `-1`.
    pub fn next(&mut self, text: &str) -> String {
        let plain = plain(text);
        let mut anchor = plain.clone();
        while let Some(count) = self.counts.get(&anchor).copied() {
            let count = if anchor == plain {
                count
            } else {
                self.counts[&plain]
            };
            self.counts.insert(plain.clone(), count + 1);
            anchor = format!("{plain}-{count}");
        }
        self.counts.insert(anchor.clone(), 1);
        anchor
    }
}

/// Returns the text in small letters with `-` for spaces, without signs.
fn plain(text: &str) -> String {
    let signs = text.trim().chars().flat_map(char::to_lowercase);
    signs
        .filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign))
        .map(|sign| if sign == ' ' { '-' } else { sign })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Anchors;

    #[test]
    fn anchors_are_githubs() {
        let mut anchors = Anchors::default();
        let cases = [
            ("The rung `auto`", "the-rung-auto"),
            ("TLS: keys, HTTP/2", "tls-keys-http2"),
            ("[0.1.0] - 2026-11-24", "010---2026-11-24"),
            ("Added", "added"),
            ("Added", "added-1"),
            ("Added", "added-2"),
            ("Added 1", "added-1-1"),
            ("mod_perl", "mod_perl"),
        ];
        for (text, anchor) in cases {
            assert_eq!(anchors.next(text), anchor, "{text}");
        }
    }
}
