//! Homes of the machine's users, for `UserDir`: what the access phase has asked for beforehand, off the loop.

use mehari_resolve::names;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// An account is asked for again after this, and after that when nobody could tell.
const LIFE: Duration = Duration::from_secs(60);
const LIFE_OF_FAILURE: Duration = Duration::from_secs(5);
/// Names remembered at most: a client may ask for any.
const NAMES: usize = 1024;

/// Until when.
type Known = HashMap<String, (Instant, Option<String>)>;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// `Some(None)`: there is no such user.
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

/// Asked here only where nobody could wait: for a path that a worker asks about.
pub fn home_of(name: &str) -> Option<String> {
    remembered(name).unwrap_or_else(|| {
        let home = names::home_of(name);
        remember(name, &names::Answer::Home(home.clone()));
        home
    })
}
