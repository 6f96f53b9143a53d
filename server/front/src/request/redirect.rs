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
    /// Whether a rule redirected the request before its handler, so that method and body stay.
    pub keeps_request: bool,
}

/// The most internal redirects of a request, as in Apache (LimitInternalRecursion).
pub const REDIRECTS: u32 = 10;
