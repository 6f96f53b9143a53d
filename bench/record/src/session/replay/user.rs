//! Plays one user: sends the script's steps with the user's own cookie jar and connections.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::check::Difference;
use super::report::{Played, PlayedAnswer};
use super::script::Script;
use super::visitor::Visitor;
use super::Settings;
use crate::wall_clock;

/// The data that the requests of one user share.
struct User {
    script: Arc<Script>,
    settings: Arc<Settings>,
    visitor: Visitor,
}

pub async fn play(script: Arc<Script>, settings: Arc<Settings>, played: UnboundedSender<Played>) {
    let user = Arc::new(User {
        script: script.clone(),
        settings: settings.clone(),
        visitor: Visitor::new(settings.trust.clone(), settings.timeout),
    });
    let mut last_end = Instant::now();
    let mut ended: Vec<Option<Instant>> = vec![None; script.steps.len()];
    let mut requests_in_flight: JoinSet<Played> = JoinSet::new();
    for (place, step) in script.steps.iter().enumerate() {
        while step.after.iter().any(|earlier| ended[*earlier].is_none()) {
            // All steps of `after` have started before, so a request is under way.
            let Some(Ok(result)) = requests_in_flight.join_next().await else {
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
        requests_in_flight.spawn(async move { user.request(place, intended).await });
    }
    while let Some(Ok(result)) = requests_in_flight.join_next().await {
        let _ = played.send(result);
    }
}

impl User {
    async fn request(&self, place: usize, intended: Instant) -> Played {
        let step = &self.script.steps[place];
        let answer = self.visitor.fetch(&self.script.target, step).await;
        let ended = Instant::now();
        if let Ok(answer) = &answer {
            self.visitor.keep_cookies(step, answer);
        }
        let checks = self.settings.checks;
        Played {
            place,
            response: ended.duration_since(intended),
            ended,
            ended_unix_us: wall_clock::now(),
            problem: match &answer {
                Ok(answer) => checks.difference(&step.expected, answer.status, &answer.body),
                Err(none) => Some(Difference {
                    words: none.why.clone(),
                    body: None,
                }),
            },
            outcome: answer
                .map(|answer| PlayedAnswer {
                    status: answer.status,
                    body_bytes: answer.body.len() as u64,
                })
                .map_err(|none| none.class),
        }
    }
}
