//! Names of clients, as the system's own resolver tells them: hosts file, DNS or whatever it is set up with.
//!
//! Asked by the gate where a rule depends on a name, and off the loop: each question on a thread of its own, a few
//! at a time. What came of it is remembered for a while, also that it failed.

mod system;

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, OwnedSemaphorePermit, Semaphore};

/// How long a request waits for an answer; one that comes later is there for the next.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer stays, and how long it stays that there was none.
const LIFE: Duration = Duration::from_secs(60);
const LIFE_OF_FAILURE: Duration = Duration::from_secs(5);
/// Answers remembered at most, and questions asked at once.
const ANSWERS: usize = 16 * 1024;
const AT_ONCE: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    NameOf(IpAddr),
    AddressesOf(String),
}

impl std::fmt::Display for Question {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Question::NameOf(address) => write!(out, "the name of {address}"),
            Question::AddressesOf(name) => write!(out, "the addresses of {name}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// In lower case; whether it leads back to the address.
    Name(Option<Name>),
    Addresses(Vec<IpAddr>),
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
type Known = Rc<RefCell<HashMap<Question, (Instant, Arc<Answer>)>>>;

pub struct Names {
    resolver: Resolver,
    known: Known,
    turns: Arc<Semaphore>,
    patience: Duration,
}

impl Default for Names {
    fn default() -> Names {
        Names::with(system::answer, PATIENCE)
    }
}

impl Names {
    fn with(resolver: Resolver, patience: Duration) -> Names {
        Names {
            resolver,
            known: Rc::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            patience,
        }
    }

    /// What was found out a short while ago.
    pub fn known(&self, question: &Question) -> Option<Arc<Answer>> {
        let known = self.known.borrow();
        let (since, answer) = known.get(question)?;
        let life = match **answer {
            Answer::Failed => LIFE_OF_FAILURE,
            _ => LIFE,
        };
        (since.elapsed() < life).then(|| answer.clone())
    }

    pub async fn ask(&self, question: &Question) -> Arc<Answer> {
        match tokio::time::timeout(self.patience, self.answered(question)).await {
            Ok(answer) => answer,
            Err(_) => {
                let failed = Arc::new(Answer::Failed);
                let mut known = self.known.borrow_mut();
                known.insert(question.clone(), (Instant::now(), failed.clone()));
                failed
            }
        }
    }

    async fn answered(&self, question: &Question) -> Arc<Answer> {
        let Ok(turn) = self.turns.clone().acquire_owned().await else {
            return Arc::new(Answer::Failed);
        };
        // Somebody else may have asked meanwhile.
        if let Some(answer) = self.known(question) {
            return answer;
        }
        let said = self.begin(question.clone(), turn);
        // Kept when it comes, whether or not somebody still waits for it.
        let (known, question) = (self.known.clone(), question.clone());
        let kept = tokio::task::spawn_local(async move {
            let answer = Arc::new(said.await.unwrap_or(Answer::Failed));
            let mut known = known.borrow_mut();
            if known.len() >= ANSWERS {
                known.clear();
            }
            known.insert(question, (Instant::now(), answer.clone()));
            answer
        });
        kept.await.unwrap_or_else(|_| Arc::new(Answer::Failed))
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
