//! The workers' questions that are not answered yet. `subrequests` answers them.

use crate::arrived::Shared;
use crate::call::SubrequestResolver;
use crate::page::Pages;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use tokio::sync::Notify;

/// The questions for which no task waits yet. Records are read outside of tasks too, where no task
/// can be started.
#[derive(Default)]
pub struct OpenQuestions {
    new: Vec<(OpenQuestion, LaterAnswer)>,
    /// Notified when there is a new one.
    pub opened: Rc<Notify>,
}

/// Finds out what a question waits for.
pub type LaterAnswer = Pin<Box<dyn Future<Output = FoundAnswer>>>;

/// What a question has waited for.
pub enum FoundAnswer {
    /// The resolver that can answer the question.
    Resolver(SubrequestResolver),
    /// The pages, of which the last one has gone on.
    Pages(Box<Pages>),
}

/// A question that is not answered yet.
pub struct OpenQuestion {
    /// The request of the worker that waits.
    pub exchange: Shared,
    pub worker: usize,
    /// The number of the virtual host.
    pub server: u16,
    /// Empty for a step of a page.
    pub payload: Box<[u8]>,
}

impl OpenQuestions {
    pub fn open(&mut self, question: OpenQuestion, later: LaterAnswer) {
        self.new.push((question, later));
        self.opened.notify_one();
    }

    /// Returns the new questions, each with what it waits for.
    pub fn take(&mut self) -> Vec<(OpenQuestion, LaterAnswer)> {
        std::mem::take(&mut self.new)
    }
}
