//! Names of clients, and homes of users, as the system itself tells them: hosts file and DNS, passwd or whatever it is
//! set up with.
//!
//! Asked by the gate where a rule or a path depends on it, and off the loop: each question once, on a thread of its own,
//! a few of a kind at a time. What came of it is remembered for a while, also that it failed.

mod system;

pub use system::home_of;

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, Notify, OwnedSemaphorePermit, Semaphore};

/// How long a request waits for an answer; one that comes later is there for the next.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer stays, and how long it stays that there was none.
const LIFE: Duration = Duration::from_secs(60);
const LIFE_OF_FAILURE: Duration = Duration::from_secs(5);
/// Answers remembered at most, and questions that wait for theirs.
const ANSWERS: usize = 16 * 1024;
const QUESTIONS: usize = 1024;
/// Questions asked at once, of each kind: clients choose whose names are asked for, and not what a rule asks.
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
    /// In lower case; whether it leads back to the address.
    Name(Option<Name>),
    Addresses(Vec<IpAddr>),
    Home(Option<String>),
    /// The resolver cannot tell now, or takes too long.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub is_confirmed: bool,
}

/// One that never looks anything up itself: the system, or a test's own answers.
pub type Resolver = fn(&Question) -> Answer;

/// Since when.
type Known = HashMap<Question, (Instant, Arc<Answer>)>;

pub struct Names {
    book: Rc<Book>,
    patience: Duration,
}

struct Book {
    resolver: Resolver,
    known: RefCell<Known>,
    /// Who waits for which answer is told that it is known.
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

    /// What was found out a short while ago.
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

    /// Asks, where nobody has yet. `None`: too much is asked already.
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

    /// What comes is kept, whether or not somebody still waits for it; a question that nobody waits for by the time
    /// its turn comes is not asked.
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

    /// A thread for one question. It cannot be called back; it keeps its turn to its end, and the end of the
    /// server does not wait for it.
    fn begin(&self, question: Question, turn: OwnedSemaphorePermit) -> oneshot::Receiver<Answer> {
        let (tell, said) = oneshot::channel();
        let resolver = self.resolver;
        let work = move || {
            // Nobody may be there any more.
            let _ = tell.send(resolver(&question));
            drop(turn);
        };
        // A thread that cannot be started drops its end: that is an answer too.
        let _ = std::thread::Builder::new().name("names".into()).spawn(work);
        said
    }
}

#[cfg(test)]
mod tests;
