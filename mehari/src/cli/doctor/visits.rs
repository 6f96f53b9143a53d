//! Requests a page of the running server again and again: what comes back in which form, how long
//! each request takes, its parts, and samples of its Perl.

use super::watching::sampled;
use crate::cli::interrupt;
use crate::cli::trace::trace_own;
use mehari_profile::{Profile, RequestFilter};
use mehari_trace::{Anatomy, Page, TracedPart, TracedRequest};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The most requests of one URL.
const MOST: usize = 2_000;
/// Longer than any sampling: the end of the requests ends it.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The longest wait for the cleanup of a traced request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The codings that common browsers accept.
const CODINGS: &str = "gzip, deflate, br, zstd";

pub struct VisitedPage {
    pub url: String,
    /// The path without the query.
    pub path: String,
    /// Path and query.
    pub target: String,
    pub plain: Page,
    /// The same request a second time.
    pub again: Page,
    /// The response to a client that accepts codings.
    pub coded: Page,
    /// The response to a client that has the page, where the page has a validator.
    pub validated: Option<Page>,
    pub took_ms: Vec<f64>,
    /// Two traces. The first may contain work that a worker does only once.
    pub traces: Vec<Anatomy>,
    pub profile: Profile,
}

/// Requests the URL for the time, and at least `rounds` times.
pub fn visit(
    url: &str,
    control: Option<&Path>,
    server: u32,
    rounds: usize,
    duration: Duration,
) -> Result<VisitedPage, String> {
    let trace = || trace_own(control, url, PATIENCE);
    let traces = vec![trace()?, trace()?];
    let (plain, again) = (get(url, &[])?, get(url, &[])?);
    let coded = get(url, &[("Accept-Encoding", CODINGS)])?;
    let validated = match (plain.field("etag"), plain.field("last-modified")) {
        (Some(tag), _) => Some(get(url, &[("If-None-Match", tag)])?),
        (None, Some(date)) => Some(get(url, &[("If-Modified-Since", date)])?),
        (None, None) => None,
    };
    let target = target_of(url).to_owned();
    let is_over = AtomicBool::new(false);
    let is_interrupted = interrupt::flag()?;
    let filter = RequestFilter::url(&target)?;
    let (took_ms, profile) = std::thread::scope(|scope| {
        let stop = || is_over.load(Ordering::Relaxed);
        let sampling = scope.spawn(move || sampled(server, filter, LONGEST, &stop));
        let begun = Instant::now();
        let mut took_ms = Vec::new();
        let is_enough = |count: usize| {
            count >= MOST
                || count >= rounds
                    && (begun.elapsed() >= duration || is_interrupted.load(Ordering::Relaxed))
        };
        let mut outcome = Ok(());
        while !is_enough(took_ms.len()) && outcome.is_ok() {
            let sent = Instant::now();
            outcome = get(url, &[]).map(drop);
            took_ms.push(sent.elapsed().as_secs_f64() * 1e3);
        }
        is_over.store(true, Ordering::Relaxed);
        let profile = sampling.join().unwrap_or_default();
        outcome.map(|()| (took_ms, profile))
    })?;
    Ok(VisitedPage {
        url: url.to_owned(),
        path: target.split('?').next().unwrap_or_default().to_owned(),
        target,
        plain,
        again,
        coded,
        validated,
        took_ms,
        traces,
        profile,
    })
}

/// Requests a URL some times, so that the workers have loaded what it needs.
pub fn warm_up(url: &str, control: Option<&Path>, rounds: usize) -> Result<(), String> {
    // A trace fails if the address is another server's.
    trace_own(control, url, PATIENCE)?;
    for _ in 0..rounds * 2 {
        get(url, &[])?;
    }
    Ok(())
}

/// Requests a URL with further fields.
pub fn get(url: &str, fields: &[(&str, &str)]) -> Result<Page, String> {
    let mut request = TracedRequest::prepare(url)?;
    for (name, value) in fields {
        request = request.with_field(name, value);
    }
    let page = request.send().map_err(|error| format!("{url}: {error}"))?;
    match page.code() {
        Some(_) => Ok(page),
        None => Err(format!("{url}: the server closed the connection")),
    }
}

/// Returns the path and query of a URL.
pub fn target_of(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    rest.find('/').map_or("/", |at| &rest[at..])
}

/// Returns host and port of a URL.
pub fn authority_of(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    &rest[..rest.find('/').unwrap_or(rest.len())]
}

impl VisitedPage {
    /// Calls a function with each part of the last trace that has this kind.
    pub fn parts(&self, kind: &str) -> Vec<TracedPart> {
        let mut found = Vec::new();
        if let Some(last) = self.traces.last() {
            collect(&last.parts, kind, &mut found);
        }
        found
    }
}

fn collect(parts: &[TracedPart], kind: &str, found: &mut Vec<TracedPart>) {
    for part in parts {
        if part.kind == kind {
            found.push(part.clone());
        }
        collect(&part.parts, kind, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_url_are_found() {
        assert_eq!(target_of("http://a:1/b?c"), "/b?c");
        assert_eq!(target_of("http://a:1"), "/");
        assert_eq!(authority_of("http://a:1/b"), "a:1");
        assert_eq!(authority_of("https://a"), "a");
    }
}
