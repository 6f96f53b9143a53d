//! Handles a program's response that the cache has asked for: keeps the response as a page, renews
//! the old page, or does nothing.

use super::answer;
use crate::cache::fill_lock::{FillLock, FillPurpose, UNKEPT};
use crate::cache::{key, CacheStatus};
use crate::filters::header_rules::Tables;
use crate::handlers::{Backend, Captured, HandlerOutcome};
use crate::pipeline::headers::{self, Unruled};
use crate::pipeline::{respond, start, RequestContext};
use crate::request::Request;
use crate::shared::Shared;
use mehari_cache::{field, fields, Page, Terms};
use mehari_config::CacheRules;
use mehari_http::header_block::HeaderBlock;
use mehari_pool::{Body, Head, UNMARKED};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// How long requests do not wait for each other after a program's error.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// Fields that belong to a single response and are not kept with the page.
const OWN: [&str; 6] = [
    "server",
    "age",
    "x-cache",
    "content-length",
    "set-cookie2",
    "x-cache-purge",
];

/// The head of a program's response, and the program.
pub struct Received<'a> {
    pub head: &'a mut Head,
    /// The positions of the known lines in the head.
    pub lines: &'a HeaderBlock,
    pub backend: &'a mut Backend,
}

/// Gives the cache a program's response. Returns the outcome that replaces the response: the kept
/// page, or the program that is asked again.
pub fn receive(
    shared: &Rc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    mut fill_lock: Box<FillLock>,
    received: Received<'_>,
) -> Option<HandlerOutcome> {
    let Received {
        head,
        lines,
        backend,
    } = received;
    let route = fill_lock.route.clone();
    let rules = &route.settings.cache;
    let status = head.status;
    let old = match &fill_lock.kind {
        FillPurpose::Unsafe => {
            invalidate(&fill_lock, status, lines, &head.lines);
            fill_lock.kind = FillPurpose::Settled;
            return None;
        }
        FillPurpose::Settled => return None,
        FillPurpose::Fill(old) => old.clone(),
    };
    if let (304, Some(old)) = (status, &old) {
        let own = own_lines(&head.lines, lines);
        if is_of_other_page(&own, old) {
            // The program is asked again, with the client's own conditions.
            shared.cache.remove(&fill_lock.key);
            return Some(start::begin(shared, request, &route, Body::Empty));
        }
        let page = update_page(shared, context, request, &fill_lock, old, own);
        return Some(answer::answer_with_page(
            shared,
            context,
            request,
            &route,
            &page,
            CacheStatus::Revalidate,
        ));
    }
    // The page as the client sees it, after `Header` and `Expires` rules.
    let unruled = Unruled {
        status,
        lines: [&head.lines[..], &[]],
        tables: if head.is_redirect {
            Tables::Server
        } else {
            respond::tables(context, backend, status)
        },
        marks: &head.marks,
        repeats_vary: lines.vary_fields > 1,
        type_of_parts: None,
    };
    let ruled = headers::of_response(shared, context, || *request, unruled);
    let said = ruled.as_deref().unwrap_or(&head.lines);
    let arrival = fill_lock.arrival(said);
    let now = arrival.at;
    if status >= 500 {
        // A usable old page is sent and stays in the cache, and a later request asks the program
        // again.
        let Some(old) = old.filter(|old| old.is_usable_after_failure(now)) else {
            shared.cache.store.refuse(&fill_lock.key, now, AFTER_ERROR);
            fill_lock.fail(status);
            return None;
        };
        return Some(answer::answer_with_page(
            shared,
            context,
            request,
            &route,
            &old,
            CacheStatus::Stale,
        ));
    }
    let length = lines.content_length.or(head.content_length);
    let fits = length.is_none_or(|length| (rules.min_size..=rules.max_size).contains(&length));
    let terms = Terms::of(
        rules,
        &request.fields.table(),
        fill_lock.has_query,
        status,
        said,
        arrival,
    );
    match terms {
        Ok(terms) if fits => {
            fill_lock.note_variant(&terms.vary);
            let page = Page {
                status,
                lines: kept_lines(&dated(own_lines(&head.lines, lines), now), rules),
                body: Default::default(),
                since: now,
                terms,
                number: shared.cache.store.next_number(),
            };
            let sizes = rules.min_size..=rules.max_size;
            backend.capture(|inner| Captured::new(inner, fill_lock, page, sizes, length));
        }
        _ => {
            if old.is_some() {
                shared.cache.remove(&fill_lock.key);
            }
            shared.cache.store.refuse(&fill_lock.key, now, UNKEPT);
        }
    }
    shared.cache.count(CacheStatus::Miss);
    if rules.tell {
        answer::push_x_cache(&mut head.lines, CacheStatus::Miss, request);
    }
    None
}

/// Returns a usable kept page after the program has given no response. `status` is the status that
/// the client gets without such a page.
pub fn answer_after_failure(
    shared: &Rc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    fill_lock: &FillLock,
    status: u16,
) -> Option<HandlerOutcome> {
    fill_lock.fail(status);
    let FillPurpose::Fill(Some(old)) = &fill_lock.kind else {
        return None;
    };
    let helps = old.is_usable_after_failure(SystemTime::now());
    helps.then(|| {
        answer::answer_with_page(
            shared,
            context,
            request,
            &fill_lock.route,
            old,
            CacheStatus::Stale,
        )
    })
}

/// Invalidates pages as in RFC 9111 section 4.4.
fn invalidate(fill_lock: &FillLock, status: u16, lines: &HeaderBlock, block: &[u8]) {
    if !(200..400).contains(&status) {
        return;
    }
    fill_lock.cache.invalidate(key::base(&fill_lock.key));
    if let Some(target) = lines.location.clone().map(|span| &block[span]) {
        if let Some(base) = key::of_location(&fill_lock.key, target) {
            fill_lock.cache.invalidate(&base);
        }
    }
}

/// Whether a 304 with these lines is about another page than the kept one: the 304 has a strong
/// ETag, and the kept page has another ETag. Such a 304 validates nothing (RFC 9111 section 4.3.4).
/// A back end that has compressed the page may have made its ETag weak, which does not count.
fn is_of_other_page(lines: &[u8], kept: &Page) -> bool {
    let (told, known) = (field(lines, "etag"), field(&kept.lines, "etag"));
    let (Some(told), Some(known)) = (told, known) else {
        return false;
    };
    told.starts_with(b"\"") && known.strip_prefix(b"W/").unwrap_or(known) != told
}

/// Replaces the old page by the page with the fields of a 304 (RFC 9111 section 4.3.4). Returns the
/// new page. `own`: the program's fields. Like the page of a first response, the new page has only
/// the program's fields, because `Header` rules may add fields that are for a single client.
fn update_page(
    shared: &Rc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    fill_lock: &FillLock,
    old: &Rc<Page>,
    own: Vec<u8>,
) -> Rc<Page> {
    let rules = &fill_lock.route.settings.cache;
    let arrival = fill_lock.arrival(&own);
    let lines = old.update_header(&dated(own, arrival.at));
    let unruled = Unruled {
        status: old.status,
        lines: [&lines, &[]],
        tables: Tables::Handler,
        marks: &UNMARKED,
        repeats_vary: false,
        type_of_parts: None,
    };
    let ruled = headers::of_response(shared, context, || *request, unruled);
    let store = &shared.cache.store;
    match Terms::of(
        rules,
        &request.fields.table(),
        fill_lock.has_query,
        old.status,
        ruled.as_deref().unwrap_or(&lines),
        arrival,
    ) {
        Ok(terms) => {
            let page = Rc::new(Page {
                lines: kept_lines(&lines, rules),
                since: arrival.at,
                terms,
                number: store.next_number(),
                ..(**old).clone()
            });
            if page.terms.vary != old.terms.vary {
                // The old page is for requests that may now get another variant.
                shared.cache.remove(&fill_lock.key);
            }
            fill_lock.store(page.clone());
            page
        }
        Err(_) => {
            shared.cache.remove(&fill_lock.key);
            old.clone()
        }
    }
}

/// Adds the time of arrival as Date if the lines have no Date (RFC 9110 section 6.6.1).
fn dated(mut lines: Vec<u8>, now: SystemTime) -> Vec<u8> {
    if field(&lines, "date").is_none() {
        let date = httpdate::fmt_http_date(now);
        lines.extend_from_slice(format!("Date: {date}\r\n").as_bytes());
    }
    lines
}

/// Returns the lines of a program's response without those for the front.
fn own_lines(block: &[u8], lines: &HeaderBlock) -> Vec<u8> {
    let mut own = Vec::with_capacity(block.len());
    lines.push_kept(block, &mut own);
    own
}

/// Returns the lines that are kept with a page.
fn kept_lines(lines: &[u8], rules: &CacheRules) -> Vec<u8> {
    let mut kept = Vec::with_capacity(lines.len());
    for (name, value) in fields(lines) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if OWN.into_iter().any(is) || rules.ignore_headers.iter().any(|other| is(other)) {
            continue;
        }
        kept.extend_from_slice(name);
        kept.extend_from_slice(b": ");
        kept.extend_from_slice(value);
        kept.extend_from_slice(b"\r\n");
    }
    kept
}
