//! Reads as much of a collector's answer as the server needs: the status, what the collector has
//! rejected, and whether the connection stays open.

use std::time::Duration;

/// An answer, or its beginning.
#[derive(Default)]
pub struct Answer {
    bytes: Vec<u8>,
}

impl Answer {
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the status of an answer whose head is complete.
    pub fn status(&self) -> Option<u16> {
        let (head, _) = self.parts()?;
        status(&head)
    }

    /// Whether nothing more has to be read. Without a length, the end of the connection ends the
    /// body.
    pub fn is_complete(&self) -> bool {
        let Some((head, body)) = self.parts() else {
            return false;
        };
        match length(&head) {
            Some(length) => body.len() >= length,
            None => body.ends_with(b"0\r\n\r\n"),
        }
    }

    /// Whether the connection can be used for the next request: the answer's end is certain.
    pub fn leaves_connection_open(&self) -> bool {
        let Some((head, body)) = self.parts() else {
            return false;
        };
        let says_close = field(&head, "connection").is_some_and(|it| it.contains("close"));
        head.starts_with("http/1.1 ") && !says_close && length(&head) == Some(body.len())
    }

    pub fn retry_after(&self) -> Option<Duration> {
        let (head, _) = self.parts()?;
        let seconds = field(&head, "retry-after")?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// Returns the number after `rejectedSpans`, which the collector writes as a number or as a
    /// text.
    pub fn rejected_spans(&self) -> u64 {
        const NAME: &str = "\"rejectedSpans\"";
        let Some((_, body)) = self.parts() else {
            return 0;
        };
        let text = String::from_utf8_lossy(body);
        let Some((_, rest)) = text.split_once(NAME) else {
            return 0;
        };
        let rest = rest.trim_start().strip_prefix(':').unwrap_or_default();
        let rest = rest.trim_start().trim_start_matches('"');
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().unwrap_or(0)
    }

    /// Returns the head in lower case, and the body so far.
    fn parts(&self) -> Option<(String, &[u8])> {
        let end = self.bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.bytes[..end]).to_ascii_lowercase();
        Some((head, &self.bytes[end + 4..]))
    }
}

fn status(head: &str) -> Option<u16> {
    let digits = head.strip_prefix("http/1.")?.get(2..5)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Returns the length of the body, if the head tells it.
fn length(head: &str) -> Option<usize> {
    match status(head) {
        Some(204 | 304) => Some(0),
        _ => field(head, "content-length")?.parse().ok(),
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(known, _)| *known == name);
    found.map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: &[u8]) -> Answer {
        let mut answer = Answer::default();
        answer.add(bytes);
        answer
    }

    #[test]
    fn answers_are_read_with_their_status_and_what_they_reject() {
        let partly = b"HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n\
                       {\"partialSuccess\": {\"rejectedSpans\": \"17\" } }";
        let whole = answer(partly);
        assert_eq!((whole.status(), whole.rejected_spans()), (Some(200), 17));
        assert!(whole.is_complete());
        assert!(!answer(&partly[..partly.len() - 4]).is_complete());
        let busy = answer(b"HTTP/1.0 503 Busy\r\nRETRY-AFTER: 7\r\n\r\n");
        assert_eq!(busy.status(), Some(503));
        assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert!(answer(chunked).is_complete() && answer(chunked).rejected_spans() == 0);
        assert!(answer(b"HTTP/1.1 204 No Content\r\n\r\n").is_complete());
        for text in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 2x0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
        ] {
            assert_eq!(answer(text.as_bytes()).status(), None, "{text}");
        }
    }

    #[test]
    fn connection_is_kept_only_after_an_answer_with_a_certain_end() {
        for (text, is_kept) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", true),
            ("HTTP/1.1 204 No Content\r\n\r\n", true),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}x", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", false),
            (
                "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\n{}",
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                false,
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", false),
        ] {
            let found = answer(text.as_bytes()).leaves_connection_open();
            assert_eq!(found, is_kept, "{text}");
        }
    }
}
