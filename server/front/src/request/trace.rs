//! Finds and sets the fields of W3C Trace Context in a request. Their syntax is
//! `mehari_http::trace_context`. A client's valid `traceparent` is kept unless the request is
//! sampled for `TraceExport`. A missing value is made if the configuration says so.

use crate::request::{Field, Fields, Request, Table};
use mehari_http::trace_context::{trace_state, TraceParent};
use mehari_observe::trace::TraceContext;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

const PARENT: &[u8] = b"traceparent";
const STATE: &[u8] = b"tracestate";
const USER_AGENT: &[u8] = b"user-agent";

/// What the spans of a request need of its fields, found in one pass.
#[derive(Default)]
pub struct TracedFields<'a> {
    /// The value of the last traceparent.
    parent: &'a [u8],
    parents: usize,
    /// The first value. Empty if there is none.
    pub user_agent: &'a [u8],
}

/// Whether the names have the same length and first letter. Most other names have not.
#[inline]
fn is_like(name: &[u8], wanted: &[u8]) -> bool {
    let first = |name: &[u8]| name.first().map(u8::to_ascii_lowercase);
    name.len() == wanted.len() && first(name) == first(wanted)
}

impl<'a> TracedFields<'a> {
    pub fn of(fields: Fields<'a>) -> TracedFields<'a> {
        let mut found = TracedFields::default();
        for (name, value) in fields.iter() {
            if is_like(name, PARENT) && name.eq_ignore_ascii_case(PARENT) {
                (found.parent, found.parents) = (value, found.parents + 1);
            } else if is_like(name, USER_AGENT)
                && found.user_agent.is_empty()
                && name.eq_ignore_ascii_case(USER_AGENT)
            {
                found.user_agent = value;
            }
        }
        found
    }

    /// Returns the client's trace context. Several fields `traceparent`, or one that breaks a rule,
    /// are none.
    pub fn parent(&self) -> Option<TraceParent> {
        (self.parents == 1)
            .then(|| TraceParent::parse(self.parent))
            .flatten()
    }
}

/// Returns the client's `tracestate`, if it is valid.
pub fn state(fields: Fields<'_>) -> Option<String> {
    trace_state(values(fields, STATE))
}

fn values<'a>(fields: Fields<'a>, name: &'static [u8]) -> impl Iterator<Item = &'a [u8]> {
    let named = fields
        .iter()
        .filter(|(known, _)| known.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value)
}

/// Whether the request has a valid traceparent.
pub fn has_trace(request: &Request<'_>) -> bool {
    TracedFields::of(request.fields).parent().is_some()
}

/// Makes a new value.
fn fresh(id: u64, is_sampled: bool) -> TraceParent {
    // Each process has another random key, so two servers make different values.
    let random = RandomState::new();
    // An identity of zero would be invalid.
    let [high, low, span] = [0u8, 1, 2].map(|part| random.hash_one((id, part)).max(1));
    let flags = u8::from(is_sampled) * TraceParent::SAMPLED;
    let trace = u128::from(high) << 64 | u128::from(low);
    TraceParent { trace, span, flags }
}

/// The values of the fields that programs and back ends get.
struct Sent {
    parent: String,
    state: Option<String>,
}

impl Sent {
    fn of(context: &TraceContext) -> Sent {
        let &TraceContext {
            trace, span, flags, ..
        } = context;
        Sent {
            parent: TraceParent { trace, span, flags }.to_string(),
            state: context.state.clone(),
        }
    }

    /// Returns the fields of a request with these in place of its own.
    fn among<'a>(&'a self, fields: Fields<'a>) -> Table<'a> {
        let state = self.state.as_ref().map(|state| (STATE, state.as_bytes()));
        let own = [(PARENT, self.parent.as_bytes())];
        others(fields).chain(own).chain(state).collect()
    }
}

/// Calls `give` with the request that programs and back ends get. Its trace context is that of the
/// exported spans, or one that `CreateTraceParent` makes.
pub fn with_own_context<T>(
    request: &Request<'_>,
    makes_parent: Option<MadeParent>,
    give: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let exported = request.trace.and_then(|trace| trace.context());
    let made = makes_parent.filter(|_| exported.is_none() && !has_trace(request));
    let made = made.map(|made| Sent {
        parent: fresh(request.id, made.is_sampled).to_string(),
        state: None,
    });
    let Some(sent) = exported.map(Sent::of).or(made) else {
        return give(request);
    };
    let fields = sent.among(request.fields);
    let fields = Fields::List(&fields);
    give(&Request { fields, ..*request })
}

/// That a request without a valid traceparent gets one.
#[derive(Debug, Clone, Copy)]
pub struct MadeParent {
    /// Whether back ends should record their spans.
    pub is_sampled: bool,
}

/// The fields that are not about traces.
fn others(fields: Fields<'_>) -> impl Iterator<Item = Field<'_>> {
    let is_about_traces =
        |name: &[u8]| name.eq_ignore_ascii_case(PARENT) || name.eq_ignore_ascii_case(STATE);
    fields
        .iter()
        .filter(move |(name, _)| !is_about_traces(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_never_the_same() {
        let made: std::collections::HashSet<String> = (0..1000)
            .map(|id| fresh(id / 2, id % 2 == 0).to_string())
            .collect();
        assert_eq!(made.len(), 1000);
        let read = made
            .iter()
            .filter_map(|text| TraceParent::parse(text.as_bytes()));
        assert_eq!(read.filter(|parent| parent.is_sampled()).count(), 500);
    }

    #[test]
    fn context_takes_the_place_of_the_clients() {
        let fields: [Field; 4] = [
            (b"a", b"1"),
            (b"Traceparent", b"nonsense"),
            (b"TraceState", b"x=1"),
            (b"b", b"2"),
        ];
        let mut context = TraceContext {
            trace: 0xa,
            span: 0xb,
            flags: 3,
            state: None,
        };
        let names = |sent: &Sent| -> Vec<Vec<u8>> {
            let table = sent.among(Fields::List(&fields));
            table.iter().map(|(name, _)| name.to_vec()).collect()
        };
        let sent = Sent::of(&context);
        assert_eq!(
            sent.parent,
            "00-0000000000000000000000000000000a-000000000000000b-03"
        );
        assert_eq!(names(&sent), [&b"a"[..], b"b", PARENT]);
        context.state = Some("y=2".to_owned());
        assert_eq!(names(&Sent::of(&context)), [&b"a"[..], b"b", PARENT, STATE]);
    }

    #[test]
    fn two_parents_are_none() {
        let made = [fresh(1, true).to_string(), fresh(2, true).to_string()];
        let fields: [Field; 2] = [
            (b"traceparent", made[0].as_bytes()),
            (b"TRACEPARENT", made[1].as_bytes()),
        ];
        for (count, fields) in [(2, Fields::List(&fields)), (1, Fields::List(&fields[..1]))] {
            let found = TracedFields::of(fields).parent();
            assert_eq!(found.is_some(), count == 1);
        }
    }
}
