//! The payloads of a worker's records, read strictly: what could split a response, or is no part of one, breaks the
//! worker that wrote it.

use crate::call::{Asker, Head, Named, Passed, Question};
use crate::script_head::ScriptHead;
use mehari_wire::layout::record;

/// What the worker wrote is no response.
pub struct Broken(pub &'static str);

/// Header lines with their length before them, and what follows.
pub fn split_lines(payload: &[u8]) -> Result<(&[u8], &[u8]), Broken> {
    let (length, rest) = payload
        .split_first_chunk::<4>()
        .ok_or(Broken("a record without the length of its lines"))?;
    rest.split_at_checked(u32::from_ne_bytes(*length) as usize)
        .ok_or(Broken("a record shorter than it says"))
}

/// What `ASK` says.
pub fn question(server: u16, payload: &[u8]) -> Result<Question<'_>, Broken> {
    const WRONG: Broken = Broken("a question that is none");
    let mut parts = payload.splitn(3, |byte| *byte == 0);
    let (Some(method), Some(target)) = (parts.next(), parts.next()) else {
        return Err(WRONG);
    };
    let file = parts.next();
    Ok(Question {
        server: server.into(),
        method,
        target,
        file,
        asker: Asker::default(),
    })
}

/// The parts of a request handed back, each checked.
pub fn passed(status: u16, mut payload: &[u8]) -> Result<Passed, Broken> {
    const WRONG: Broken = Broken("a request handed back in parts that are none");
    if status != 0 && !(200..=599).contains(&status) {
        return Err(Broken("a status that is none"));
    }
    let mut passed = Passed {
        status,
        ..Passed::default()
    };
    while let Some((kind, rest)) = payload.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(WRONG)?;
        let length = u32::from_ne_bytes(*length) as usize;
        let (part, rest) = rest.split_at_checked(length).ok_or(WRONG)?;
        payload = rest;
        let is_text = part.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
        let is_address = *kind == record::PASS_DOCUMENT && part.starts_with(b"http");
        if !is_text && (is_address || matches!(*kind, record::PASS_TYPE | record::PASS_TARGET)) {
            return Err(Broken("a control character where none can be"));
        }
        match *kind {
            record::PASS_LISTENS => passed.listens = true,
            record::PASS_LINES => {
                let mut head = Head::default();
                read_lines(&mut head, part)?;
                passed.lines = head.lines;
            }
            record::PASS_FILE => passed.file = Some(part.to_vec()),
            record::PASS_TYPE => passed.media_type = Some(part.to_vec()),
            record::PASS_DOCUMENT => passed.document = Some(part.to_vec()),
            record::PASS_TARGET => passed.target = Some(part.to_vec()),
            _ => return Err(WRONG),
        }
    }
    Ok(passed)
}

/// Who the user is, by a handler's word.
pub fn named(kind_length: u16, payload: &[u8]) -> Result<Named, Broken> {
    const WRONG: Broken = Broken("a user that is none");
    let parts = payload.split_at_checked(kind_length.into());
    let (kind, name) = parts.ok_or(WRONG)?;
    if name.is_empty() || memchr::memchr(0, payload).is_some() {
        return Err(WRONG);
    }
    Ok(Named {
        name: name.to_vec(),
        kind: kind.to_vec(),
    })
}

/// A status of 0 is none given: 200, or what `Location` asks for (RFC 3875 6.2).
pub fn head(status: u16, lines: &[u8]) -> Result<ScriptHead, Broken> {
    let mut head = Head {
        status,
        ..Head::default()
    };
    let location = read_lines(&mut head, lines)?;
    if status != 0 {
        return match status {
            200..=599 => Ok(ScriptHead::Response(head)),
            _ => Err(Broken("a status that is none")),
        };
    }
    match location {
        Some(target) if target.starts_with(b"/") && !target.starts_with(b"//") => {
            return Ok(ScriptHead::LocalRedirect(target));
        }
        Some(_) => head.status = 302,
        None => {
            head.status = 200;
            head.may_be_conditional = true;
        }
    }
    Ok(ScriptHead::Response(head))
}

/// Checks each line, notes what the front must know, drops what is the connection's. Answers Location.
pub fn read_lines(head: &mut Head, mut lines: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
    let mut location = None;
    head.lines.reserve(lines.len());
    while !lines.is_empty() {
        let end = memchr::memchr(b'\n', lines).ok_or(Broken("a header line without an end"))?;
        let (line, rest) = lines.split_at(end + 1);
        lines = rest;
        let text = line
            .strip_suffix(b"\r\n")
            .ok_or(Broken("a header line without its CR"))?;
        let colon = memchr::memchr(b':', text).ok_or(Broken("a header line without a colon"))?;
        let (name, value) = (&text[..colon], text[colon + 1..].trim_ascii());
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
            return Err(Broken("a header name that is no token"));
        }
        // In the whole line: blanks are no part of a value, and a CR counts as one.
        if memchr::memchr2(b'\r', 0, text).is_some() {
            return Err(Broken("a header value that could split the response"));
        }
        if note(head, name, value, &mut location)? {
            head.lines.extend_from_slice(line);
        }
    }
    Ok(location)
}

/// False: the field is not for the client.
fn note(
    head: &mut Head,
    name: &[u8],
    value: &[u8],
    location: &mut Option<Vec<u8>>,
) -> Result<bool, Broken> {
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    match name.len() {
        4 if is("Date") => head.has_date = true,
        6 if is("Server") => head.has_server = true,
        8 if is("Location") => *location = Some(value.to_vec()),
        14 if is("Content-Length") => {
            head.content_length = Some(
                std::str::from_utf8(value)
                    .ok()
                    .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|digits| digits.parse().ok())
                    .ok_or(Broken("a Content-Length that is no number"))?,
            );
        }
        10 if is("Connection") || is("Keep-Alive") => return Ok(false),
        17 if is("Transfer-Encoding") => return Ok(false),
        _ => {}
    }
    Ok(true)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u32::try_from(bytes.len()).expect("short");
        [&[kind][..], &length.to_ne_bytes(), bytes].concat()
    }

    fn is_broken(status: u16, payload: &[u8]) -> bool {
        passed(status, payload).is_err()
    }

    #[test]
    fn a_request_handed_back_is_read_part_by_part() {
        let payload = [
            part(record::PASS_LINES, b"X-A: 1\r\nConnection: close\r\n"),
            part(record::PASS_FILE, b"/srv/\xff.txt"),
            part(record::PASS_TYPE, b"text/plain"),
            part(record::PASS_DOCUMENT, b"some\ntext"),
        ];
        let read = passed(403, &payload.concat()).unwrap_or_else(|Broken(what)| panic!("{what}"));
        assert_eq!((read.status, read.target), (403, None));
        assert_eq!(read.lines, b"X-A: 1\r\n");
        assert_eq!(read.file.as_deref(), Some(&b"/srv/\xff.txt"[..]));
        assert_eq!(read.media_type.as_deref(), Some(&b"text/plain"[..]));
        assert_eq!(read.document.as_deref(), Some(&b"some\ntext"[..]));
    }

    #[test]
    fn a_request_handed_back_wrongly_breaks_its_worker() {
        assert!(is_broken(99, b""));
        assert!(is_broken(600, b""));
        assert!(is_broken(0, b"l"));
        assert!(is_broken(0, &part(b'?', b"")));
        let whole = part(record::PASS_FILE, b"/srv/a");
        for length in 1..whole.len() {
            assert!(is_broken(0, &whole[..length]), "{length}");
        }
        assert!(is_broken(0, &part(record::PASS_LINES, b"X-A: 1\n")));
        assert!(is_broken(0, &part(record::PASS_LINES, b"X A: 1\r\n")));
        assert!(is_broken(0, &part(record::PASS_TYPE, b"a\r\nX-B: 1")));
        assert!(is_broken(0, &part(record::PASS_TARGET, b"/a\0b")));
        assert!(is_broken(
            404,
            &part(record::PASS_DOCUMENT, b"http://a\r\nX-B: 1")
        ));
    }

    #[test]
    fn a_user_has_a_name_and_perhaps_a_way_it_is_known() {
        let read = |length, payload| named(length, payload).map(|user| (user.kind, user.name));
        assert_eq!(
            read(5, b"Basicann").ok(),
            Some((b"Basic".to_vec(), b"ann".to_vec()))
        );
        assert_eq!(read(0, b"ann").ok(), Some((Vec::new(), b"ann".to_vec())));
        for (length, payload) in [
            (5, &b"Basic"[..]),
            (9, b"Basicann"),
            (0, b"an\0n"),
            (0, b""),
        ] {
            assert!(named(length, payload).is_err(), "{payload:?}");
        }
    }

    #[test]
    fn a_question_has_a_method_a_target_and_perhaps_a_file() {
        let read = |payload| {
            let found = question(3, payload)?;
            Ok::<_, Broken>((found.method, found.target, found.file))
        };
        assert!(matches!(read(b"GET\0/a?b"), Ok((b"GET", b"/a?b", None))));
        assert!(matches!(
            read(b"POST\0/a\0/srv/a"),
            Ok((b"POST", b"/a", Some(b"/srv/a")))
        ));
        for wrong in [&b""[..], b"/a"] {
            assert!(read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
