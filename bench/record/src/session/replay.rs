//! Plays a recorded session again, for one user or many, and checks the answers.
//!
//! Timing: a request starts when all that had ended before it in the recording has ended, after
//! the same pause (think time). So what ran side by side runs side by side, and what depended on
//! an answer, such as a login, waits for that answer however long it takes now.
//! Cookies: each user has a jar of its own; a cookie that the server sets takes the place of the
//! recorded one. Only requests to the first entry's origin are played: a recording made in a
//! browser names servers that are not under test.

pub(super) mod answer;
mod check;
mod report;
pub(super) mod script;
mod user;
pub(super) mod visitor;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

pub use self::check::Checks;
use self::report::Played;
pub use self::report::{EntryReport, Report};
pub use self::script::Script;
use super::har::Archive;
use super::{Target, Trust};

/// How to play.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In place of the recorded origin.
    pub to: Option<Target>,
    pub trust: Trust,
    pub users: usize,
    /// The users start spread over this time.
    pub ramp: Duration,
    /// Pauses are divided by this; infinite means none.
    pub speed: f64,
    pub checks: Checks,
    /// For each request, its connection included.
    pub timeout: Duration,
}

/// Plays the archive; `stop` ends it early with what was played until then.
///
/// # Errors
/// The archive holds nothing that can be played; nothing was sent.
pub async fn play(
    archive: &Archive,
    settings: Settings,
    stop: impl std::future::Future<Output = ()>,
) -> Result<Report, String> {
    let script = Arc::new(Script::of(archive, settings.to.clone())?);
    let settings = Arc::new(settings);
    let mut users = JoinSet::new();
    let (played, mut results) = tokio::sync::mpsc::unbounded_channel::<Played>();
    for number in 0..settings.users {
        let part = number as f64 / settings.users as f64;
        let delay = settings.ramp.mul_f64(part);
        let (script, settings, played) = (script.clone(), settings.clone(), played.clone());
        users.spawn(async move {
            tokio::time::sleep(delay).await;
            user::play(script, settings, played).await;
        });
    }
    drop(played);
    let mut report = Report::of(&script, settings.users);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => { report.interrupted = true; break }
            result = results.recv() => match result {
                Some(played) => report.add(&played),
                None => break,
            },
        }
    }
    users.shutdown().await;
    report.finish();
    Ok(report)
}
