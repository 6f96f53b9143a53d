//! Sends the same requests to two servers and reports where their answers differ.
//!
//! The module `mask` masks values that differ without a fault: dates, session identifiers, the
//! servers' own addresses. The report counts the masked values and shows examples. The check visits
//! each server with a cookie jar of its own. Both servers get each request at the same time, so
//! both answer at the same time of day.

mod body;
mod cause;
mod cookies;
mod difference;
mod fields;
mod list;
mod mask;
mod report;
mod server_page;

pub use self::cause::Cause;
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
    /// The time-out of each request, including its connect.
    pub timeout: Duration,
    /// Regular expressions of values to mask. If an expression has the group `v`, the group is
    /// masked, otherwise the whole match.
    pub masks: Vec<String>,
    /// Fields that are not compared.
    pub ignored_headers: Vec<String>,
    /// Whether the values of ETag and Last-Modified may differ.
    pub ignore_validators: bool,
    /// Whether the pages that the servers make themselves may differ.
    pub ignore_server_pages: bool,
}

/// Sends the requests of the archive in their order, each request to both servers at once. Calls
/// `told` with the number of finished entries and the number of all entries.
///
/// # Errors
///
/// A text if a mask is not a regular expression, or if the archive has no request to send. No
/// request was sent then.
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
    report.finish();
    Ok(report)
}
