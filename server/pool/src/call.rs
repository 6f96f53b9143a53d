//! What the front asks of a worker, and what it gets back.

use std::os::fd::OwnedFd;
use std::sync::Arc;

/// How a request is to be run. Paths and names are bytes as the worker's perl will see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task<'a> {
    /// A script file on one of the rungs `Fork`, `PerlRun`, `Registry`, `Auto`.
    Script {
        rung: mehari_config::Rung,
        file: &'a [u8],
    },
    /// `PerlResponseHandler`, as written in the configuration.
    Handler {
        name: &'a [u8],
        /// What the path was mapped to, whether it exists or not.
        file: &'a [u8],
        perl_script: bool,
    },
    /// A PSGI application file.
    Psgi { file: &'a [u8] },
    /// The front answers with this file or with what it knows, once Perl's other phases have run.
    Front {
        file: &'a [u8],
        /// It is a program, and the front answers with what that prints.
        is_program: bool,
        /// Its bytes are sent as they are, so that Perl's filters may see them.
        is_plain: bool,
    },
    /// No request: the worker speaks on the client's socket, which is given as [`Body::File`]. What it answers here
    /// says only that the connection is over.
    Connection,
}

/// What the front's own look at who the user is comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Login {
    /// Nothing says that one is to be asked for: no `AuthType`.
    #[default]
    Unasked,
    /// The password was right.
    Known(Arc<[u8]>),
    /// There is none, or a wrong one.
    Refused,
    /// The front knows no users of that `AuthType`.
    NoSuchType,
    /// No `AuthName`, no `AuthUserFile`.
    NoRealm,
    NoUserFile,
}

/// The body of a request, complete.
#[derive(Debug)]
pub enum Body<'a> {
    Empty,
    Memory(&'a [u8]),
    /// An unlinked temporary file and its length in bytes; read from offset 0.
    File(OwnedFd, u64),
}

/// A complete request. Every slice is borrowed: `Pool::submit` copies it into a mailbox or the queue.
#[derive(Debug)]
pub struct Call<'a> {
    pub task: Task<'a>,
    pub method: &'a [u8],
    /// The request target as sent: path and query (REQUEST_URI).
    pub target: &'a [u8],
    /// Decoded path that names the script or mount (SCRIPT_NAME).
    pub script_name: &'a [u8],
    /// Decoded rest of the path (PATH_INFO).
    pub path_info: &'a [u8],
    /// Undecoded, without the `?`.
    pub query: &'a [u8],
    /// `HTTP/1.1`
    pub protocol: &'a [u8],
    /// `http` or `https`
    pub scheme: &'a [u8],
    pub server_name: &'a [u8],
    pub server_port: u16,
    pub server_addr: &'a [u8],
    pub remote_addr: &'a [u8],
    pub remote_port: u16,
    /// The number of the client's connection, and how many requests it brought before; 0: not known.
    pub connection: u64,
    pub kept: u64,
    pub document_root: &'a [u8],
    /// Of what the path was mapped to, by its name; empty: unknown, or a script.
    pub media_type: &'a [u8],
    /// Header fields in order of arrival, names as sent. Never `Proxy`, hop-by-hop fields or names with `_`.
    pub fields: &'a [(&'a [u8], &'a [u8])],
    /// Variables of the configuration (`SetEnv`, `PerlSetEnv`).
    pub variables: &'a [(&'a [u8], &'a [u8])],
    /// What Perl has to know of the settings in force, and their number; empty: nothing.
    pub settings: (u32, &'a [u8]),
    /// The status the front itself refuses the request with in the access phase; 0: it does not.
    pub access_status: u16,
    /// `wire::layout::file_mark` of the program's file as the front saw it, if nothing has happened to it since; 0: look at it.
    pub file_mark: u64,
    /// Verdicts on the parts of `Require` that ask for no user, where Perl says who the user is.
    pub known: u64,
    /// Who it is, where Perl's handlers say nothing of it.
    pub login: &'a Login,
    /// Header lines that ask who it is.
    pub challenge: &'a [u8],
    /// How the server led the request here, if it did.
    pub led: Led,
    /// The number of the virtual host; 0: the main server.
    pub server: u16,
    /// Whose workers serve that host.
    pub team: mehari_config::TeamMark,
    /// `PerlOptions +ParseHeaders`; always true for zero configuration and scripts.
    pub parse_headers: bool,
    /// A script that expects the world of CGI: its own folder as working directory, fresh file-scoped
    /// lexicals. False under `ModPerl::Registry` in a site's configuration, where mod_perl's ways stay.
    pub cgi_world: bool,
    pub timeout: std::time::Duration,
    /// Unique within the front's life; the error log and the access log show it.
    pub request_id: u64,
    pub body: Body<'a>,
}

/// How the server led a request to where it is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Led {
    /// Why it left another path: 200, or the status that this is the page of; 0: it did not.
    pub status: u16,
    /// How many internal redirects and includes led here.
    pub depth: u16,
    /// It is part of a page of server-side includes.
    pub is_within: bool,
}

/// The head of a worker's response. The pool has checked it: no CR, LF or NUL inside a line, names are tokens.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Header lines, each `Name: value\r\n`, as the script gave them; never Connection, Transfer-Encoding or Keep-Alive.
    pub lines: Vec<u8>,
    /// The value of Content-Length, if the script gave one.
    pub content_length: Option<u64>,
    /// A script printed this head and named no status: conditions of the request may make it another one than 200.
    pub may_be_conditional: bool,
    /// `lines` has a Date field; likewise Server.
    pub has_date: bool,
    pub has_server: bool,
}

/// What a worker asks within a request: what would answer this?
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The number of the virtual host.
    pub server: u32,
    pub method: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    /// The file that a handler chose for the path; `None`: as it is mapped.
    pub file: Option<&'a [u8]>,
    /// Who asks: of the request that is served.
    pub asker: Asker<'a>,
}

/// The client of a request that is served, as its worker was told.
#[derive(Debug, Default, Clone)]
pub struct Asker<'a> {
    pub method: &'a [u8],
    pub remote_addr: &'a [u8],
    pub server_addr: &'a [u8],
    pub server_port: u16,
    pub fields: Vec<(&'a [u8], &'a [u8])>,
}

/// Answers a question with the call it would be, given to the function. Never waits.
pub type Oracle = std::rc::Rc<dyn Fn(Question<'_>, &mut dyn FnMut(Call<'_>))>;

/// Perl's handlers have run and the front answers, as they say.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Passed {
    /// 0: what the front would answer by itself; else the page of this status.
    pub status: u16,
    /// Header lines of the handlers, checked like [`Head::lines`].
    pub lines: Vec<u8>,
    /// Instead of the file the path was mapped to.
    pub file: Option<Vec<u8>>,
    pub media_type: Option<Vec<u8>>,
    /// Instead of the configured `ErrorDocument`.
    pub document: Option<Vec<u8>>,
    /// Path and query of what answers instead: an internal redirect.
    pub target: Option<Vec<u8>>,
    /// The request's fields as handlers have left it; `None`: as they came.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// Variables that handlers have set (`subprocess_env`).
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its worker waits to hear what the answer was: [`crate::Exchange::tell`].
    pub listens: bool,
    pub user: Option<Box<Named>>,
}

/// Who a handler says the user is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: Vec<u8>,
    /// AUTH_TYPE; empty where the handler has not said how it knows.
    pub kind: Vec<u8>,
}

/// What the front answered in a worker's place.
#[derive(Debug, Default, Clone, Copy)]
pub struct Outcome<'a> {
    /// 0: nothing is known.
    pub status: u16,
    /// Of the body that goes with it.
    pub bytes: u64,
    /// Status line and header lines, as they are sent.
    pub head: &'a [u8],
}

/// Why a request got no response from Perl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the worker died")]
    WorkerDied,
    #[error("the worker was ended by signal {0}")]
    WorkerKilled(i32),
    #[error("the program broke its response off")]
    CutOff,
    #[error("the program answered with the status {0} alone")]
    Status(u16),
    #[error("the request ran longer than its time limit")]
    TimedOut,
    #[error("the queue for workers is full")]
    QueueFull,
    #[error("no worker became free in time")]
    QueueTimedOut,
    #[error("the worker wrote something that is not a response")]
    BadResponse,
    #[error("the script gave no valid response header")]
    BadHeader,
    #[error("the script cannot be run")]
    CannotRun,
    #[error("the request does not fit a mailbox")]
    TooLarge,
    #[error("no generation is loaded")]
    NotReady,
    #[error("the server is stopping")]
    Stopping,
}

impl Fault {
    /// The status the client is told.
    pub fn status(self) -> u16 {
        match self {
            Fault::WorkerDied | Fault::WorkerKilled(_) | Fault::BadResponse => 502,
            Fault::CutOff => 502,
            Fault::Status(status) => status,
            Fault::BadHeader | Fault::CannotRun => 500,
            Fault::TimedOut => 504,
            Fault::QueueFull | Fault::QueueTimedOut | Fault::NotReady | Fault::Stopping => 503,
            Fault::TooLarge => 431,
        }
    }
}
