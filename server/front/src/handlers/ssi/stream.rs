//! Renders the response of a program while it arrives.
//!
//! `handlers::filtered` calls [`Rendering`]. While an element waits for another request, the
//! program's further output is read, so that its worker is free as soon as possible.

use super::render::{Document, Progress, Render};
use super::MOST;
use crate::content::includes::arriving::{ArrivedPart, Arriving};
use crate::handlers::{Backend, Fault};
use std::cell::{Cell, RefCell};
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};

/// The most bytes that are taken from the program at a time.
const ROOM: usize = 64 * 1024;
/// From this many rendered bytes on, rendering waits until the client's side has taken them.
const ENOUGH: usize = 256 * 1024;

pub struct Rendering {
    flow: Rc<Flow>,
    work: Pin<Box<dyn Future<Output = Result<(), u16>>>>,
    /// Why the program's output is incomplete.
    fault: Option<Fault>,
    /// How the rendered text has ended.
    end: Option<Result<(), Fault>>,
}

/// The text on its way through the elements.
#[derive(Default)]
struct Flow {
    /// What has arrived from the program.
    input: RefCell<Vec<u8>>,
    /// Whether the whole output of the program has arrived.
    is_whole: Cell<bool>,
    output: RefCell<Vec<u8>>,
    waits: Cell<Wait>,
}

/// What the rendering waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Wait {
    /// The response of another request, or its turn.
    #[default]
    Part,
    Input,
    /// Until the output has been taken.
    Room,
}

impl Rendering {
    pub fn new(render: Render, document: Document) -> Rendering {
        let flow = Rc::new(Flow::default());
        let work = work(render, document, flow.clone());
        Rendering {
            flow,
            work: Box::pin(work),
            fault: None,
            end: None,
        }
    }

    /// Whether the whole text has been rendered. What is left of it can be taken at once.
    pub fn is_complete(&self) -> bool {
        matches!(self.end, Some(Ok(())))
    }

    /// Renders what has arrived, as far as that is possible without waiting.
    ///
    /// # Errors
    /// The page has failed before anything of it could be sent.
    pub fn begin(&mut self, inner: &mut Backend, cx: &mut Context<'_>) -> Result<(), Fault> {
        let _ = self.poll_output(inner, cx, ENOUGH);
        match self.end {
            Some(Err(fault)) if self.flow.output.borrow().is_empty() => Err(fault),
            _ => Ok(()),
        }
    }

    pub fn poll_body(
        &mut self,
        inner: &mut Backend,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        ready!(self.poll_output(inner, cx, 1));
        if self.flow.give(into, room) {
            return Poll::Ready(Ok(true));
        }
        match self.end {
            Some(Err(fault)) => Poll::Ready(Err(fault)),
            _ => Poll::Ready(Ok(false)),
        }
    }

    /// Waits for the end of the text or for this many rendered bytes.
    fn poll_output(&mut self, inner: &mut Backend, cx: &mut Context<'_>, bytes: usize) -> Poll<()> {
        while self.end.is_none() && self.flow.output.borrow().len() < bytes {
            if let Poll::Ready(done) = self.work.as_mut().poll(cx) {
                self.end = Some(done.map_err(|_| Fault::Includes));
                break;
            }
            match (self.flow.waits.get(), self.fault) {
                (Wait::Room, _) => break,
                (Wait::Input, Some(fault)) => self.end = Some(Err(fault)),
                (wait, _) => ready!(self.poll_input(inner, cx, wait)),
            }
        }
        Poll::Ready(())
    }

    /// Takes the program's next output. Stays pending if there is nothing to take.
    fn poll_input(&mut self, inner: &mut Backend, cx: &mut Context<'_>, wait: Wait) -> Poll<()> {
        let mut input = self.flow.input.borrow_mut();
        let has_ended = self.flow.is_whole.get() || self.fault.is_some();
        if has_ended || (wait == Wait::Part && input.len() > MOST) {
            return Poll::Pending;
        }
        match ready!(inner.poll_body(cx, &mut input, ROOM)) {
            Ok(true) => {}
            Ok(false) => self.flow.is_whole.set(true),
            Err(fault) => self.fault = Some(fault),
        }
        Poll::Ready(())
    }
}

impl Flow {
    /// Moves rendered bytes. Returns false if there are none.
    fn give(&self, into: &mut Vec<u8>, room: usize) -> bool {
        let mut output = self.output.borrow_mut();
        let count = output.len().min(room);
        into.extend(output.drain(..count));
        count > 0
    }

    /// Waits for output of the program, or for its end.
    async fn input(&self) -> Vec<u8> {
        self.until(Wait::Input, || {
            self.is_whole.get() || !self.input.borrow().is_empty()
        })
        .await;
        self.input.take()
    }

    /// Gives the rendered bytes away, and waits if there are many of them.
    async fn put(&self, bytes: &mut Vec<u8>) {
        self.output.borrow_mut().append(bytes);
        self.until(Wait::Room, || self.output.borrow().len() < ENOUGH)
            .await;
    }

    async fn until(&self, wait: Wait, is_met: impl Fn() -> bool) {
        // `Rendering` polls again whenever the condition may have changed, so nothing must wake it.
        self.waits.set(wait);
        poll_fn(|_| {
            if is_met() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        self.waits.set(Wait::Part);
    }
}

async fn work(render: Render, document: Document, flow: Rc<Flow>) -> Result<(), u16> {
    render.begin_outermost();
    let mut progress = Progress::of(&document);
    let mut arriving = Arriving::new(document.settings.output.includes.legacy);
    let mut rendered = Vec::new();
    loop {
        let bytes = flow.input().await;
        let is_whole = flow.is_whole.get();
        arriving.push(&bytes);
        while let Some(part) = arriving.next(is_whole) {
            match part {
                ArrivedPart::Text(mut text) if progress.branches.print() => {
                    rendered.append(&mut text);
                }
                ArrivedPart::Text(_) => {}
                ArrivedPart::Element(part) => {
                    // What comes before the element is sent before the element is waited for.
                    flow.put(&mut rendered).await;
                    let done = render.part(&part, &document, &mut progress, &mut rendered);
                    done.await?;
                }
            }
        }
        flow.put(&mut rendered).await;
        if is_whole {
            return Ok(());
        }
    }
}
