//! Where the server itself led a request on to.

/// An internal redirect: a script's `Location: /path`, or an ErrorDocument that is a program.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// Path and query of what answers instead.
    pub target: Vec<u8>,
    /// Path and query that led here (REDIRECT_URL, REDIRECT_QUERY_STRING). `None`: a rule of the host
    /// put another target in the place of the first, and nothing else is to be seen of it.
    pub from: Option<Vec<u8>>,
    /// REDIRECT_STATUS, and the status of the response unless the program chooses one: 200, or the error's.
    pub status: u16,
    /// How many there have been for this request.
    pub count: u32,
    /// A rule led it here before its handler was asked: method and body are still the request's.
    pub keeps_request: bool,
}

/// As many as Apache allows (LimitInternalRecursion).
pub const REDIRECTS: u32 = 10;
