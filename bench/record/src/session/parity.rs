//! Sends the same requests to two servers and reports where their answers differ.
//!
//! [`mask`] masks values that vary by nature: dates, session identifiers, the servers' own
//! addresses. Hidden values are counted and shown. Each server has its own visitor, as in a replay.
//! Both servers get each request at once, so a clock shows both the same time.

mod body;
mod cookies;
mod difference;
mod fields;
mod list;
mod mask;
mod report;

pub use self::difference::Difference;
pub use self::list::read as read_list;
pub use self::report::{Compared, Report, Tally};

use std::time::Duration;

use self::difference::Findings;
use self::mask::Masks;
use super::har::Archive;
use super::replay::script::Script;
use super::replay::visitor::Visitor;
use super::{Target, Trust};

/// The servers, and what to compare.
#[derive(Clone, Debug)]
pub struct Settings {
    pub old: Target,
    pub new: Target,
    pub trust: Trust,
    /// The limit of each request, including its connection.
    pub timeout: Duration,
    /// Regular expressions. The group `v` is masked if the expression has one, otherwise the whole
    /// match.
    pub masks: Vec<String>,
    /// Fields that are not compared.
    pub ignored_headers: Vec<String>,
    /// Whether the values of ETag and Last-Modified may differ.
    pub ignore_validators: bool,
}

/// Sends the request of each entry in turn, to both servers at once. `told` gets the number of
/// finished entries and of all entries.
///
/// # Errors
///
/// A mask is not a regular expression, or the archive has no request to send. Nothing was sent.
pub async fn compare(
    archive: &Archive,
    settings: &Settings,
    mut told: impl FnMut(usize, usize),
) -> Result<Report, String> {
    let mut masks = Masks::of(settings)?;
    let old = Script::of(archive, Some(settings.old.clone()))?;
    let new = Script::of(archive, Some(settings.new.clone()))?;
    let visitors = [&settings.old, &settings.new]
        .map(|_| Visitor::new(settings.trust.clone(), settings.timeout));
    let mut report = Report::of(settings, old.foreign);
    for (place, (for_old, for_new)) in old.steps.iter().zip(&new.steps).enumerate() {
        let (from_old, from_new) = tokio::join!(
            visitors[0].fetch(&settings.old, for_old),
            visitors[1].fetch(&settings.new, for_new),
        );
        let mut findings = Findings::default();
        match (&from_old, &from_new) {
            (Ok(a), Ok(b)) => {
                visitors[0].keep_cookies(for_old, a);
                visitors[1].keep_cookies(for_new, b);
                findings.compare(a, b, &mut masks, settings);
            }
            (a, b) => findings.missing(a, b),
        }
        report.add(format!("{} {}", for_old.method, for_old.path), findings);
        told(place + 1, old.steps.len());
    }
    Ok(report)
}
