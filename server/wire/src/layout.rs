//! Defines the layout of the shared memory. `perl/xs/mailbox/wire.h` holds the same layout in C,
//! and `tests/header.rs` compares the two.

use std::sync::atomic::{AtomicU32, AtomicU64};

pub const MAGIC: u32 = 0x4d48_5249;
pub const VERSION: u32 = 22;
pub const SLOTS: u32 = 4;
pub const SLOT_SIZE: usize = 163_840;
pub const SLOTS_OFFSET: usize = 4096;
pub const RING_SIZE: usize = 262_144;
pub const RING_OFFSET: usize = SLOTS_OFFSET + SLOTS as usize * SLOT_SIZE;
/// The offset of the answer area. The front writes its answer to a worker's question there, as a
/// request frame, or as the answer to [`record::PAGE`].
pub const ANSWER_OFFSET: usize = RING_OFFSET + RING_SIZE;
pub const ANSWER_SIZE: usize = 65_536;
/// The offset of the order to inspect the worker: a text that ends with NUL.
pub const INSPECTION_OFFSET: usize = ANSWER_OFFSET + ANSWER_SIZE;
pub const INSPECTION_SIZE: usize = 4096;
pub const MAILBOX_SIZE: usize = INSPECTION_OFFSET + INSPECTION_SIZE;
/// The longest payload of a ring record in bytes.
pub const RECORD_LIMIT: usize = 65_536;
/// The longest text of a control message in bytes.
pub const CONTROL_TEXT: usize = 8192;

/// See [`Mailbox::worker_sleeps`].
pub const SLEEPS_NO_MORE: u32 = 2;

#[repr(C, align(64))]
pub struct Line<T>(pub T);

/// The state words at the start of a mailbox. Each word has a cache line of its own.
#[repr(C)]
pub struct Mailbox {
    pub magic: u32,
    pub version: u32,
    /// The low half counts the requests that the front has submitted. The high half counts the
    /// requests that the worker has taken. Both halves wrap.
    pub word: Line<AtomicU64>,
    /// A futex: 1 while the worker sleeps, [`SLEEPS_NO_MORE`] when the worker has to end, else 0.
    pub worker_sleeps: Line<AtomicU32>,
    pub ring_written: Line<AtomicU64>,
    pub ring_read: Line<AtomicU64>,
    pub worker_waits_for_room: Line<AtomicU32>,
    pub scoreboard: Line<Scoreboard>,
    pub progress: Line<RequestNotes>,
    /// The number of answers that the front has given since the mailbox was made. The worker waits
    /// on this futex.
    pub answered: Line<AtomicU32>,
    /// 1 while an order to inspect the worker waits for the worker.
    pub inspection: Line<AtomicU32>,
    /// The number of the last request whose client has left while the worker served the request.
    /// The number is the count of taken requests, as in `word`.
    pub departed: Line<AtomicU32>,
}

/// What the worker reports of itself. Only the status page uses these values, except `child`.
#[repr(C)]
pub struct Scoreboard {
    pub state: AtomicU32,
    /// The worker's child on the rung `fork`, or 0. The front reads the field before it kills the
    /// child.
    pub child: AtomicU32,
    pub request_id: AtomicU64,
    pub finished: AtomicU64,
}

/// What the processes of a worker tell each other about the request that was taken last. The front
/// does not use these words (`perl/xs/mailbox/progress.c`).
#[repr(C)]
pub struct RequestNotes {
    pub progress: AtomicU64,
    pub next_progress: AtomicU64,
    pub next_progress_at: AtomicU64,
    pub question_at: AtomicU64,
    pub question_before: AtomicU32,
}

/// The page that the front and all workers share.
#[repr(C)]
pub struct Bell {
    pub front_sleeps: AtomicU32,
}

#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub offset: u32,
    pub length: u32,
}

#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Pair {
    pub name: Span,
    pub value: Span,
}

/// The positions of the texts in [`Request::text`].
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub enum Text {
    Task,
    Method,
    Target,
    ScriptName,
    PathInfo,
    Query,
    Protocol,
    Scheme,
    ServerName,
    ServerAddr,
    RemoteAddr,
    DocumentRoot,
    /// The file to which the path was mapped. Only for handlers.
    File,
    /// The settings in force that Perl has to know. Empty if there are none.
    Settings,
    /// The media type of the mapped file, by its name. Empty for an unknown type or a script.
    MediaType,
    /// The user whose password the front has verified. Empty if there is no such user.
    User,
    /// The header lines of the authentication challenge.
    Challenge,
    /// The path of the folder whose index the request has got. Empty if the request is for no
    /// index. The next text is the folder's file.
    Folder,
    FolderFile,
    /// The number of the folder's settings and their text. Empty if they are those of the request.
    FolderSettings,
    /// Content-Encoding by the name of the file. The next text is Content-Language.
    Coding,
    Languages,
    /// The file that the path info names as a URL path. Empty if there is no path info.
    PathTranslated,
}
pub const TEXT_COUNT: usize = 23;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TaskKind {
    Fork,
    PerlRun,
    Registry,
    Handler,
    Psgi,
    /// The front answers after the Perl handlers of the earlier phases have run.
    Front,
    /// Serves a connection instead of a request. The descriptor beside the frame is the client's
    /// socket, and the worker speaks on this socket.
    Connection,
    /// As `Fork`, but the process is restored after each request and serves again.
    Rewind,
    /// As `Rewind` while there is memory for the script's picture, else as `Fork`.
    Auto,
    /// Calls the sub with this name instead of serving a request. The body has the arguments.
    Deferred,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BodyKind {
    Empty,
    Memory,
    File,
}

pub mod flag {
    pub const PARSE_HEADERS: u8 = 1;
    pub const PERL_SCRIPT: u8 = 2;
    /// The script expects a CGI process: its folder as the working directory, fresh file-scoped
    /// lexicals, and `shift` of @ARGV.
    pub const CGI_WORLD: u8 = 4;
    pub const HEAD: u8 = 8;
    /// The front's own answer would be the output of a CGI program, not the content of the file.
    pub const PROGRAM: u8 = 16;
    /// The front's own answer would be the unchanged content of the file. Output filters may see
    /// this content.
    pub const FILE: u8 = 32;
    /// The request is a part of a page with server-side includes.
    pub const WITHIN: u8 = 64;
    /// A handler or an application: its process is rewound after the request.
    pub const REWOUND: u8 = 128;
}

pub mod login {
    /// No directive asks for a user.
    pub const UNASKED: u8 = 0;
    /// The password is right.
    pub const KNOWN: u8 = 1;
    /// The request has no password, or a wrong one.
    pub const REFUSED: u8 = 2;
    /// The front does not know this kind of `AuthType`.
    pub const NO_SUCH_TYPE: u8 = 3;
    pub const NO_REALM: u8 = 4;
    pub const NO_USER_FILE: u8 = 5;
    /// No `AuthType` requires a user. After the fixup phase, `SSLUserName` sets the user that the
    /// TLS connection names.
    pub const NAMED: u8 = 6;
    /// The resource is the page of a refusal by its own place. Access is not checked again.
    pub const SETTLED: u8 = 7;
}

/// The first byte of a line on a zygote's standard error that names its level. The level's digit
/// and the text follow.
pub const LOG_MARK: u8 = 0x1f;

/// The header of a request frame, at the start of a slot. The pairs and the texts follow.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Request {
    pub length: u32,
    pub task: u8,
    pub flags: u8,
    pub body_kind: u8,
    /// The result of the front's own password check: a constant of `login`.
    pub login: u8,
    pub request_id: u64,
    pub body_length: u64,
    /// The number of the client's connection, or 0 if it is not known. The next field is the number
    /// of the connection's earlier requests.
    pub connection: u64,
    pub kept: u64,
    /// The [`file_mark`] of the program's file, or 0 if the front does not watch the file.
    pub file_mark: u64,
    /// The verdicts on the parts of `Require` that need no user, with two bits for each.
    pub known: u64,
    /// 1: the worker reports the parts of the request's time. Otherwise 0.
    pub traced: u8,
    /// 1: the front sends a file, perhaps with its includes processed, or a 404. Otherwise 0.
    pub sends_file: u8,
    /// 1: files of this place may be pages with server-side includes. Otherwise 0.
    pub includes: u16,
    /// The number of the frame. The parts of a page with server-side includes have the id of the
    /// page's request, but different numbers.
    pub visit: u32,
    pub body: Span,
    pub field_count: u16,
    pub variable_count: u16,
    pub server_port: u16,
    pub remote_port: u16,
    /// The number of the settings text. Equal numbers mean equal texts.
    pub settings_id: u32,
    /// The front's own verdict in the access phase: 0 if the request is allowed, otherwise the
    /// status of the refusal.
    pub access_status: u16,
    /// The number of the virtual host. 0 is the main server.
    pub server: u16,
    /// Why the server came to this path. 0: the client asked for the path. 200: an internal
    /// redirect. Any other number: the path is the error document of this status.
    pub redirect_status: u16,
    /// The number of internal redirects and includes that led to this request.
    pub depth: u16,
    /// The number of variables of `SetEnv`. They come first, then the variables of `PerlSetEnv`,
    /// then all others.
    pub set_env_count: u16,
    pub perl_set_env_count: u16,
    pub text: [Span; TEXT_COUNT],
}

/// Computes the mark of a file's state, which is never 0. An unchanged mark means an unchanged
/// file. `parts` are the device, the inode, the size, and the modification time in seconds and
/// nanoseconds.
pub fn file_mark(parts: [u64; 5]) -> u64 {
    let mark = parts.into_iter().fold(0_u64, |mark, part| {
        let mixed = (mark ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 32
    });
    mark.max(1)
}

/// The result of an answer that the front gave for a worker. The head of the response follows as
/// the front sent it.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct OutcomeFrame {
    /// The length in bytes of this header and the response head together.
    pub length: u32,
    /// The status of the response, or 0 if the result is not known.
    pub status: u32,
    /// The length of the response body in bytes.
    pub bytes: u64,
}

/// The header of a ring record.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    pub length: u32,
    pub kind: u16,
    pub detail: u16,
}

pub mod record {
    pub const RESPONSE: u16 = 1;
    pub const HEAD: u16 = 2;
    pub const BODY: u16 = 3;
    pub const END: u16 = 4;
    pub const INTERIM: u16 = 5;
    pub const LOG: u16 = 6;
    pub const DONE: u16 = 7;
    /// The rest of the response comes through a pipe. The worker sends the pipe's reading end on
    /// the descriptor socket.
    pub const TAP: u16 = 8;
    /// A bit in the detail of `TAP`, added to the status: the pipe carries the header block too.
    pub const TAP_PARSE: u16 = 0x8000;
    /// The worker passes the request to the front, which answers. The detail is the status, or 0
    /// for the front's own choice. The payload holds the parts of the answer.
    pub const PASS: u16 = 9;
    /// Asks what would answer a target. The detail is the number of the server. The payload is the
    /// method, NUL, path and query. NUL and a file follow if a handler chose a file.
    pub const ASK: u16 = 10;
    /// The user that a handler has determined, sent before the answer. The payload is the
    /// authentication type and the name. The detail is the length of the type in bytes.
    pub const USER: u16 = 11;
    /// A report on a script of the rung `rewind`. Tabs separate the fields: the file, the rung, the
    /// pages of the picture, the hot pages, rewinds, looks, replaced processes, the checks after
    /// every rewind, the library that demands most of them, a library that a request has loaded,
    /// and the reason of the last replacement or of another rung.
    pub const RUNG: u16 = 12;
    /// As `PASS`, but the worker filters the front's answer and sends the result. The descriptor
    /// socket holds the worker's end of a stream socket. The front writes [`FETCH_FOLLOWS`] to it,
    /// then the body. If the front closes it at once, the front's answer is final.
    pub const FETCH: u16 = 13;
    /// The modules that a script has loaded while it ran: the script's file, then for each module
    /// its name in `%INC` and its file, with NULs between them.
    pub const MODULES: u16 = 14;
    /// A part of a traced request's time. The detail is the kind of the part, a constant of
    /// [`part`](super::part). The payload is a [`PartHeader`](super::PartHeader), then the part's
    /// name. A part comes after the parts within it.
    pub const PART: u16 = 15;
    /// About calls that the request defers. The detail is one of the next constants.
    pub const DEFER: u16 = 16;
    /// The call of a named sub: the name, NUL, the frozen arguments. The front answers with an
    /// [`OutcomeFrame`](super::OutcomeFrame): status 202, or 503 if it has no room.
    pub const DEFER_CALL: u16 = 0;
    /// The worker keeps code to call after the request.
    pub const DEFER_KEPT: u16 = 1;
    /// The worker begins to call the oldest kept code. The next two constants say how the call has
    /// ended.
    pub const DEFER_BEGUN: u16 = 2;
    pub const DEFER_DONE: u16 = 3;
    pub const DEFER_FAILED: u16 = 4;
    /// The worker keeps no more code for this request.
    pub const DEFER_REFUSED: u16 = 5;
    /// How handlers have changed the request to which Perl responds. The payload holds parts of
    /// `PASS`: [`PASS_FIELDS`], [`PASS_VARIABLES`], [`PASS_REMOVED`] and [`PASS_QUERY`].
    pub const CHANGED: u16 = 17;
    /// Asks for rules that read the request after handlers. The detail is a constant of
    /// [`left`](super::left). The payload holds the parts of [`CHANGED`], and [`PASS_TARGET`] and
    /// [`PASS_FILE`] if a handler of the translation phase has chosen another path. The answer is a
    /// request frame. A frame of length 0 says that the rules change nothing.
    pub const RULES: u16 = 18;
    /// What the access line says of the request as handlers have left it. The detail is one of the
    /// next constants. The payload holds parts of `PASS`.
    pub const LOGGED: u16 = 19;
    /// No Log handler runs, so the access line waits for nothing.
    pub const LOGGED_NOW: u16 = 0;
    /// The access line waits for [`LOGGED_LAST`], or for the end of the request.
    pub const LOGGED_LATER: u16 = 1;
    /// The Log handlers have run.
    pub const LOGGED_LAST: u16 = 2;
    /// A step of a page, which the front makes as the response of a sub-request. The detail is the
    /// number of the server. The payload is a constant of [`page`](super::page), the number of
    /// pages within which this page is run, a `u16` status, and for the first step the question as
    /// in [`ASK`]. The answer is its length as a `u32`, then actions.
    pub const PAGE: u16 = 20;
    /// A bit in the detail of `FETCH`: the descriptor socket holds a second file, which is the
    /// request's body after the input filters.
    pub const FETCH_BODY: u16 = 1;
    /// The first byte on the socket of `FETCH`. The body of the front's answer follows.
    pub const FETCH_FOLLOWS: u8 = b'b';
    /// Header lines to send with the answer. Each part of `PASS` is a kind, a u32 length, and the
    /// bytes.
    pub const PASS_LINES: u8 = b'l';
    /// The file to send instead of the mapped file.
    pub const PASS_FILE: u8 = b'f';
    pub const PASS_TYPE: u8 = b't';
    /// The text of `ErrorDocument` for this request.
    pub const PASS_DOCUMENT: u8 = b'd';
    /// The name of the handler that is to respond, if a Perl handler has set the name.
    pub const PASS_HANDLER: u8 = b'c';
    /// The target of an internal redirect: another path of this server answers.
    pub const PASS_TARGET: u8 = b'u';
    /// The path and query at which the request continues, because a handler has chosen them. With
    /// [`PASS_FILE`], their file.
    pub const PASS_MOVED: u8 = b'p';
    /// The worker waits for the result of the answer: an [`OutcomeFrame`](super::OutcomeFrame) in
    /// the answer area.
    pub const PASS_LISTENS: u8 = b'w';
    /// All fields of the request as handlers have left them: name, NUL, value, NUL ...
    pub const PASS_FIELDS: u8 = b'h';
    /// The variables that handlers have set, in the same form.
    pub const PASS_VARIABLES: u8 = b'v';
    /// The names of the variables that handlers have removed, each followed by a NUL.
    pub const PASS_REMOVED: u8 = b'x';
    /// The query that handlers have set.
    pub const PASS_QUERY: u8 = b'q';
    /// The user of the request about which `ASK` asks.
    pub const PASS_USER: u8 = b'n';
    /// How the request about which `ASK` asks comes about: one byte, [`PASS_WITHIN`],
    /// [`PASS_HANDLED`] or [`PASS_REDIRECTED`]. Without this part it is the asking request at
    /// another place.
    pub const PASS_ORIGIN: u8 = b'k';
    /// A sub-request.
    pub const PASS_WITHIN: u8 = b's';
    /// A sub-request whose handlers of the fixup phase have run. The answer has the results of the
    /// fixup rules: its access status is 0 or the status that ends the sub-request.
    pub const PASS_HANDLED: u8 = b'f';
    /// An internal redirect.
    pub const PASS_REDIRECTED: u8 = b'r';
    /// Only in [`LOGGED`]: the notes, as name, NUL, value, NUL ...
    pub const PASS_NOTES: u8 = b'o';
    /// The method that handlers have set.
    pub const PASS_METHOD: u8 = b'm';
    /// The method of the number that handlers have set (`$r->method_number`), for `<Limit>`.
    pub const PASS_NUMBERED: u8 = b'i';
    /// Only in [`LOGGED`]: a `u16`, if a Log handler has set the status.
    pub const PASS_STATUS: u8 = b's';
    /// Only in [`LOGGED`]: the fields of the response, in the form of the notes, if a Log handler
    /// has changed them.
    pub const PASS_ANSWERED: u8 = b'r';
    /// A detail of `END`: the response is incomplete.
    pub const END_BROKEN: u16 = 1;
    /// A detail of `END`: the front does not wait for other processes that hold the tap.
    pub const END_DETACHED: u16 = 2;
    /// A detail of `DONE`: the worker serves no further request and asks to be replaced.
    pub const DONE_RETIRE: u16 = 1;
    /// A detail of `DONE`: the worker has not begun the request, and another worker shall serve the
    /// request.
    pub const DONE_AGAIN: u16 = 2;
    /// A detail of `DONE`: the worker asks to be replaced, and serves until then.
    pub const DONE_REPLACE: u16 = 4;
}

/// The rules for which `RULES` asks.
pub mod left {
    /// `SetEnvIf` and its relatives, after the handlers of the header parser phase.
    pub const VARIABLES: u16 = 1;
    /// `Require`, `Allow` and `Deny`, after the handlers of the access phase. The answer has the
    /// results in the places where each request frame has them.
    pub const ACCESS: u16 = 2;
    /// `Redirect`, `RewriteRule` and `RequestHeader`, after the handlers of the fixup phase.
    pub const FIXUPS: u16 = 3;
    /// `Require`, after the handlers of the authorisation phase. The answer has the results, and
    /// its access status is [`GO_ON`](super::fixups::GO_ON) or the status that ends the request.
    pub const AUTHORIZATION: u16 = 4;
    /// The rules that choose the place, from the server's `SetEnvIf` on, after the handlers that
    /// run when the request has been read. The answer is the frame of the request at its place.
    pub const READ: u16 = 5;
    /// The rules from the server's `RewriteRule` on, after the handlers of the translation phase.
    /// The record names the path that the handlers have chosen.
    pub const TRANSLATION: u16 = 6;
    /// `<If>`, after the handlers that map the path to a file.
    pub const STORAGE: u16 = 7;
    /// The limits of running requests and of rates at the place that handlers have found. The
    /// answer's access status is as for [`AUTHORIZATION`].
    pub const LIMITS: u16 = 8;
}

/// The access status of the answer to `RULES` about [`left::FIXUPS`] and the rules that choose the
/// place.
pub mod fixups {
    /// The request goes on, with the frame's fields, variables, query and task.
    pub const GO_ON: u16 = 0;
    /// The worker hands the request back, because the front responds.
    pub const HAND_BACK: u16 = 1;
    /// The frame's target answers (an internal redirect).
    pub const ELSEWHERE: u16 = 200;
}

/// The steps of a page, and the actions of the front's answer. An action is its byte, its length as
/// a `u32`, and its bytes.
pub mod page {
    /// The first step of a page with server-side includes.
    pub const BEGIN: u8 = 0;
    /// The first step of a page that is a part of the page before it.
    pub const INCLUDED: u8 = 1;
    /// Any other step. The status is that with which a part has failed, or 0.
    pub const GO_ON: u8 = 2;
    /// The first step of a response that neither Perl nor a file gives: that of a back end, a
    /// listing, a variant, or a path to which rules lead.
    pub const RESPOND: u8 = 3;
    /// Bytes to print.
    pub const PRINT: u8 = b'p';
    /// A variable: name, NUL, value.
    pub const SET: u8 = b'v';
    /// Path and query of a part to run: the last action of an answer.
    pub const RUN: u8 = b'u';
    /// The status of the response as a `u16`, and its header lines.
    pub const HEAD: u8 = b'h';
    /// A `u16`: 0, [`PLAIN`], or the status with which the page fails.
    pub const END: u8 = b'e';
    /// Path and query to which an internal redirect leads in place of the page. The page ends.
    pub const LEAD: u8 = b'l';
    /// The file has no includes.
    pub const PLAIN: u16 = 1;
}

/// The kinds of the parts of a traced request's time.
pub mod part {
    /// From taking the request to `DONE`.
    pub const REQUEST: u16 = 1;
    /// The search for the template that serves the request.
    pub const ORDER: u16 = 2;
    pub const HANDLER: u16 = 3;
    /// A script or an application.
    pub const SCRIPT: u16 = 4;
    pub const COMPILE: u16 = 5;
    /// A file that the request has loaded.
    pub const LOAD: u16 = 6;
    pub const SUBREQUEST: u16 = 7;
    /// A method of DBI, or fetches in a row. The name begins with the driver and NUL, if the driver
    /// is known.
    pub const STATEMENT: u16 = 8;
    pub const CLEANUP: u16 = 9;
    pub const NO_ROWS: u64 = u64::MAX;
}

/// A part of a traced request's time, at the start of the payload of `PART`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PartHeader {
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub from: u64,
    pub until: u64,
    /// Nanoseconds that `count` calls took together.
    pub busy: u64,
    /// [`part::NO_ROWS`]: unknown.
    pub rows: u64,
    pub count: u32,
    pub pid: u32,
}

pub mod control {
    pub const PRELOAD: u32 = 1;
    pub const READY: u32 = 2;
    pub const FAILED: u32 = 3;
    pub const FORK: u32 = 4;
    pub const FORKED: u32 = 5;
    pub const ENDED: u32 = 6;
    pub const LOADED: u32 = 7;
    pub const SERVER: u32 = 8;
    /// The configuration tree as the front has read it.
    pub const TREE: u32 = 9;
    /// The handlers of a phase that start-up code has changed.
    pub const PUSHED: u32 = 10;
    /// A question about a script's file. `slot` is the number of the question.
    pub const EXPLAIN: u32 = 11;
    /// A line of the answer to `EXPLAIN`. A message with a `pid` is the last message and has no
    /// line.
    pub const EXPLAINED: u32 = 12;
    /// Something that the zygote should not have when it forks.
    pub const LINTED: u32 = 13;
    /// Asks the zygote to serve requests itself, before it forks. The zygote then reports `READY`
    /// again.
    pub const WARM: u32 = 14;
    /// An order to inspect the zygote. The text is as in a mailbox.
    pub const INSPECT: u32 = 15;
    /// Bits of the `slot` of `READY`: the load is a trial; `WARM` follows.
    pub const READY_TRIAL: u32 = 1;
    pub const READY_WARMS: u32 = 2;
    pub const MODULE: u32 = 1;
    pub const REQUIRE: u32 = 2;
    pub const REGISTRY: u32 = 3;
    pub const PSGI: u32 = 4;
    pub const PERLRUN: u32 = 5;
    pub const FORK_SCRIPT: u32 = 6;
    pub const HANDLER: u32 = 7;
    /// The code of a `<Perl>` section: `FILE:LINE`, NUL, and the code.
    pub const SECTION: u32 = 8;
    /// A line of a directive that a Perl module defines.
    pub const DIRECTIVE: u32 = 9;
    /// A module that the requests of a script load: the script's file, the module's name in `%INC`
    /// and its file, with NULs between them.
    pub const LEARNED: u32 = 10;
}

/// The header of a control message. A text of `length` bytes follows.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    pub kind: u32,
    pub slot: u32,
    pub pid: i32,
    pub status: i32,
    pub length: u32,
}
