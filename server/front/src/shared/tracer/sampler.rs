//! Chooses the requests whose spans are exported (`TraceExport`), and gives their spans numbers.

use crate::request::trace::{self, TracedFields};
use crate::request::Fields;
use mehari_http::trace_context::TraceParent;
use mehari_observe::export::{Exporter, SpanIdentity};
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// The trace context of a sampled request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<'a> {
    pub identity: SpanIdentity,
    /// The client's `tracestate`.
    pub state: Option<String>,
    /// The bits of the field traceparent for programs and back ends.
    pub flags: u8,
    pub user_agent: &'a [u8],
}

pub struct Sampler {
    pub exporter: Exporter,
    chance: Chance,
    follows_parents: bool,
}

impl Sampler {
    pub fn new(exporter: Exporter) -> Sampler {
        let settings = exporter.settings();
        Sampler {
            chance: Chance::of_one_in(settings.every),
            follows_parents: settings.follows_parents,
            exporter,
        }
    }

    /// Whether the fields of each request must be looked at.
    pub fn looks_at_each(&self) -> bool {
        self.follows_parents
    }

    /// Returns how many requests later the next one is taken, unless parents are followed.
    pub fn until_next(&self) -> u32 {
        self.chance.until_next.get()
    }

    /// Sets the number that [`Sampler::until_next`] returns, for a tracer that has counted.
    pub fn is_next_after(&self, requests: u32) {
        self.chance.until_next.set(requests.max(1));
    }

    /// Decides whether a request with these fields is sampled.
    pub fn sample<'a>(&self, fields: Fields<'a>) -> Option<Sample<'a>> {
        sample(&self.chance, self.follows_parents, fields)
    }
}

fn sample<'a>(chance: &Chance, follows_parents: bool, fields: Fields<'a>) -> Option<Sample<'a>> {
    let (parent, read) = if follows_parents {
        let read = TracedFields::of(fields);
        let parent = read.parent();
        let is_sampled = parent.map_or_else(|| chance.comes(), TraceParent::is_sampled);
        is_sampled.then_some((parent, read))?
    } else {
        let read = chance.comes().then(|| TracedFields::of(fields))?;
        (read.parent(), read)
    };
    let flags = parent.map_or(0, |parent| parent.flags);
    let number = chance.number();
    let span = SpanIdentity::below(number, 0);
    let own = || u128::from(chance.number()) << 64 | u128::from(number);
    Some(Sample {
        identity: SpanIdentity {
            trace: parent.map_or_else(own, |parent| parent.trace),
            parent: parent.map(|parent| parent.span),
            span,
            inner: SpanIdentity::below(span, 0),
        },
        state: parent.and_then(|_| trace::state(fields)),
        flags: flags | TraceParent::SAMPLED,
        user_agent: read.user_agent,
    })
}

/// Takes one of so many requests. The gaps are random, so no pattern of requests is preferred.
struct Chance {
    one_in: u32,
    /// The number of requests until the next one is taken.
    until_next: Cell<u32>,
    /// The state of the generator. It begins with a random number.
    state: Cell<u64>,
}

impl Chance {
    fn of_one_in(one_in: u32) -> Chance {
        let chance = Chance {
            one_in,
            until_next: Cell::new(0),
            state: Cell::new(RandomState::new().hash_one(one_in)),
        };
        chance.until_next.set(chance.gap());
        chance
    }

    /// Returns a random number from 1 to 2N - 1, whose mean is N.
    fn gap(&self) -> u32 {
        let choices = u64::from(self.one_in) * 2 - 1;
        // The number is smaller than 2^32.
        (self.number() % choices) as u32 + 1
    }

    /// Counts a request. Returns whether the request is taken.
    fn comes(&self) -> bool {
        let left = self.until_next.get() - 1;
        if left > 0 {
            self.until_next.set(left);
            return false;
        }
        self.until_next.set(self.gap());
        true
    }

    /// Returns a random number above 0. Numbers of traces must be unique, but no secret depends on
    /// them. The generator therefore takes a few instructions only.
    fn number(&self) -> u64 {
        let state = self.state.get();
        self.state.set(SpanIdentity::next_state(state));
        SpanIdentity::below(state, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Field;

    const SAMPLED: &[u8] = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03";
    const UNSAMPLED: &[u8] = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    fn with<'a>(fields: &'a [Field<'a>]) -> Fields<'a> {
        Fields::List(fields)
    }

    #[test]
    fn one_request_in_so_many_is_taken() {
        let count = |one_in: u32| {
            let chance = Chance::of_one_in(one_in);
            (0..100_000).filter(|_| chance.comes()).count()
        };
        assert_eq!(count(1), 100_000);
        let hundredth = count(100);
        assert!((850..1_150).contains(&hundredth), "{hundredth}");
        assert!(count(u32::MAX) <= 1);
    }

    #[test]
    fn trace_of_the_client_goes_on() {
        let fields: [Field; 2] = [(b"traceparent", SAMPLED), (b"tracestate", b"a=1")];
        let all = Chance::of_one_in(1);
        let sample = sample(&all, false, with(&fields)).expect("sampled");
        assert_eq!(sample.identity.trace, 0x0af7651916cd43dd8448eb211c80319c);
        assert_eq!(sample.identity.parent, Some(0xb7ad6b7169203331));
        assert_eq!(sample.state.as_deref(), Some("a=1"));
        assert_eq!(sample.flags, 3);
        let own = [sample.identity.span, sample.identity.inner];
        assert!(own[0] != own[1] && !own.contains(&0xb7ad6b7169203331));
    }

    #[test]
    fn decision_of_the_client_counts_only_where_parents_are_followed() {
        let field = |value| [(&b"traceparent"[..], value)];
        let never = Chance::of_one_in(u32::MAX);
        never.until_next.set(1_000);
        let all = Chance::of_one_in(1);
        assert!(sample(&never, true, with(&field(SAMPLED))).is_some());
        assert!(sample(&never, false, with(&field(SAMPLED))).is_none());
        assert!(sample(&all, true, with(&field(UNSAMPLED))).is_none());
        let unsampled = field(UNSAMPLED);
        let own = sample(&all, false, with(&unsampled)).expect("sampled");
        assert_eq!(own.flags, TraceParent::SAMPLED);
    }

    #[test]
    fn invalid_context_begins_a_new_trace_without_state() {
        let invalid: [Field; 2] = [(b"traceparent", b"00-1-2-03"), (b"tracestate", b"a=1")];
        let all = Chance::of_one_in(1);
        let one = sample(&all, true, with(&invalid)).expect("sampled");
        let two = sample(&all, true, with(&invalid)).expect("sampled");
        assert_eq!((one.identity.parent, &one.state), (None, &None));
        assert_ne!(one.identity.trace, two.identity.trace);
        assert_ne!(one.identity.span, one.identity.inner);
    }
}
