//! The workers' questions that are not answered yet. `subrequests` answers them.

use crate::arrived::Shared;
use crate::call::LaterResolver;
use std::rc::Rc;
use tokio::sync::Notify;

/// The questions for which no task waits yet. Records are read outside of tasks too, where no task
/// can be started.
#[derive(Default)]
pub struct OpenQuestions {
    new: Vec<(OpenQuestion, LaterResolver)>,
    /// Notified when there is a new one.
    pub opened: Rc<Notify>,
}

/// A question that is not answered yet.
pub struct OpenQuestion {
    /// The request of the worker that waits.
    pub exchange: Shared,
    pub worker: usize,
    /// The number of the virtual host.
    pub server: u16,
    pub payload: Box<[u8]>,
}

impl OpenQuestions {
    pub fn open(&mut self, question: OpenQuestion, later: LaterResolver) {
        self.new.push((question, later));
        self.opened.notify_one();
    }

    /// Returns the new questions, each with what it waits for.
    pub fn take(&mut self) -> Vec<(OpenQuestion, LaterResolver)> {
        std::mem::take(&mut self.new)
    }
}
