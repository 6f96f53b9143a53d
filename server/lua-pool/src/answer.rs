//! Turns the result of a script into a CGI response (RFC 3875 section 6).

use crate::record::Writer;
use mehari_edge::{Failure, Piece, ScriptDecision, Visit};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;

/// The number of bytes read from a file at a time.
const WINDOW: usize = 64 * 1024;

/// Writes head and body. If the printed text begins with a header, and the script sets neither a
/// status nor header fields, the printed text is the whole response, as with a CGI program.
///
/// # Errors
///
/// The error of the connection. A file that cannot be read only causes a line of the error log.
pub fn write<W: Write>(
    reply: &mut Writer<W>,
    ended: ScriptDecision,
    visit: &Visit,
) -> io::Result<()> {
    let pieces = visit.body.as_deref().unwrap_or_default();
    let status = match ended {
        ScriptDecision::Answer(status) => Some(status),
        _ => None,
    };
    let has_own_head = status.is_none() && visit.response.is_empty() && begins_with_head(pieces);
    if !has_own_head {
        reply.output(&head(status.unwrap_or(200), visit))?;
    }
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => reply.output(bytes)?,
            Piece::File { path, start, end } => {
                let sent = send(reply, path, *start, *end)?;
                if let Err(error) = sent {
                    let shown = path.escape_ascii();
                    reply.complain(&format!(
                        "{shown}: the file that a script sends cannot be read: {error}"
                    ))?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the error page of a failed script and a line for the error log.
pub fn failed<W: Write>(reply: &mut Writer<W>, failure: &Failure) -> io::Result<()> {
    reply.complain(&failure.text)?;
    let status = failure.status;
    let page = format!(
        "Status: {status}\r\nContent-Type: text/plain\r\n\r\n{status}: the script failed\n"
    );
    reply.output(page.as_bytes())
}

fn head(status: u16, visit: &Visit) -> Vec<u8> {
    let mut head = format!("Status: {status}\r\n").into_bytes();
    for (name, value) in visit.response.iter() {
        for part in [name, b": ", value, b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    if visit.response.get(b"content-type").is_none() {
        head.extend_from_slice(b"Content-Type: text/html\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Returns whether the body begins with `Name: value` lines and an empty line.
fn begins_with_head(pieces: &[Piece]) -> bool {
    let Some(Piece::Bytes(bytes)) = pieces.first() else {
        return false;
    };
    for (lines, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return lines > 0;
        }
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        if name.len() == line.len() || name.is_empty() || !name.iter().all(is_token) {
            return false;
        }
    }
    false
}

/// Sends a part of a file. The inner error is about the file, the outer error about the connection.
fn send<W: Write>(
    reply: &mut Writer<W>,
    path: &[u8],
    start: u64,
    end: Option<u64>,
) -> io::Result<io::Result<()>> {
    let open = || {
        let mut file = File::open(OsStr::from_bytes(path))?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file.take(end.map_or(u64::MAX, |end| end.saturating_sub(start))))
    };
    let mut file = match open() {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let mut window = vec![0; WINDOW];
    loop {
        match file.read(&mut window) {
            Ok(0) => return Ok(Ok(())),
            Ok(count) => reply.output(&window[..count])?,
            Err(error) => return Ok(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_head_is_distinguished_from_a_page() {
        for (text, is_head) in [
            ("Content-Type: text/plain\r\n\r\nx", true),
            ("Status: 404\nX-A: b\n\n", true),
            ("123", false),
            ("Note: this is text", false),
            ("\nx", false),
            ("<p>a: b</p>\n\n", false),
            ("", false),
        ] {
            let pieces = [Piece::Bytes(text.as_bytes().to_vec())];
            assert_eq!(begins_with_head(&pieces), is_head, "{text:?}");
        }
        assert!(!begins_with_head(&[]));
    }
}
