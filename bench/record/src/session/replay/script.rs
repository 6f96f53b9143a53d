//! Prepares an archive for replay: rendered requests, their order, and the expected answers.

use std::collections::HashSet;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::Method;
use url::{Position, Url};

use crate::session::har::{self, Archive, Entry};
use crate::session::{headers, Target};

pub struct Script {
    pub steps: Vec<Step>,
    pub target: Target,
    /// The number of entries of other origins, which are not replayed.
    pub foreign: usize,
}

pub struct Step {
    pub method: Method,
    /// The URL by which the cookie jar chooses cookies.
    pub url: Url,
    /// Path and query as sent.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The recorded cookies that no recorded answer has set. A script in the browser or an earlier
    /// visit has set them.
    pub own_cookies: Vec<(String, String)>,
    /// The steps that must end before this step starts. Steps for which an earlier step waits are
    /// left out.
    pub after: Vec<usize>,
    /// The pause before this step in microseconds: since the end of the last awaited step, or since
    /// the session's start.
    pub pause_us: u64,
    pub expected: Expected,
}

pub struct Expected {
    pub status: u16,
    /// `None` if the recording has no body to compare.
    pub body: Option<Vec<u8>>,
}

impl Script {
    /// Makes the script of an archive. `to` replaces the recorded target.
    ///
    /// # Errors
    ///
    /// A text with the reason why the archive cannot be replayed.
    pub fn of(archive: &Archive, to: Option<Target>) -> Result<Script, String> {
        let entries = &archive.log.entries;
        let first = entries
            .first()
            .ok_or("the file has no entries; there is nothing to play")?;
        let origin = Url::parse(&first.request.url)
            .ok()
            .and_then(|url| Target::of(&url))
            .ok_or_else(|| format!("`{}` is not a URL that can be played", first.request.url))?;
        let target = to.unwrap_or_else(|| origin.clone());
        let own: Vec<(&Entry, Url)> = entries
            .iter()
            .filter_map(|entry| Some((entry, Url::parse(&entry.request.url).ok()?)))
            .filter(|(_, url)| Target::of(url).as_ref() == Some(&origin))
            .collect();
        let set: HashSet<&str> = entries
            .iter()
            .flat_map(|entry| &entry.response.cookies)
            .map(|cookie| cookie.name.as_str())
            .collect();
        let mut steps = own
            .iter()
            .map(|(entry, url)| Step::of(entry, url, &origin, &target, &set))
            .collect::<Result<Vec<Step>, String>>()?;
        let recorded: Vec<&Entry> = own.iter().map(|(entry, _)| *entry).collect();
        wait_as_recorded(&mut steps, &recorded);
        Ok(Script {
            foreign: entries.len() - steps.len(),
            steps,
            target,
        })
    }
}

impl Step {
    fn of(
        entry: &Entry,
        url: &Url,
        origin: &Target,
        target: &Target,
        set: &HashSet<&str>,
    ) -> Result<Step, String> {
        let request = &entry.request;
        let path = url[Position::BeforePath..Position::AfterQuery].to_owned();
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| format!("`{}` is not a request method", request.method))?;
        let url = Url::parse(&format!("{}{path}", target.origin()))
            .map_err(|_| format!("`{path}` is not a path"))?;
        let body = match &request.post_data {
            Some(data) => data
                .bytes()
                .ok_or_else(|| format!("the body of {method} {path} is in no known encoding"))?,
            None => Vec::new(),
        };
        Ok(Step {
            headers: sent_headers(request, origin, target, &method, body.len()),
            method,
            url,
            path,
            body,
            own_cookies: request_cookies(request)
                .filter(|(name, _)| !set.contains(name.as_str()))
                .collect(),
            after: Vec::new(),
            pause_us: 0,
            expected: Expected::of(&entry.response),
        })
    }
}

/// Sets for which steps each step waits. The steps are in the order of their starts, so a step also
/// waits for everything for which an earlier step waits.
fn wait_as_recorded(steps: &mut [Step], recorded: &[&Entry]) {
    let mut by_end: Vec<usize> = (0..recorded.len()).collect();
    by_end.sort_by_key(|place| ended_unix_us(recorded[*place]));
    let mut by_end = by_end.into_iter().peekable();
    let mut last_end = recorded.first().map_or(0, |first| first.started_unix_us);
    for (place, step) in steps.iter_mut().enumerate() {
        let start = recorded[place].started_unix_us;
        // An entry without duration must not wait for itself or a later entry.
        let has_ended =
            |earlier: &usize| *earlier < place && ended_unix_us(recorded[*earlier]) <= start;
        while let Some(earlier) = by_end.next_if(has_ended) {
            last_end = last_end.max(ended_unix_us(recorded[earlier]));
            step.after.push(earlier);
        }
        step.pause_us = start.saturating_sub(last_end);
    }
}

fn ended_unix_us(entry: &Entry) -> u64 {
    entry
        .started_unix_us
        .saturating_add((entry.time.max(0.0) * 1e3) as u64)
}

/// Returns the header fields to send. The fields of the connection, of framing and of cookies are
/// left out.
fn sent_headers(
    request: &har::Request,
    origin: &Target,
    target: &Target,
    method: &Method,
    body_length: usize,
) -> HeaderMap {
    let mut sent = HeaderMap::new();
    for pair in &request.headers {
        // Browsers list HTTP/2 pseudo-header fields such as `:authority` among the fields.
        let (Ok(name), Ok(value)) = (
            HeaderName::try_from(pair.name.as_str()),
            HeaderValue::from_str(&pair.value),
        ) else {
            continue;
        };
        sent.append(name, value);
    }
    headers::strip_hop_by_hop(&mut sent);
    for name in ["host", "content-length", "cookie", "expect"] {
        sent.remove(name);
    }
    // Bodies were recorded without compression and are compared without compression.
    if sent.contains_key("accept-encoding") {
        sent.insert("accept-encoding", HeaderValue::from_static("identity"));
    }
    for name in [hyper::header::ORIGIN, hyper::header::REFERER] {
        headers::move_origin(&mut sent, name, origin, target);
    }
    if let Ok(host) = HeaderValue::from_str(&target.authority) {
        sent.insert(hyper::header::HOST, host);
    }
    if body_length > 0 || [Method::POST, Method::PUT, Method::PATCH].contains(method) {
        sent.insert(
            hyper::header::CONTENT_LENGTH,
            HeaderValue::from(body_length),
        );
    }
    sent
}

/// Returns the cookies of a request. They come from the entry's list of cookies, or from the
/// `Cookie` field if that list is empty.
fn request_cookies(request: &har::Request) -> impl Iterator<Item = (String, String)> + '_ {
    let header = request
        .headers
        .iter()
        .filter(|pair| pair.name.eq_ignore_ascii_case("cookie"))
        .flat_map(|pair| pair.value.split(';'))
        .filter_map(|part| part.trim().split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let listed = request
        .cookies
        .iter()
        .map(|cookie| (cookie.name.clone(), cookie.value.clone()));
    let listed: Vec<_> = listed.collect();
    let header: Vec<_> = if listed.is_empty() {
        header.collect()
    } else {
        Vec::new()
    };
    listed.into_iter().chain(header)
}

impl Expected {
    fn of(response: &har::Response) -> Expected {
        let content = &response.content;
        let body = content
            .text
            .as_ref()
            .and_then(|text| har::decode(text, content.encoding.as_deref()));
        Expected {
            status: response.status,
            body,
        }
    }
}
