//! Internal redirects.

/// An internal redirect: a script's `Location: /path`, or an ErrorDocument that is a program.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// Path and query of the new resource.
    pub target: Vec<u8>,
    /// Path and query before the redirect (REDIRECT_URL, REDIRECT_QUERY_STRING). `None`: a rule of
    /// the host replaced the target, and programs must not see the earlier target.
    pub from: Option<Vec<u8>>,
    /// The value of REDIRECT_STATUS: 200, or the status of the error. The response gets this status
    /// too, unless the program sets a status.
    pub status: u16,
    /// The number of redirects of this request.
    pub count: u32,
    pub cause: RedirectCause,
}

/// Why a request is redirected internally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectCause {
    /// A rule has replaced the path before any handler. Method and body stay.
    Rule,
    /// The program of an `Action` responds in place of the handler. Method and body stay.
    Action,
    /// Perl's handlers have chosen another resource, or a folder's rules behind them. Method and
    /// body stay.
    Handlers,
    /// A response names the resource, or the resource is an error page. The method becomes GET, and
    /// the body is dropped.
    Response,
}

impl Redirect {
    /// Whether the new resource gets the request's method and body.
    pub fn keeps_request(&self) -> bool {
        self.cause != RedirectCause::Response
    }

    /// Whether no handler has run before the redirect.
    pub fn is_by_rule(&self) -> bool {
        self.cause == RedirectCause::Rule
    }
}

/// The most internal redirects of a request, as in Apache (LimitInternalRecursion).
pub const REDIRECTS: u32 = 10;
