//! The front's requests to a worker, and the worker's responses.

use crate::table_marks::{HeadTable, TableMarks};
use mehari_observe::trace::Trace;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

/// How to run a request. Paths and names are bytes, as the worker's perl sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task<'a> {
    /// A script file on one of the rungs `Fork`, `Rewind`, `PerlRun`, `Registry` or `Auto`.
    Script {
        rung: mehari_config::Rung,
        file: &'a [u8],
    },
    /// The handler of a `PerlResponseHandler`, as written in the configuration.
    Handler {
        name: &'a [u8],
        /// The file to which the path is mapped. The file need not exist.
        file: &'a [u8],
        perl_script: bool,
        /// `PerlIsolation rewind`: the process is rewound after the request.
        rewound: bool,
    },
    /// A PSGI application file.
    Psgi { file: &'a [u8], rewound: bool },
    /// The front responds after Perl's other phases, with this file or in its own way.
    Front {
        file: &'a [u8],
        /// Whether the file is a program, whose output the front sends.
        is_program: bool,
        /// Whether the front sends the file or a 404, and not a back end's response, a variant, a
        /// listing or another refusal.
        is_file: bool,
        /// Whether the front sends the file's bytes unchanged, so that Perl's filters may process
        /// them.
        is_plain: bool,
    },
    /// The worker serves a connection by itself. The [`Body::File`] is the client's socket. There
    /// is no request, and the response says only that the connection has ended.
    Connection,
    /// The worker calls the sub with this name. The body has the arguments.
    Deferred { name: &'a [u8] },
}

/// The result of the front's own authentication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Login {
    /// No `AuthType` requires a user.
    #[default]
    Unasked,
    /// The password is correct.
    Known(Arc<[u8]>),
    /// The request has no password or a wrong one.
    Refused,
    /// The front has no users of this `AuthType`.
    NoSuchType,
    /// `AuthName` or `AuthUserFile` is missing.
    NoRealm,
    NoUserFile,
    /// No `AuthType` requires a user. After the fixup phase, `SSLUserName` sets this user.
    Named(Arc<[u8]>),
    /// The place has refused the request, and the resource is the page of this refusal. Access is
    /// not checked again.
    Settled,
}

/// The complete body of a request.
#[derive(Debug)]
pub enum Body<'a> {
    Empty,
    Memory(&'a [u8]),
    /// An unlinked temporary file and its length in bytes. The body starts at offset 0.
    File(OwnedFd, u64),
}

/// A complete request. Every slice is borrowed: `Pool::submit` copies it into a mailbox or the
/// queue.
#[derive(Debug)]
pub struct Call<'a> {
    pub task: Task<'a>,
    pub line: RequestLine<'a>,
    pub path: MappedPath<'a>,
    pub connection: ConnectionFacts<'a>,
    /// Header fields in order of arrival, with names as sent. `Proxy`, hop-by-hop fields and names
    /// with `_` are left out.
    pub fields: &'a [(&'a [u8], &'a [u8])],
    pub environment: ScriptEnvironment<'a>,
    pub settings: PerlSettings<'a>,
    pub access: AccessResult<'a>,
    /// The internal redirect that led here, if any.
    pub led: InternalRedirect,
    /// The number of the virtual host; 0: the main server.
    pub server: u16,
    /// The team that serves the host.
    pub team: mehari_config::TeamMark,
    pub timeout: TimeLimits,
    /// The least severe level of the program's lines in the error log. `None`: that of the host.
    pub log_level: Option<mehari_config::LogLevel>,
    /// Unique within the front's life. The error log and the access log show it.
    pub request_id: u64,
    pub body: Body<'a>,
    /// The timeline to which the worker adds its parts. `None`: the request is not traced.
    pub trace: Option<Rc<Trace>>,
}

/// How long a request may run.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeLimits {
    /// After this time the request is ended (`Timeout`, `CGIScriptTimeout`).
    pub hard: std::time::Duration,
    /// After this time the request's Perl stack is logged (`SlowRequestTime`).
    pub soft: Option<std::time::Duration>,
}

impl TimeLimits {
    pub fn hard(hard: std::time::Duration) -> TimeLimits {
        TimeLimits { hard, soft: None }
    }
}

/// The request line.
#[derive(Debug, Clone, Copy)]
pub struct RequestLine<'a> {
    pub method: &'a [u8],
    /// The request target as sent: path and query (REQUEST_URI).
    pub target: &'a [u8],
    /// The query, undecoded and without the `?`.
    pub query: &'a [u8],
    /// `HTTP/1.1`
    pub protocol: &'a [u8],
}

/// The request that a worker runs, as the worker's frame has it. Bytes that are no UTF-8 are
/// replaced.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RunningRequest {
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// The client's address.
    pub client: String,
}

/// The result of mapping the path of a request.
#[derive(Debug, Clone, Copy)]
pub struct MappedPath<'a> {
    /// Decoded path that names the script or mount (SCRIPT_NAME).
    pub script_name: &'a [u8],
    /// Decoded rest of the path (PATH_INFO).
    pub path_info: &'a [u8],
    /// The file that `path_info` names as a URL path (PATH_TRANSLATED). Empty without `path_info`.
    pub path_translated: &'a [u8],
    pub document_root: &'a [u8],
    /// The media type of the file, by the file's name. Empty: unknown, or a script.
    pub media_type: &'a [u8],
    /// Content-Encoding and Content-Language by the file's name. Empty: the name gives none.
    pub coding: &'a [u8],
    pub languages: &'a [u8],
    /// The path and the file of the folder whose index the request has got, or of the path whose
    /// fallback it has got. Empty: neither.
    pub folder: &'a [u8],
    pub folder_file: &'a [u8],
    /// The settings of that place, if they differ from those of the request: their number in the
    /// machine's byte order, and their text. Empty: they do not differ.
    pub folder_settings: &'a [u8],
    /// The mark of the program's file (`wire::layout::file_mark`), if the front watches the file
    /// for changes. 0: the worker checks the file.
    pub file_mark: u64,
    /// Whether files of this place may be pages with server-side includes.
    pub has_includes: bool,
}

/// Facts about the connection of a request and about its two ends.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionFacts<'a> {
    /// `http` or `https`
    pub scheme: &'a [u8],
    pub server_name: &'a [u8],
    pub server_port: u16,
    pub server_addr: &'a [u8],
    pub remote_addr: &'a [u8],
    pub remote_port: u16,
    /// The number of the client's connection. 0: unknown.
    pub number: u64,
    /// The number of earlier requests on the connection.
    pub kept: u64,
}

/// The outcome of the front's access phase.
#[derive(Debug, Clone, Copy)]
pub struct AccessResult<'a> {
    /// The status with which the front refuses the request in the access phase. 0: no refusal.
    pub status: u16,
    /// Results of the `Require` parts that need no user, for Perl's authorisation.
    pub known: u64,
    /// The user, if Perl's handlers do not set one.
    pub login: &'a Login,
    /// The challenge: header lines that request authentication.
    pub challenge: &'a [u8],
}

/// Perl's part of the settings in force. The default says that there is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerlSettings<'a> {
    /// The number of the text. A worker parses the text of a number once.
    pub number: u32,
    pub text: &'a [u8],
}

/// The variables of a script, and the form of its output and environment.
#[derive(Debug, Clone, Copy)]
pub struct ScriptEnvironment<'a> {
    /// Variables of the configuration: those of `SetEnv` first, then those of `PerlSetEnv`, then
    /// all others.
    pub variables: &'a [(&'a [u8], &'a [u8])],
    /// How many of the variables `SetEnv` has set.
    pub set_env_count: u16,
    /// How many of the variables `PerlSetEnv` has set.
    pub perl_set_env_count: u16,
    /// Whether `PerlOptions +ParseHeaders` is on. Always true without a configuration and for
    /// scripts.
    pub parse_headers: bool,
    /// Whether the script expects CGI's environment: its own folder as working directory, fresh
    /// file-scoped lexicals. False under `ModPerl::Registry` in a site's configuration, as in
    /// mod_perl.
    pub cgi_world: bool,
}

/// The internal redirect of a request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct InternalRedirect {
    /// 200 for a redirect, or the status of the error page. 0: no redirect.
    pub status: u16,
    /// The number of internal redirects and includes before this request.
    pub depth: u16,
    /// Whether the request is part of a page with server-side includes.
    pub is_within: bool,
}

/// The head of a worker's response. The pool has checked that no line has a CR, LF or NUL and that
/// names are tokens.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Header lines, each `Name: value\r\n`, as the script wrote them. Never Connection,
    /// Transfer-Encoding or Keep-Alive.
    pub lines: Vec<u8>,
    /// The value of Content-Length, if the script gave one.
    pub content_length: Option<u64>,
    /// Whether the request's conditions (`If-Modified-Since`, ...) may change the status. This is
    /// so if a script printed this head without a status.
    pub may_be_conditional: bool,
    /// Whether the head has a Location and no status, so that the server redirects.
    pub is_redirect: bool,
    /// Whether `lines` has a Date field.
    pub has_date: bool,
    pub has_server: bool,
    pub reason: Option<Box<Reason>>,
    pub marks: TableMarks,
}

/// What the name of a program's file says of its content (`AddEncoding`, `AddLanguage`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedContent {
    coding: Vec<u8>,
    languages: Vec<u8>,
}

impl NamedContent {
    /// `None`: the name says nothing.
    pub fn of(path: &MappedPath<'_>) -> Option<Box<NamedContent>> {
        let says = !path.coding.is_empty() || !path.languages.is_empty();
        says.then(|| {
            Box::new(NamedContent {
                coding: path.coding.to_vec(),
                languages: path.languages.to_vec(),
            })
        })
    }
}

impl Call<'_> {
    /// Returns what the name of the script's file says of its content, if the worker has no `$r` to
    /// add it itself.
    pub(crate) fn named_content(&self) -> Option<Box<NamedContent>> {
        use mehari_config::Rung::{PerlRun, Registry};
        match self.task {
            Task::Script {
                rung: PerlRun | Registry,
                ..
            } => None,
            Task::Script { .. } => NamedContent::of(&self.path),
            _ => None,
        }
    }
}

impl Head {
    /// Adds what the name of the program's file says. As in Apache, the name's coding replaces the
    /// program's, the program's languages follow those of the name, and the page of a redirect has
    /// none of it.
    pub fn add_named_content(&mut self, content: &NamedContent) {
        if self.is_redirect {
            return;
        }
        if !content.coding.is_empty() {
            self.take_fields(b"Content-Encoding");
            self.add_field(b"Content-Encoding", &content.coding);
        }
        self.add_languages(&content.languages);
    }

    /// Adds languages. The languages that the field Content-Language names already follow them.
    fn add_languages(&mut self, languages: &[u8]) {
        if languages.is_empty() {
            return;
        }
        let mut all: Vec<Vec<u8>> = Vec::new();
        let own = self.take_fields(b"Content-Language");
        for list in [vec![languages.to_vec()], own].concat() {
            for language in list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                let language = language.to_ascii_lowercase();
                if !language.is_empty() && !all.contains(&language) {
                    all.push(language);
                }
            }
        }
        self.add_field(b"Content-Language", &all.join(&b","[..]));
    }

    /// Adds the header lines of handlers that have run before the script.
    pub fn join(&mut self, lines: &[u8], marks: &TableMarks) {
        self.lines.extend_from_slice(lines);
        self.marks.fields.extend(marks.of_lines(lines));
    }

    /// Adds header lines of handlers to the head of an HTTP back end. As in Apache, these are
    /// err_headers_out, the cookies and languages, and the Expires of `$r->no_cache`. The back
    /// end's fields replace the others.
    pub fn join_back_end(&mut self, lines: &[u8], marks: &TableMarks) {
        let each = || lines.split_inclusive(|byte| *byte == b'\n').map(split);
        let own = std::mem::take(&mut self.lines);
        let own = || own.split_inclusive(|byte| *byte == b'\n');
        let is_dated = own().any(|line| split(line).0.eq_ignore_ascii_case(b"expires"));
        let mut languages = None;
        for ((name, value), table) in each().zip(marks.tables(each().map(|(name, _)| name))) {
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            let is_out = table == Some(HeadTable::Out);
            if is_out && is("content-language") {
                languages = Some(value);
            } else if (!is_out || is("set-cookie")) && !(is("expires") && is_dated) {
                self.add_field(name, value);
                let mark = table.map(|table| (name.to_vec(), table));
                self.marks.fields.extend(mark);
            }
        }
        // The last fields of a name have its marks.
        for line in own() {
            let (name, _) = split(line);
            let is = |mark: &(Vec<u8>, HeadTable)| mark.0.eq_ignore_ascii_case(name);
            if self.marks.fields.iter().any(is) {
                self.marks.fields.push((name.to_vec(), HeadTable::Out));
            }
            self.lines.extend_from_slice(line);
        }
        self.add_languages(languages.unwrap_or_default());
    }

    fn add_field(&mut self, name: &[u8], value: &[u8]) {
        for part in [name, b": ", value, b"\r\n"] {
            self.lines.extend_from_slice(part);
        }
    }

    /// Removes the fields of a name and returns their values.
    fn take_fields(&mut self, name: &[u8]) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        let mut kept = Vec::with_capacity(self.lines.len() + 64);
        for line in self.lines.split_inclusive(|&byte| byte == b'\n') {
            let end = memchr::memchr(b':', line).unwrap_or(line.len());
            if line[..end].eq_ignore_ascii_case(name) {
                let value = line.get(end + 1..).unwrap_or_default();
                values.push(value.trim_ascii().to_vec());
            } else {
                kept.extend_from_slice(line);
            }
        }
        self.lines = kept;
        values
    }
}

/// Returns the name and the value of a header line.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b':', line).unwrap_or(line.len());
    let value = line.get(end + 1..).unwrap_or_default();
    (&line[..end], value.trim_ascii())
}

/// The reason phrase that a program gives to a status. HTTP/2 has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub status: u16,
    /// Without control characters.
    pub phrase: Vec<u8>,
}

impl Reason {
    /// Reads a status and its phrase: `404 Nothing here`. `None`: there is no phrase that may be
    /// sent.
    pub fn read(text: &[u8]) -> Option<Box<Reason>> {
        let (digits, rest) = text.split_at_checked(3)?;
        let phrase = rest.strip_prefix(b" ")?.trim_ascii();
        let is_sound = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
        let status = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let fits = !phrase.is_empty() && phrase.iter().all(is_sound);
        fits.then(|| {
            Box::new(Reason {
                status,
                phrase: phrase.to_vec(),
            })
        })
    }
}

/// A worker's question during a request: how would the front handle this path?
#[derive(Debug, Clone)]
pub struct SubrequestQuestion<'a> {
    /// The number of the virtual host.
    pub server: u32,
    pub method: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    /// The file that a handler chose for the path. `None`: the mapped file.
    pub file: Option<&'a [u8]>,
    /// The client of the current request.
    pub asker: Asker<'a>,
    /// What the request in question gets from the current request.
    pub news: RequestNews,
}

/// The client of a request, as the worker saw it.
#[derive(Debug, Default, Clone)]
pub struct Asker<'a> {
    pub method: &'a [u8],
    /// `http` or `https`
    pub scheme: &'a [u8],
    /// The target as sent.
    pub target: &'a [u8],
    pub remote_addr: &'a [u8],
    pub server_addr: &'a [u8],
    pub server_port: u16,
    pub request_id: u64,
    pub fields: Vec<(&'a [u8], &'a [u8])>,
}

/// Answers the workers' questions.
#[derive(Clone)]
pub struct SubrequestResolver(Rc<ResolveSubrequest>);

/// A function that answers a question: it passes the resulting call to its second argument. The
/// function never waits. If something must be found out before it can answer, it passes nothing and
/// returns what to wait for.
type ResolveSubrequest =
    dyn Fn(SubrequestQuestion<'_>, &mut dyn FnMut(Call<'_>)) -> Option<LaterResolver>;

/// Finds something out, and returns the resolver that knows it and answers the question then.
pub type LaterResolver = Pin<Box<dyn Future<Output = SubrequestResolver>>>;

impl SubrequestResolver {
    pub fn new(
        resolve: impl Fn(SubrequestQuestion<'_>, &mut dyn FnMut(Call<'_>)) -> Option<LaterResolver>
            + 'static,
    ) -> SubrequestResolver {
        SubrequestResolver(Rc::new(resolve))
    }

    pub(crate) fn resolve(
        &self,
        question: SubrequestQuestion<'_>,
        give: &mut dyn FnMut(Call<'_>),
    ) -> Option<LaterResolver> {
        (self.0)(question, give)
    }
}

/// A function that passes the call for a request of a warm-up to its third argument. The second
/// argument is the number of the host. The function does nothing if the request has no route.
pub type WarmupResolver = std::rc::Rc<
    dyn Fn(&Arc<mehari_config::Site>, u32, &mehari_config::WarmupUrl, &mut dyn FnMut(Call<'_>)),
>;

/// The decision of Perl's handlers that the front responds, and how.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Declined {
    /// 0: the front responds by itself. Otherwise the page of this status.
    pub status: u16,
    /// The handlers' header lines, checked like [`Head::lines`].
    pub lines: Vec<u8>,
    /// The tables of these lines, if the front chooses the response.
    pub marks: TableMarks,
    pub reason: Option<Box<Reason>>,
    /// The file that replaces the mapped file. `None`: the mapped file.
    pub file: Option<Vec<u8>>,
    pub media_type: Option<Vec<u8>>,
    /// The name of the handler that is to respond. `None`: the configured handler.
    pub handler: Option<Vec<u8>>,
    /// The page that replaces the configured `ErrorDocument`.
    pub document: Option<Vec<u8>>,
    /// Path and query of an internal redirect.
    pub target: Option<Vec<u8>>,
    /// Path and query at which the request continues, as a handler has chosen. If `file` is set, it
    /// is their file.
    pub moved: Option<Vec<u8>>,
    pub changes: RequestChanges,
    /// Whether the worker waits for the outcome: [`crate::WorkerExchange::tell`].
    pub listens: bool,
    pub told: Option<Box<RequestNews>>,
}

/// What Perl's handlers have changed in a request before its response.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RequestChanges {
    /// The request's fields after the handlers. `None`: unchanged.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// Variables that handlers have set (`subprocess_env`).
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of variables that handlers have taken out.
    pub removed: Vec<Vec<u8>>,
    /// The query that handlers have set. `None`: the query is unchanged.
    pub query: Option<Vec<u8>>,
    pub method: MethodChanges,
}

/// The method that handlers have set.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct MethodChanges {
    /// `$r->method`. `None`: unchanged.
    pub name: Option<Vec<u8>>,
    /// The method of `$r->method_number`, which `<Limit>` and `Require method` read. `None`:
    /// unchanged.
    pub numbered: Option<Vec<u8>>,
}

impl RequestChanges {
    pub fn is_empty(&self) -> bool {
        let says_variables = !self.variables.is_empty() || !self.removed.is_empty();
        let says_method = self.method.name.is_some() || self.method.numbered.is_some();
        self.fields.is_none() && self.query.is_none() && !says_variables && !says_method
    }
}

/// What a worker tells about a request before its response.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RequestNews {
    /// The user that handlers have set.
    pub user: Option<Named>,
    /// Path and query that a handler of the translation phase has chosen, and their file.
    pub moved: Option<(Vec<u8>, Option<Vec<u8>>)>,
    pub changes: RequestChanges,
    pub origin: Origin,
}

/// How a request about which a worker asks comes about.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is the asking request at another place.
    #[default]
    Same,
    /// A sub-request.
    Within,
    /// A sub-request whose handlers of the fixup phase have run.
    Handled,
    /// An internal redirect.
    Redirected,
}

impl Origin {
    pub fn is_sub_request(self) -> bool {
        matches!(self, Origin::Within | Origin::Handled)
    }
}

/// What belongs to a declined request if the worker's filters process the front's response.
#[derive(Debug)]
pub struct Fetch {
    /// The socket to which the front writes the response's body, after
    /// [`FOLLOWS`](mehari_wire::layout::record::FETCH_FOLLOWS).
    pub socket: OwnedFd,
    /// The request's body after the input filters, and its length.
    pub body: Option<(OwnedFd, u64)>,
}

/// The user that a handler has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: Vec<u8>,
    /// AUTH_TYPE. Empty if the handler has not set it.
    pub kind: Vec<u8>,
}

/// The outcome of a response that the front gave in a worker's place.
#[derive(Debug, Default, Clone, Copy)]
pub struct ResponseOutcome<'a> {
    /// The status of the response. 0: unknown.
    pub status: u16,
    /// The length of the body in bytes.
    pub bytes: u64,
    /// Status line and header lines as sent.
    pub head: &'a [u8],
}

/// Why a request has no response from Perl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the worker died")]
    WorkerDied,
    #[error("the worker was ended by signal {0}")]
    WorkerKilled(i32),
    #[error("the program broke off its response")]
    CutOff,
    #[error("the program answered only with the status {0}")]
    Status(u16),
    #[error("the request ran longer than its time limit")]
    TimedOut,
    #[error("the queue for workers is full")]
    QueueFull,
    #[error("no worker became free in time")]
    QueueTimedOut,
    /// With the seconds after which the client may try again.
    #[error("the workers are overloaded")]
    Overloaded(u16),
    /// With the seconds after which the client may try again.
    #[error("the application's processes end again and again")]
    CrashLoop(u16),
    #[error("the worker wrote an invalid response")]
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
    /// The status for the client.
    pub fn status(self) -> u16 {
        match self {
            Fault::WorkerDied | Fault::WorkerKilled(_) | Fault::BadResponse => 502,
            Fault::CutOff => 502,
            Fault::Status(status) => status,
            Fault::BadHeader | Fault::CannotRun => 500,
            Fault::TimedOut => 504,
            Fault::QueueFull | Fault::QueueTimedOut => 503,
            Fault::Overloaded(_) | Fault::CrashLoop(_) => 503,
            Fault::NotReady | Fault::Stopping => 503,
            Fault::TooLarge => 431,
        }
    }
}
