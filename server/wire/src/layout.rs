//! The mailbox's memory, field by field. `perl/xs/wire.h` says the same in C; a test holds both equal.

use std::sync::atomic::{AtomicU32, AtomicU64};

pub const MAGIC: u32 = 0x4d48_5249;
pub const VERSION: u32 = 6;
pub const SLOTS: u32 = 4;
pub const SLOT_SIZE: usize = 163_840;
pub const SLOTS_OFFSET: usize = 4096;
pub const RING_SIZE: usize = 262_144;
pub const RING_OFFSET: usize = SLOTS_OFFSET + SLOTS as usize * SLOT_SIZE;
/// Where the front answers what a worker asks within a request: a request frame.
pub const ANSWER_OFFSET: usize = RING_OFFSET + RING_SIZE;
pub const ANSWER_SIZE: usize = 65_536;
pub const MAILBOX_SIZE: usize = ANSWER_OFFSET + ANSWER_SIZE;
/// The longest payload of one ring record, bytes.
pub const RECORD_LIMIT: usize = 65_536;
/// The longest text of a control message, bytes.
pub const CONTROL_TEXT: usize = 8192;

#[repr(C, align(64))]
pub struct Line<T>(pub T);

/// The state words at the start of a mailbox.
#[repr(C)]
pub struct Mailbox {
    pub magic: u32,
    pub version: u32,
    /// Low half: requests submitted (front). High half: requests taken (worker). Both wrap.
    pub word: Line<AtomicU64>,
    pub worker_sleeps: Line<AtomicU32>,
    pub ring_written: Line<AtomicU64>,
    pub ring_read: Line<AtomicU64>,
    pub worker_waits_for_room: Line<AtomicU32>,
    pub scoreboard: Line<Scoreboard>,
    /// Answers the front has ever given, a futex.
    pub answered: Line<AtomicU32>,
}

/// What the worker says it is doing; for the status page only.
#[repr(C)]
pub struct Scoreboard {
    pub state: AtomicU32,
    pub forked: AtomicU32,
    pub request_id: AtomicU64,
    pub finished: AtomicU64,
    /// Between a worker and its template only.
    pub child: AtomicU32,
}

/// The page the front and all workers share.
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

/// Positions in [`Request::text`].
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
    /// Of a handler: what the path was mapped to.
    File,
    /// What Perl has to know of the settings in force; empty: nothing.
    Settings,
    /// Of what the path was mapped to, by its name; empty: unknown, or a script.
    MediaType,
    /// Whose password the front has found right; empty: nobody's.
    User,
    /// Header lines that ask who it is.
    Challenge,
}
pub const TEXT_COUNT: usize = 17;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TaskKind {
    Fork,
    PerlRun,
    Registry,
    Handler,
    Psgi,
    /// The front answers, once the Perl handlers of the phases before have run.
    Front,
    /// No request: the descriptor beside it is the client's socket, which the worker speaks on.
    Connection,
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
    /// The script expects a CGI process: its folder as cwd, fresh file-scoped lexicals, `shift` of @ARGV.
    pub const CGI_WORLD: u8 = 4;
    pub const HEAD: u8 = 8;
    /// What the front would answer is the output of a CGI program, not the file's bytes.
    pub const PROGRAM: u8 = 16;
    /// What the front would answer is the file's bytes as they are: output filters may see them.
    pub const FILE: u8 = 32;
    /// Part of a page of server-side includes: a request within another.
    pub const WITHIN: u8 = 64;
}

pub mod login {
    /// Nothing says that a user is to be asked for.
    pub const UNASKED: u8 = 0;
    /// The password was right.
    pub const KNOWN: u8 = 1;
    /// There is none, or a wrong one.
    pub const REFUSED: u8 = 2;
    /// `AuthType` is of a kind that the front does not know.
    pub const NO_SUCH_TYPE: u8 = 3;
    pub const NO_REALM: u8 = 4;
    pub const NO_USER_FILE: u8 = 5;
}

/// A request frame at the start of a slot; pairs and bytes follow.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Request {
    pub length: u32,
    pub task: u8,
    pub flags: u8,
    pub body_kind: u8,
    /// What the front's own look at who the user is comes to: `login`.
    pub login: u8,
    pub request_id: u64,
    pub body_length: u64,
    /// The number of the client's connection, and how many requests it brought before this one; 0: not known.
    pub connection: u64,
    pub kept: u64,
    /// [`file_mark`] of the program's file, which the front watches; 0: it does not.
    pub file_mark: u64,
    /// Verdicts on the parts of `Require` that ask for no user: two bits each.
    pub known: u64,
    pub body: Span,
    pub field_count: u16,
    pub variable_count: u16,
    pub server_port: u16,
    pub remote_port: u16,
    /// Of the settings text: the same number, the same text.
    pub settings_id: u32,
    /// What the front itself says to who asks: 0, or the status it refuses with in the access phase.
    pub access_status: u16,
    /// The number of the virtual host; 0: the main server.
    pub server: u16,
    /// Why the server led the request here from another path: 200, or the status that this is the page of; 0: the
    /// client asked for this path.
    pub redirect_status: u16,
    /// How many internal redirects and includes led here.
    pub depth: u16,
    pub text: [Span; TEXT_COUNT],
}

/// A file as it was when somebody looked: while its mark is the same, so is the file. Never 0. Its device, inode, size, and when it was
/// written, seconds and nanoseconds.
pub fn file_mark(parts: [u64; 5]) -> u64 {
    let mark = parts.into_iter().fold(0_u64, |mark, part| {
        let mixed = (mark ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 32
    });
    mark.max(1)
}

/// What became of an answer that the front gave in a worker's place; its head follows, as it was sent.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Outcome {
    /// Of this and the head, bytes.
    pub length: u32,
    /// 0: nothing is known.
    pub status: u32,
    /// Of the body.
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
    /// The rest comes through a pipe, whose reading end is in the descriptor socket.
    pub const TAP: u16 = 8;
    /// Detail of `TAP`, beside a status: the header block comes through the pipe.
    pub const TAP_PARSE: u16 = 0x8000;
    /// The front answers: detail is the status (0: as it would have by itself), the payload its parts.
    pub const PASS: u16 = 9;
    /// What would answer this here (detail: the server)? The method, NUL, path and query, and NUL and a file if a
    /// handler chose one.
    pub const ASK: u16 = 10;
    /// Who the user is, as a handler found out: how (as many bytes as the detail says), and the name. Before the answer.
    pub const USER: u16 = 11;
    /// Parts of `PASS`: a kind, a u32 length, the bytes. Header lines to send with the answer.
    pub const PASS_LINES: u8 = b'l';
    /// The file to send instead of the one the path was mapped to.
    pub const PASS_FILE: u8 = b'f';
    pub const PASS_TYPE: u8 = b't';
    /// What `ErrorDocument` would say, for this request.
    pub const PASS_DOCUMENT: u8 = b'd';
    /// Another path of this server answers.
    pub const PASS_TARGET: u8 = b'u';
    /// The worker waits to hear what the answer was: an [`Outcome`](super::Outcome) in the answer's place.
    pub const PASS_LISTENS: u8 = b'w';
    /// Detail of `END`: the response broke off.
    pub const END_BROKEN: u16 = 1;
    /// Detail of `END`: others that hold the tap are not waited for.
    pub const END_DETACHED: u16 = 2;
    /// Detail of `DONE`: the worker asks to be replaced.
    pub const DONE_RETIRE: u16 = 1;
    /// Detail of `DONE`: the request was not begun and is for another worker.
    pub const DONE_AGAIN: u16 = 2;
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
    /// The configuration as it was read.
    pub const TREE: u32 = 9;
    /// Handlers of a phase that start-up code changed.
    pub const PUSHED: u32 = 10;
    pub const MODULE: u32 = 1;
    pub const REQUIRE: u32 = 2;
    pub const REGISTRY: u32 = 3;
    pub const PSGI: u32 = 4;
    pub const PERLRUN: u32 = 5;
    pub const FORK_SCRIPT: u32 = 6;
    pub const HANDLER: u32 = 7;
    /// `FILE:LINE`, NUL, and the code of a `<Perl>` section.
    pub const SECTION: u32 = 8;
    /// A line of a directive that a Perl module defined.
    pub const DIRECTIVE: u32 = 9;
}

/// The header of a control message; `length` bytes of text follow.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    pub kind: u32,
    pub slot: u32,
    pub pid: i32,
    pub status: i32,
    pub length: u32,
}
