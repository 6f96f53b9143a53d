//! Sends one batch to a collector: a POST request on a new connection (OTLP over HTTP). The
//! collector is not trusted: the whole exchange has one time limit, and the answer a limit of
//! bytes.

use mehari_config::TraceExport;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The most bytes of the answer that are read.
const LONGEST_ANSWER: usize = 16 * 1024;
/// The statuses after which a batch may be sent again.
const TRY_AGAIN: [u16; 4] = [429, 502, 503, 504];

/// Why a collector has not taken a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: String,
    /// Whether the batch may be sent again, and after which time if the collector says it.
    pub retry_after: Option<Option<Duration>>,
}

/// Sends a body and waits for the answer. Returns the number of spans that the collector has
/// rejected.
pub fn post(to: &TraceExport, body: &[u8]) -> Result<u64, Refusal> {
    let answer = exchange(to, body).map_err(|error| Refusal {
        reason: match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                format!("no answer within {} ms", to.timeout.as_millis())
            }
            _ => error.to_string(),
        },
        retry_after: Some(None),
    })?;
    match status(&answer) {
        Some(200..=299) => Ok(rejected(&answer)),
        Some(status) => Err(Refusal {
            reason: format!("the collector answers with status {status}"),
            retry_after: TRY_AGAIN.contains(&status).then(|| retry_after(&answer)),
        }),
        None => Err(Refusal {
            reason: "the collector does not answer with HTTP/1.1".to_owned(),
            retry_after: None,
        }),
    }
}

/// Returns the answer, or its beginning.
fn exchange(to: &TraceExport, body: &[u8]) -> io::Result<Vec<u8>> {
    let until = Instant::now() + to.timeout;
    let mut stream = connect(to, until)?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: mehari/{}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        to.path,
        to.authority(),
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    write_all(&mut stream, head.as_bytes(), until)?;
    write_all(&mut stream, body, until)?;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while answer.len() < LONGEST_ANSWER && !is_complete(&answer) {
        let read = stream
            .set_read_timeout(Some(left(until)?))
            .and_then(|()| stream.read(&mut part));
        match read {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

/// Connects to the first address of the name that accepts.
fn connect(to: &TraceExport, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (to.host.as_str(), to.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn write_all(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the time until the limit, which is never zero.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

/// Returns the status of an answer whose head is complete.
fn status(answer: &[u8]) -> Option<u16> {
    let (head, _) = parts(answer)?;
    let digits = head.strip_prefix("http/1.")?.get(2..5)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Returns the head in lower case, and the body so far.
fn parts(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    Some((head, &answer[end + 4..]))
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(known, _)| *known == name);
    found.map(|(_, value)| value.trim())
}

/// Whether nothing more has to be read. Without a length, the end of the connection ends the body.
fn is_complete(answer: &[u8]) -> bool {
    let Some((head, body)) = parts(answer) else {
        return false;
    };
    match field(&head, "content-length").map(str::parse::<usize>) {
        Some(Ok(length)) => body.len() >= length,
        _ => body.ends_with(b"0\r\n\r\n"),
    }
}

fn retry_after(answer: &[u8]) -> Option<Duration> {
    let (head, _) = parts(answer)?;
    let seconds = field(&head, "retry-after")?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns the number after `rejectedSpans`, which the collector writes as a number or as a text.
fn rejected(answer: &[u8]) -> u64 {
    const NAME: &str = "\"rejectedSpans\"";
    let Some((_, body)) = parts(answer) else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_with_their_status_and_what_they_reject() {
        let partly = b"HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n\
                       {\"partialSuccess\": {\"rejectedSpans\": \"17\" } }";
        assert_eq!((status(partly), rejected(partly)), (Some(200), 17));
        assert!(is_complete(partly));
        assert!(!is_complete(&partly[..partly.len() - 4]));
        let busy = b"HTTP/1.0 503 Busy\r\nRETRY-AFTER: 7\r\n\r\n";
        assert_eq!(status(busy), Some(503));
        assert_eq!(retry_after(busy), Some(Duration::from_secs(7)));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert!(is_complete(chunked) && rejected(chunked) == 0);
        for text in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 2x0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
        ] {
            assert_eq!(status(text.as_bytes()), None, "{text}");
        }
    }
}
