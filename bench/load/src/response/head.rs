//! Parses the head of a response: the status line and the three fields that frame the body.

use memchr::memchr;

use super::Fault;

/// A complete head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The bytes of the head, including the blank line.
    pub length: usize,
    pub status: u16,
    pub minor_version: u8,
    pub content_length: Option<u64>,
    pub chunked: bool,
    pub says_close: bool,
    pub says_keep_alive: bool,
}

impl Head {
    /// Returns whether another head follows this head, as after 100 Continue.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// Returns whether the connection persists (RFC 9112 section 9.3).
    pub fn persistent(&self) -> bool {
        !self.says_close && (self.minor_version >= 1 || self.says_keep_alive)
    }
}

/// Reads a head from the start of `bytes`; `None` if the head is incomplete.
pub fn read(bytes: &[u8]) -> Result<Option<Head>, Fault> {
    let Some(end) = memchr(b'\n', bytes) else {
        return if bytes.len() < 5 || bytes.starts_with(b"HTTP/") {
            Ok(None)
        } else {
            Err(Fault::StatusLine)
        };
    };
    let mut head = status_line(without_return(&bytes[..end]))?;
    let mut at = end + 1;
    loop {
        let Some(end) = memchr(b'\n', &bytes[at..]) else {
            return Ok(None);
        };
        let line = without_return(&bytes[at..at + end]);
        at += end + 1;
        if line.is_empty() {
            head.length = at;
            return Ok(Some(head));
        }
        field(line, &mut head)?;
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads `HTTP/1.x NNN[ reason]`.
fn status_line(line: &[u8]) -> Result<Head, Fault> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(Fault::StatusLine)?;
    let [minor @ (b'0' | b'1'), b' ', a, b, c, after @ ..] = rest else {
        return Err(Fault::StatusLine);
    };
    let digits = [a, b, c];
    if !digits.iter().all(|digit| digit.is_ascii_digit()) || *a == b'0' {
        return Err(Fault::StatusLine);
    }
    if !matches!(after.first(), None | Some(b' ')) {
        return Err(Fault::StatusLine);
    }
    let status = digits
        .iter()
        .fold(0, |value, digit| value * 10 + u16::from(**digit - b'0'));
    Ok(Head {
        status,
        minor_version: minor - b'0',
        ..Head::default()
    })
}

/// Reads a field line. Only names that begin with C or T can affect the framing.
fn field(line: &[u8], head: &mut Head) -> Result<(), Fault> {
    let colon = memchr(b':', line).ok_or(Fault::Field)?;
    if colon == 0 {
        return Err(Fault::Field);
    }
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    match (line[0] | 0x20, colon) {
        (b'c', 14) if name.eq_ignore_ascii_case(b"content-length") => {
            let length = decimal(value).ok_or(Fault::Length)?;
            if head.content_length.is_some_and(|known| known != length) {
                return Err(Fault::Length);
            }
            head.content_length = Some(length);
        }
        (b'c', 10) if name.eq_ignore_ascii_case(b"connection") => {
            for option in value.split(|byte| *byte == b',') {
                head.says_close |= option.trim_ascii().eq_ignore_ascii_case(b"close");
                head.says_keep_alive |= option.trim_ascii().eq_ignore_ascii_case(b"keep-alive");
            }
        }
        (b't', 17) if name.eq_ignore_ascii_case(b"transfer-encoding") => {
            head.chunked = value
                .rsplit(|byte| *byte == b',')
                .next()
                .is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
        }
        _ => {}
    }
    Ok(())
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
