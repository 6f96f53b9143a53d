//! Internal redirects.

/// An internal redirect: a script's `Location: /path`, or an ErrorDocument that is a program.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// Path and query of the new resource.
    pub target: Vec<u8>,
    /// Path and query before (REDIRECT_URL, REDIRECT_QUERY_STRING). `None`: a rule of the host
    /// replaced the target, and no trace of it is visible.
    pub from: Option<Vec<u8>>,
    /// REDIRECT_STATUS, and the response's status unless the program sets one: 200, or the error's.
    pub status: u16,
    /// The number of redirects of this request.
    pub count: u32,
    /// A rule redirected the request before its handler, so method and body stay.
    pub keeps_request: bool,
}

/// Apache's limit (LimitInternalRecursion).
pub const REDIRECTS: u32 = 10;
