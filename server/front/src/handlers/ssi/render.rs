//! Renders a page: processes texts, conditions and elements in their order.

use super::branches::Branches;
use super::element::folder_of;
use super::variables::{PageValues, Variables};
use super::{Fetched, Subrequests, MOST};
use crate::content::includes::condition::{Condition, LazyCondition};
use crate::content::includes::page::{Page, PagePart, ELEMENTS};
use crate::request::owned::OwnedRequest;
use crate::request::variables::ExpressionVariables;
use crate::request::{path_of, query_of};
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::{LogLevel, Settings};
use mehari_text::percent;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most levels of included pages.
const DEEPEST: u32 = 11;
/// The longest time that rendering takes before other tasks run.
const SLICE: Duration = Duration::from_millis(2);

pub struct Render {
    pub shared: Rc<Shared>,
    pub base: OwnedRequest,
    /// The variables. As in Apache, all pages of a request share them.
    pub variables: RefCell<Variables>,
    pub subrequests: Box<dyn Subrequests>,
    depth: Cell<u32>,
    elements: Cell<u32>,
    slice: Cell<Instant>,
}

/// The place of a page, to which relative paths in the page refer.
pub struct Document {
    /// The page's path, percent-encoded as in the request.
    pub path: Vec<u8>,
    pub query: Vec<u8>,
    /// The folder of the page's file, with the final slash.
    pub folder: Vec<u8>,
    pub settings: Arc<Settings>,
}

impl Document {
    /// Returns the place of a page that this target has.
    pub fn of(target: &[u8], route: &Route) -> Document {
        let path = path_of(target);
        let file = if route.script_name.is_empty() {
            path.to_vec()
        } else {
            percent::encode_path(&route.script_name)
        };
        Document {
            path: path.to_vec(),
            query: query_of(target).to_vec(),
            folder: folder_of(&file).to_vec(),
            settings: route.settings.clone(),
        }
    }
}

/// The formats that `config` sets in a page. An included page starts with the formats that are
/// configured for its place.
pub struct Manner {
    pub error: Vec<u8>,
    pub undefined: Vec<u8>,
    pub time: String,
    pub short_sizes: bool,
}

impl Manner {
    fn of(settings: &Settings) -> Manner {
        let includes = &settings.output.includes;
        let or = |said: &Option<String>, usual: &str| said.as_deref().unwrap_or(usual).to_string();
        Manner {
            error: or(
                &includes.error_message,
                "[an error occurred while processing this directive]",
            )
            .into(),
            undefined: or(&includes.undefined, "(none)").into(),
            time: or(&includes.time_format, "%A, %d-%b-%Y %H:%M:%S %Z"),
            short_sizes: true,
        }
    }
}

/// What the elements of a page change for the rest of the page.
pub(super) struct Progress {
    pub manner: Manner,
    pub branches: Branches,
}

impl Progress {
    pub fn of(document: &Document) -> Progress {
        Progress {
            manner: Manner::of(&document.settings),
            branches: Branches::default(),
        }
    }
}

/// The reason for which an element failed.
pub type ElementError = String;

/// Counts a page as one level while the page is rendered. A worker may leave a page before its end.
struct Deeper<'r>(&'r Cell<u32>);

impl Drop for Deeper<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Render {
    pub fn new(
        shared: Rc<Shared>,
        base: OwnedRequest,
        variables: Variables,
        subrequests: Box<dyn Subrequests>,
    ) -> Render {
        Render {
            shared,
            base,
            variables: RefCell::new(variables),
            subrequests,
            depth: Cell::new(0),
            elements: Cell::new(0),
            slice: Cell::new(Instant::now()),
        }
    }

    /// Appends the rendered page.
    pub fn page<'r>(
        &'r self,
        page: &'r Page,
        document: &'r Document,
        into: &'r mut Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<(), u16>> + 'r>> {
        Box::pin(async move {
            if self.depth.get() >= DEEPEST {
                self.complain(document, "pages include one another too deeply");
                return Err(500);
            }
            if self.depth.get() > 0 {
                self.show_query(document);
            }
            self.depth.set(self.depth.get() + 1);
            let _deeper = Deeper(&self.depth);
            self.parts(page, document, into).await
        })
    }

    /// Notes that the outermost page is rendered, so all other pages are parts of it.
    pub(super) fn begin_outermost(&self) {
        self.depth.set(1);
    }

    /// Sets the variables about the query of an included page. As in Apache, they stay set, and a
    /// page without a query changes nothing.
    fn show_query(&self, document: &Document) {
        if document.query.is_empty() {
            return;
        }
        let plain = percent::decode_lenient(&document.query);
        let mut variables = self.variables.borrow_mut();
        // A variable that exceeds the limit keeps its value.
        let _ = variables.put(b"QUERY_STRING", &document.query);
        let _ = variables.set(b"QUERY_STRING_UNESCAPED", &plain);
    }

    async fn parts(&self, page: &Page, document: &Document, into: &mut Vec<u8>) -> Result<(), u16> {
        let mut progress = Progress::of(document);
        for part in &page.parts {
            match part {
                PagePart::Text(range) => {
                    self.pause().await;
                    if progress.branches.print() {
                        into.extend_from_slice(&page.source[range.clone()]);
                    }
                }
                element => {
                    self.part(element, document, &mut progress, into).await?;
                }
            }
            if into.len() > MOST {
                self.complain(document, "the page becomes too long");
                return Err(500);
            }
        }
        Ok(())
    }

    /// Processes an element or a condition. The error is the status with which the page fails.
    pub(super) async fn part(
        &self,
        part: &PagePart,
        document: &Document,
        progress: &mut Progress,
        into: &mut Vec<u8>,
    ) -> Result<(), u16> {
        let Progress { manner, branches } = progress;
        self.count(document)?;
        self.pause().await;
        let done = match part {
            PagePart::Element { name, attributes } if branches.print() => {
                self.element(name, attributes, document, manner, into).await
            }
            PagePart::Wrong(why) if branches.print() => Err(why.clone()),
            PagePart::Text(_) | PagePart::Element { .. } | PagePart::Wrong(_) => Ok(()),
            condition => self.branch(condition, branches, manner),
        };
        if let Err(why) = done {
            self.complain(document, &why);
            into.extend_from_slice(&manner.error);
        }
        Ok(())
    }

    fn branch(
        &self,
        part: &PagePart,
        branches: &mut Branches,
        manner: &Manner,
    ) -> Result<(), ElementError> {
        match part {
            PagePart::If(condition) => {
                let met = self.met(condition, branches.print(), manner);
                branches.open(*met.as_ref().unwrap_or(&false));
                met.map(drop).inspect_err(|_| branches.fail())
            }
            PagePart::Elif(condition) => {
                let met = self.met(condition, branches.ask(), manner);
                branches.change("elif", *met.as_ref().unwrap_or(&false))?;
                met.map(drop).inspect_err(|_| branches.fail())
            }
            PagePart::Else => branches.change("else", true),
            _ => branches.close(),
        }
    }

    /// Evaluates the condition if `asked`, else returns false.
    fn met(
        &self,
        condition: &Option<LazyCondition>,
        asked: bool,
        manner: &Manner,
    ) -> Result<bool, ElementError> {
        if !asked {
            return Ok(false);
        }
        match condition.as_ref().and_then(LazyCondition::condition) {
            Some(condition) => Ok(self.holds(condition, manner)),
            None => Err("a condition without a valid expression".into()),
        }
    }

    fn count(&self, document: &Document) -> Result<(), u16> {
        self.elements.set(self.elements.get() + 1);
        if self.elements.get() > ELEMENTS {
            let text =
                format!("expected at most {ELEMENTS} elements, including those of included pages");
            self.complain(document, &text);
            return Err(500);
        }
        Ok(())
    }

    /// Lets other tasks run while a long page is rendered.
    pub(super) async fn pause(&self) {
        if self.slice.get().elapsed() > SLICE {
            tokio::task::yield_now().await;
            self.slice.set(Instant::now());
        }
    }

    fn holds(&self, condition: &Condition, manner: &Manner) -> bool {
        let variables = self.variables.borrow();
        let site = self.shared.site();
        let request = self.base.request_as_asked();
        let host = site.host(request.virtual_host);
        let (state, maps) = (request.rule_state, &self.shared.lookups.maps);
        let values = PageValues {
            variables: &variables,
            format: &manner.time,
            request: ExpressionVariables::new(&request, host, state, maps),
        };
        condition.holds(&values, &|text| {
            let text = variables.put_in(text, &manner.time);
            text.unwrap_or_default()
        })
    }

    /// Expands the variables of a text.
    pub fn put_in(&self, text: &[u8], manner: &Manner) -> Result<Vec<u8>, ElementError> {
        let text = self.variables.borrow().put_in(text, &manner.time);
        text.map_err(|too_long| too_long.to_string())
    }

    /// Requests another path and appends the response.
    pub async fn fetch(&self, target: Vec<u8>, into: &mut Vec<u8>) -> Result<(), ElementError> {
        let shown = target.escape_ascii().to_string();
        let failed = |status| format!("{shown} answers {status}");
        match self.subrequests.fetch(self, target, into).await {
            Ok(Fetched::Sent) => {}
            Ok(Fetched::Bytes(bytes)) => into.extend_from_slice(&bytes),
            Ok(Fetched::Page(page, document)) => {
                let mut printed = Vec::new();
                let done = self.page(&page, &document, &mut printed).await;
                done.map_err(failed)?;
                into.extend_from_slice(&printed);
            }
            Err(status) => return Err(failed(status)),
        }
        Ok(())
    }

    pub fn complain(&self, document: &Document, text: &str) {
        let request = self.base.request();
        let text = format!("{}: {text}", document.path.escape_ascii());
        let journal = &self.shared.journal;
        journal.error(
            request.virtual_host,
            LogLevel::Error,
            request.origin(),
            &text,
        );
    }
}
