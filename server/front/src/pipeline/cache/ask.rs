//! Looks a request up in the cache before anything runs.

use super::{answer, refresh};
use crate::cache::fill_lock::{Fields, FillLock, FillPurpose};
use crate::cache::{claims, key, CacheStatus};
use crate::filters;
use crate::handlers::HandlerOutcome;
use crate::pipeline::RequestContext;
use crate::request::{Redirect, Request};
use crate::routing::{Route, RouteOutcome};
use crate::shared::Shared;
use mehari_cache::{values, Control, Freshness, Page, StoreLookup};
use mehari_config::CacheRules;
use mehari_http::path::Path as UrlPath;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// A lookup in the cache.
pub struct CacheLookup {
    key: Rc<[u8]>,
    control: Option<Control>,
    /// The statuses with which the awaited requests have failed. 0: the request has not failed.
    failures: Vec<Rc<Cell<u16>>>,
    /// Whether the cache's folder was searched for the page.
    looked: bool,
}

pub enum Step {
    /// The cache is bypassed.
    Pass,
    /// The program must run.
    Ask(Box<FillLock>),
    /// Another request is making the page, or the page is being loaded. Look again afterwards.
    Wait(Pin<Box<dyn Future<Output = ()>>>),
    Answer(HandlerOutcome),
}

/// Fields of a request that make the response depend on the version of the page that the client
/// has.
const CONDITIONS: [&str; 6] = [
    "if-none-match",
    "if-modified-since",
    "if-match",
    "if-unmodified-since",
    "if-range",
    "range",
];

impl CacheLookup {
    /// Prepares the lookup of a request. `None`: responses to this request are not cached.
    pub fn of(shared: &Shared, request: &Request<'_>, route: &Route) -> Option<CacheLookup> {
        let rules = &route.settings.cache;
        let is_read = matches!(request.method, b"GET" | b"HEAD");
        let is_asked = matches!(route.outcome, RouteOutcome::Program | RouteOutcome::Proxied(_))
            && is_covered(rules, request)
            // Perl's handlers of other phases must run for every request.
            && !route.settings.runs_phases()
            && request.redirect.is_none_or(Redirect::is_by_rule)
            // A request with an unsafe method invalidates pages in any case.
            && !(is_read && bypasses(request, route));
        let control = Control::parse(values(request.fields.iter(), "cache-control"));
        // Pragma is for clients that do not know Cache-Control (RFC 9111 section 5.4).
        let pragma = match request.field("cache-control") {
            None => Control::parse(values(request.fields.iter(), "pragma")),
            Some(_) => Control::default(),
        };
        is_asked.then(|| CacheLookup {
            key: key::of(request, route, shared.site().host(route.host)),
            control: (!rules.ignore_cache_control).then_some(Control {
                no_cache: control.no_cache || pragma.no_cache,
                ..control
            }),
            failures: Vec::new(),
            looked: false,
        })
    }
}

/// Whether the cache's directives cover the path, in any spelling.
fn is_covered(rules: &CacheRules, request: &Request<'_>) -> bool {
    !rules.is_off() && UrlPath::decode(request.path()).is_ok_and(|path| rules.covers(&path.merged))
}

/// Whether a GET or HEAD request bypasses the cache.
fn bypasses(request: &Request<'_>, route: &Route) -> bool {
    filters::is_set(request, &route.settings, "no-cache")
        // A request's body is not part of the key.
        || (request.method == b"GET" && has_body(request))
        || claims::hides_fields(request)
}

fn has_body(request: &Request<'_>) -> bool {
    let length = request.field("content-length").unwrap_or(b"0");
    length != b"0" || request.field("transfer-encoding").is_some()
}

/// Looks the request up once, and says what follows.
pub fn step(
    shared: &Rc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    route: &Rc<Route>,
    lookup: &mut CacheLookup,
) -> Step {
    let rules = &route.settings.cache;
    let is_head = request.method == b"HEAD";
    if !is_head && request.method != b"GET" {
        return match request.method {
            b"OPTIONS" | b"PROPFIND" => Step::Pass,
            _ => Step::Ask(fill_lock(
                shared,
                request,
                route,
                lookup,
                FillPurpose::Unsafe,
                None,
            )),
        };
    }
    let now = SystemTime::now();
    let reply = |page: &Rc<Page>, part| {
        Step::Answer(answer::answer_with_page(
            shared, context, request, route, page, part,
        ))
    };
    let control = lookup.control.as_ref();
    let only_kept = control.is_some_and(|control| control.only_if_cached);
    let (cache, key, table) = (&shared.cache, lookup.key.clone(), request.fields.table());
    let limit = rules.lock.unwrap_or(Duration::MAX);
    let take = || {
        let stored = cache.store.vary(&key);
        cache.makers.take(&key, &table, stored.as_ref(), limit)
    };
    let found = cache.store.find(&key, &table, now);
    let page = match &found {
        StoreLookup::Page(page) => match page.freshness(control, now) {
            Freshness::Fresh => return reply(page, CacheStatus::Hit),
            Freshness::StaleButUsable => {
                let number = if is_head { None } else { take().ok() };
                if number.is_some() {
                    let fill_lock = fill_lock(
                        shared,
                        request,
                        route,
                        lookup,
                        FillPurpose::Fill(Some(page.clone())),
                        number,
                    );
                    refresh::begin(shared, request, fill_lock);
                }
                return reply(page, CacheStatus::Stale);
            }
            Freshness::Stale => Some(page.clone()),
        },
        StoreLookup::Refused | StoreLookup::Nothing => None,
    };
    if matches!(found, StoreLookup::Nothing) && !std::mem::replace(&mut lookup.looked, true) {
        if let Some(loading) = shared.cache.load_pages(&lookup.key) {
            return Step::Wait(loading);
        }
    }
    // Requests do not wait for each other if the page cannot be kept.
    let refused = matches!(found, StoreLookup::Refused);
    if only_kept {
        return Step::Answer(crate::pipeline::status_page::refusal(
            shared,
            request,
            Some(&route.settings),
            504,
        ));
    }
    if is_head || request.field("range").is_some() {
        return Step::Pass;
    }
    context.cache.status.set(CacheStatus::Miss);
    let failures = std::mem::take(&mut lookup.failures);
    let mut statuses = failures.iter().map(|failure| failure.get());
    if let Some(status) = statuses.find(|status| *status > 0) {
        return match &page {
            Some(page) if page.is_usable_after_failure(now) => reply(page, CacheStatus::Stale),
            _ => Step::Answer(crate::pipeline::status_page::refusal(
                shared,
                request,
                Some(&route.settings),
                status,
            )),
        };
    }
    let alone = refused || page.as_ref().is_some_and(|page| page.terms.ask) || rules.lock.is_none();
    let fill = |number| {
        Step::Ask(fill_lock(
            shared,
            request,
            route,
            lookup,
            FillPurpose::Fill(page.clone()),
            number,
        ))
    };
    if alone {
        return fill(None);
    }
    let awaited = match take() {
        Ok(number) => return fill(Some(number)),
        Err(awaited) => awaited,
    };
    let since = awaited.since;
    lookup.failures = awaited.failures();
    let wait = cache.makers.wait(awaited);
    // The first request whose wait has reached the limit asks the program too. The other requests
    // then wait for both.
    Step::Wait(match since.checked_add(limit) {
        Some(deadline) => {
            Box::pin(async move { drop(tokio::time::timeout_at(deadline, wait).await) })
        }
        None => Box::pin(wait),
    })
}

fn fill_lock(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Rc<Route>,
    lookup: &CacheLookup,
    kind: FillPurpose,
    number: Option<u64>,
) -> Box<FillLock> {
    Box::new(FillLock {
        cache: shared.cache.clone(),
        key: lookup.key.clone(),
        route: route.clone(),
        has_query: !request.query().is_empty(),
        asked: Instant::now(),
        kind,
        number,
        fill: shared.cache.fills.begin(&lookup.key),
        changed: None,
    })
}

impl FillLock {
    /// Returns the request's fields for the program. The conditions of the kept page replace the
    /// client's conditions. `None`: the fields stay as they are.
    pub fn fields(&self, request: &Request<'_>) -> Fields {
        let FillPurpose::Fill(page) = &self.kind else {
            return None;
        };
        let is_condition = |name: &[u8]| {
            let mut all = CONDITIONS.iter();
            all.any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        let terms = page.as_ref().map(|page| &page.terms);
        let can_ask = terms.is_some_and(|terms| terms.etag.is_some() || terms.modified.is_some());
        if !can_ask && !request.fields.iter().any(|(name, _)| is_condition(name)) {
            return None;
        }
        let kept = request
            .fields
            .iter()
            .filter(|(name, _)| !is_condition(name));
        let mut fields: Vec<(Vec<u8>, Vec<u8>)> = kept
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
        if let Some(terms) = terms {
            let mut push = |name: &str, value: &Option<Vec<u8>>| {
                if let Some(value) = value {
                    fields.push((name.into(), value.clone()));
                }
            };
            push("If-None-Match", &terms.etag);
            push("If-Modified-Since", &terms.modified);
        }
        Some(fields)
    }

    /// Gives the program these fields until its response arrives.
    pub fn change_fields(&mut self, context: &mut RequestContext, fields: Fields) {
        if fields.is_some() {
            let state = context.rule_state.get_or_insert_with(Default::default);
            self.changed = Some(std::mem::replace(&mut state.fields, fields));
        }
    }

    pub fn restore_fields(&mut self, context: &mut RequestContext) {
        if let (Some(before), Some(state)) = (self.changed.take(), &mut context.rule_state) {
            state.fields = before;
        }
    }
}
