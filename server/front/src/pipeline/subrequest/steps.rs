//! The steps of a page that a worker prints: what the front's work on the page says to the worker,
//! and what the worker says of the page's parts.

use super::pages::begin;
use crate::content::includes::page::Page;
use crate::handlers::ssi::{Asking, Document, Fetched, Render, Subrequests};
use crate::pipeline::included::Inside;
use crate::shared::Shared;
use mehari_pool::{NextActions, PageAction, RenderedPage, SubrequestQuestion};
use std::cell::{Cell, RefCell};
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::Poll;

/// From this many bytes on, the worker prints what the page has said so far.
const ENOUGH: usize = 32 * 1024;

/// What pages that include one another say to the worker. Only the innermost one goes on.
pub struct Steps {
    shared: Rc<Shared>,
    actions: RefCell<Vec<PageAction>>,
    stop: Cell<Option<Stop>>,
    status: Cell<Option<u16>>,
    /// What renders the pages, if the page has server-side includes. The work on the page owns it.
    render: RefCell<Weak<Render>>,
}

/// Why the page waits for the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The actions end with a part, for whose status the page waits.
    Part,
    /// There is much to print.
    Much,
}

impl Steps {
    pub fn new(shared: &Rc<Shared>) -> Steps {
        Steps {
            shared: shared.clone(),
            actions: RefCell::default(),
            stop: Cell::default(),
            status: Cell::default(),
            render: RefCell::default(),
        }
    }

    /// Returns what renders the pages. `None`: the page has no server-side includes.
    pub fn render(&self) -> Option<Rc<Render>> {
        self.render.borrow().upgrade()
    }

    pub fn render_with(&self, render: &Rc<Render>) {
        self.render.replace(Rc::downgrade(render));
    }

    pub fn say(&self, action: PageAction) {
        self.actions.borrow_mut().push(action);
    }

    /// Has the worker print the bytes. Waits if there is much to print.
    pub async fn print_bytes(&self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.say(PageAction::print(bytes));
        }
        let said: usize = self.actions.borrow().iter().map(PageAction::length).sum();
        if said >= ENOUGH {
            self.stop.set(Some(Stop::Much));
            poll_fn(|_| match self.stop.get() {
                Some(Stop::Much) => Poll::Pending,
                _ => Poll::Ready(()),
            })
            .await;
        }
    }

    /// Renders a page. The error is the status with which the page fails.
    pub async fn print(
        &self,
        render: &Render,
        page: &Page,
        document: &Document,
    ) -> Result<(), u16> {
        let mut printed = Vec::new();
        let done = render.page(page, document, &mut printed).await;
        self.hand_over(render, &mut printed);
        done
    }

    /// Hands over the variables that the page has set, and what it has printed.
    fn hand_over(&self, render: &Render, printed: &mut Vec<u8>) {
        let mut actions = self.actions.borrow_mut();
        let mut variables = render.variables.borrow_mut();
        variables.take_changed(|name, value| actions.extend(PageAction::set(name, value)));
        if !printed.is_empty() {
            actions.push(PageAction::print(std::mem::take(printed)));
        }
    }
}

/// A page that the front makes for a worker.
pub struct WorkersPage {
    pub steps: Rc<Steps>,
    /// Returns 0, or the status with which the page fails.
    work: Pin<Box<dyn Future<Output = u16>>>,
    /// Whether the page waits for a part.
    waits: bool,
}

impl WorkersPage {
    pub fn new(steps: Rc<Steps>, work: impl Future<Output = u16> + 'static) -> WorkersPage {
        WorkersPage {
            steps,
            work: Box::pin(work),
            waits: false,
        }
    }
}

impl RenderedPage for WorkersPage {
    fn next(&mut self, status: u16) -> NextActions<'_> {
        if std::mem::take(&mut self.waits) {
            self.steps.status.set(Some(status));
        }
        Box::pin(async move {
            let (ended, stop) = poll_fn(|context| match self.work.as_mut().poll(context) {
                Poll::Ready(status) => Poll::Ready((Some(status), None)),
                Poll::Pending => match self.steps.stop.take() {
                    Some(stop) => Poll::Ready((None, Some(stop))),
                    None => Poll::Pending,
                },
            })
            .await;
            self.waits = stop == Some(Stop::Part);
            let mut actions = self.steps.actions.take();
            actions.extend(ended.map(PageAction::end));
            actions
        })
    }

    fn include(&self, question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> {
        begin(&self.steps.shared, question, Some(self))
    }
}

/// Implements [`Subrequests`] for pages that a worker prints.
pub struct InWorker(pub Rc<Steps>);

impl Subrequests for InWorker {
    fn fetch<'r>(
        &self,
        render: &'r Render,
        target: Vec<u8>,
        printed: &'r mut Vec<u8>,
    ) -> Asking<'r, Fetched> {
        let steps = self.0.clone();
        Box::pin(async move {
            let part = PageAction::run(target).ok_or(414_u16)?;
            steps.hand_over(render, printed);
            steps.say(part);
            steps.stop.set(Some(Stop::Part));
            let status = poll_fn(|_| steps.status.take().map_or(Poll::Pending, Poll::Ready));
            match status.await {
                0 => Ok(Fetched::Sent),
                status => Err(status),
            }
        })
    }

    fn file_of<'r>(&self, render: &'r Render, target: Vec<u8>) -> Asking<'r, Vec<u8>> {
        Inside.file_of(render, target)
    }
}
