//! Server-side includes (mod_include): processes the elements of pages.
//!
//! `pipeline::start` calls [`begin_page`] for a file, which may have includes. `content::includes`
//! parses a page and keeps the result while its file is unchanged. `render` processes the parts of
//! the page. Included paths are requested through [`Subrequests`], under all rules.
//!
//! `stream` renders the responses of programs, which `pipeline::filter` passes through
//! [`begin_program`].

mod branches;
mod element;
mod render;
mod stream;
mod variables;

use crate::content::includes::page::Page;
use crate::content::includes::{are_for, mode};
use crate::content::resource::{Resource, GONE};
use crate::content::{Answer, Content, FileTarget, Files};
use crate::handlers::{gateway, Backend, Deferred, HandlerOutcome};
use crate::request;
use crate::request::owned::OwnedRequest;
use crate::request::Request;
use crate::routing::{Route, RouteOutcome};
use crate::shared::Shared;
use bytes::Bytes;
use element::folder_of;
use mehari_config::{ByMode, Settings};
use mehari_http::problem::Problem;
use mehari_text::percent;
pub use render::{Document, Render};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;
pub use stream::Rendering;
use variables::{TooLong, Variables};

/// The response of an included path.
pub enum Fetched {
    /// The response is on its way already, behind what the page has printed.
    Sent,
    Bytes(Vec<u8>),
    Page(Rc<Page>, Document),
}

/// A sub-request that runs while a page is rendered. The error is the status of a refusal.
pub type Asking<'r, T> = Pin<Box<dyn Future<Output = Result<T, u16>> + 'r>>;

/// Requests other paths of this server, under the rules that hold for clients. The pipeline
/// implements this trait.
pub trait Subrequests {
    /// Returns the response of the path. Before the path is requested, the implementation may send
    /// away what the page has printed.
    fn fetch<'r>(
        &self,
        render: &'r Render,
        target: Vec<u8>,
        printed: &'r mut Vec<u8>,
    ) -> Asking<'r, Fetched>;
    /// Returns the name of a path's file, if the request may read this file. The caller shows the
    /// file's size or date.
    fn file_of<'r>(&self, render: &'r Render, target: Vec<u8>) -> Asking<'r, Vec<u8>>;
}

/// The most bytes of a page, before and after rendering.
pub const MOST: usize = 16 << 20;
/// Starts to render the file if includes are configured for it. `None`: the file is sent unparsed,
/// or Perl's output filters come before the filter INCLUDES.
pub fn begin_page(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    target: &FileTarget,
    subrequests: Box<dyn Subrequests>,
) -> Option<Result<HandlerOutcome, Problem>> {
    let is_later = route.is_filtered() && route.settings.output.includes.after_perl;
    if route.settings.output.includes.are_off()
        || is_later
        || !matches!(request.method, b"GET" | b"HEAD" | b"POST")
    {
        return None;
    }
    let resource = match target.resource(None, &route.settings, &shared.content.files) {
        Ok(resource) => resource,
        Err(problem) => return Some(Err(problem)),
    };
    let parsed = are_for(&route.settings, &resource);
    parsed.then(|| {
        Ok(HandlerOutcome::Backend(Backend::Deferred(later(
            shared,
            request,
            route,
            Source::File(resource),
            subrequests,
        ))))
    })
}

/// A page that is not a whole file, such as the body inside a type map.
pub struct Text {
    pub bytes: Vec<u8>,
    pub media_type: String,
    /// Further header lines.
    pub lines: Vec<u8>,
}

/// Responds with a text. If includes are configured for the place, the elements are processed
/// first.
pub fn begin_text(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    text: Text,
    subrequests: Box<dyn Subrequests>,
) -> HandlerOutcome {
    let includes = &route.settings.output.includes;
    let is_parsed = includes.are_for(&route.file, Some(&text.media_type), || mode(&route.file));
    if is_parsed && matches!(request.method, b"GET" | b"HEAD" | b"POST") {
        let source = Source::Text(text);
        return HandlerOutcome::Backend(Backend::Deferred(later(
            shared,
            request,
            route,
            source,
            subrequests,
        )));
    }
    HandlerOutcome::Answer(Answer {
        status: status(request),
        lines: text.header_lines(),
        content: Content::Shared(text.bytes.into()),
    })
}

impl Text {
    fn header_lines(&self) -> Vec<u8> {
        let line = format!("Content-Type: {}\r\n", self.media_type);
        [line.as_bytes(), &self.lines].concat()
    }
}

/// Where a page comes from.
enum Source {
    File(Rc<Resource>),
    Text(Text),
}

impl Source {
    /// Returns the parsed page. The error is a status.
    async fn page(&self, shared: &Shared, settings: &Arc<Settings>) -> Result<Rc<Page>, u16> {
        match self {
            Source::File(resource) => read(shared, resource, settings).await,
            Source::Text(text) => {
                let legacy = settings.output.includes.legacy;
                Ok(Rc::new(Page::parse(text.bytes.clone().into(), legacy)))
            }
        }
    }

    fn modified(&self) -> Option<SystemTime> {
        match self {
            Source::File(resource) => Some(resource.modified()),
            Source::Text(_) => None,
        }
    }

    fn lines(&self, settings: &Settings) -> Vec<u8> {
        match self {
            Source::File(resource) => lines(resource, settings),
            Source::Text(text) => text.header_lines(),
        }
    }
}

/// An error page keeps the status of its error.
fn status(request: &Request<'_>) -> u16 {
    request.error().unwrap_or(200)
}

fn later(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    source: Source,
    subrequests: Box<dyn Subrequests>,
) -> Deferred {
    let settings = route.settings.clone();
    let status = status(request);
    let (render, document) = begin(shared, request, route, source.modified(), subrequests);
    Box::pin(async move {
        let page = source.page(&render.shared, &settings).await?;
        let mut body = Vec::new();
        render.page(&page, &document, &mut body).await?;
        Ok(Answer {
            status,
            lines: source.lines(&settings),
            content: Content::Shared(body.into()),
        })
    })
}

/// A page that is the file of a request.
pub struct FilePage {
    pub resource: Rc<Resource>,
    pub document: Document,
}

/// Begins to render a file that has includes, for a caller that sends the page itself.
pub fn begin_file(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    resource: Rc<Resource>,
    subrequests: Box<dyn Subrequests>,
) -> (Render, FilePage) {
    let modified = Some(resource.modified());
    let (render, document) = begin(shared, request, route, modified, subrequests);
    (render, FilePage { resource, document })
}

/// Begins to render a program's response that has arrived as a whole. As in Apache, `LAST_MODIFIED`
/// is the date of the program's file.
pub fn begin_response(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    subrequests: Box<dyn Subrequests>,
) -> (Render, Document) {
    let modified = Some(modified(&route.file));
    begin(shared, request, route, modified, subrequests)
}

/// Begins to render a program's response to the request while it arrives.
pub fn begin_program(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    subrequests: Box<dyn Subrequests>,
) -> Rendering {
    let (render, document) = begin_response(shared, request, route, subrequests);
    Rendering::new(render, document)
}

fn begin(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    modified: Option<SystemTime>,
    subrequests: Box<dyn Subrequests>,
) -> (Render, Document) {
    let settings = &route.settings;
    let mut variables = Variables::default();
    // A variable that exceeds the limit is missing in the page.
    let mut put = |name: &[u8], value: &[u8]| {
        let _ = variables.put(name, value);
    };
    // As in Apache, the variables of the page's own request replace those of its main request.
    let inherited = request.rule_state.map(|state| &state.inherited);
    for (name, value) in inherited.into_iter().flatten() {
        put(name, value);
    }
    let cgi = &shared.backends.cgi;
    gateway::variables::each(request, route, &shared.site(), cgi, &mut put);
    if let Some(length) = request.field("content-length") {
        put(b"CONTENT_LENGTH", length);
    }
    let state = request.rule_state;
    for (name, value) in state.into_iter().flat_map(|state| &state.told) {
        put(name, value);
    }
    for name in state.into_iter().flat_map(|state| &state.removed) {
        variables.forget(name);
    }
    let document = Document::of(request.resource, route);
    // These variables are missing in the page too if they exceed the limit.
    variables.modified = modified;
    let _ = describe(&mut variables, request, route);
    // As in Apache, the parts see the variables of `SetEnv` at the page's place.
    let set = settings.programs.set_env.iter();
    let is_told = |name: &str| state.is_some_and(|state| state.is_told(name.as_bytes()));
    let set = set.filter(|(name, _)| !is_told(name));
    let base = OwnedRequest::of(request, Some(fields_for_parts(request)));
    let base = base.with_variables(set);
    let render = Render::new(shared.clone(), base, variables, subrequests);
    (render, document)
}

/// Sets the variables that describe the page. Included programs see these variables too.
fn describe(
    variables: &mut Variables,
    request: &Request<'_>,
    route: &Route,
) -> Result<(), TooLong> {
    for name in variables::DATES {
        variables.set(name, b"")?;
    }
    // As in Apache, the file of a proxied request has the name that the back end is asked for.
    let file = match &route.outcome {
        RouteOutcome::Proxied(path) => path,
        _ => &route.file,
    };
    let name = file.rsplit(|byte| *byte == b'/').next();
    variables.set(b"DOCUMENT_NAME", name.unwrap_or_default())?;
    let path = [&route.script_name[..], &route.path_info].concat();
    variables.set(b"DOCUMENT_URI", &path)?;
    variables.set(b"DOCUMENT_ARGS", request.query())?;
    if !request.query().is_empty() {
        let query = percent::decode_lenient(request.query());
        variables.set(b"QUERY_STRING_UNESCAPED", &query)?;
    }
    if !route.path_info.is_empty() {
        variables.set(b"DOCUMENT_PATH_INFO", &route.path_info)?;
    }
    Ok(())
}

/// Returns the fields for the requests of included paths. Fields that concern only the whole page
/// are left out: conditions, ranges, codings and the fields about the body.
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
    let mut lines = String::new();
    if let Some(media_type) = resource.media_type() {
        lines.push_str(&format!("Content-Type: {media_type}\r\n"));
    }
    if let Some(language) = resource.language() {
        lines.push_str(&format!("Content-Language: {language}\r\n"));
    }
    let mut lines = lines.into_bytes();
    if settings.output.includes.keep_dates || keeps_date(resource.path(), settings) {
        push_date(resource.modified(), &mut lines);
    }
    if settings.output.includes.keep_tags && !resource.etag().is_empty() {
        lines.extend_from_slice(format!("ETag: {}\r\n", resource.etag()).as_bytes());
    }
    lines
}

/// Whether `XBitHack Full` gives a page the date of its file.
fn keeps_date(file: &[u8], settings: &Settings) -> bool {
    settings.output.includes.by_mode == ByMode::Full && mode(file) & 0o010 != 0
}

fn push_date(modified: SystemTime, lines: &mut Vec<u8>) {
    let date = httpdate::fmt_http_date(modified);
    lines.extend_from_slice(format!("Last-Modified: {date}\r\n").as_bytes());
}

/// Adds the date of a program's file to the header lines of its response, if `XBitHack Full` says
/// so.
pub fn add_date(route: &Route, lines: &mut Vec<u8>) {
    if keeps_date(&route.file, &route.settings) {
        push_date(modified(&route.file), lines);
    }
}

/// Returns the date of a program's file. As in Apache, the date is that of the folder if there is
/// no file, and that of the epoch if there is no folder either.
fn modified(file: &[u8]) -> SystemTime {
    let changed = request::variables::modified(file)
        .or_else(|| request::variables::modified(folder_of(file)));
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns the parsed page of a file. The error is a status.
pub async fn read(
    shared: &Shared,
    resource: &Rc<Resource>,
    settings: &Arc<Settings>,
) -> Result<Rc<Page>, u16> {
    let legacy = settings.output.includes.legacy;
    if let Some(page) = shared.content.pages.known(resource, legacy) {
        return Ok(page);
    }
    let page = Rc::new(Page::parse(
        bytes(&shared.content.files, resource).await?,
        legacy,
    ));
    shared.content.pages.keep(resource, legacy, page.clone());
    Ok(page)
}

/// Returns the file's bytes. A thread reads bytes that are not in memory.
pub async fn bytes(files: &Files, resource: &Rc<Resource>) -> Result<Bytes, u16> {
    if resource.is_cached() {
        return Ok(resource.bytes());
    }
    if resource.size() > MOST as u64 {
        return Err(500);
    }
    let opened = resource.open(files).map_err(|problem| problem.status)?;
    let read = files.readers.read(&opened, 0, resource.size() as usize, 0);
    let read = read.await.map_err(|_| GONE.status)?;
    Ok(Bytes::from(read))
}
