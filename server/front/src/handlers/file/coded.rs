//! Responds with compressed files. A thread compresses a file once, and the result is kept.
//!
//! Further requests for the file wait for the result. If compression does not make the file
//! smaller, this is remembered too.

use crate::content::body::FileBody;
use crate::content::decided::Choice;
use crate::content::resource::{Resource, GONE};
use crate::content::variants::{Key, LargeVariant, Variant, VariantLookup};
use crate::content::{Answer, Content, FileTarget, Files};
use crate::filters::{is_set, offers, vary};
use crate::handlers::{file, Backend, Deferred, HandlerOutcome};
use crate::request::Request;
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{Coding, Settings};
use mehari_http::accept;
use mehari_http::condition::Verdict;
use mehari_http::problem::Problem;
use std::rc::Rc;
use std::sync::Arc;

/// The size in bytes of the largest file that is compressed.
const MOST: u64 = 64 << 20;

/// Responds with a file where filters may be configured.
pub fn answer(
    shared: &Shared,
    request: &Request<'_>,
    route: &Route,
    target: &FileTarget,
) -> Result<HandlerOutcome, Problem> {
    let settings = &route.settings;
    let files = &shared.content.files;
    let plainly = || file::answer(request, target, settings, files);
    if settings.output.compression.is_off() || !matches!(request.method, b"GET" | b"HEAD" | b"POST")
    {
        return plainly().map(HandlerOutcome::Answer);
    }
    let resource = target.resource(None, settings, files)?;
    let Some(coding) = coding(request, settings, target, &resource) else {
        return plainly().map(HandlerOutcome::Answer);
    };
    let varied = |mut answer: Answer| {
        let told = target.has_neighbours() || is_set(request, settings, "dont-vary");
        if !told && matches!(answer.status, 200 | 206 | 304) {
            answer.lines.extend_from_slice(vary::LINE);
        }
        HandlerOutcome::Answer(answer)
    };
    // A compressed file that already lies beside the file is preferred.
    let Some(coding) = coding.filter(|coding| !target.has_neighbour(*coding)) else {
        return plainly().map(varied);
    };
    let level = settings.output.compression.level(coding);
    let known = shared.content.variants.known(&resource, coding, level);
    let coded = match &known {
        Some(variant) => variant.resource.clone(),
        None => Rc::new(resource.coded(coding, None)),
    };
    let conditions = file::conditions(request, settings, &resource);
    match conditions.verdict(&coded.representation(), settings.files.ranges) {
        Verdict::Failed => return Ok(HandlerOutcome::Answer(file::bare(412, &coded, settings))),
        Verdict::Unchanged if request.method == b"POST" => {
            return Ok(HandlerOutcome::Answer(file::bare(412, &coded, settings)))
        }
        Verdict::Unchanged => return Ok(HandlerOutcome::Answer(file::bare(304, &coded, settings))),
        Verdict::Ranges(_) => return plainly().map(varied),
        Verdict::Whole => {}
    }
    if let Some(variant) = known {
        return Ok(HandlerOutcome::Answer(whole(&variant, files)));
    }
    let key = Key::new(&resource, coding, level);
    match shared.content.variants.find(&key) {
        VariantLookup::Variant(variant) => {
            resource.variants.note(coding, level, &variant);
            Ok(HandlerOutcome::Answer(whole(&variant, files)))
        }
        VariantLookup::Useless => plainly().map(varied),
        VariantLookup::Nothing => {
            let made = shared.content.variants.make(key, resource.clone());
            let HandlerOutcome::Answer(plain) = plainly().map(varied)? else {
                return Err(GONE);
            };
            let files = files.clone();
            let later: Deferred = Box::pin(async move {
                match made.await {
                    Some(variant) => Ok(whole(&variant, &files)),
                    None => Ok(plain),
                }
            });
            Ok(HandlerOutcome::Backend(Backend::Deferred(later)))
        }
    }
}

/// Returns the coding in which the client gets the file. `None`: no client gets the file
/// compressed, because of its size or type, or because rules forbid compression.
fn coding(
    request: &Request<'_>,
    settings: &Arc<Settings>,
    target: &FileTarget,
    resource: &Rc<Resource>,
) -> Choice {
    let accepted = request.list("accept-encoding").unwrap_or_default();
    let decide = || decide(request, settings, target, resource, &accepted);
    match request.rule_state {
        Some(_) => decide(),
        None => target.codings.choice(settings, resource, &accepted, decide),
    }
}

fn decide(
    request: &Request<'_>,
    settings: &Settings,
    target: &FileTarget,
    resource: &Resource,
    accepted: &[u8],
) -> Choice {
    let rules = &settings.output.compression;
    let media_type = resource.media_type().unwrap_or_default();
    let fits = (rules.least.max(1)..=MOST).contains(&resource.size());
    if !fits || resource.is_coded() {
        return None;
    }
    let path = resource.path();
    let offered = |coding| offers(rules, coding, media_type, path, request, settings);
    let offered = Coding::ALL.map(|coding| (coding, offered(coding)));
    if offered.iter().all(|(_, is_offered)| !is_offered) {
        return None;
    }
    let either = |coding| offered.contains(&(coding, true)) || target.has_neighbour(coding);
    Some(accept::best(accepted, either))
}

fn whole(variant: &Variant, files: &Files) -> Answer {
    let length = variant.length;
    let body = match &variant.file {
        None => {
            return Answer {
                status: 200,
                lines: Vec::new(),
                content: Content::Cached(variant.resource.clone()),
            }
        }
        Some(LargeVariant::InMemory(file)) => FileBody::in_memory(file.clone(), length, files),
        Some(LargeVariant::OnDisk(file)) => FileBody::whole(file.clone(), length, files),
    };
    Answer {
        status: 200,
        lines: variant.resource.lines().to_vec(),
        content: Content::File(Box::new(body)),
    }
}
