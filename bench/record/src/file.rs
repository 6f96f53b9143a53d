//! Reads and writes record files. A file of another major version is refused, and the message names
//! the version.

use std::path::Path;

use serde::Deserialize;

use crate::{Error, Record, FORMAT, VERSION};

/// The two fields that show whether the file can be read.
#[derive(Deserialize)]
struct Label {
    format: Option<String>,
    version: Option<String>,
}

impl Record {
    /// Returns the record as JSON text with a final newline.
    ///
    /// # Panics
    ///
    /// Never: a record consists of plain data, which JSON can express.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a record is plain data");
        text.push('\n');
        text
    }

    /// Reads a record from text. Error messages name `path` as the source.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] if the text is not a record of a known version, or breaks a rule of
    /// docs/reference/records.md.
    pub fn from_json(text: &str, path: &str) -> Result<Record, Error> {
        let unreadable = |expected: String| Error::Unreadable {
            path: path.to_owned(),
            expected,
        };
        let label: Label = serde_json::from_str(text)
            .map_err(|cause| unreadable(format!("expected a JSON record, but {cause}")))?;
        if label.format.as_deref() != Some(FORMAT) {
            return Err(unreadable(format!(
                "expected a record with \"format\": \"{FORMAT}\" (as `mehari bench --json` writes)"
            )));
        }
        let version = label.version.unwrap_or_default();
        if major(&version) != major(VERSION) {
            return Err(unreadable(format!(
                "record version {version:?} is not understood; this program reads {}.x",
                major(VERSION)
            )));
        }
        let record: Record =
            serde_json::from_str(text).map_err(|cause| unreadable(cause.to_string()))?;
        record.check().map_err(unreadable)?;
        Ok(record)
    }

    /// Reads a record from a file.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read, or if its text is not a valid record.
    pub fn read(path: &Path) -> Result<Record, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|cause| Error::File {
            doing: "read",
            path: name.clone(),
            cause,
        })?;
        Record::from_json(&text, &name)
    }

    /// Writes the record to a file.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        std::fs::write(path, self.to_json()).map_err(|cause| Error::File {
            doing: "write",
            path: path.display().to_string(),
            cause,
        })
    }

    /// Checks the rules of docs/reference/records.md that the types do not express.
    fn check(&self) -> Result<(), String> {
        let counts = &self.counts;
        let ended = [counts.completed, counts.censored]
            .iter()
            .chain(counts.failed.values())
            .try_fold(0u64, |sum, count| sum.checked_add(*count));
        if ended != Some(counts.attempted) {
            return Err(
                "`counts.attempted` is not the sum of completed, failed and censored".into(),
            );
        }
        if self.quantities().any(|quantity| quantity > MOST) {
            return Err(format!(
                "a count or duration is above {MOST}, more than any run can have"
            ));
        }
        if self.machines.is_empty() {
            return Err("`machines` is empty; a record names at least one generator".into());
        }
        Ok(())
    }
}

/// The largest accepted number. The limit ensures that sums over many records fit into 64 bits.
const MOST: u64 = 1 << 50;

impl Record {
    /// Returns all numbers of the record that enter into sums.
    fn quantities(&self) -> impl Iterator<Item = u64> + '_ {
        let (plan, durations, counts) = (&self.plan, &self.durations, &self.counts);
        let plain = [
            plan.connections,
            plan.threads,
            plan.requests.unwrap_or(0),
            durations.warm_up_us,
            durations.measured_us,
            durations.drain_us,
            counts.attempted,
            counts.bytes_sent,
            counts.bytes_received,
            counts.body_bytes_received,
            counts.connections,
        ];
        let histograms = [
            &self.response,
            &self.service,
            &self.response_of_errors,
            &self.unended,
            &self.connect,
            &self.first_byte,
            &self.lag.connections_busy,
            &self.lag.generator_late,
            &self.lag.read_late,
        ];
        let costs = self.machines.iter().flat_map(|machine| {
            let cost = &machine.cost;
            [cost.cpu_user_us, cost.cpu_system_us]
        });
        let buckets = self.timeline.buckets.iter();
        let buckets = buckets.flat_map(|b| [b.completed, b.failed, b.bytes, b.response.len()]);
        plain
            .into_iter()
            .chain(counts.statuses.values().copied())
            .chain(histograms.map(|histogram| histogram.len()))
            .chain(costs)
            .chain(buckets)
    }
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}
