//! One user: walks through the steps with a jar and connections of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cookie_store::CookieStore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::{Answer, Connections, NoAnswer};
use super::report::Played;
use super::script::{Script, Step};
use super::Settings;
use crate::wall_clock;

/// What the requests of one user share.
struct User {
    script: Arc<Script>,
    settings: Arc<Settings>,
    jar: Mutex<CookieStore>,
    connections: Connections,
}

pub async fn play(script: Arc<Script>, settings: Arc<Settings>, played: UnboundedSender<Played>) {
    let user = Arc::new(User {
        script: script.clone(),
        settings: settings.clone(),
        jar: Mutex::default(),
        connections: Connections::new(settings.trust.clone()),
    });
    let mut last_end = Instant::now();
    let mut ended: Vec<Option<Instant>> = vec![None; script.steps.len()];
    let mut under_way: JoinSet<Played> = JoinSet::new();
    for (place, step) in script.steps.iter().enumerate() {
        while step.after.iter().any(|earlier| ended[*earlier].is_none()) {
            // Each step of `after` was spawned before, so something is under way.
            let Some(Ok(result)) = under_way.join_next().await else {
                return;
            };
            ended[result.place] = Some(result.ended);
            let _ = played.send(result);
        }
        let awaited = step.after.iter().filter_map(|earlier| ended[*earlier]);
        last_end = awaited.fold(last_end, Instant::max);
        let intended = last_end + Duration::from_micros(step.pause_us).div_f64(settings.speed);
        tokio::time::sleep_until(intended).await;
        let user = user.clone();
        under_way.spawn(async move { user.request(place, intended).await });
    }
    while let Some(Ok(result)) = under_way.join_next().await {
        let _ = played.send(result);
    }
}

impl User {
    async fn request(&self, place: usize, intended: Instant) -> Played {
        let step = &self.script.steps[place];
        let cookies = self.cookies_for(step);
        let fetched = tokio::time::timeout(
            self.settings.timeout,
            self.connections.fetch(&self.script.target, step, &cookies),
        );
        let answer = fetched.await.unwrap_or_else(|_| {
            Err(NoAnswer {
                class: "time-out",
                why: format!("no answer in {} s", self.settings.timeout.as_secs_f64()),
            })
        });
        let ended = Instant::now();
        if let Ok(answer) = &answer {
            self.keep_cookies(step, answer);
        }
        let checks = self.settings.checks;
        Played {
            place,
            response: ended.duration_since(intended),
            ended,
            ended_unix_us: wall_clock::now(),
            problem: match &answer {
                Ok(answer) => checks.difference(&step.expected, answer.status, &answer.body),
                Err(none) => Some(none.why.clone()),
            },
            outcome: answer
                .map(|answer| (answer.status, answer.body.len() as u64))
                .map_err(|none| none.class),
        }
    }

    /// The jar's cookies, and of the recorded ones those that no server ever sets.
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

    fn keep_cookies(&self, step: &Step, answer: &Answer) {
        let mut jar = self.jar();
        for value in answer.headers.get_all(hyper::header::SET_COOKIE) {
            if let Ok(text) = value.to_str() {
                // A cookie for another domain or of a broken form is ignored, as browsers do.
                let _ = jar.parse(text, &step.url);
            }
        }
    }

    fn jar(&self) -> MutexGuard<'_, CookieStore> {
        self.jar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
