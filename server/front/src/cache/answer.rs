//! A kept page as the answer to one request: its age told, conditions asked, compressed for who likes it.

use super::coded::Coded;
use super::Part;
use crate::answer::{Answer, Content};
use crate::dispatch::Dispatch;
use crate::filter;
use crate::handler::{Backend, Later};
use crate::request::Request;
use crate::route::Route;
use crate::shared::Shared;
use crate::turn::Turn;
use crate::work::Work;
use bytes::Bytes;
use mehari_cache::{field, fields, Page};
use std::rc::Rc;
use std::time::SystemTime;

pub fn work<D: Dispatch>(
    shared: &Rc<Shared<D>>,
    turn: &Turn,
    request: &Request<'_>,
    route: &Rc<Route>,
    page: &Rc<Page>,
    part: Part,
) -> Work<D> {
    turn.cached.set(part);
    shared.cache.count(part);
    let settings = &route.settings;
    let length = page.body.len() as u64;
    let plan = filter::plan(request, settings, page.status, &page.lines, Some(length));
    let coding = plan.as_ref().and_then(|plan| plan.coding);
    let finish = |mut lines: Vec<u8>| {
        let age = page.age(SystemTime::now()).as_secs();
        lines.extend_from_slice(format!("Age: {age}\r\n").as_bytes());
        if settings.cache.tell {
            tell(&mut lines, part, request);
        }
        lines
    };
    let lines = match &plan {
        Some(plan) => plan.header(coding, &page.lines),
        None => page.lines.clone(),
    };
    if page.status == 200 && is_known(request, &lines) {
        let lines = finish(about(&lines));
        return Work::Answer(Answer::new(304, lines));
    }
    let answer = |lines: Vec<u8>, body: Bytes| Answer {
        status: page.status,
        lines,
        content: Content::Shared(body),
    };
    let Some((plan, coding)) = plan.zip(coding) else {
        return Work::Answer(answer(finish(lines), page.body.clone()));
    };
    let lines = finish(lines);
    let kept = (page.number, coding, plan.level());
    let plain = finish(plan.header(None, &page.lines));
    let source = page.body.clone();
    let code = move || {
        let coded = filter::whole(coding, plan.level(), &source).ok();
        let shorter = coded.filter(|coded| coded.len() < source.len());
        shorter.map(Bytes::from)
    };
    let coded = shared.cache.coded.find(kept).or_else(|| {
        let is_small = page.body.len() <= filter::IN_PLACE;
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
        return Work::Answer(answer(coded));
    }
    let cache = shared.cache.clone();
    let later: Later = Box::pin(async move {
        let make = async { tokio::task::spawn_blocking(code).await.ok().flatten() };
        Ok(answer(cache.coded.find_or_make(kept, make).await))
    });
    Work::Backend(Backend::Later(later))
}

/// `X-Cache: HIT from host`, as mod_cache says it.
pub fn tell(lines: &mut Vec<u8>, part: Part, request: &Request<'_>) {
    lines.extend_from_slice(b"X-Cache: ");
    lines.extend_from_slice(part.name().as_bytes());
    lines.extend_from_slice(b" from ");
    lines.extend_from_slice(request.server());
    lines.extend_from_slice(b"\r\n");
}

/// Whether the client has what these lines are about (RFC 9110 section 13.2.2).
fn is_known(request: &Request<'_>, lines: &[u8]) -> bool {
    let weak = |tag: &[u8]| tag.strip_prefix(b"W/").unwrap_or(tag).to_vec();
    if let Some(tags) = request.field("if-none-match") {
        let own = field(lines, "etag").map(weak);
        let mut tags = tags.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        return tags.any(|tag| tag == b"*" || own.as_ref().is_some_and(|own| *own == weak(tag)));
    }
    let date = |value: &[u8]| {
        let text = std::str::from_utf8(value).ok()?;
        httpdate::parse_http_date(text).ok()
    };
    let since = request.field("if-modified-since").and_then(date);
    let modified = field(lines, "last-modified").and_then(date);
    matches!((since, modified), (Some(since), Some(modified)) if modified <= since)
}

/// What a 304 says (RFC 9110 section 15.4.5).
fn about(lines: &[u8]) -> Vec<u8> {
    const SAID: [&str; 6] = [
        "cache-control",
        "content-location",
        "etag",
        "expires",
        "last-modified",
        "vary",
    ];
    let mut kept = Vec::new();
    for (name, value) in fields(lines) {
        if SAID
            .iter()
            .any(|said| name.eq_ignore_ascii_case(said.as_bytes()))
        {
            kept.extend_from_slice(name);
            kept.extend_from_slice(b": ");
            kept.extend_from_slice(value);
            kept.extend_from_slice(b"\r\n");
        }
    }
    kept
}
