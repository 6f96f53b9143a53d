//! Responds with static files: representation, conditions, ranges (RFC 9110 sections 13 and 14).
//!
//! Small files are sent from memory, large files from the page cache, one window at a time. `coded`
//! responds where filters are configured. The file was found and access to it was granted before.

pub mod coded;
pub mod encoding;

use crate::content::body::FileBody;
use crate::content::resource::Resource;
use crate::content::{Answer, Content, FileTarget, Files};
use crate::request::Request;
use mehari_http::condition::{Conditions, Verdict};
use mehari_http::problem::Problem;
use mehari_http::range;

use mehari_config::{Settings, METHODS};
use std::rc::Rc;

const ALLOW: &str = "Allow: GET, HEAD, POST, OPTIONS\r\n";

/// Responds with the file in its current state. `Err(404)`: the file has vanished since routing.
pub fn answer(
    request: &Request<'_>,
    target: &FileTarget,
    settings: &Settings,
    files: &Files,
) -> Result<Answer, Problem> {
    if let Some(answer) = without_content(request) {
        return Ok(answer);
    }
    let coding = encoding::choose(request, target);
    let resource = target.resource(coding, settings, files)?;
    let conditions = conditions(request, settings, &resource);
    match conditions.verdict(&resource.representation(), settings.files.ranges) {
        Verdict::Failed => Ok(bare(412, &resource, settings)),
        // 304 would tell the client to take the answer to a GET from its cache.
        Verdict::Unchanged if request.method == b"POST" => Ok(bare(412, &resource, settings)),
        Verdict::Unchanged => Ok(bare(304, &resource, settings)),
        Verdict::Whole => whole(resource.clone(), settings, files),
        Verdict::Ranges(ranges) => partial(resource.clone(), ranges, settings, files),
    }
    .map(|answer| encoding::with_token(request, &resource, answer))
}

/// Returns the conditions that a file must meet. As in Apache, only those about ranges count if the
/// filter INCLUDES is named for the file.
pub fn conditions<'a>(
    request: &Request<'a>,
    settings: &Settings,
    resource: &Resource,
) -> Conditions<'a> {
    let conditions = request.conditions();
    if settings.output.includes.are_inserted(resource.path()) {
        conditions.about_ranges()
    } else {
        conditions
    }
}

/// Returns the answer to a method that does not concern the content. As in Apache, it is the same
/// for a file that does not exist, and the status of an unknown method is 501.
pub fn without_content(request: &Request<'_>) -> Option<Answer> {
    let is_known = |method| METHODS.iter().any(|known| known.as_bytes() == method);
    match request.method {
        // As in Apache, a POST to a file gets the file: a form may lead to a static page.
        b"GET" | b"HEAD" | b"POST" => None,
        b"OPTIONS" => Some(Answer::new(200, ALLOW)),
        method if is_known(method) => Some(refused_method(request, 405)),
        _ => Some(refused_method(request, 501)),
    }
}

/// Returns the page of a status with the allowed methods.
fn refused_method(request: &Request<'_>, status: u16) -> Answer {
    let mut answer = crate::content::page::answer(status, request.field("accept"));
    answer.lines.extend_from_slice(ALLOW.as_bytes());
    answer
}

/// Returns an answer whose only fields identify the representation (RFC 9110 section 15.4.5). A 304
/// has the media type too if `ExpiresByType` may need the type. The header rules remove it.
pub fn bare(status: u16, resource: &Resource, settings: &Settings) -> Answer {
    let mut answer = Answer::new(status, resource.validators());
    if let (304, true, Some(media_type)) =
        (status, settings.rules.expires.active, resource.media_type())
    {
        let line = format!("Content-Type: {media_type}\r\n");
        answer.lines.extend_from_slice(line.as_bytes());
    }
    answer
}

fn whole(resource: Rc<Resource>, settings: &Settings, files: &Files) -> Result<Answer, Problem> {
    if resource.is_cached() {
        return Ok(Answer {
            status: 200,
            lines: Vec::new(),
            content: Content::Cached(resource),
        });
    }
    Ok(Answer {
        status: 200,
        lines: resource.lines().to_vec(),
        content: Content::File(Box::new(
            resource.whole(files)?.copied(settings.files.copied),
        )),
    })
}

fn partial(
    resource: Rc<Resource>,
    ranges: Vec<range::Range>,
    settings: &Settings,
    files: &Files,
) -> Result<Answer, Problem> {
    if ranges.is_empty() {
        let mut answer = crate::content::page::answer(416, None);
        let line = range::unsatisfied(resource.size());
        answer.lines.extend_from_slice(line.as_bytes());
        return Ok(answer);
    }
    let file = resource.open(files)?;
    let (lines, parts) = range::parts(&resource.range_source(), &ranges);
    let body = FileBody::new(file, parts, Some(resource), files);
    Ok(Answer {
        status: 206,
        lines,
        content: Content::File(Box::new(body.copied(settings.files.copied))),
    })
}
