//! Names of clients and homes of users, from the system (hosts file, DNS, passwd, ...).
//!
//! The access phase asks if a rule or a path depends on the answer. Each question is asked once, on
//! its own thread off the event loop, a few of a kind at a time. Answers and failures are
//! remembered for a while.

mod system;

pub use system::home_of;

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, Notify, OwnedSemaphorePermit, Semaphore};

/// How long a request waits for an answer. A later answer is kept for the next request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer is kept, and how long a failure is kept.
const LIFE: Duration = Duration::from_secs(60);
const LIFE_OF_FAILURE: Duration = Duration::from_secs(5);
/// The most remembered answers, and the most waiting questions.
const ANSWERS: usize = 16 * 1024;
const QUESTIONS: usize = 1024;
/// The most questions of each kind at once. Clients choose whose names are looked up, but they must
/// not delay lookups of rules.
const AT_ONCE: usize = 16;
const KINDS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    NameOf(IpAddr),
    AddressesOf(String),
    Home(String),
}

impl Question {
    fn kind(&self) -> usize {
        match self {
            Question::NameOf(_) => 0,
            Question::AddressesOf(_) => 1,
            Question::Home(_) => 2,
        }
    }
}

impl std::fmt::Display for Question {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Question::NameOf(address) => write!(out, "the name of {address}"),
            Question::AddressesOf(name) => write!(out, "the addresses of {name}"),
            Question::Home(name) => write!(out, "the home of {}", name.escape_debug()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The name in lower case, and whether it resolves to the address.
    Name(Option<Name>),
    Addresses(Vec<IpAddr>),
    Home(Option<String>),
    /// The resolver fails or takes too long.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub is_confirmed: bool,
}

/// A function that makes lookups: the system's, or a test's own.
pub type Resolver = fn(&Question) -> Answer;

/// The time of each answer.
type Known = HashMap<Question, (Instant, Arc<Answer>)>;

pub struct Names {
    book: Rc<Book>,
    patience: Duration,
}

struct Book {
    resolver: Resolver,
    known: RefCell<Known>,
    /// Notifies the waiting requests of a question.
    asked: RefCell<HashMap<Question, Rc<Notify>>>,
    turns: [Arc<Semaphore>; KINDS],
}

impl Default for Names {
    fn default() -> Names {
        Names::with(system::answer, PATIENCE)
    }
}

impl Names {
    fn with(resolver: Resolver, patience: Duration) -> Names {
        let book = Book {
            resolver,
            known: RefCell::default(),
            asked: RefCell::default(),
            turns: std::array::from_fn(|_| Arc::new(Semaphore::new(AT_ONCE))),
        };
        Names {
            book: Rc::new(book),
            patience,
        }
    }

    /// A recent answer.
    pub fn known(&self, question: &Question) -> Option<Arc<Answer>> {
        self.book.answer(question)
    }

    pub async fn ask(&self, question: &Question) -> Arc<Answer> {
        let answer = tokio::time::timeout(self.patience, self.answered(question));
        match answer.await {
            Ok(answer) => answer,
            Err(_) => self.book.keep(question, Answer::Failed),
        }
    }

    async fn answered(&self, question: &Question) -> Arc<Answer> {
        loop {
            if let Some(answer) = self.known(question) {
                return answer;
            }
            let Some(told) = self.asked(question) else {
                return Arc::new(Answer::Failed);
            };
            told.notified().await;
        }
    }

    /// Asks the question unless it is already asked. `None`: too many questions are waiting.
    fn asked(&self, question: &Question) -> Option<Rc<Notify>> {
        let mut asked = self.book.asked.borrow_mut();
        if let Some(told) = asked.get(question) {
            return Some(told.clone());
        }
        if asked.len() >= QUESTIONS {
            return None;
        }
        let told = Rc::<Notify>::default();
        asked.insert(question.clone(), told.clone());
        tokio::task::spawn_local(self.book.clone().ask(question.clone()));
        Some(told)
    }
}

impl Book {
    fn answer(&self, question: &Question) -> Option<Arc<Answer>> {
        let known = self.known.borrow();
        let (since, answer) = known.get(question)?;
        let life = match **answer {
            Answer::Failed => LIFE_OF_FAILURE,
            _ => LIFE,
        };
        (since.elapsed() < life).then(|| answer.clone())
    }

    fn keep(&self, question: &Question, answer: Answer) -> Arc<Answer> {
        let mut known = self.known.borrow_mut();
        if known.len() >= ANSWERS {
            known.clear();
        }
        let answer = Arc::new(answer);
        known.insert(question.clone(), (Instant::now(), answer.clone()));
        answer
    }

    /// Asks, and keeps the answer even if no request waits for it any more. A question that nobody
    /// waits for when its turn comes is dropped.
    async fn ask(self: Rc<Book>, question: Question) {
        let turn = self.turns[question.kind()].clone().acquire_owned().await;
        if let (Ok(turn), true) = (turn, self.is_awaited(&question)) {
            let said = self.begin(question.clone(), turn).await;
            self.keep(&question, said.unwrap_or(Answer::Failed));
        }
        if let Some(told) = self.asked.borrow_mut().remove(&question) {
            told.notify_waiters();
        }
    }

    fn is_awaited(&self, question: &Question) -> bool {
        let asked = self.asked.borrow();
        asked
            .get(question)
            .is_some_and(|told| Rc::strong_count(told) > 1)
    }

    /// Starts a thread for one question. The thread cannot be cancelled and keeps its turn until it
    /// ends. The end of the server does not wait for it.
    fn begin(&self, question: Question, turn: OwnedSemaphorePermit) -> oneshot::Receiver<Answer> {
        let (tell, said) = oneshot::channel();
        let resolver = self.resolver;
        let work = move || {
            // The receiver may have ended.
            let _ = tell.send(resolver(&question));
            drop(turn);
        };
        // If the thread cannot start, its sender is dropped, which counts as an answer.
        let _ = std::thread::Builder::new().name("names".into()).spawn(work);
        said
    }
}

#[cfg(test)]
mod tests;
