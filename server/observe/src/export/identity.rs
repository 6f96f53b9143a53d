//! The numbers of a request's spans.

/// The numbers by which other systems know a request's spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanIdentity {
    pub trace: u128,
    /// The client's span.
    pub parent: Option<u64>,
    /// The span of the whole request.
    pub span: u64,
    /// The span that programs and back ends get as their parent: the wait for them.
    pub inner: u64,
}
