//! The anatomy as JSON. Times are microseconds.

use super::microseconds;
use crate::anatomy::{Anatomy, TracedPart};
use serde_json::{json, Value};

/// Returns one JSON object.
pub fn json(anatomy: &Anatomy) -> Value {
    json!({
        "request_id": anatomy.request_id,
        "method": anatomy.method,
        "target": anatomy.target,
        "client": anatomy.client,
        "status": anatomy.status,
        "us": microseconds(anatomy.took),
        "parts": parts(&anatomy.parts),
        "after": parts(&anatomy.after),
        "left_out": anatomy.left_out,
    })
}

fn parts(parts: &[TracedPart]) -> Vec<Value> {
    parts.iter().map(one).collect()
}

fn one(part: &TracedPart) -> Value {
    json!({
        "kind": part.kind,
        "name": part.name,
        "worker": part.process,
        "from_us": microseconds(part.from),
        "us": microseconds(part.took),
        "rest_us": microseconds(part.rest),
        "count": part.count,
        "rows": part.rows,
        "parts": parts(&part.parts),
    })
}
