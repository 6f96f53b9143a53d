//! Server-side includes (mod_include): pages whose elements the front fills in.
//!
//! `handling` comes here for a file that is to be parsed. `page` reads it, once for as long as the file stays; `render` goes
//! through its parts; `fetch` asks within the server for what it includes, by the ordinary way: rules, workers and all.

mod branches;
mod condition;
mod element;
mod fetch;
mod page;
mod render;
mod variables;

use crate::answer::{Answer, Content};
use crate::handler::file::resource::Resource;
use crate::handler::file::{self, FileTarget, Files};
use crate::handler::gateway;
use crate::handler::{Backend, Later};
use crate::handling::HandlerOutcome;
use crate::owned_request::OwnedRequest;
use crate::problem::Problem;
use crate::request::{path_of, Request};
use crate::route::Route;
use crate::shared::Shared;
use bytes::Bytes;
use mehari_config::{ByMode, Settings};
use mehari_text::percent;
use page::Page;
use render::{Document, Render};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use variables::{TooLong, Variables};

/// A page that is longer is not parsed, and none gets longer by what it includes.
const MOST: usize = 16 << 20;
/// Pages kept at most, and bytes of them.
const PAGES: usize = 1024;
const PAGES_BYTES: usize = 64 << 20;

/// Pages that have been read, for as long as their files stay as they are.
#[derive(Default)]
pub struct Pages {
    known: RefCell<HashMap<Vec<u8>, Kept>>,
    bytes: Cell<usize>,
}

/// Of which file, read how.
type Kept = (Weak<Resource>, bool, Rc<Page>);

impl Pages {
    fn known(&self, resource: &Rc<Resource>, legacy: bool) -> Option<Rc<Page>> {
        let pages = self.known.borrow();
        let (of, how, page) = pages.get(resource.path())?;
        let same = of.upgrade().is_some_and(|of| Rc::ptr_eq(&of, resource));
        (same && *how == legacy).then(|| page.clone())
    }

    fn keep(&self, resource: &Rc<Resource>, legacy: bool, page: Rc<Page>) {
        let mut pages = self.known.borrow_mut();
        let bytes = self.bytes.get() + page.source.len();
        let is_full = pages.len() >= PAGES || bytes > PAGES_BYTES;
        if is_full {
            pages.clear();
        }
        self.bytes
            .set(if is_full { page.source.len() } else { bytes });
        let kept = (Rc::downgrade(resource), legacy, page);
        pages.insert(resource.path().to_vec(), kept);
    }
}

/// Whether a file is to be parsed.
pub fn are_for(settings: &Settings, resource: &Resource) -> bool {
    let includes = &settings.output.includes;
    !includes.are_off()
        && includes.are_for(resource.path(), resource.media_type(), || {
            mode(resource.path())
        })
}

fn mode(file: &[u8]) -> u32 {
    crate::route::stat(file).map_or(0, |(_, stat)| stat.st_mode)
}

/// What the place of a file says of includes; `None`: it is sent as it is.
pub fn work(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    target: &FileTarget,
) -> Option<Result<HandlerOutcome, Problem>> {
    if route.settings.output.includes.are_off() || !matches!(request.method, b"GET" | b"HEAD") {
        return None;
    }
    let resource = match target.resource(None, &route.settings, &shared.files) {
        Ok(resource) => resource,
        Err(problem) => return Some(Err(problem)),
    };
    let parsed = are_for(&route.settings, &resource);
    parsed.then(|| {
        Ok(HandlerOutcome::Backend(Backend::Later(later(
            shared, request, route, resource,
        ))))
    })
}

fn later(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    resource: Rc<Resource>,
) -> Later {
    let settings = route.settings.clone();
    let mut variables = Variables::default();
    gateway::variables::each(
        request,
        route,
        &shared.site(),
        &shared.cgi,
        &mut |name, value| {
            // What is too much is not there for the page.
            let _ = variables.put(name, value);
        },
    );
    let document = Document::of(path_of(request.resource), route);
    // These few are short, or as long as the request's target is.
    let _ = describe(&mut variables, request, route, &resource);
    let status = request.redirect.map_or(200, |redirect| redirect.status);
    let render = Render::new(
        shared.clone(),
        OwnedRequest::of(request, Some(fields_for_parts(request))),
        variables,
    );
    Box::pin(async move {
        let page = read(&render.shared, &resource, &settings).await?;
        let mut body = Vec::new();
        render.page(&page, &document, &mut body).await?;
        Ok(Answer {
            status: if status >= 400 { status } else { 200 },
            lines: lines(&resource, &settings),
            content: Content::Bytes(body),
        })
    })
}

/// What a page knows of itself, and programs that it includes.
fn describe(
    variables: &mut Variables,
    request: &Request<'_>,
    route: &Route,
    resource: &Resource,
) -> Result<(), TooLong> {
    variables.modified = Some(resource.modified());
    let name = route.file.rsplit(|byte| *byte == b'/').next();
    variables.set(b"DOCUMENT_NAME", name.unwrap_or_default())?;
    variables.set(
        b"DOCUMENT_URI",
        &percent::decode_lenient(path_of(request.resource)),
    )?;
    variables.set(b"DOCUMENT_ARGS", request.query())?;
    variables.set(
        b"QUERY_STRING_UNESCAPED",
        &percent::decode_lenient(request.query()),
    )?;
    if !route.path_info.is_empty() {
        variables.set(b"DOCUMENT_PATH_INFO", &route.path_info)?;
    }
    Ok(())
}

/// What goes for the page goes for no part of it: whether it has changed, which range of it is wanted, how it may be
/// coded. Nor is there a body for them.
fn fields_for_parts(request: &Request<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    const OF_THE_WHOLE: [&[u8]; 9] = [
        b"if-match",
        b"if-none-match",
        b"if-modified-since",
        b"if-unmodified-since",
        b"if-range",
        b"range",
        b"accept-encoding",
        b"content-length",
        b"transfer-encoding",
    ];
    let is_of_it = |name: &[u8]| {
        let mut known = OF_THE_WHOLE.iter();
        known.any(|known| known.eq_ignore_ascii_case(name))
    };
    let fields = request.fields.iter().filter(|(name, _)| !is_of_it(name));
    fields
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect()
}

fn lines(resource: &Resource, settings: &Settings) -> Vec<u8> {
    let media_type = resource.media_type().unwrap_or("text/html");
    let mut lines = format!("Content-Type: {media_type}\r\n");
    if settings.output.includes.by_mode == ByMode::Full && mode(resource.path()) & 0o010 != 0 {
        let modified = httpdate::fmt_http_date(resource.modified());
        lines.push_str(&format!("Last-Modified: {modified}\r\n"));
    }
    lines.into_bytes()
}

/// The page, parsed; the status instead where it cannot be.
async fn read(
    shared: &Shared,
    resource: &Rc<Resource>,
    settings: &Arc<Settings>,
) -> Result<Rc<Page>, u16> {
    let legacy = settings.output.includes.legacy;
    if let Some(page) = shared.pages.known(resource, legacy) {
        return Ok(page);
    }
    let page = Rc::new(Page::parse(bytes(&shared.files, resource).await?, legacy));
    shared.pages.keep(resource, legacy, page.clone());
    Ok(page)
}

/// The file, which a thread reads where it is not in memory.
async fn bytes(files: &Files, resource: &Rc<Resource>) -> Result<Bytes, u16> {
    if resource.is_cached() {
        return Ok(resource.bytes());
    }
    if resource.size() > MOST as u64 {
        return Err(500);
    }
    let opened = resource.open(files).map_err(|problem| problem.status)?;
    let read = files.readers.read(&opened, 0, resource.size() as usize, 0);
    let read = read.await.map_err(|_| file::GONE.status)?;
    Ok(Bytes::from(read))
}
