//! The texts of a sampled request beyond its timeline. They lie in one piece of memory, because
//! another thread frees it, and that makes each piece dear.

/// The host, the client and the browser.
#[derive(Debug, Clone, Default)]
pub struct RequestTexts {
    all: String,
    host_ends: usize,
    client_ends: usize,
}

impl RequestTexts {
    /// The longest text in bytes.
    const LONGEST: usize = 1024;

    /// `host`: the host that the client asked for, without a port, or the server's address.
    /// `client`: the client that a trusted proxy has named. Empty: it is the peer.
    pub fn new(host: &[u8], client: &[u8], user_agent: &[u8]) -> RequestTexts {
        let lengths = [host, client, user_agent].map(|text| text.len().min(Self::LONGEST));
        let mut all = String::with_capacity(lengths.iter().sum());
        push(&mut all, host);
        let host_ends = all.len();
        push(&mut all, client);
        let client_ends = all.len();
        push(&mut all, user_agent);
        RequestTexts {
            all,
            host_ends,
            client_ends,
        }
    }

    pub fn host(&self) -> &str {
        &self.all[..self.host_ends]
    }

    /// Returns the client that a trusted proxy has named.
    pub fn client(&self) -> Option<&str> {
        let client = &self.all[self.host_ends..self.client_ends];
        (!client.is_empty()).then_some(client)
    }

    pub fn user_agent(&self) -> &str {
        &self.all[self.client_ends..]
    }

    /// Returns the number of bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.all.len()
    }
}

fn push(all: &mut String, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(RequestTexts::LONGEST)];
    match std::str::from_utf8(bytes) {
        Ok(text) => all.push_str(text),
        Err(_) => all.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::RequestTexts;

    #[test]
    fn texts_of_any_bytes_stay_apart() {
        let texts = RequestTexts::new(b"h\xff", b"", "é".repeat(1000).as_bytes());
        assert_eq!((texts.host(), texts.client()), ("h\u{fffd}", None));
        assert_eq!(texts.user_agent(), "é".repeat(512));
        let named = RequestTexts::new(b"h", b"192.0.2.1", b"");
        assert_eq!(named.client(), Some("192.0.2.1"));
        assert_eq!(
            (named.host(), named.user_agent(), named.bytes()),
            ("h", "", 10)
        );
    }
}
