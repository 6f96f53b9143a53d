//! The response to a request that this crate has sent: head and body.

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The status line.
    pub status: String,
    /// Bytes of head and body, as they came over the wire.
    pub bytes: u64,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Page {
    /// Reads the bytes that came until the server closed the connection.
    pub fn of(received: &[u8]) -> Page {
        let end = find(received, b"\r\n\r\n").unwrap_or(received.len());
        let head = String::from_utf8_lossy(&received[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default().to_owned();
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let mut page = Page {
            status,
            bytes: received.len() as u64,
            fields: lines.filter_map(field).collect(),
            body: Vec::new(),
        };
        let body = received.get(end + 4..).unwrap_or_default();
        page.body = match page.field("transfer-encoding") {
            Some("chunked") => joined(body),
            _ => body.to_vec(),
        };
        page
    }

    /// Returns the status code. `None`: the response is no HTTP.
    pub fn code(&self) -> Option<u16> {
        self.status.split(' ').nth(1)?.parse().ok()
    }

    /// Returns the value of the first field with this name, which is in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body without the chunked coding.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// Joins chunks. A broken chunk ends the body.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = find(rest, b"\r\n") {
        let line = String::from_utf8_lossy(&rest[..end]);
        let digits = line.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(digits, 16) else {
            break;
        };
        let from = end + 2;
        let Some(chunk) = rest.get(from..from.saturating_add(size)) else {
            break;
        };
        if size == 0 {
            break;
        }
        body.extend_from_slice(chunk);
        rest = rest.get(from + size + 2..).unwrap_or_default();
    }
    body
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn chunks_are_joined_and_fields_found_in_any_case() {
        let page = Page::of(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"1\"\r\n\r\n\
              3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        );
        assert_eq!((page.code(), page.body()), (Some(200), &b"abcde"[..]));
        assert_eq!(page.field("etag"), Some("\"1\""));
        for broken in [
            &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nx",
            b"HTTP/1.1 200 OK",
            b"",
        ] {
            assert_eq!(Page::of(broken).body(), b"");
        }
        assert_eq!(Page::of(b"").code(), None);
    }
}
