//! Keeps where the reports of exact profiles lie, so that the console can list them. The command
//! `mehari profile --exact` makes the reports and tells the server (`exact-report` on the control
//! socket). The server itself never reads them.

use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most reports that are kept. The oldest one is forgotten.
const MOST: usize = 50;

/// What the command tells of a report.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactReport {
    /// The folder with the pages, an absolute path.
    pub folder: PathBuf,
    /// The URL or the location of the profiled requests.
    pub about: String,
    /// The number of profiles in the report.
    pub profiles: u64,
}

/// A report in the list.
#[derive(Serialize)]
struct KeptReport {
    id: u64,
    /// Seconds since 1970.
    at: u64,
    #[serde(flatten)]
    report: ExactReport,
}

#[derive(Default)]
pub struct ExactReports {
    kept: RefCell<VecDeque<KeptReport>>,
    last: Cell<u64>,
}

impl ExactReports {
    /// Notes a report that the command has made.
    pub fn note(&self, told: &str) -> Result<(), String> {
        let report = serde_json::from_str::<ExactReport>(told);
        let report = report.map_err(|error| format!("the exact report: {error}"))?;
        if !report.folder.is_absolute() {
            return Err("the exact report: expected an absolute path of its folder".to_owned());
        }
        self.last.set(self.last.get() + 1);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut kept = self.kept.borrow_mut();
        kept.truncate(MOST - 1);
        kept.push_front(KeptReport {
            id: self.last.get(),
            at: since.unwrap_or_default().as_secs(),
            report,
        });
        Ok(())
    }

    /// Returns the reports, the newest first.
    pub fn all(&self) -> Vec<serde_json::Value> {
        let kept = self.kept.borrow();
        kept.iter()
            .map(|report| serde_json::json!(report))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ExactReports, MOST};

    #[test]
    fn newest_reports_are_kept_and_others_forgotten() {
        let reports = ExactReports::default();
        for number in 1..=MOST + 5 {
            let told = format!(r#"{{"folder":"/a/{number}","about":"/shop","profiles":2}}"#);
            reports.note(&told).expect("a report");
        }
        let all = reports.all();
        assert_eq!(all.len(), MOST);
        assert_eq!(
            (&all[0]["id"], &all[0]["folder"]),
            (&55.into(), &"/a/55".into())
        );
        assert_eq!(all[MOST - 1]["id"], 6);
    }

    #[test]
    fn order_without_an_absolute_folder_is_refused() {
        for told in [
            "",
            "{}",
            r#"{"folder":"a","about":"/","profiles":1}"#,
            r#"{"folder":"/a","about":"/","profiles":-1}"#,
            r#"{"folder":"/a","about":"/","profiles":1,"more":1}"#,
        ] {
            let reports = ExactReports::default();
            assert!(
                reports.note(told).is_err() && reports.all().is_empty(),
                "{told}"
            );
        }
    }
}
