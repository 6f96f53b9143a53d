//! Reports workers that end before they serve a request.

use super::Inner;
use crate::false_starts::LONGEST;
use crate::team::Of;
use mehari_config::LogLevel;
use std::time::{Duration, Instant};

impl Inner {
    pub fn note_false_start(&mut self, team: usize) {
        let team = &mut self.teams[team];
        let Some(pause) = team.false_starts.add(Instant::now()) else {
            return;
        };
        self.log.log_at_most_every(
            Duration::from_secs(60),
            &format!("false-starts {}", team.name),
            LogLevel::Error,
            format_args!(
                "{} workers in a row{} ended before their first request (see the lines above): \
                 the next starts in {} s, later ones after up to {} s each; a reload resets the \
                 pauses",
                team.false_starts.in_a_row,
                Of(&team.name),
                pause.as_secs_f64(),
                LONGEST.as_secs()
            ),
        );
    }
}
