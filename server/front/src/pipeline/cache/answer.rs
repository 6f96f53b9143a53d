//! Makes the answer to a request from a kept page: with Age, conditions, ranges and compression.

use crate::cache::coded::Coded;
use crate::cache::CacheStatus;
use crate::content::{Answer, Content};
use crate::filters;
use crate::handlers::{Backend, Deferred, HandlerOutcome};
use crate::pipeline::RequestContext;
use crate::request::Request;
use crate::routing::Route;
use crate::shared::Shared;
use bytes::Bytes;
use mehari_cache::{field, fields, Page};
use mehari_config::RangeLimits;
use mehari_http::condition::{date, Conditions};
use mehari_http::range::{self, RangePart, RangeSource};
use std::rc::Rc;
use std::time::SystemTime;

pub fn answer_with_page(
    shared: &Rc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    route: &Rc<Route>,
    page: &Rc<Page>,
    part: CacheStatus,
) -> HandlerOutcome {
    context.cache.status.set(part);
    shared.cache.count(part);
    let settings = &route.settings;
    let length = page.body.len() as u64;
    let plan = filters::plan(request, settings, page.status, &page.lines, Some(length));
    let coding = plan.as_ref().and_then(|plan| plan.coding);
    let finish = |mut lines: Vec<u8>| {
        let age = page.age(SystemTime::now()).as_secs();
        lines.extend_from_slice(format!("Age: {age}\r\n").as_bytes());
        if settings.cache.tell {
            push_x_cache(&mut lines, part, request);
        }
        lines
    };
    let lines = match &plan {
        Some(plan) => plan.header(coding, &page.lines),
        None => page.lines.clone(),
    };
    if page.status == 200 {
        let conditions = request.conditions();
        let (etag, modified) = validators(&lines);
        if conditions.is_known(etag, modified) {
            let lines = finish(about(&lines));
            return HandlerOutcome::Answer(Answer::new(304, lines));
        }
        let plain = || match &plan {
            Some(plan) => plan.header(None, &page.lines),
            None => page.lines.clone(),
        };
        let asked = conditions.asks_for_parts().then(plain);
        if let Some((status, lines, body)) =
            asked.and_then(|plain| part_of(&conditions, page, &plain, settings.files.ranges))
        {
            return HandlerOutcome::Answer(Answer {
                status,
                lines: finish(lines),
                content: body,
            });
        }
    }
    let answer = |lines: Vec<u8>, body: Bytes| Answer {
        status: page.status,
        lines,
        content: Content::Shared(body),
    };
    let Some((plan, coding)) = plan.zip(coding) else {
        return HandlerOutcome::Answer(answer(finish(lines), page.body.clone()));
    };
    let lines = finish(lines);
    let kept = (page.number, coding, plan.level());
    let plain = finish(plan.header(None, &page.lines));
    let source = page.body.clone();
    let code = move || {
        let coded = filters::whole(coding, plan.level(), &source).ok();
        let shorter = coded.filter(|coded| coded.len() < source.len());
        shorter.map(Bytes::from)
    };
    let coded = shared.cache.coded.find(kept).or_else(|| {
        let is_small = page.body.len() <= filters::IN_PLACE;
        let coded = is_small.then(&code)?;
        shared.cache.coded.put(kept, coded.clone());
        Some(coded)
    });
    let status = page.status;
    let source = page.body.clone();
    let answer = move |coded: Coded| {
        let (lines, body) = match coded {
            Some(body) => (lines, body),
            None => (plain, source),
        };
        Answer {
            status,
            lines,
            content: Content::Shared(body),
        }
    };
    if let Some(coded) = coded {
        return HandlerOutcome::Answer(answer(coded));
    }
    let cache = shared.cache.clone();
    let later: Deferred = Box::pin(async move {
        let make = async { tokio::task::spawn_blocking(code).await.ok().flatten() };
        Ok(answer(cache.coded.find_or_make(kept, make).await))
    });
    HandlerOutcome::Backend(Backend::Deferred(later))
}

/// Appends `X-Cache: HIT from host`, as mod_cache does.
pub fn push_x_cache(lines: &mut Vec<u8>, part: CacheStatus, request: &Request<'_>) {
    lines.extend_from_slice(b"X-Cache: ");
    lines.extend_from_slice(part.name().as_bytes());
    lines.extend_from_slice(b" from ");
    lines.extend_from_slice(request.server());
    lines.extend_from_slice(b"\r\n");
}

/// Finds ETag and Last-Modified in a block of lines.
fn validators(lines: &[u8]) -> (&[u8], Option<SystemTime>) {
    let modified = field(lines, "last-modified").and_then(date);
    (field(lines, "etag").unwrap_or_default(), modified)
}

/// Returns the requested ranges of a page (RFC 9110 section 14), uncompressed. `None`: the whole
/// page is sent.
fn part_of(
    conditions: &Conditions<'_>,
    page: &Page,
    lines: &[u8],
    limits: RangeLimits,
) -> Option<(u16, Vec<u8>, Content)> {
    let (etag, modified) = validators(&page.lines);
    let size = page.body.len() as u64;
    let ranges = conditions.ranges(etag, modified, size, limits)?;
    if ranges.is_empty() {
        let answer = crate::content::page::answer(416, None);
        let lines = [&answer.lines[..], range::unsatisfied(size).as_bytes()].concat();
        return Some((416, lines, answer.content));
    }
    let whole = RangeSource {
        size,
        etag: std::str::from_utf8(etag).unwrap_or_default(),
        media_type: field(lines, "content-type").and_then(|text| std::str::from_utf8(text).ok()),
        lines,
    };
    let (lines, parts) = range::parts(&whole, &ranges);
    if let [RangePart {
        text,
        start,
        length,
    }] = &parts[..]
    {
        if text.is_empty() {
            let (start, length) = (*start as usize, *length as usize);
            let body = page.body.slice(start..start + length);
            return Some((206, lines, Content::Shared(body)));
        }
    }
    let mut body = Vec::new();
    for part in parts {
        let (start, length) = (part.start as usize, part.length as usize);
        body.extend_from_slice(&part.text);
        body.extend_from_slice(&page.body[start..start + length]);
    }
    Some((206, lines, Content::Bytes(body)))
}

/// Returns the lines that a 304 repeats (RFC 9110 section 15.4.5).
fn about(lines: &[u8]) -> Vec<u8> {
    const SAID: [&str; 7] = [
        "date",
        "cache-control",
        "content-location",
        "etag",
        "expires",
        "last-modified",
        "vary",
    ];
    let is_said = |name: &[u8]| {
        let is = |said: &&str| name.eq_ignore_ascii_case(said.as_bytes());
        SAID.iter().any(is)
    };
    some_of(lines, is_said)
}

fn some_of(lines: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut kept = Vec::new();
    for (name, value) in fields(lines).filter(|(name, _)| is_wanted(name)) {
        for part in [name, b": ", value, b"\r\n"] {
            kept.extend_from_slice(part);
        }
    }
    kept
}
