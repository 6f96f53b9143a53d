//! Merges the records of several generators that loaded one server together. Nothing is lost.
//!
//! Histograms and counts are added. Timelines are aligned by the wall clock. The merged record has
//! the worst of the verdicts. Rates cover the span from the first start to the last end. If the
//! generators did not run at the same time, the merged record therefore shows a low rate and a
//! SUSPECT verdict, not a wrong sum.

use crate::{Error, Judgement, Plan, Record};

/// The least part of the whole span in which all generators must have run.
const LEAST_OVERLAP: f64 = 0.95;

/// Merges the records of several generators. A single record stays as it is.
///
/// # Errors
/// [`Error::Unmergeable`] if there is no record, or if the plans of the records differ.
pub fn merge(records: &[Record]) -> Result<Record, Error> {
    let (first, rest) = records
        .split_first()
        .ok_or_else(|| Error::Unmergeable("no record was given".into()))?;
    let mut merged = first.clone();
    for record in rest {
        merged.absorb(record)?;
    }
    if !rest.is_empty() {
        merged.plan.words = format!("{} generators: {}", merged.machines.len(), first.plan.words);
        merged.note_overlap(records);
    }
    Ok(merged)
}

impl Record {
    fn absorb(&mut self, other: &Record) -> Result<(), Error> {
        self.plan.absorb(&other.plan)?;
        self.absorb_durations(other);
        self.absorb_counts(other);
        if self.server.is_empty() {
            self.server.clone_from(&other.server);
        }
        self.machines.extend(other.machines.iter().cloned());
        self.response.add(&other.response)?;
        self.service.add(&other.service)?;
        self.response_of_errors.add(&other.response_of_errors)?;
        self.unended.add(&other.unended)?;
        self.connect.add(&other.connect)?;
        self.first_byte.add(&other.first_byte)?;
        let lag = &mut self.lag;
        lag.connections_busy.add(&other.lag.connections_busy)?;
        lag.generator_late.add(&other.lag.generator_late)?;
        lag.read_late.add(&other.lag.read_late)?;
        self.timeline.add(&other.timeline)?;
        for reason in &other.verdict.reasons {
            let judgement = reason.judgement;
            self.verdict.add(&reason.check, judgement, &reason.text);
        }
        self.verdict.judgement = self.verdict.judgement.max(other.verdict.judgement);
        for note in &other.verdict.notes {
            self.verdict.note(note);
        }
        Ok(())
    }

    /// Extends the measured time to the span of both records.
    fn absorb_durations(&mut self, other: &Record) {
        let end = self.ended_unix_us().max(other.ended_unix_us());
        self.started_unix_us = self.started_unix_us.min(other.started_unix_us);
        let durations = &mut self.durations;
        durations.measured_us = end - self.started_unix_us;
        durations.warm_up_us = durations.warm_up_us.max(other.durations.warm_up_us);
        durations.drain_us = durations.drain_us.max(other.durations.drain_us);
    }

    fn absorb_counts(&mut self, other: &Record) {
        let (counts, more) = (&mut self.counts, &other.counts);
        counts.attempted += more.attempted;
        counts.completed += more.completed;
        counts.censored += more.censored;
        counts.bytes_sent += more.bytes_sent;
        counts.bytes_received += more.bytes_received;
        counts.body_bytes_received += more.body_bytes_received;
        counts.connections += more.connections;
        for (class, count) in &more.failed {
            *counts.failed.entry(class.clone()).or_default() += count;
        }
        for (status, count) in &more.statuses {
            *counts.statuses.entry(*status).or_default() += count;
        }
    }

    fn ended_unix_us(&self) -> u64 {
        self.started_unix_us
            .saturating_add(self.durations.measured_us)
    }

    fn note_overlap(&mut self, records: &[Record]) {
        let latest_start = records.iter().map(|r| r.started_unix_us).max();
        let earliest_end = records.iter().map(Record::ended_unix_us).min();
        let together = earliest_end
            .unwrap_or(0)
            .saturating_sub(latest_start.unwrap_or(0));
        let overlap = together as f64 / self.durations.measured_us.max(1) as f64;
        if overlap < LEAST_OVERLAP {
            self.verdict.add(
                "overlap",
                Judgement::Suspect,
                format!(
                    "the generators ran together for {:.0} % of the time from the first start to the last end (at least {:.0} % expected; use --start-at)",
                    overlap * 100.0,
                    LEAST_OVERLAP * 100.0
                ),
            );
        }
    }
}

impl Plan {
    /// Merges another generator's plan into this plan. Settings such as the method must be equal.
    /// Settings that the generators share, such as the rate, are added.
    fn absorb(&mut self, other: &Plan) -> Result<(), Error> {
        for (what, mine, theirs) in [
            ("schedule", &self.schedule, &other.schedule),
            ("method", &self.method, &other.method),
            ("protocol", &self.protocol, &other.protocol),
        ] {
            if mine != theirs {
                return Err(Error::Unmergeable(format!(
                    "the {what} is `{mine}` in one record and `{theirs}` in another; records of one run agree in it"
                )));
            }
        }
        for url in &other.urls {
            if !self.urls.contains(url) {
                self.urls.push(url.clone());
            }
        }
        self.connections += other.connections;
        self.threads += other.threads;
        self.rate = sum(self.rate, other.rate);
        self.requests = sum(self.requests, other.requests);
        if self.stages.len() == other.stages.len() {
            for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
                mine.from += theirs.from;
                mine.to += theirs.to;
            }
        }
        Ok(())
    }
}

fn sum<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
