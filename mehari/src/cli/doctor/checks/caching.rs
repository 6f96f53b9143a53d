//! Measures what a visitor who returns, or the next visitor, costs again.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{bytes, MeasuredMean};
use crate::cli::doctor::visits::VisitedPage;
use mehari_config::Handler;
use std::path::Path;

/// A page below this time is not worth a place in the cache.
const LEAST_MS: f64 = 5.0;
/// The seconds for which an advised page is fresh.
const FRESH: u32 = 10;

pub fn check(examination: &Examination) -> Verdict {
    if let Err(why) = examination.running() {
        return Verdict::Unmeasured(why);
    }
    if examination.pages.is_empty() {
        return Verdict::Unmeasured("needs a URL to request: mehari doctor URL".to_owned());
    }
    let mut told = Vec::new();
    let mut advice = Vec::new();
    for page in &examination.pages {
        let found = if is_file(examination, page) {
            advise_expiry(examination, page)
        } else {
            advise_cache(examination, page)
        };
        match found {
            Ok(found) => advice.push(found),
            Err(why) => told.push(format!("{}: {why}", page.url)),
        }
    }
    advice_or(advice, told.join("; "))
}

fn is_file(examination: &Examination, page: &VisitedPage) -> bool {
    let places = mehari_front::places_of(&examination.configuration.site, Path::new(&page.path));
    let mut handlers = places.into_iter().map(|place| place.handler);
    handlers.any(|handler| matches!(handler, Ok(Handler::File)))
}

/// A file without a lifetime: a browser asks for it again, and gets 304.
fn advise_expiry(examination: &Examination, page: &VisitedPage) -> Result<Advice, String> {
    let has = |name: &str| page.plain.field(name).is_some();
    if has("cache-control") || has("expires") {
        return Err("the file says how long it is fresh".to_owned());
    }
    let kind = page.plain.field("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.is_empty() || kind == "text/html" {
        return Err("a page of HTML may change at any time".to_owned());
    }
    let again = page.validated.as_ref().ok_or("the file has no validator")?;
    let took = MeasuredMean::of(&page.took_ms);
    let lines = [
        "ExpiresActive On".to_owned(),
        format!("ExpiresByType {kind} \"access plus 1 hour\""),
    ];
    let text: Vec<&str> = lines.iter().map(String::as_str).collect();
    Ok(Advice {
        what: format!("a browser asks again for {} at each visit", page.url),
        measured: format!(
            "each question takes a round trip and {} (the answer is {}, the file has {}); here {:.2} ± {:.2} ms",
            bytes(again.bytes as f64),
            again.code().unwrap_or_default(),
            bytes(page.plain.body().len() as f64),
            took.mean,
            took.interval
        ),
        figures: vec![figure("question", again.bytes as f64, "bytes a visit")],
        change: examination.configuration.add(&["ExpiresByType", "ExpiresActive"], &lines.join("\n")),
        gain: gain::of_lines(examination, &text, &page.url),
    })
}

/// A program that makes the same page again and again.
fn advise_cache(examination: &Examination, page: &VisitedPage) -> Result<Advice, String> {
    let took = MeasuredMean::of(&page.took_ms);
    if page.plain.code() != Some(200) || took.mean < LEAST_MS {
        return Err(format!(
            "made in {:.2} ± {:.2} ms",
            took.mean, took.interval
        ));
    }
    if page.plain.body() != page.again.body() {
        return Err("two requests got two different pages".to_owned());
    }
    if page.plain.field("set-cookie").is_some() {
        return Err("the page sets a cookie, so it is not the same for all visitors".to_owned());
    }
    let control = page.plain.field("cache-control").unwrap_or_default();
    if ["no-store", "private", "no-cache"]
        .iter()
        .any(|word| control.contains(word))
    {
        return Err(format!("the page forbids it: Cache-Control: {control}"));
    }
    if page.plain.field("age").is_some() {
        return Err("the page came from the cache".to_owned());
    }
    if page.path.contains(['"', '\\']) {
        return Err("a path with quotes is not written into a <Location>".to_owned());
    }
    let lines = [
        format!("<Location \"{}\">", page.path),
        "CacheEnable disk".to_owned(),
        "CacheIgnoreNoLastMod On".to_owned(),
        format!("CacheDefaultExpire {FRESH}"),
        "</Location>".to_owned(),
    ];
    let text: Vec<&str> = lines.iter().map(String::as_str).collect();
    Ok(Advice {
        what: format!("{} is made again for each request, and two requests got the same page", page.url),
        measured: format!(
            "{:.1} ± {:.1} ms and {} for each of {} requests; the cache answers without a worker, if the page is the \
             same for all visitors for {FRESH} s",
            took.mean,
            took.interval,
            bytes(page.plain.body().len() as f64),
            page.took_ms.len()
        ),
        figures: vec![
            figure("page", took.mean, "ms a request"),
            figure("size", page.plain.body().len() as f64, "bytes a request"),
        ],
        change: examination.configuration.add(&[], &lines.join("\n")),
        gain: gain::of_lines(examination, &text, &page.url),
    })
}
