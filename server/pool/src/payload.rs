//! Strict readers for the payloads of a worker's records. The readers refuse anything that could
//! split a response, and report payloads that no sound worker writes.

use crate::call::{Asker, Declined, Head, Named, Origin, Reason, RequestNews, SubrequestQuestion};
use crate::frame::asker;
use crate::page::{OwnedQuestion, PageStep, StepKind};
use crate::script_head::{check_field, number, shown, Malformed, ScriptHead};
use crate::table_marks::HeadTable;
use mehari_http::token::is_token_byte;
use mehari_wire::layout::{page, record};

/// A payload that no sound worker writes. The worker is replaced.
#[derive(Debug)]
pub struct Broken(pub &'static str);

/// Why a record is refused.
#[derive(Debug)]
pub enum RecordRefusal {
    Record(Broken),
    /// The record is sound, but the program's head cannot be sent.
    Head(Malformed),
}

impl From<Broken> for RecordRefusal {
    fn from(broken: Broken) -> RecordRefusal {
        RecordRefusal::Record(broken)
    }
}

impl From<Malformed> for RecordRefusal {
    fn from(malformed: Malformed) -> RecordRefusal {
        RecordRefusal::Head(malformed)
    }
}

/// Splits a payload into the header lines and the rest. The payload begins with the length of the
/// lines.
pub fn split_lines(payload: &[u8]) -> Result<(&[u8], &[u8]), Broken> {
    let (length, rest) = payload
        .split_first_chunk::<4>()
        .ok_or(Broken("a record without the length of its lines"))?;
    rest.split_at_checked(u32::from_ne_bytes(*length) as usize)
        .ok_or(Broken("a record shorter than its announced length"))
}

/// Reads the question of an `ASK` record.
pub fn question(server: u16, payload: &[u8]) -> Result<SubrequestQuestion<'_>, RecordRefusal> {
    const WRONG: Broken = Broken("an invalid question");
    let mut parts = payload.splitn(4, |byte| *byte == 0);
    let (Some(method), Some(target)) = (parts.next(), parts.next()) else {
        return Err(WRONG.into());
    };
    let (mut file, mut news) = (parts.next(), RequestNews::default());
    if let Some(handed_on) = parts.next() {
        file = file.filter(|file| !file.is_empty());
        let said = declined(0, handed_on, &mut false)?;
        if let Some(told) = said.told {
            (news.user, news.origin) = (told.user, told.origin);
        }
        news.changes = said.changes;
    }
    Ok(SubrequestQuestion {
        server: server.into(),
        method,
        target,
        file,
        asker: Asker::default(),
        news,
    })
}

impl OwnedQuestion {
    /// `None`: the question is invalid, or it is not known who asks.
    pub fn view(&self) -> Option<SubrequestQuestion<'_>> {
        let question = question(self.server, &self.payload).ok()?;
        let asker = asker(&self.frame)?;
        Some(SubrequestQuestion { asker, ..question })
    }
}

/// Reads a `PAGE` record: a step of a page. The step does not know yet who asks.
pub fn page_step(server: u16, payload: &[u8]) -> Result<PageStep<'_>, RecordRefusal> {
    const WRONG: Broken = Broken("an invalid step of a page");
    let Some(([kind, depth, status @ ..], rest)) = payload.split_first_chunk::<4>() else {
        return Err(WRONG.into());
    };
    let kind = match *kind {
        page::BEGIN | page::INCLUDED => StepKind::Begin {
            question: Box::new(question(server, rest)?),
            is_included: *kind == page::INCLUDED,
        },
        page::RESPOND => {
            question(server, rest)?;
            StepKind::Respond(OwnedQuestion::new(server, rest))
        }
        page::GO_ON if rest.is_empty() => StepKind::GoOn(u16::from_ne_bytes(*status)),
        _ => return Err(WRONG.into()),
    };
    let depth = usize::from(*depth);
    Ok(PageStep { depth, kind })
}

/// Reads and checks the parts of a request that Perl handed back. Sets `listens` even if a part is
/// refused.
pub fn declined(
    status: u16,
    mut payload: &[u8],
    listens: &mut bool,
) -> Result<Declined, RecordRefusal> {
    const WRONG: Broken = Broken("a request handed back in unknown parts");
    let mut refused = match status {
        0 => None,
        _ => check_status(status).err(),
    };
    let mut declined = Declined {
        status,
        ..Declined::default()
    };
    while let Some((kind, rest)) = payload.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(WRONG)?;
        let length = u32::from_ne_bytes(*length) as usize;
        let (part, rest) = rest.split_at_checked(length).ok_or(WRONG)?;
        payload = rest;
        let header = match *kind {
            record::PASS_TYPE => Some("Content-Type"),
            record::PASS_HANDLER => Some("handler"),
            record::PASS_TARGET => Some("internal_redirect"),
            record::PASS_MOVED => Some("uri"),
            record::PASS_QUERY if part.contains(&b' ') => {
                refused.get_or_insert(Malformed::Control("args".into()));
                None
            }
            record::PASS_QUERY => Some("args"),
            record::PASS_METHOD | record::PASS_NUMBERED if !is_method(part) => {
                refused.get_or_insert(Malformed::Control("method".into()));
                None
            }
            record::PASS_DOCUMENT if part.starts_with(b"http") => Some("custom_response"),
            _ => None,
        };
        if let Some(header) = header.filter(|_| !part.iter().all(|byte| is_text(*byte))) {
            refused.get_or_insert(Malformed::Control(header.into()));
        }
        match *kind {
            record::PASS_LISTENS => *listens = true,
            record::PASS_LINES => {
                let mut head = Head::default();
                match read_lines(&mut head, part) {
                    Ok(_) => {
                        (declined.lines, declined.marks) = (head.lines, head.marks);
                        declined.reason = head.reason;
                    }
                    Err(RecordRefusal::Head(why)) => refused = refused.or(Some(why)),
                    Err(broken) => return Err(broken),
                }
            }
            record::PASS_FIELDS => match fields(part)? {
                Ok(fields) => declined.changes.fields = Some(fields),
                Err(why) => refused = refused.or(Some(why)),
            },
            record::PASS_VARIABLES => declined.changes.variables = pairs(part)?,
            record::PASS_REMOVED => {
                let names = part
                    .split(|byte| *byte == 0)
                    .filter(|name| !name.is_empty());
                declined.changes.removed = names.map(<[u8]>::to_vec).collect();
            }
            record::PASS_USER => {
                declined.told.get_or_insert_default().user = Some(named(0, part)?);
            }
            record::PASS_ORIGIN => {
                declined.told.get_or_insert_default().origin = match part {
                    [record::PASS_WITHIN] => Origin::Within,
                    [record::PASS_HANDLED] => Origin::Handled,
                    [record::PASS_REDIRECTED] => Origin::Redirected,
                    _ => return Err(WRONG.into()),
                };
            }
            record::PASS_QUERY => declined.changes.query = Some(part.to_vec()),
            record::PASS_METHOD => declined.changes.method.name = Some(part.to_vec()),
            record::PASS_NUMBERED => declined.changes.method.numbered = Some(part.to_vec()),
            record::PASS_FILE => declined.file = Some(part.to_vec()),
            record::PASS_TYPE => declined.media_type = Some(part.to_vec()),
            record::PASS_DOCUMENT => declined.document = Some(part.to_vec()),
            record::PASS_HANDLER => declined.handler = Some(part.to_vec()),
            record::PASS_TARGET => declined.target = Some(part.to_vec()),
            record::PASS_MOVED => declined.moved = Some(part.to_vec()),
            _ => return Err(WRONG.into()),
        }
    }
    declined.listens = *listens;
    refused.map_or(Ok(declined), |why| Err(why.into()))
}

fn is_method(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(|byte| is_token_byte(*byte))
}

/// Reads pairs: name, NUL, value, NUL, and so on.
pub fn pairs(mut part: &[u8]) -> Result<Fields, Broken> {
    const WRONG: Broken = Broken("invalid pairs");
    let mut pairs = Vec::new();
    while !part.is_empty() {
        let mut pieces = part.splitn(3, |byte| *byte == 0);
        let (Some(name), Some(value), Some(rest)) = (pieces.next(), pieces.next(), pieces.next())
        else {
            return Err(WRONG);
        };
        pairs.push((name.to_vec(), value.to_vec()));
        part = rest;
    }
    Ok(pairs)
}

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads fields of a request. Refuses a field that could split the request, because a back end may
/// get the fields.
fn fields(part: &[u8]) -> Result<Result<Fields, Malformed>, Broken> {
    let fields = pairs(part)?;
    let is_sound = |(name, value): &(Vec<u8>, Vec<u8>)| {
        let value = value.iter();
        let is_held = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
        !name.is_empty()
            && name.iter().all(|byte| is_token_byte(*byte))
            && value.copied().all(|byte| is_held(&byte))
    };
    let wrong = fields.iter().find(|field| !is_sound(field));
    Ok(match wrong {
        Some((name, _)) => Err(Malformed::Control(shown(name))),
        None => Ok(fields),
    })
}

fn is_text(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f
}

fn check_status(status: u16) -> Result<(), Malformed> {
    match status {
        200..=599 => Ok(()),
        _ => Err(Malformed::Status(status.to_string().into())),
    }
}

/// Reads the user that a handler has set.
pub fn named(kind_length: u16, payload: &[u8]) -> Result<Named, Broken> {
    const WRONG: Broken = Broken("an invalid user");
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

/// Reads a head. Status 0 means that the head has no status: then it is 200, or the status that
/// `Location` implies (RFC 3875 section 6.2).
pub fn head(status: u16, lines: &[u8]) -> Result<ScriptHead, RecordRefusal> {
    let mut head = Head {
        status,
        ..Head::default()
    };
    let location = read_lines(&mut head, lines)?;
    if status != 0 {
        check_status(status)?;
        return Ok(ScriptHead::Response(head));
    }
    match location {
        Some(target) if target.starts_with(b"/") && !target.starts_with(b"//") => {
            // The request begins anew, without the handlers' headers_out.
            let kept = head.marks.surviving(&head.lines);
            return Ok(ScriptHead::internal_redirect(target, &kept));
        }
        Some(_) => {
            head.status = 302;
            head.is_redirect = true;
            // As in Apache, the page of a redirect does not keep the handlers' headers_out.
            head.lines = head.marks.surviving(&head.lines);
            let survives = |mark: &(Vec<u8>, HeadTable)| mark.1 == HeadTable::Error;
            head.marks.fields.retain(survives);
            head.marks.is_out = false;
        }
        None => {
            head.status = 200;
            head.may_be_conditional = true;
        }
    }
    Ok(ScriptHead::Response(head))
}

/// Checks each line, notes what the front needs, and drops fields about the connection. A line that
/// begins with a colon is a reason phrase, or says the table of the lines behind it: `:o` for
/// headers_out, `:e` for err_headers_out. Returns the value of Location.
pub fn read_lines(head: &mut Head, mut lines: &[u8]) -> Result<Option<Vec<u8>>, RecordRefusal> {
    let mut location = None;
    let mut table = None;
    head.lines.reserve(lines.len());
    while !lines.is_empty() {
        let end = memchr::memchr(b'\n', lines).ok_or(Broken("a header line without an end"))?;
        let (line, rest) = lines.split_at(end + 1);
        lines = rest;
        let text = line
            .strip_suffix(b"\r\n")
            .ok_or(Broken("a header line without its CR"))?;
        match text {
            b":o" => {
                head.marks.is_out |= head.lines.is_empty();
                table = (!head.marks.is_out).then_some(HeadTable::Out);
                continue;
            }
            b":e" => {
                table = Some(HeadTable::Error);
                continue;
            }
            [b':', reason @ ..] => {
                head.reason = Reason::read(reason).or(head.reason.take());
                continue;
            }
            _ => {}
        }
        let (name, value) = check_field(text)?;
        // `check_field` strips these characters as blanks at the ends of a value, so the whole line
        // is searched for them.
        if memchr::memchr2(b'\r', 0x0c, text).is_some() {
            return Err(Malformed::Control(shown(name)).into());
        }
        if note(head, name, value, &mut location)? {
            head.lines.extend_from_slice(line);
            let mark = table.map(|table| (name.to_vec(), table));
            head.marks.fields.extend(mark);
        }
    }
    Ok(location)
}

/// Returns false if the field is not for the client.
fn note(
    head: &mut Head,
    name: &[u8],
    value: &[u8],
    location: &mut Option<Vec<u8>>,
) -> Result<bool, Malformed> {
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    match name.len() {
        4 if is("Date") => head.has_date = true,
        6 if is("Server") => head.has_server = true,
        8 if is("Location") => *location = Some(value.to_vec()),
        14 if is("Content-Length") => {
            let length = number(value).ok_or_else(|| Malformed::ContentLength(shown(value)))?;
            head.content_length = Some(length);
        }
        10 if is("Connection") || is("Keep-Alive") => return Ok(false),
        17 if is("Transfer-Encoding") => return Ok(false),
        _ => {}
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u32::try_from(bytes.len()).expect("short");
        [&[kind][..], &length.to_ne_bytes(), bytes].concat()
    }

    fn is_broken(payload: &[u8]) -> bool {
        let read = declined(0, payload, &mut false);
        matches!(read, Err(RecordRefusal::Record(_)))
    }

    /// Returns the reason for which the program's head is refused.
    fn refused<T>(read: Result<T, RecordRefusal>) -> String {
        match read {
            Err(RecordRefusal::Head(why)) => why.to_string(),
            Err(RecordRefusal::Record(Broken(what))) => panic!("the worker is replaced: {what}"),
            Ok(_) => panic!("it is taken"),
        }
    }

    #[test]
    fn a_request_handed_back_is_read_part_by_part() {
        let payload = [
            part(record::PASS_LINES, b"X-A: 1\r\nConnection: close\r\n"),
            part(record::PASS_FILE, b"/srv/\xff.txt"),
            part(record::PASS_TYPE, b"text/plain"),
            part(record::PASS_DOCUMENT, b"some\ntext"),
        ];
        let read = declined(403, &payload.concat(), &mut false).expect("sound");
        assert_eq!((read.status, read.target), (403, None));
        assert_eq!(read.lines, b"X-A: 1\r\n");
        assert_eq!(read.file.as_deref(), Some(&b"/srv/\xff.txt"[..]));
        assert_eq!(read.media_type.as_deref(), Some(&b"text/plain"[..]));
        assert_eq!(read.document.as_deref(), Some(&b"some\ntext"[..]));
    }

    #[test]
    fn an_invalid_part_of_a_request_handed_back_replaces_the_worker() {
        assert!(is_broken(b"l"));
        assert!(is_broken(&part(b'?', b"")));
        let whole = part(record::PASS_FILE, b"/srv/a");
        for length in 1..whole.len() {
            assert!(is_broken(&whole[..length]), "{length}");
        }
        assert!(is_broken(&part(record::PASS_LINES, b"X-A: 1\n")));
    }

    #[test]
    fn a_request_handed_back_with_a_head_that_cannot_be_sent_is_refused() {
        for status in [99, 199, 600] {
            let why = refused(declined(status, b"", &mut false));
            assert!(why.contains(&format!("got `{status}`")), "{why}");
        }
        for (kind, text) in [
            (record::PASS_LINES, &b"X A: 1\r\n"[..]),
            (record::PASS_LINES, b"X-A: \x01\r\n"),
            (record::PASS_TYPE, b"a\r\nX-B: 1"),
            (record::PASS_TARGET, b"/a\0b"),
            (record::PASS_DOCUMENT, b"http://a\r\nX-B: 1"),
        ] {
            // The worker waits for the outcome even if an earlier part is refused.
            let payload = [part(kind, text), part(record::PASS_LISTENS, b"")].concat();
            let mut listens = false;
            refused(declined(404, &payload, &mut listens));
            assert!(listens, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_head_that_cannot_be_sent_is_refused_and_the_reason_names_field_and_value() {
        for (lines, reason) in [
            (&b"Content-Length: abc\r\n"[..], "Content-Length, got `abc`"),
            (b"Content-Length: -1\r\n", "Content-Length, got `-1`"),
            (b"content-length:\r\n", "Content-Length, got ``"),
            (b"Content-Length: 1 2\r\n", "Content-Length, got `1 2`"),
            (
                b"Content-Length: 99999999999999999999\r\n",
                "got `99999999999999999999`",
            ),
            (b"Content-Type: a\x01b\r\n", "Content-Type holds a control"),
            (b"Content-Type: a\x7f\r\n", "Content-Type holds a control"),
            (b"X-A: a\r\r\n", "X-A holds a control"),
            (b"X-A: a\x0c\r\n", "X-A holds a control"),
            (b"X-A: a\0b\r\n", "X-A holds a control"),
            (b"X A: b\r\n", "got `X A: b`"),
            (b"no colon\r\n", "got `no colon`"),
        ] {
            let why = refused(head(200, lines));
            assert!(why.contains(reason), "{why}");
        }
        for status in [1, 199, 600, u16::MAX] {
            assert!(refused(head(status, b"")).contains(&format!("`{status}`")));
        }
        for lines in [&b"X-A: b"[..], b"X-A: b\n"] {
            assert!(matches!(head(200, lines), Err(RecordRefusal::Record(_))));
        }
        assert!(head(200, b"X-A: \ta\xe9 \r\nContent-Length: 007\r\n").is_ok());
    }

    #[test]
    fn a_user_has_a_name_and_may_have_an_auth_type() {
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
    fn a_question_has_a_method_and_a_target_and_may_have_a_file() {
        let read = |payload| {
            let found = question(3, payload)?;
            Ok::<_, RecordRefusal>((found.method, found.target, found.file))
        };
        assert!(matches!(read(b"GET\0/a?b"), Ok((b"GET", b"/a?b", None))));
        assert!(matches!(
            read(b"POST\0/a\0/srv/a"),
            Ok((b"POST", b"/a", Some(b"/srv/a")))
        ));
        for wrong in [&b""[..], b"/a", b"GET\0/a\0\0h"] {
            assert!(read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn a_step_of_a_page_begins_a_page_or_goes_on_with_a_status() {
        let begun = [&[page::INCLUDED, 2, 0, 0][..], b"GET\0/a?b\0/srv/a"].concat();
        let step = page_step(3, &begun).expect("sound");
        assert_eq!(step.depth, 2);
        let StepKind::Begin {
            question,
            is_included,
        } = step.kind
        else {
            panic!("a page begins");
        };
        assert!(is_included && question.file == Some(b"/srv/a"));
        let status = 404_u16.to_ne_bytes();
        let going = [&[page::GO_ON, 0][..], &status].concat();
        let step = page_step(3, &going).expect("sound");
        assert!(matches!(step.kind, StepKind::GoOn(404)));
        let responds = [&[page::RESPOND, 1, 0, 0][..], b"GET\0/back"].concat();
        let step = page_step(3, &responds).expect("sound");
        assert!(matches!(step.kind, StepKind::Respond(_)));
        let wrong = [&going[..], b"x"].concat();
        for wrong in [&wrong[..], &going[..3], b"", &[7, 0, 0, 0], &[0, 0, 0, 0]] {
            assert!(page_step(3, wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn a_question_may_hand_on_fields_variables_and_the_user() {
        let parts = [
            part(record::PASS_FIELDS, b"X-A\0b\0"),
            part(record::PASS_VARIABLES, b"MADE\0made\0"),
            part(record::PASS_USER, b"ann"),
        ];
        let payload = [&b"GET\0/a\0\0"[..], &parts.concat()].concat();
        let found = question(3, &payload).expect("sound");
        assert_eq!((found.target, found.file), (&b"/a"[..], None));
        let changes = found.news.changes;
        assert_eq!(changes.fields, Some(vec![(b"X-A".to_vec(), b"b".to_vec())]));
        assert_eq!(changes.variables, [(b"MADE".to_vec(), b"made".to_vec())]);
        assert_eq!(found.news.user.expect("a user").name, b"ann");
        // A field that could split a request is the program's mistake.
        let split = part(record::PASS_FIELDS, b"X-A\0b\r\nX-B: c\0");
        let payload = [&b"GET\0/a\0\0"[..], &split].concat();
        refused(question(3, &payload));
    }
}
