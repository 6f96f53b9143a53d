//! Replays a recorded session for one or many users and checks the answers.
//!
//! Timing: a request waits for the end of all requests that ended before its start in the
//! recording. Then it waits for the recorded pause (think time). Parallel requests stay parallel,
//! and a request that depends on an answer, such as a login, waits for that answer.
//!
//! Cookies: each user has a cookie jar. A cookie that the server sets replaces the recorded cookie.
//!
//! Only requests to the origin of the first entry are replayed. A browser's recording may also hold
//! requests to servers that are not under test.

pub(super) mod answer;
mod check;
mod report;
pub(super) mod script;
mod user;
pub(super) mod visitor;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

pub use self::check::{Checks, Difference};
use self::report::Played;
pub use self::report::{EntryReport, Report};
pub use self::script::Script;
use super::har::Archive;
use super::{Target, Trust};

/// The settings of a replay.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The origin to which requests are sent instead of the recorded origin.
    pub to: Option<Target>,
    pub trust: Trust,
    pub users: usize,
    /// The time over which the starts of the users are spread.
    pub ramp: Duration,
    /// The divisor of pauses; infinite means no pauses.
    pub speed: f64,
    pub checks: Checks,
    /// The time-out of each request, including its connect.
    pub timeout: Duration,
}

/// Replays the archive. `stop` ends the replay early.
///
/// # Errors
/// A text if the archive has no request to replay. No request was sent then.
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
                Some(played) => report.add(&script, &played),
                None => break,
            },
        }
    }
    users.shutdown().await;
    report.finish();
    Ok(report)
}
