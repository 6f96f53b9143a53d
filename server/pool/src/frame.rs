//! Writes a `Call` as bytes: the request frame that a worker reads from its slot. Also checks
//! frames that a worker could have overwritten.

use crate::call::{Asker, Body, Call, Login, ResponseOutcome, RunningRequest, Task};
use mehari_config::Rung;
use mehari_wire::layout::{
    self, flag, login, BodyKind, Pair, Request, Span, TaskKind, Text, SLOT_SIZE, TEXT_COUNT,
};
use mehari_wire::{read_request, write_request};
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The error of a call that does not fit a slot.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

const REQUEST: usize = std::mem::size_of::<Request>();
const PAIR: usize = std::mem::size_of::<Pair>();

struct Writer<'a> {
    slot: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<Span, TooLarge> {
        let end = self.at + bytes.len();
        let room = self.slot.get_mut(self.at..end).ok_or(TooLarge)?;
        room.copy_from_slice(bytes);
        let span = Span {
            offset: self.at as u32,
            length: bytes.len() as u32,
        };
        self.at = end;
        Ok(span)
    }

    fn put_pair(&mut self, index: usize, name: &[u8], value: &[u8]) -> Result<(), TooLarge> {
        let (name, value) = (self.put(name)?, self.put(value)?);
        let at = REQUEST + index * PAIR;
        for (i, word) in [name.offset, name.length, value.offset, value.length]
            .iter()
            .enumerate()
        {
            self.slot[at + 4 * i..at + 4 * i + 4].copy_from_slice(&word.to_ne_bytes());
        }
        Ok(())
    }
}

/// Returns the length in bytes of this call's frame.
pub fn size(call: &Call<'_>) -> usize {
    let pairs = call.fields.iter().chain(call.environment.variables);
    let body = match &call.body {
        Body::Memory(bytes) => bytes.len(),
        _ => 0,
    };
    let texts: usize = texts(call).iter().map(|(_, bytes)| bytes.len()).sum();
    let pairs: usize = pairs
        .map(|(name, value)| PAIR + name.len() + value.len())
        .sum();
    REQUEST + texts + pairs + body
}

fn texts<'a>(call: &Call<'a>) -> [(Text, &'a [u8]); TEXT_COUNT] {
    [
        (Text::Task, task(&call.task).1),
        (Text::Method, call.line.method),
        (Text::Target, call.line.target),
        (Text::ScriptName, call.path.script_name),
        (Text::PathInfo, call.path.path_info),
        (Text::Query, call.line.query),
        (Text::Protocol, call.line.protocol),
        (Text::Scheme, call.connection.scheme),
        (Text::ServerName, call.connection.server_name),
        (Text::ServerAddr, call.connection.server_addr),
        (Text::RemoteAddr, call.connection.remote_addr),
        (Text::DocumentRoot, call.path.document_root),
        (Text::File, file(&call.task)),
        (Text::Settings, call.settings.text),
        (Text::MediaType, call.path.media_type),
        (Text::User, login(call.access.login).1),
        (Text::Challenge, call.access.challenge),
        (Text::Folder, call.path.folder),
        (Text::FolderFile, call.path.folder_file),
        (Text::FolderSettings, call.path.folder_settings),
        (Text::Coding, call.path.coding),
        (Text::Languages, call.path.languages),
        (Text::PathTranslated, call.path.path_translated),
    ]
}

/// The number of frames that were written.
static VISITS: AtomicU32 = AtomicU32::new(0);

/// Writes the frame to the start of `slot` and returns its length.
pub fn encode(call: &Call<'_>, slot: &mut [u8]) -> Result<usize, TooLarge> {
    let pairs = call.fields.len() + call.environment.variables.len();
    let slot_size = slot.len().min(SLOT_SIZE);
    let mut writer = Writer {
        slot: &mut slot[..slot_size],
        at: REQUEST + pairs * PAIR,
    };
    if writer.at > slot_size
        || call.fields.len() > usize::from(u16::MAX)
        || call.environment.variables.len() > usize::from(u16::MAX)
    {
        return Err(TooLarge);
    }
    let (task, _) = task(&call.task);
    let mut request = Request {
        task: task as u8,
        flags: flags(call),
        request_id: call.request_id,
        field_count: call.fields.len() as u16,
        variable_count: call.environment.variables.len() as u16,
        server_port: call.connection.server_port,
        remote_port: call.connection.remote_port,
        connection: call.connection.number,
        kept: call.connection.kept,
        settings_id: call.settings.number,
        access_status: call.access.status,
        redirect_status: call.led.status,
        depth: call.led.depth,
        set_env_count: call.environment.set_env_count,
        perl_set_env_count: call.environment.perl_set_env_count,
        file_mark: call.path.file_mark,
        known: call.access.known,
        traced: call.trace.is_some().into(),
        sends_file: matches!(call.task, Task::Front { is_file: true, .. }).into(),
        includes: call.path.has_includes.into(),
        visit: VISITS.fetch_add(1, Relaxed),
        login: login(call.access.login).0,
        server: call.server,
        ..Request::default()
    };
    for (which, bytes) in texts(call) {
        request.text[which as usize] = writer.put(bytes)?;
    }
    for (index, (name, value)) in call
        .fields
        .iter()
        .chain(call.environment.variables)
        .enumerate()
    {
        writer.put_pair(index, name, value)?;
    }
    match &call.body {
        Body::Empty => request.body_kind = BodyKind::Empty as u8,
        Body::Memory(bytes) => {
            request.body_kind = BodyKind::Memory as u8;
            request.body_length = bytes.len() as u64;
            request.body = writer.put(bytes)?;
        }
        Body::File(_, length) => {
            request.body_kind = BodyKind::File as u8;
            request.body_length = *length;
        }
    }
    let length = writer.at;
    request.length = length as u32;
    write_request(slot, &request);
    Ok(length)
}

/// Writes the frame to the start of `room`. A frame that is too large is replaced by one with
/// nothing but the access status 500.
pub fn encode_or_refuse(call: Call<'_>, room: &mut [u8]) {
    if encode(&call, room).is_err() {
        let refused = Request {
            length: REQUEST as u32,
            access_status: 500,
            ..Request::default()
        };
        write_request(room, &refused);
    }
}

/// Reads the client of a request from a frame that a worker may have overwritten. `None`: the frame
/// is invalid.
pub fn asker(frame: &[u8]) -> Option<Asker<'_>> {
    let request = read_request(frame)?;
    let bytes = |span: Span| {
        let rest = frame.get(span.offset as usize..)?;
        rest.get(..span.length as usize)
    };
    let count = usize::from(request.field_count);
    let pairs = frame.get(REQUEST..)?.get(..count * PAIR)?;
    let word = |pair: &[u8], at: usize| -> Option<u32> {
        let word = pair.get(4 * at..)?.first_chunk::<4>()?;
        Some(u32::from_ne_bytes(*word))
    };
    let span = |pair: &[u8], at: usize| {
        let (offset, length) = (word(pair, at)?, word(pair, at + 1)?);
        bytes(Span { offset, length })
    };
    let fields = pairs
        .chunks_exact(PAIR)
        .map(|pair| Some((span(pair, 0)?, span(pair, 2)?)));
    Some(Asker {
        method: bytes(request.text[Text::Method as usize])?,
        scheme: bytes(request.text[Text::Scheme as usize])?,
        target: bytes(request.text[Text::Target as usize])?,
        remote_addr: bytes(request.text[Text::RemoteAddr as usize])?,
        server_addr: bytes(request.text[Text::ServerAddr as usize])?,
        server_port: request.server_port,
        request_id: request.request_id,
        fields: fields.collect::<Option<_>>()?,
    })
}

/// Returns the task that a frame contains. `None`: the frame is invalid.
pub fn task_of(frame: &[u8]) -> Option<&[u8]> {
    let span = read_request(frame)?.text[Text::Task as usize];
    let rest = frame.get(span.offset as usize..)?;
    rest.get(..span.length as usize)
}

/// Reads from a frame which request it carries. `None`: the frame is invalid.
pub fn running_request(frame: &[u8]) -> Option<RunningRequest> {
    let request = read_request(frame)?;
    let text = |which: Text| {
        let span = request.text[which as usize];
        let rest = frame.get(span.offset as usize..)?;
        let bytes = rest.get(..span.length as usize)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    Some(RunningRequest {
        method: text(Text::Method)?,
        target: text(Text::Target)?,
        client: text(Text::RemoteAddr)?,
    })
}

/// Whether a frame that a worker could overwrite is still sound: the frame must belong to this
/// request, and every part must lie within the frame. Only a sound frame is given to another
/// worker.
pub fn is_sound(frame: &[u8], request_id: u64, body_file: Option<&OwnedFd>) -> bool {
    let Some(request) = read_request(frame) else {
        return false;
    };
    let within = |span: &Span| {
        let end = u64::from(span.offset) + u64::from(span.length);
        end <= frame.len() as u64
    };
    let pairs = usize::from(request.field_count) + usize::from(request.variable_count);
    let Some(pairs) = frame[REQUEST..].get(..pairs * PAIR) else {
        return false;
    };
    let spans = pairs.chunks_exact(PAIR / 2).filter_map(|span| {
        let (offset, length) = (span.first_chunk::<4>()?, span.last_chunk::<4>()?);
        Some(Span {
            offset: u32::from_ne_bytes(*offset),
            length: u32::from_ne_bytes(*length),
        })
    });
    let body_is_sound = match body_file {
        None => request.body_kind != BodyKind::File as u8,
        Some(file) => {
            let size = rustix::fs::fstat(file).map_or(0, |about| about.st_size as u64);
            request.body_kind == BodyKind::File as u8 && request.body_length <= size
        }
    };
    request.request_id == request_id
        && request.length as usize == frame.len()
        && body_is_sound
        && request.text.iter().chain([&request.body]).all(within)
        && spans.into_iter().all(|span| within(&span))
}

fn task<'a>(task: &Task<'a>) -> (TaskKind, &'a [u8]) {
    match *task {
        Task::Script { rung, file } => (
            match rung {
                Rung::PerlRun => TaskKind::PerlRun,
                Rung::Registry => TaskKind::Registry,
                Rung::Rewind => TaskKind::Rewind,
                Rung::Auto => TaskKind::Auto,
                // A script of the rung `cgi` gets no frame.
                Rung::Fork | Rung::Cgi => TaskKind::Fork,
            },
            file,
        ),
        Task::Handler { name, .. } => (TaskKind::Handler, name),
        Task::Psgi { file, .. } => (TaskKind::Psgi, file),
        Task::Front { file, .. } => (TaskKind::Front, file),
        Task::Connection => (TaskKind::Connection, b""),
        Task::Deferred { name } => (TaskKind::Deferred, name),
    }
}

fn login(login: &Login) -> (u8, &[u8]) {
    match login {
        Login::Unasked => (login::UNASKED, b""),
        Login::Known(user) => (login::KNOWN, user),
        Login::Refused => (login::REFUSED, b""),
        Login::NoSuchType => (login::NO_SUCH_TYPE, b""),
        Login::NoRealm => (login::NO_REALM, b""),
        Login::NoUserFile => (login::NO_USER_FILE, b""),
        Login::Named(user) => (login::NAMED, user),
        Login::Settled => (login::SETTLED, b""),
    }
}

/// Writes the outcome of the front's response. A head that does not fit is left out.
pub fn put_outcome(outcome: ResponseOutcome<'_>, room: &mut [u8]) {
    const HEAD: usize = std::mem::size_of::<layout::OutcomeFrame>();
    let (start, rest) = room.split_at_mut(HEAD);
    let head = if rest.len() >= outcome.head.len() {
        outcome.head
    } else {
        b""
    };
    rest[..head.len()].copy_from_slice(head);
    let length = (HEAD + head.len()) as u32;
    start[0..4].copy_from_slice(&length.to_ne_bytes());
    start[4..8].copy_from_slice(&u32::from(outcome.status).to_ne_bytes());
    start[8..16].copy_from_slice(&outcome.bytes.to_ne_bytes());
}

/// Returns the file to which a handler's path is mapped. For a script the task itself is the file.
fn file<'a>(task: &Task<'a>) -> &'a [u8] {
    match *task {
        Task::Handler { file, .. } => file,
        _ => b"",
    }
}

fn flags(call: &Call<'_>) -> u8 {
    let mut flags = 0;
    let is_fork = matches!(
        call.task,
        Task::Script {
            rung: Rung::Fork | Rung::Rewind | Rung::Auto | Rung::Cgi,
            ..
        }
    );
    if let Task::Handler { rewound: true, .. } | Task::Psgi { rewound: true, .. } = call.task {
        flags |= flag::REWOUND;
    }
    if call.environment.parse_headers || is_fork {
        flags |= flag::PARSE_HEADERS;
    }
    if call.environment.cgi_world || is_fork {
        flags |= flag::CGI_WORLD;
    }
    if matches!(
        call.task,
        Task::Handler {
            perl_script: true,
            ..
        }
    ) {
        flags |= flag::PERL_SCRIPT;
    }
    if let Task::Front {
        is_program: true, ..
    } = call.task
    {
        flags |= flag::PROGRAM | flag::CGI_WORLD;
    }
    if let Task::Front { is_plain: true, .. } = call.task {
        flags |= flag::FILE;
    }
    if call.line.method == b"HEAD" {
        flags |= flag::HEAD;
    }
    if call.led.is_within {
        flags |= flag::WITHIN;
    }
    flags
}

#[cfg(test)]
mod tests;
