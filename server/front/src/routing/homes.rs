//! Remembers the home folders of the machine's users, for `UserDir`. The route stage has a helper
//! thread look an unknown home up before the search for a file begins.

use mehari_resolve::names;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long the answer about an account is remembered, and how long a failed lookup is remembered.
const LIFE: Duration = Duration::from_secs(60);
const LIFE_OF_FAILURE: Duration = Duration::from_secs(5);
/// The most remembered names, because clients may request any.
const NAMES: usize = 1024;

/// Homes by user name, with the time until which they are remembered.
type HomeTable = HashMap<String, (Instant, Option<String>)>;

thread_local! {
    static KNOWN: RefCell<HomeTable> = RefCell::default();
}

/// Returns the remembered home. `None`: nothing is remembered. `Some(None)`: there is no such user.
fn remembered(name: &str) -> Option<Option<String>> {
    KNOWN.with_borrow(|known| {
        let (until, home) = known.get(name)?;
        (*until > Instant::now()).then(|| home.clone())
    })
}

pub fn is_remembered(name: &str) -> bool {
    remembered(name).is_some()
}

pub fn remember(name: &str, answer: &names::Answer) {
    let (life, home) = match answer {
        names::Answer::Home(home) => (LIFE, home.clone()),
        _ => (LIFE_OF_FAILURE, None),
    };
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= NAMES {
            known.clear();
        }
        known.insert(name.to_string(), (Instant::now() + life, home));
    });
}

/// Returns the home of a user. A home that is not remembered is looked up at once. This happens
/// only for a worker's question, because the worker cannot wait.
pub fn home_of(name: &str) -> Option<String> {
    remembered(name).unwrap_or_else(|| {
        let home = names::home_of(name);
        remember(name, &names::Answer::Home(home.clone()));
        home
    })
}
