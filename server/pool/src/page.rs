//! Pages that the front makes as the responses of workers' sub-requests: files with server-side
//! includes, and what back ends and the front itself respond.
//!
//! The front makes such a page step by step ([`RenderedPage`]), and the asking worker runs the
//! page's parts itself. If other workers ran the parts, workers that wait for one another's pages
//! could hold all workers. `subrequests` answers the steps.

use crate::call::SubrequestQuestion;
use crate::frame::asker;
use mehari_wire::layout::page;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// The most pages of one request that are being printed, each within the one before. A sound worker
/// ends sub-requests earlier.
const DEEPEST: usize = 16;
/// The longest text of an action that cannot be split.
const LONGEST: usize = 32 * 1024;
/// An action's byte and length.
const HEAD: usize = 5;
/// The fewest bytes for which a text is split at the end of an answer.
const PIECE: usize = 1024;

/// What the worker does for a page: an action of `wire::layout::page`.
pub struct PageAction {
    kind: u8,
    bytes: Vec<u8>,
}

impl PageAction {
    pub fn print(bytes: Vec<u8>) -> PageAction {
        let kind = page::PRINT;
        PageAction { kind, bytes }
    }

    /// Sets a variable that parts see. `None`: a NUL, or too many bytes for an answer.
    pub fn set(name: &[u8], value: &[u8]) -> Option<PageAction> {
        let has_nul = name.contains(&0) || value.contains(&0);
        let bytes = [name, b"\0", value].concat();
        let kind = page::SET;
        (!has_nul && bytes.len() <= LONGEST).then_some(PageAction { kind, bytes })
    }

    /// Runs a part. The page waits for the part's status. `None`: too many bytes for an answer.
    pub fn run(target: Vec<u8>) -> Option<PageAction> {
        let (kind, bytes) = (page::RUN, target);
        (bytes.len() <= LONGEST).then_some(PageAction { kind, bytes })
    }

    /// Gives the sub-request the status and the header lines of its response. Too many lines are
    /// left out.
    pub fn head(status: u16, lines: &[u8]) -> PageAction {
        let lines = if lines.len() > LONGEST { b"" } else { lines };
        let bytes = [&status.to_ne_bytes()[..], lines].concat();
        let kind = page::HEAD;
        PageAction { kind, bytes }
    }

    /// Ends the page: the worker follows an internal redirect. `None`: too many bytes for an
    /// answer.
    pub fn lead(target: Vec<u8>) -> Option<PageAction> {
        let (kind, bytes) = (page::LEAD, target);
        (bytes.len() <= LONGEST).then_some(PageAction { kind, bytes })
    }

    /// Returns the number of bytes that the action says.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Ends the page: 0, or the status with which the page fails.
    pub fn end(status: u16) -> PageAction {
        let (kind, bytes) = (page::END, status.to_ne_bytes().to_vec());
        PageAction { kind, bytes }
    }
}

/// Finds out what a page says next.
pub type NextActions<'p> = Pin<Box<dyn Future<Output = Vec<PageAction>> + 'p>>;

/// A page that is being made.
pub trait RenderedPage {
    /// Goes on until a part must run, the page ends, or there is much to print. `status`: the
    /// status with which the part that ran last has failed, or 0.
    fn next(&mut self, status: u16) -> NextActions<'_>;
    /// Begins a page that is a part of this one. `None`: the file has no includes.
    fn include(&self, question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>>;
}

/// Begins to make the pages about which workers ask.
#[derive(Clone)]
pub struct PageRenderer {
    include: Rc<BeginPage>,
    respond: Rc<BeginResponse>,
}

/// A function that begins a page with server-side includes. `None`: the file has no includes.
type BeginPage = dyn Fn(SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>>;

/// A function that begins a response that is neither Perl's nor a file. `None`: the front is gone.
type BeginResponse = dyn Fn(OwnedQuestion) -> Option<Box<dyn RenderedPage>>;

impl PageRenderer {
    pub fn new(
        include: impl Fn(SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> + 'static,
        respond: impl Fn(OwnedQuestion) -> Option<Box<dyn RenderedPage>> + 'static,
    ) -> PageRenderer {
        PageRenderer {
            include: Rc::new(include),
            respond: Rc::new(respond),
        }
    }
}

/// A worker's question that may be answered later.
pub struct OwnedQuestion {
    pub(crate) server: u16,
    /// The question, and the frame of the asking request, which says who the client is.
    pub(crate) payload: Box<[u8]>,
    pub(crate) frame: Box<[u8]>,
}

impl OwnedQuestion {
    pub fn new(server: u16, payload: &[u8]) -> OwnedQuestion {
        OwnedQuestion {
            server,
            payload: payload.into(),
            frame: Box::default(),
        }
    }
}

/// A step of a worker's page.
pub struct PageStep<'a> {
    /// The number of pages within which the worker prints the page.
    pub depth: usize,
    pub kind: StepKind<'a>,
}

pub enum StepKind<'a> {
    Begin {
        question: Box<SubrequestQuestion<'a>>,
        /// Whether the page is a part of the page before it.
        is_included: bool,
    },
    /// Begins a response that is neither Perl's nor a file.
    Respond(OwnedQuestion),
    /// The status with which a part has failed, or 0.
    GoOn(u16),
}

impl<'a> PageStep<'a> {
    /// Says who asks. `None`: the worker has overwritten the frame of its request.
    pub fn asked_by(mut self, frame: &'a [u8]) -> Option<PageStep<'a>> {
        let asker = asker(frame)?;
        match &mut self.kind {
            StepKind::Begin { question, .. } => question.asker = asker,
            StepKind::Respond(question) => question.frame = frame.into(),
            StepKind::GoOn(_) => {}
        }
        Some(self)
    }
}

/// The pages of one request that are being printed, each within the one before.
#[derive(Default)]
pub struct Pages(Vec<OpenPage>);

struct OpenPage {
    /// `None`: the file has no includes.
    page: Option<Box<dyn RenderedPage>>,
    /// The actions that did not fit into the last answer.
    due: VecDeque<PageAction>,
}

impl Pages {
    /// Begins a page, or goes back to one. Returns the status of the part that ran last. `None`:
    /// the worker must not print the page.
    pub fn take(&mut self, step: PageStep<'_>, renderer: &PageRenderer) -> Option<u16> {
        let PageStep { depth, kind } = step;
        if let StepKind::GoOn(status) = kind {
            return self.go_back(depth).then_some(status);
        }
        if depth > self.0.len() || depth >= DEEPEST {
            return None;
        }
        self.0.truncate(depth);
        let page = match kind {
            StepKind::Respond(question) => Some((renderer.respond)(question)?),
            StepKind::Begin {
                question,
                is_included,
            } => self.begin(is_included, *question, renderer),
            StepKind::GoOn(_) => None,
        };
        let is_plain = page.is_none().then(|| PageAction::end(page::PLAIN));
        let due = is_plain.into_iter().collect();
        self.0.push(OpenPage { page, due });
        Some(0)
    }

    /// Begins a page with server-side includes. `None`: the file has none.
    fn begin(
        &self,
        is_included: bool,
        question: SubrequestQuestion<'_>,
        renderer: &PageRenderer,
    ) -> Option<Box<dyn RenderedPage>> {
        let outer = self.0.last().filter(|_| is_included);
        match outer.and_then(|outer| outer.page.as_ref()) {
            Some(outer) => outer.include(question),
            None => (renderer.include)(question),
        }
    }

    /// Goes back to the page at this depth. Returns false if there is none.
    fn go_back(&mut self, depth: usize) -> bool {
        self.0.truncate(depth + 1);
        self.0.len() == depth + 1
    }

    /// Has the last page go on, unless actions are left for the next answer.
    pub async fn go_on(&mut self, status: u16) {
        let Some(OpenPage { page, due }) = self.0.last_mut() else {
            return;
        };
        if let Some(page) = page.as_mut().filter(|_| due.is_empty()) {
            due.extend(page.next(status).await);
        }
    }

    /// Writes as many actions of the last page as fit into an answer.
    pub fn write(&mut self, room: &mut [u8]) {
        let mut at = 4;
        let mut has_ended = false;
        while let Some(action) = self.next_within(room.len().saturating_sub(at + HEAD)) {
            let PageAction { kind, bytes } = action;
            room[at] = kind;
            room[at + 1..at + HEAD].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
            at += HEAD;
            room[at..at + bytes.len()].copy_from_slice(&bytes);
            at += bytes.len();
            has_ended = kind == page::END || kind == page::LEAD;
            if has_ended || kind == page::RUN {
                break;
            }
        }
        if has_ended {
            self.0.pop();
        }
        room[..4].copy_from_slice(&(at as u32).to_ne_bytes());
    }

    /// Takes the next action, or as many bytes of a text as there is room for.
    fn next_within(&mut self, room: usize) -> Option<PageAction> {
        let due = &mut self.0.last_mut()?.due;
        let next = due.front_mut()?;
        if next.bytes.len() <= room {
            return due.pop_front();
        }
        let is_split = next.kind == page::PRINT && room >= PIECE;
        is_split.then(|| {
            let rest = next.bytes.split_off(room);
            PageAction::print(std::mem::replace(&mut next.bytes, rest))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Asker;
    use mehari_wire::layout::ANSWER_SIZE;

    /// A page that runs one part and prints the part's status.
    struct OnePart(Vec<Vec<PageAction>>);

    impl RenderedPage for OnePart {
        fn next(&mut self, _: u16) -> NextActions<'_> {
            let next = self.0.pop().unwrap_or_default();
            Box::pin(async { next })
        }

        fn include(&self, question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> {
            begin(question)
        }
    }

    fn begin(question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> {
        let long = vec![b'x'; 3 * ANSWER_SIZE];
        let first = [
            PageAction::set(b"A", b"a"),
            Some(PageAction::print(long)),
            PageAction::run(b"/part".to_vec()),
        ];
        let first = first.into_iter().flatten().collect();
        let page = OnePart(vec![vec![PageAction::end(0)], first]);
        (question.target != b"/plain").then(|| Box::new(page) as Box<dyn RenderedPage>)
    }

    fn question(target: &[u8]) -> SubrequestQuestion<'_> {
        SubrequestQuestion {
            server: 0,
            method: b"GET",
            target,
            file: None,
            asker: Asker::default(),
            news: Default::default(),
        }
    }

    fn renderer() -> PageRenderer {
        PageRenderer::new(begin, |_| {
            let ends = vec![PageAction::head(200, b""), PageAction::end(0)];
            Some(Box::new(OnePart(vec![ends])))
        })
    }

    /// Takes the first step of a page.
    fn take(pages: &mut Pages, depth: usize, is_included: bool, target: &[u8]) -> bool {
        let question = Box::new(question(target));
        let kind = StepKind::Begin {
            question,
            is_included,
        };
        pages.take(PageStep { depth, kind }, &renderer()).is_some()
    }

    /// Returns the kind and the length of each action of an answer.
    fn written(pages: &mut Pages) -> Vec<(u8, usize)> {
        let mut room = vec![0; ANSWER_SIZE];
        pages.write(&mut room);
        let number = |bytes: &[u8]| {
            let bytes = bytes.first_chunk().expect("four bytes");
            u32::from_ne_bytes(*bytes) as usize
        };
        let mut rest = &room[4..number(&room)];
        let mut actions = Vec::new();
        while let Some((kind, behind)) = rest.split_first() {
            let length = number(behind);
            actions.push((*kind, length));
            rest = &behind[4 + length..];
        }
        actions
    }

    fn go_on(pages: &mut Pages) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(pages.go_on(0));
    }

    #[test]
    fn long_text_of_a_page_comes_in_several_answers_and_a_part_ends_an_answer() {
        let mut pages = Pages::default();
        assert!(take(&mut pages, 0, false, b"/page"));
        let mut actions = Vec::new();
        while actions.last() != Some(&(page::RUN, 5)) {
            go_on(&mut pages);
            actions.extend(written(&mut pages));
        }
        assert_eq!(actions.first(), Some(&(page::SET, 3)));
        let texts = actions.iter().filter(|(kind, _)| *kind == page::PRINT);
        assert_eq!(
            texts.map(|(_, length)| length).sum::<usize>(),
            3 * ANSWER_SIZE
        );
        assert!(pages.go_back(0));
        go_on(&mut pages);
        assert_eq!(written(&mut pages), [(page::END, 2)]);
        assert!(!pages.go_back(0));
    }

    #[test]
    fn pages_are_within_one_another_and_a_page_that_was_left_ends() {
        let mut pages = Pages::default();
        assert!(!take(&mut pages, 1, false, b"/page"));
        for depth in 0..DEEPEST {
            assert!(take(&mut pages, depth, true, b"/page"));
        }
        assert!(!take(&mut pages, DEEPEST, true, b"/page"));
        assert!(pages.go_back(2) && !pages.go_back(3));
        assert!(take(&mut pages, 3, false, b"/plain"));
        assert_eq!(written(&mut pages), [(page::END, 2)]);
        assert!(pages.go_back(2));
    }

    #[test]
    fn response_of_the_front_is_a_page_within_another() {
        let mut pages = Pages::default();
        assert!(take(&mut pages, 0, false, b"/page"));
        let question = OwnedQuestion::new(0, b"GET\0/back");
        assert!(question.view().is_none());
        let kind = StepKind::Respond(question);
        assert_eq!(
            pages.take(PageStep { depth: 1, kind }, &renderer()),
            Some(0)
        );
        go_on(&mut pages);
        assert_eq!(written(&mut pages), [(page::HEAD, 2), (page::END, 2)]);
        assert!(pages.go_back(0));
    }

    #[test]
    fn actions_that_no_answer_can_hold_are_left_out() {
        let long = vec![b'x'; LONGEST + 1];
        assert!(PageAction::run(long.clone()).is_none());
        assert!(PageAction::lead(long.clone()).is_none());
        assert_eq!(PageAction::head(200, &long).length(), 2);
        assert!(PageAction::set(b"A", &long).is_none());
        assert!(PageAction::set(b"A\0", b"a").is_none());
    }
}
