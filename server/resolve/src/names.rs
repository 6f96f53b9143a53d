//! Looks up names of clients and homes of users in the system (hosts file, DNS, passwd, ...).
//!
//! The access phase calls this module when a rule or a path depends on the answer. Each query runs
//! only once at a time, on its own thread outside the event loop. A few queries of each kind run at
//! the same time. Answers and failures are remembered for a while.

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
/// How long an answer is kept. The next constant is for failures.
const LIFE: Duration = Duration::from_secs(60);
const LIFE_OF_FAILURE: Duration = Duration::from_secs(5);
/// The largest number of remembered answers. The next constant is for waiting queries.
const ANSWERS: usize = 16 * 1024;
const QUESTIONS: usize = 1024;
/// The largest number of queries of each kind at once. Clients choose which names are looked up for
/// them, but they must not delay the lookups that rules need.
const AT_ONCE: usize = 16;
const KINDS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Query {
    NameOf(IpAddr),
    AddressesOf(String),
    Home(String),
}

impl Query {
    fn kind(&self) -> usize {
        match self {
            Query::NameOf(_) => 0,
            Query::AddressesOf(_) => 1,
            Query::Home(_) => 2,
        }
    }
}

impl std::fmt::Display for Query {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Query::NameOf(address) => write!(out, "the name of {address}"),
            Query::AddressesOf(name) => write!(out, "the addresses of {name}"),
            Query::Home(name) => write!(out, "the home of {}", name.escape_debug()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The name of an address in lower case, and whether this name resolves to the address.
    Name(Option<Name>),
    Addresses(Vec<IpAddr>),
    Home(Option<String>),
    /// The resolver has failed or takes too long.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub is_confirmed: bool,
}

/// A function that makes lookups: the system's resolver, or a test's own.
pub type Resolver = fn(&Query) -> Answer;

/// The answers, with the time of each answer.
type AnswerTable = HashMap<Query, (Instant, Arc<Answer>)>;

pub struct Names {
    book: Rc<Book>,
    patience: Duration,
}

struct Book {
    resolver: Resolver,
    known: RefCell<AnswerTable>,
    /// Wakes the requests that wait for a query.
    asked: RefCell<HashMap<Query, Rc<Notify>>>,
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

    /// Returns a recent answer, if there is one.
    pub fn known(&self, query: &Query) -> Option<Arc<Answer>> {
        self.book.answer(query)
    }

    pub async fn ask(&self, query: &Query) -> Arc<Answer> {
        let answer = tokio::time::timeout(self.patience, self.answered(query));
        match answer.await {
            Ok(answer) => answer,
            Err(_) => self.book.keep(query, Answer::Failed),
        }
    }

    async fn answered(&self, query: &Query) -> Arc<Answer> {
        loop {
            if let Some(answer) = self.known(query) {
                return answer;
            }
            let Some(notify) = self.asked(query) else {
                return Arc::new(Answer::Failed);
            };
            notify.notified().await;
        }
    }

    /// Starts the query unless it is already running. Returns `None` if too many queries are
    /// waiting.
    fn asked(&self, query: &Query) -> Option<Rc<Notify>> {
        let mut asked = self.book.asked.borrow_mut();
        if let Some(notify) = asked.get(query) {
            return Some(notify.clone());
        }
        if asked.len() >= QUESTIONS {
            return None;
        }
        let notify = Rc::<Notify>::default();
        asked.insert(query.clone(), notify.clone());
        tokio::task::spawn_local(self.book.clone().ask(query.clone()));
        Some(notify)
    }
}

impl Book {
    fn answer(&self, query: &Query) -> Option<Arc<Answer>> {
        let known = self.known.borrow();
        let (since, answer) = known.get(query)?;
        let life = match **answer {
            Answer::Failed => LIFE_OF_FAILURE,
            _ => LIFE,
        };
        (since.elapsed() < life).then(|| answer.clone())
    }

    fn keep(&self, query: &Query, answer: Answer) -> Arc<Answer> {
        let mut known = self.known.borrow_mut();
        if known.len() >= ANSWERS {
            known.clear();
        }
        let answer = Arc::new(answer);
        known.insert(query.clone(), (Instant::now(), answer.clone()));
        answer
    }

    /// Runs the query, and keeps the answer even if no request waits for it any more. If no request
    /// waits when the query's turn comes, the query is dropped.
    async fn ask(self: Rc<Book>, query: Query) {
        let turn = self.turns[query.kind()].clone().acquire_owned().await;
        if let (Ok(turn), true) = (turn, self.is_awaited(&query)) {
            let said = self.begin(query.clone(), turn).await;
            self.keep(&query, said.unwrap_or(Answer::Failed));
        }
        if let Some(notify) = self.asked.borrow_mut().remove(&query) {
            notify.notify_waiters();
        }
    }

    fn is_awaited(&self, query: &Query) -> bool {
        let asked = self.asked.borrow();
        asked
            .get(query)
            .is_some_and(|notify| Rc::strong_count(notify) > 1)
    }

    /// Starts a thread for one query. The thread cannot be cancelled and keeps its turn until it
    /// ends. The end of the server does not wait for the thread.
    fn begin(&self, query: Query, turn: OwnedSemaphorePermit) -> oneshot::Receiver<Answer> {
        let (tell, said) = oneshot::channel();
        let resolver = self.resolver;
        let work = move || {
            // Sending fails if nobody waits for the answer any more.
            let _ = tell.send(resolver(&query));
            drop(turn);
        };
        // If the thread cannot start, `tell` is dropped, and the receiver takes this as a failure.
        let _ = std::thread::Builder::new().name("names".into()).spawn(work);
        said
    }
}

#[cfg(test)]
mod tests;
