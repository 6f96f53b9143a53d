//! A collector of the test, and what it has got.

use mehari_harness::back_end::ReceivedRequest;
use mehari_harness::{eventually, BackEnd, PATIENCE};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// A collector that keeps what it gets.
pub struct Collector {
    pub back_end: BackEnd,
    pub bodies: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    pub fn start() -> Collector {
        Collector::answering("200 OK", "{}")
    }

    /// A collector that closes each connection, and says so.
    pub fn answering(status: &'static str, body: &'static str) -> Collector {
        let length = body.len();
        let lines = format!("Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        Collector::saying(format!("HTTP/1.1 {status}\r\n{lines}"), false)
    }

    /// A collector that says that each connection stays open. `stays_open`: whether it does.
    pub fn keeping(stays_open: bool) -> Collector {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        Collector::saying(answer.to_owned(), stays_open)
    }

    fn saying(answer: String, stays_open: bool) -> Collector {
        let bodies = Arc::<Mutex<Vec<Value>>>::default();
        let kept = bodies.clone();
        let back_end = BackEnd::start(move |request, stream| {
            kept.lock().expect("no panic").push(read(&request));
            let _ = stream.write_all(answer.as_bytes());
            stays_open
        });
        Collector { back_end, bodies }
    }

    pub fn conf(&self, more: &str) -> String {
        format!("TraceExport {} {more}\n", self.back_end.url())
    }

    pub fn spans(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().expect("no panic");
        let spans = |body: &Value| {
            let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
            spans.as_array().expect("spans").clone()
        };
        bodies.iter().flat_map(spans).collect()
    }

    pub fn requests(&self) -> usize {
        self.spans().iter().filter(|span| span["kind"] == 2).count()
    }

    /// Waits until so many requests have come, and returns all spans.
    pub fn wait_for(&self, requests: usize) -> Vec<Value> {
        let has_come = eventually(PATIENCE, || self.requests() >= requests);
        assert!(has_come, "{} of {requests} came", self.requests());
        assert_eq!(self.requests(), requests);
        self.spans()
    }
}

/// Checks a request for a collector, and returns its body.
fn read(request: &ReceivedRequest) -> Value {
    let line = request.head.lines().next();
    assert_eq!(line, Some("POST /v1/traces HTTP/1.1"), "{}", request.head);
    assert_eq!(request.field("content-type"), Some("application/json"));
    serde_json::from_slice(&request.body).expect("JSON")
}

pub fn text<'a>(span: &'a Value, key: &str) -> &'a str {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|it| it["key"] == key);
    let value = &found.unwrap_or_else(|| panic!("no {key}: {span}"))["value"];
    let texts = [&value["stringValue"], &value["intValue"]];
    texts.into_iter().find_map(Value::as_str).expect("a text")
}

pub fn root(spans: &[Value]) -> &Value {
    spans.iter().find(|span| span["kind"] == 2).expect("a root")
}

pub fn named<'a>(spans: &'a [Value], start: &str) -> &'a Value {
    let is_it = |span: &&Value| {
        span["name"]
            .as_str()
            .is_some_and(|it| it.starts_with(start))
    };
    let found = spans.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {start} in {spans:#?}"))
}

pub fn time(span: &Value, key: &str) -> u64 {
    let text = span[key].as_str();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no {key}: {span}"))
}

/// Checks numbers, parents and times of the spans of one request. A child lies within its parent.
/// What the worker does may last longer than the request, whose span ends with the response.
pub fn assert_one_trace(spans: &[Value]) {
    let root = root(spans);
    let by_id: HashMap<&str, &Value> = spans
        .iter()
        .map(|span| (span["spanId"].as_str().expect("an id"), span))
        .collect();
    assert_eq!(by_id.len(), spans.len(), "an id stands twice: {spans:#?}");
    for span in spans {
        assert_eq!(span["traceId"], root["traceId"], "{span}");
        let (from, until) = (
            time(span, "startTimeUnixNano"),
            time(span, "endTimeUnixNano"),
        );
        assert!(from <= until, "{span}");
        if span == root {
            continue;
        }
        let parent = by_id[span["parentSpanId"].as_str().expect("a parent")];
        assert!(
            time(parent, "startTimeUnixNano") <= from,
            "{span} in {parent}"
        );
        let is_of_worker = span.to_string().contains("process.pid");
        if !(parent == root && is_of_worker) {
            assert!(
                until <= time(parent, "endTimeUnixNano"),
                "{span} in {parent}"
            );
        }
    }
}
