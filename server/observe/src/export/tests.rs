use super::*;
use crate::trace::{BackEndCall, FrontPart, PerlPart, QueueWait};
use queue::NextBatch;
use serde_json::Value;

fn perl(kind: &'static str, name: &str, from: u64, until: u64) -> PerlPart {
    PerlPart {
        kind,
        name: name.to_owned(),
        driver: (kind == "statement").then(|| "Pg".to_owned()),
        from,
        until,
        busy: until.saturating_sub(from),
        count: 1,
        rows: (kind == "statement").then_some(2),
        pid: 7,
    }
}

fn timeline() -> Timeline {
    let front = |name, until| FrontPart {
        name,
        until,
        waits: name == "Perl",
    };
    Timeline {
        request_id: 5,
        method: "GET".into(),
        target: "/shop?card=secret".to_owned(),
        client: "192.0.2.1".to_owned(),
        status: 500,
        began: 100,
        front: vec![front("route", 110), front("Perl", 200), front("log", 210)],
        queued: vec![QueueWait {
            from: 111,
            until: 120,
            worker: 7,
        }],
        perl: vec![
            perl("statement", "execute: SELECT 'secret' FROM item", 140, 150),
            perl("sub-request", "sub-request /part?card=secret", 151, 160),
            perl("script", "script /a.pl", 130, 190),
            perl("request", "worker", 121, 260),
            perl("handler", "PerlLogHandler My::Log", 255, 300),
        ],
        calls: Vec::new(),
        left_out: 0,
    }
}

fn exported(timeline: Timeline) -> ExportedRequest {
    let texts = TextParts {
        target: timeline.target.as_bytes(),
        peer: timeline.client.as_bytes(),
        host: b"site.example",
        client: b"198.51.100.1",
        user_agent: b"a \"browser\"\n",
    };
    let request = SampledRequest {
        identity: SpanIdentity {
            trace: 0xa,
            parent: Some(0xb),
            span: 0xc,
            inner: 0xd,
        },
        state: Some("x=1".to_owned()),
        flags: 1,
        scheme: Scheme::Https,
        version: HttpVersion::Http2,
        texts: RequestTexts::new(texts, Vec::new()),
        port: None,
    };
    ExportedRequest {
        request,
        timeline,
        ended: 270,
    }
}

fn spans_of(request: ExportedRequest) -> Vec<Value> {
    let document = spans::document(&spans::beginning("shop"), &[request]);
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let spans = &document["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().expect("a list").clone()
}

fn find<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = spans.iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|it| it["key"] == key);
    &found.unwrap_or_else(|| panic!("no {key}: {span}"))["value"]
}

#[test]
fn parts_become_spans_below_the_parts_around_them() {
    let spans = spans_of(exported(timeline()));
    let root = find(&spans, "GET");
    assert_eq!(root["kind"], 2);
    assert_eq!(root["traceId"], "0000000000000000000000000000000a");
    assert_eq!(root["spanId"], "000000000000000c");
    assert_eq!(root["parentSpanId"], "000000000000000b");
    assert_eq!(root["traceState"], "x=1");
    assert_eq!(root["status"]["code"], 2);
    assert_eq!(attribute(root, "url.path")["stringValue"], "/shop");
    assert_eq!(
        attribute(root, "client.address")["stringValue"],
        "198.51.100.1"
    );
    assert_eq!(
        attribute(root, "user_agent.original")["stringValue"],
        "a \"browser\"\n"
    );
    assert_eq!(
        attribute(root, "http.response.status_code")["intValue"],
        "500"
    );
    for (inner, outer) in [
        ("route", "GET"),
        ("Perl", "GET"),
        ("queue", "Perl"),
        ("worker", "GET"),
        ("script /a.pl", "worker"),
        ("SELECT item", "script /a.pl"),
        ("sub-request /part", "script /a.pl"),
        // A part that a false worker cut out of its request's time.
        ("PerlLogHandler My::Log", "GET"),
    ] {
        let parent = &find(&spans, outer)["spanId"];
        assert_eq!(&find(&spans, inner)["parentSpanId"], parent, "{inner}");
    }
    assert_eq!(find(&spans, "worker")["spanId"], "000000000000000d");
    let statement = find(&spans, "SELECT item");
    assert_eq!(statement["kind"], 3);
    let text = attribute(statement, "db.query.text");
    assert_eq!(text["stringValue"], "SELECT ? FROM item");
    assert_eq!(
        attribute(statement, "db.system.name")["stringValue"],
        "postgresql"
    );
    assert_eq!(
        attribute(statement, "db.response.returned_rows")["intValue"],
        "2"
    );
    let all = format!("{spans:?}");
    assert!(!all.contains("secret"), "{all}");
}

#[test]
fn times_that_a_false_worker_makes_up_are_cut() {
    let mut timeline = timeline();
    timeline.perl = vec![
        perl("script", "script a", 0, u64::MAX),
        perl("load", "b", 9, 9),
    ];
    let spans = spans_of(exported(timeline));
    let number = |span: &Value, key: &str| -> u64 {
        span[key]
            .as_str()
            .and_then(|text| text.parse().ok())
            .expect("a number")
    };
    let began = number(find(&spans, "GET"), "startTimeUnixNano");
    for name in ["script a", "b"] {
        let span = find(&spans, name);
        let (from, until) = (
            number(span, "startTimeUnixNano"),
            number(span, "endTimeUnixNano"),
        );
        assert!(
            began <= from && from <= until && until <= began + 170,
            "{span}"
        );
    }
}

#[test]
fn unknown_methods_and_strange_texts_stay_within_the_json() {
    let mut timeline = timeline();
    timeline.method = "BREW\"},{".into();
    timeline
        .perl
        .push(perl("handler", "PerlHandler \u{0}\"\\\u{7f}é", 141, 142));
    let spans = spans_of(exported(timeline));
    let root = find(&spans, "HTTP");
    assert_eq!(
        attribute(root, "http.request.method")["stringValue"],
        "_OTHER"
    );
    let original = attribute(root, "http.request.method_original");
    assert_eq!(original["stringValue"], "BREW\"},{");
    find(&spans, "PerlHandler \u{0}\"\\\u{7f}é");
}

#[test]
fn back_end_is_a_client_and_the_parent_of_what_lies_behind_it() {
    let mut timeline = timeline();
    timeline.front[1].name = "back end";
    let spans = spans_of(exported(timeline));
    let wait = find(&spans, "back end");
    assert_eq!(
        (&wait["kind"], &wait["spanId"]),
        (&3.into(), &"000000000000000d".into())
    );
    assert_ne!(find(&spans, "worker")["spanId"], "000000000000000d");
    assert!(wait["attributes"].is_null(), "{wait}");
}

/// Returns the span of the wait for a back end.
fn wait_for(call: BackEndCall) -> Value {
    let mut timeline = timeline();
    timeline.front[1].name = "back end";
    // A member that has been tried before.
    let before = BackEndCall {
        address: "192.0.2.99".to_owned(),
        ..call.clone()
    };
    timeline.calls = vec![before, call];
    find(&spans_of(exported(timeline)), "back end").clone()
}

#[test]
fn back_end_has_the_attributes_of_a_client() {
    let call = BackEndCall {
        part: 1,
        scheme: "http",
        address: "app.example".to_owned(),
        port: Some(8080),
        method: "GET".to_owned(),
        url: Some("http://app.example:8080/shop".to_owned()),
        status: 404,
        failure: None,
    };
    let wait = wait_for(call.clone());
    for (key, value) in [
        ("server.address", "app.example"),
        ("http.request.method", "GET"),
        ("url.full", "http://app.example:8080/shop"),
        ("network.protocol.version", "1.1"),
        ("error.type", "404"),
    ] {
        assert_eq!(attribute(&wait, key)["stringValue"], value, "{key}");
    }
    assert_eq!(attribute(&wait, "server.port")["intValue"], "8080");
    let status = attribute(&wait, "http.response.status_code");
    assert_eq!(status["intValue"], "404");
    assert_eq!(wait["status"]["code"], 2, "a client has failed");

    let failed = wait_for(BackEndCall {
        status: 0,
        failure: Some("timeout"),
        ..call.clone()
    });
    assert_eq!(attribute(&failed, "error.type")["stringValue"], "timeout");
    assert!(!failed.to_string().contains("status_code"), "{failed}");

    let program = wait_for(BackEndCall {
        scheme: "fcgi",
        address: "/run/app.sock".to_owned(),
        port: None,
        method: String::new(),
        url: None,
        status: 404,
        ..call
    });
    let transport = attribute(&program, "network.transport");
    assert_eq!(transport["stringValue"], "unix");
    let protocol = attribute(&program, "network.protocol.name");
    assert_eq!(protocol["stringValue"], "fcgi");
    assert!(program["status"].is_null(), "{program}");
}

fn batch(queue: &Queue) -> Option<Vec<ExportedRequest>> {
    match queue.next(None) {
        NextBatch::Ready(batch) => Some(batch),
        NextBatch::Idle | NextBatch::Closed => None,
    }
}

#[test]
fn queue_has_limits_of_requests_and_of_bytes() {
    let queue = Queue::new(3);
    let pushed = (0..5).filter(|_| queue.push(exported(timeline()))).count();
    assert_eq!(pushed, 3);
    queue.close();
    assert!(!queue.push(exported(timeline())), "it is closed");
    assert_eq!(batch(&queue).expect("what waits").len(), 3);
    assert!(batch(&queue).is_none());
    let queue = Queue::new(10_000);
    let mut large = timeline();
    large.perl[0].name = "x".repeat(1 << 20);
    let pushed = (0..100)
        .filter(|_| queue.push(exported(large.clone())))
        .count();
    assert_eq!(pushed, 15, "of 16 MiB");
    assert!(
        batch(&queue).expect("what waits").len() < 3,
        "a batch is small"
    );
}

#[test]
fn memory_of_sent_requests_is_used_again() {
    let queue = Queue::new(1000);
    assert_eq!(queue.take_spare().front.capacity(), 0);
    queue.give_back((0..150).map(|_| exported(timeline())).collect());
    let spares = (0..150).map(|_| queue.take_spare());
    let used = spares.filter(|it| it.front.is_empty() && it.front.capacity() > 0);
    assert_eq!(used.count(), 100, "at most the memory of one batch");
    let mut large = timeline();
    large.front = vec![large.front[0].clone(); 65];
    queue.give_back(vec![exported(large)]);
    assert_eq!(queue.take_spare().front.capacity(), 0);
}

#[test]
fn pauses_grow_and_end() {
    let refusal = |after| Refusal {
        reason: String::new(),
        retry_after: after,
    };
    let seconds = |refusal: &Refusal, attempt| pause(refusal, attempt).map(|it| it.as_secs());
    let busy = refusal(Some(None));
    assert_eq!(
        [1, 2, 3, 4, 5].map(|n| seconds(&busy, n)),
        [Some(2), Some(4), Some(8), Some(16), None]
    );
    let wanted = refusal(Some(Some(Duration::from_secs(900))));
    assert_eq!(seconds(&wanted, 1), Some(30));
    assert_eq!(seconds(&refusal(None), 1), None);
}
