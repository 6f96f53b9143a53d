//! The texts of a sampled request. They lie in one piece of memory, because another thread frees
//! the memory, and that makes each piece dear.

/// The texts, as the client or a proxy has sent them.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextParts<'a> {
    /// Path and query.
    pub target: &'a [u8],
    /// The address of the peer.
    pub peer: &'a [u8],
    /// The host that the client asked for, without a port, or the server's address.
    pub host: &'a [u8],
    /// The client that a trusted proxy has named. Empty: it is the peer.
    pub client: &'a [u8],
    pub user_agent: &'a [u8],
}

/// Copies of these texts, or of the beginnings of long ones.
#[derive(Debug, Clone, Default)]
pub struct RequestTexts {
    all: Vec<u8>,
    /// Where each text but the last ends.
    ends: [usize; 4],
}

impl RequestTexts {
    /// The longest target, and the longest other text, in bytes.
    const LONGEST_TARGET: usize = 4096;
    const LONGEST: usize = 1024;

    /// `memory`: the memory to use, whatever it contains.
    pub fn new(parts: TextParts<'_>, memory: Vec<u8>) -> RequestTexts {
        let TextParts {
            target,
            peer,
            host,
            client,
            user_agent,
        } = parts;
        let target = beginning(target, Self::LONGEST_TARGET);
        let others = [peer, host, client, user_agent].map(|text| beginning(text, Self::LONGEST));
        let length = others.iter().map(|text| text.len()).sum::<usize>() + target.len();
        let mut all = memory;
        all.clear();
        all.reserve(length);
        all.extend_from_slice(target);
        let ends = others.map(|text| {
            let end = all.len();
            all.extend_from_slice(text);
            end
        });
        RequestTexts { all, ends }
    }

    pub fn into_memory(self) -> Vec<u8> {
        self.all
    }

    pub fn target(&self) -> &[u8] {
        &self.all[..self.ends[0]]
    }

    pub fn peer(&self) -> &[u8] {
        &self.all[self.ends[0]..self.ends[1]]
    }

    pub fn host(&self) -> &[u8] {
        &self.all[self.ends[1]..self.ends[2]]
    }

    /// Returns the client that a trusted proxy has named.
    pub fn client(&self) -> Option<&[u8]> {
        let client = &self.all[self.ends[2]..self.ends[3]];
        (!client.is_empty()).then_some(client)
    }

    pub fn user_agent(&self) -> &[u8] {
        &self.all[self.ends[3]..]
    }

    /// Returns the number of bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.all.len()
    }
}

/// Returns the beginning of a long text. A character of UTF-8 is not cut.
fn beginning(text: &[u8], longest: usize) -> &[u8] {
    if text.len() <= longest {
        return text;
    }
    let is_between = |end: &usize| text[*end] & 0xc0 != 0x80;
    let mut ends = (longest.saturating_sub(3)..=longest).rev();
    &text[..ends.find(is_between).unwrap_or(longest)]
}

#[cfg(test)]
mod tests {
    use super::{RequestTexts, TextParts};

    fn texts_of(parts: TextParts<'_>) -> RequestTexts {
        RequestTexts::new(parts, b"what was there before".to_vec())
    }

    #[test]
    fn texts_of_any_bytes_stay_apart() {
        let agent = "é".repeat(1000);
        let texts = texts_of(TextParts {
            target: b"/\xff?a",
            peer: b"192.0.2.1",
            host: b"h\xff",
            client: b"",
            user_agent: agent.as_bytes(),
        });
        assert_eq!(
            (texts.target(), texts.peer()),
            (&b"/\xff?a"[..], &b"192.0.2.1"[..])
        );
        assert_eq!((texts.host(), texts.client()), (&b"h\xff"[..], None));
        assert_eq!(texts.user_agent(), "é".repeat(512).as_bytes());
        let client = b"192.0.2.7";
        let named = texts_of(TextParts {
            client,
            ..TextParts::default()
        });
        assert_eq!(named.client(), Some(&client[..]));
        assert_eq!(
            (named.host(), named.user_agent(), named.bytes()),
            (&b""[..], &b""[..], 9)
        );
    }

    #[test]
    fn long_text_ends_with_a_whole_character() {
        for shift in 0..4 {
            let target = format!("{}{}", "x".repeat(shift), "€".repeat(2000));
            let target = target.as_bytes();
            let texts = texts_of(TextParts {
                target,
                ..TextParts::default()
            });
            let kept = std::str::from_utf8(texts.target()).expect("whole characters");
            assert!((4094..=4096).contains(&kept.len()), "{}", kept.len());
        }
        // Bytes that are no characters are cut anywhere.
        let target = &[0x80; 5000][..];
        let texts = texts_of(TextParts {
            target,
            ..TextParts::default()
        });
        assert_eq!(texts.target().len(), 4096);
    }
}
