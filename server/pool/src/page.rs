//! Pages with server-side includes that are the responses of workers' sub-requests.
//!
//! The front renders such a page step by step ([`RenderedPage`]), and the asking worker runs the
//! page's parts itself. If other workers ran the parts, workers that wait for one another's pages
//! could hold all workers. `subrequests` answers the steps.

use crate::call::SubrequestQuestion;
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

    /// Ends the page: 0, or the status with which the page fails.
    pub fn end(status: u16) -> PageAction {
        let (kind, bytes) = (page::END, status.to_ne_bytes().to_vec());
        PageAction { kind, bytes }
    }

    fn is_last(&self) -> bool {
        matches!(self.kind, page::END | page::RUN)
    }
}

/// Finds out what a page says next.
pub type NextActions<'p> = Pin<Box<dyn Future<Output = Vec<PageAction>> + 'p>>;

/// A page that is being rendered.
pub trait RenderedPage {
    /// Goes on until a part must run or the page ends. `status`: the status with which the part
    /// that ran last has failed, or 0.
    fn next(&mut self, status: u16) -> NextActions<'_>;
    /// Begins a page that is a part of this one. `None`: the file has no includes.
    fn include(&self, question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>>;
}

/// Begins to render the pages about which workers ask.
#[derive(Clone)]
pub struct PageRenderer(Rc<BeginPage>);

/// A function that begins a page. `None`: the file has no includes.
type BeginPage = dyn Fn(SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>>;

impl PageRenderer {
    pub fn new(
        begin: impl Fn(SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> + 'static,
    ) -> PageRenderer {
        PageRenderer(Rc::new(begin))
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
        question: SubrequestQuestion<'a>,
        /// Whether the page is a part of the page before it.
        is_included: bool,
    },
    /// The status with which a part has failed, or 0.
    GoOn(u16),
}

/// The pages of one request that are being printed, each within the one before.
#[derive(Default)]
pub struct Pages {
    open: Vec<Box<dyn RenderedPage>>,
    /// The actions of the last page that did not fit into the last answer.
    due: VecDeque<PageAction>,
}

impl Pages {
    /// Begins a page, in place of pages at this depth that the worker has left. Returns false if
    /// the worker must not print the page.
    pub fn begin(
        &mut self,
        depth: usize,
        is_included: bool,
        question: SubrequestQuestion<'_>,
        renderer: &PageRenderer,
    ) -> bool {
        if depth > self.open.len() || depth >= DEEPEST {
            return false;
        }
        self.leave_from(depth);
        let begun = match self.open.last().filter(|_| is_included) {
            Some(outer) => outer.include(question),
            None => (renderer.0)(question),
        };
        match begun {
            Some(begun) => self.open.push(begun),
            None => self.due.push_back(PageAction::end(page::PLAIN)),
        }
        true
    }

    /// Goes back to the page at this depth. Returns false if there is none.
    pub fn go_back(&mut self, depth: usize) -> bool {
        self.leave_from(depth + 1);
        self.open.len() == depth + 1
    }

    fn leave_from(&mut self, depth: usize) {
        if self.open.len() > depth {
            self.open.truncate(depth);
            self.due.clear();
        }
    }

    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Has the last page go on.
    pub async fn go_on(&mut self, status: u16) {
        if let Some(last) = self.open.last_mut() {
            let actions = last.next(status).await;
            self.due.extend(actions);
        }
    }

    /// Writes as many actions as fit into an answer.
    pub fn write(&mut self, room: &mut [u8]) {
        let mut at = 4;
        while let Some(action) = self.next_within(room.len().saturating_sub(at + HEAD)) {
            let PageAction { kind, bytes } = &action;
            room[at] = *kind;
            room[at + 1..at + HEAD].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
            at += HEAD;
            room[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
            if *kind == page::END && *bytes != page::PLAIN.to_ne_bytes() {
                self.open.pop();
            }
            if action.is_last() {
                break;
            }
        }
        room[..4].copy_from_slice(&(at as u32).to_ne_bytes());
    }

    /// Takes the next action, or as many bytes of a text as there is room for.
    fn next_within(&mut self, room: usize) -> Option<PageAction> {
        let next = self.due.front_mut()?;
        if next.bytes.len() <= room {
            return self.due.pop_front();
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
        let (mut pages, renderer) = (Pages::default(), PageRenderer::new(begin));
        assert!(pages.begin(0, false, question(b"/page"), &renderer));
        go_on(&mut pages);
        let mut actions = Vec::new();
        while pages.has_due() {
            actions.extend(written(&mut pages));
        }
        assert_eq!(actions.first(), Some(&(page::SET, 3)));
        assert_eq!(actions.last(), Some(&(page::RUN, 5)));
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
        let (mut pages, renderer) = (Pages::default(), PageRenderer::new(begin));
        assert!(!pages.begin(1, false, question(b"/page"), &renderer));
        for depth in 0..DEEPEST {
            assert!(pages.begin(depth, true, question(b"/page"), &renderer));
        }
        assert!(!pages.begin(DEEPEST, true, question(b"/page"), &renderer));
        assert!(pages.go_back(2) && !pages.go_back(3));
        assert!(pages.begin(3, false, question(b"/plain"), &renderer));
        assert_eq!(written(&mut pages), [(page::END, 2)]);
        assert!(pages.go_back(2));
    }

    #[test]
    fn actions_that_no_answer_can_hold_are_left_out() {
        let long = vec![b'x'; LONGEST + 1];
        assert!(PageAction::run(long.clone()).is_none());
        assert!(PageAction::set(b"A", &long).is_none());
        assert!(PageAction::set(b"A\0", b"a").is_none());
    }
}
