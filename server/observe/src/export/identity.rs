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

/// The step of the generator SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SpanIdentity {
    /// Returns the state after this one of a generator whose numbers are those below its states.
    #[inline]
    pub fn next_state(state: u64) -> u64 {
        state.wrapping_add(STEP)
    }

    /// Returns the number of one of the spans below a span: never 0, and as good as random, because
    /// the number of the span around it is. The function is that of the generator SplitMix64.
    #[inline]
    pub fn below(span: u64, index: u64) -> u64 {
        let mut mixed = span.wrapping_add(STEP.wrapping_mul(index + 1));
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31).max(1)
    }
}
