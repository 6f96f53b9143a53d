//! From ring records to what the front sees of a response. The worker is not trusted: a head that
//! could split a response, or records out of order, end that worker and answer 502.

use crate::call::{Asker, Fault, Head, Passed, Question};
use crate::exchange::Arrived;
use crate::false_starts::FalseStarts;
use crate::frame::{asker, encode};
use crate::inner::Inner;
use crate::script_head::ScriptHead;
use crate::tap::{About, Header, Said, Unread};
use mehari_config::LogLevel;
use mehari_observe::Origin;
use mehari_wire::layout::record;
use mehari_wire::Record;
use std::time::{Duration, Instant};

/// While this much of a body waits for the client, its worker's ring is left alone: the worker waits too.
pub const BODY_AHEAD: usize = 256 * 1024;

/// What the worker wrote is no response.
pub struct Broken(pub &'static str);

impl Inner {
    /// Looks at every mailbox that may hold something. True: something had arrived.
    pub fn scan(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.workers.len() {
            any |= self.workers[index]
                .as_ref()
                .is_some_and(|worker| !worker.held.is_empty())
                && self.drain_worker(index);
        }
        any
    }

    pub fn drain_worker(&mut self, index: usize) -> bool {
        let mut any = false;
        while self.take_record(index) {
            any = true;
        }
        if any {
            if let Some(worker) = self.worker(index) {
                worker.mailbox.release();
            }
        }
        any
    }

    fn take_record(&mut self, index: usize) -> bool {
        let Some(worker) = self.workers[index].as_mut() else {
            return false;
        };
        let ahead = worker
            .held
            .front()
            .and_then(|held| self.exchanges.get(held.ticket))
            .map_or(0, |arrived| arrived.body.len());
        if ahead >= BODY_AHEAD {
            return false;
        }
        let mut payload = std::mem::take(&mut self.scratch);
        payload.clear();
        let outcome = match worker.mailbox.next_record(&mut payload) {
            Ok(None) => {
                self.scratch = payload;
                return false;
            }
            Ok(Some(record)) => self.accept(index, record, &payload),
            Err(_) => Err(Broken("a record of impossible length")),
        };
        self.scratch = payload;
        if let Err(Broken(what)) = outcome {
            self.kill_broken(index, what);
            return false;
        }
        true
    }

    fn accept(&mut self, index: usize, record: Record, payload: &[u8]) -> Result<(), Broken> {
        if record.kind == record::DONE {
            return self.finish_head(index, record.detail);
        }
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let pid = worker.pid;
        let Some(held) = worker.held.front_mut() else {
            return Err(Broken("a record without a request"));
        };
        if record.kind == record::LOG {
            let origin = Origin {
                request: Some(held.request_id),
                worker: Some(pid),
                ..Origin::default()
            };
            self.log.log_bytes(level(record.detail), origin, payload);
            return Ok(());
        }
        if record.kind == record::ASK {
            return self.answer_question(index, record.detail, payload);
        }
        if held.answered {
            return Err(Broken("a record after the end of its response"));
        }
        let is_next = match record.kind {
            record::RESPONSE | record::HEAD | record::PASS => !held.head_seen,
            record::BODY => held.head_seen && !held.tapped,
            record::END => held.head_seen || held.tapped,
            record::TAP => !held.tapped,
            _ => true,
        };
        if !is_next {
            return Err(Broken("the records of a response out of order"));
        }
        let is_whole = matches!(record.kind, record::RESPONSE | record::PASS);
        held.head_seen |= is_whole || record.kind == record::HEAD;
        held.answered |= is_whole || record.kind == record::END;
        if record.kind == record::TAP {
            return self.open_tap(index, record.detail, payload);
        }
        if let Some(arrived) = self.exchanges.get(held.ticket) {
            take(arrived, record, payload)?;
            arrived.wake();
        }
        Ok(())
    }

    /// The worker waits until it has its answer: a request frame, or none of length 0.
    fn answer_question(&mut self, index: usize, server: u16, payload: &[u8]) -> Result<(), Broken> {
        let mut question = question(server, payload)?;
        let oracle = self.oracle.clone();
        let Some(worker) = self.worker(index) else {
            return Ok(());
        };
        let length = worker.held.front().map_or(0, |held| held.frame_length);
        let frame = worker.mailbox.taken_slot()[..length].to_vec();
        question.asker = asker(&frame).ok_or(Broken("over the request it was given"))?;
        let room = worker.mailbox.answer_room();
        room[..4].fill(0);
        if let Some(oracle) = oracle {
            oracle(question, &mut |call| {
                if encode(&call, room).is_err() {
                    room[..4].fill(0);
                }
            });
        }
        worker.mailbox.answer();
        Ok(())
    }

    /// From here on the response of the worker's first request comes through a pipe.
    fn open_tap(&mut self, index: usize, detail: u16, payload: &[u8]) -> Result<(), Broken> {
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let pid = worker.pid;
        let Some(request) = worker.held.front().map(|held| held.request_id) else {
            return Ok(());
        };
        let file = worker
            .receive_tap(request)
            .map_err(|_| Broken("of a pipe and sent none"))?;
        let Some(held) = worker.held.front_mut() else {
            return Ok(());
        };
        held.tapped = true;
        let (lines, name) = split_lines(payload)?;
        let status = detail & !record::TAP_PARSE;
        let header = match detail & record::TAP_PARSE != 0 {
            true => {
                let mut beside = Head {
                    status,
                    ..Head::default()
                };
                read_lines(&mut beside, lines)?;
                Header::InPipe(beside)
            }
            false => Header::Apart(head(status, lines)?),
        };
        let about = About {
            log: self.log.clone(),
            origin: Origin {
                request: Some(request),
                worker: Some(pid),
                ..Origin::default()
            },
            file: name.to_vec(),
            timeout: held.timeout,
        };
        if let Some(arrived) = self.exchanges.get(held.ticket) {
            arrived.tap = Some(Box::new(Unread {
                file,
                header,
                about,
            }));
            arrived.tapped = true;
            arrived.wake();
        }
        Ok(())
    }

    /// The worker is done with its first request, cleanup included.
    fn finish_head(&mut self, index: usize, detail: u16) -> Result<(), Broken> {
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let Some(held) = worker.held.pop_front() else {
            return Err(Broken("an end without a request"));
        };
        worker.served += 1;
        let place = worker.team;
        let team = self.teams.get_mut(place);
        if let Some(team) = team.filter(|team| team.false_starts.in_a_row > 0) {
            team.false_starts = FalseStarts::default();
        }
        worker.head_since = Instant::now();
        worker.warned = None;
        worker.waited = Duration::ZERO;
        if detail & record::DONE_AGAIN != 0 && !held.head_seen {
            let frame = worker.mailbox.taken_slot()[..held.frame_length].to_vec();
            self.put_back(place, held, frame);
        } else if !held.answered {
            if let Some(arrived) = self.exchanges.get(held.ticket) {
                arrived.fail(Fault::BadResponse);
            }
        }
        self.after_request(index, detail & record::DONE_RETIRE != 0);
        self.worker_is_free(index);
        Ok(())
    }

    fn kill_broken(&mut self, index: usize, what: &'static str) {
        let Some(worker) = self.worker(index) else {
            return;
        };
        let pid = worker.pid;
        worker.killed = Some(what);
        worker.wrote_what_cannot_be = true;
        worker.kill();
        self.log
            .error(format_args!("worker {pid} wrote {what}: it is replaced"));
        self.worker_ended(index);
    }
}

fn level(detail: u16) -> LogLevel {
    match detail {
        4 => LogLevel::Warn,
        5 => LogLevel::Notice,
        6 => LogLevel::Info,
        _ => LogLevel::Error,
    }
}

/// Header lines with their length before them, and what follows.
fn split_lines(payload: &[u8]) -> Result<(&[u8], &[u8]), Broken> {
    let (length, rest) = payload
        .split_first_chunk::<4>()
        .ok_or(Broken("a record without the length of its lines"))?;
    rest.split_at_checked(u32::from_ne_bytes(*length) as usize)
        .ok_or(Broken("a record shorter than it says"))
}

pub fn take(arrived: &mut Arrived, record: Record, payload: &[u8]) -> Result<(), Broken> {
    match record.kind {
        record::RESPONSE => {
            let (lines, body) = split_lines(payload)?;
            // A status and nothing else is the worker's refusal: the front has pages for those.
            if lines.is_empty() && body.is_empty() && (400..=599).contains(&record.detail) {
                arrived.fault = Some(Fault::Status(record.detail));
                return Ok(());
            }
            if arrived.tapped {
                return Err(Broken("a whole response beside its pipe"));
            }
            arrived.head = Some(head(record.detail, lines)?);
            arrived.body.extend_from_slice(body);
            arrived.complete = true;
        }
        record::HEAD => arrived.head = Some(head(record.detail, payload)?),
        record::INTERIM => {
            let mut interim = Head {
                status: record.detail,
                ..Head::default()
            };
            read_lines(&mut interim, payload)?;
            arrived.interim.push_back(interim);
        }
        record::PASS => {
            arrived.head = Some(ScriptHead::Passed(Box::new(passed(
                record.detail,
                payload,
            )?)));
            arrived.complete = !arrived.tapped;
            // A head that came through the pipe may have gone out already: then what there is, is the response.
            arrived.said = Said::Ended;
        }
        record::BODY => arrived.body.extend_from_slice(payload),
        record::END if record.detail & record::END_BROKEN != 0 => {
            arrived.fault = Some(Fault::CutOff);
        }
        record::END if arrived.tapped => {
            arrived.said = match record.detail & record::END_DETACHED != 0 {
                true => Said::Detached,
                false => Said::Ended,
            }
        }
        record::END => arrived.complete = true,
        _ => return Err(Broken("a record of no known kind")),
    }
    Ok(())
}

/// What `ASK` says.
fn question(server: u16, payload: &[u8]) -> Result<Question<'_>, Broken> {
    const WRONG: Broken = Broken("a question that is none");
    let (kind, rest) = payload.split_first().ok_or(WRONG)?;
    let (target, file) = match *kind {
        b'u' => (rest, None),
        b'f' => {
            let end = memchr::memchr(0, rest).ok_or(WRONG)?;
            (&rest[..end], Some(&rest[end + 1..]))
        }
        _ => return Err(WRONG),
    };
    Ok(Question {
        server: server.into(),
        target,
        file,
        asker: Asker::default(),
    })
}

/// The parts of a request handed back, each checked.
fn passed(status: u16, mut payload: &[u8]) -> Result<Passed, Broken> {
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

/// A status of 0 is none given: 200, or what `Location` asks for (RFC 3875 6.2).
fn head(status: u16, lines: &[u8]) -> Result<ScriptHead, Broken> {
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
        None => head.status = 200,
    }
    Ok(ScriptHead::Response(head))
}

/// Checks each line, notes what the front must know, drops what is the connection's. Answers Location.
fn read_lines(head: &mut Head, mut lines: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
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
    fn a_question_has_a_kind_a_target_and_perhaps_a_file() {
        let read = |payload| question(3, payload).map(|found| (found.target, found.file));
        assert!(matches!(read(b"u/a?b"), Ok((b"/a?b", None))));
        assert!(matches!(read(b"f/a\0/srv/a"), Ok((b"/a", Some(b"/srv/a")))));
        for wrong in [&b""[..], b"f/a", b"x/a"] {
            assert!(read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
