//! Defines a visitor of a server: a cookie jar, connections, and a time-out. A replay has a visitor
//! for each user. A parity check has a visitor for each of its two servers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cookie_store::CookieStore;

use super::answer::{Answer, Connections, NoAnswer};
use super::script::Step;
use crate::session::{Target, Trust};

pub struct Visitor {
    timeout: Duration,
    jar: Mutex<CookieStore>,
    connections: Connections,
}

impl Visitor {
    pub fn new(trust: Trust, timeout: Duration) -> Visitor {
        Visitor {
            timeout,
            jar: Mutex::default(),
            connections: Connections::new(trust),
        }
    }

    /// Sends a step's request. Redirects are not followed.
    pub async fn fetch(&self, target: &Target, step: &Step) -> Result<Answer, NoAnswer> {
        let cookies = self.cookies_for(step);
        let fetched =
            tokio::time::timeout(self.timeout, self.connections.fetch(target, step, &cookies));
        fetched.await.unwrap_or_else(|_| {
            Err(NoAnswer {
                class: "time-out",
                why: format!("no answer in {} s", self.timeout.as_secs_f64()),
            })
        })
    }

    pub fn keep_cookies(&self, step: &Step, answer: &Answer) {
        let mut jar = self.jar();
        for value in answer.headers.get_all(hyper::header::SET_COOKIE) {
            if let Ok(text) = value.to_str() {
                // Malformed cookies and cookies of foreign domains are ignored, as in browsers.
                let _ = jar.parse(text, &step.url);
            }
        }
    }

    /// Returns the value of the `Cookie` field for a step: the jar's cookies, and the recorded
    /// cookies that no server sets.
    fn cookies_for(&self, step: &Step) -> String {
        let jar = self.jar();
        let live: Vec<(&str, &str)> = jar.get_request_values(&step.url).collect();
        let own = step
            .own_cookies
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| !live.iter().any(|(known, _)| known == name));
        let pairs: Vec<String> = live
            .iter()
            .copied()
            .chain(own)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn jar(&self) -> MutexGuard<'_, CookieStore> {
        self.jar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
