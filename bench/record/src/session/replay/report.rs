//! Makes the report of a replay: for each entry, how many answers were as recorded, and their
//! times.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::check::Difference;
use super::Script;
use crate::session::excerpt::{excerpt, texts};
use crate::{figures, wall_clock, Event, Latency, Machine, Plan, Record};

/// One request played by one user.
pub struct Played {
    pub place: usize,
    pub ended: Instant,
    /// The response time, measured from the intended start.
    pub response: Duration,
    pub ended_unix_us: u64,
    /// Why the request counts as failed.
    pub problem: Option<Difference>,
    /// The answer, or the failure class if there is no answer.
    pub outcome: Result<PlayedAnswer, &'static str>,
}

/// The answer to a played request.
#[derive(Debug, Clone, Copy)]
pub struct PlayedAnswer {
    pub status: u16,
    pub body_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub target: String,
    pub users: usize,
    pub seconds: f64,
    pub ok: u64,
    pub failed: u64,
    /// The number of requests that were never sent because the replay ended early.
    pub unplayed: u64,
    /// The number of entries of other origins, which were not replayed.
    pub foreign: usize,
    pub interrupted: bool,
    /// The response times of all answers that were as recorded.
    pub response: Latency,
    pub entries: Vec<EntryReport>,
    /// The replay as the record of a run, which can be saved, drawn and compared.
    #[serde(skip)]
    pub record: Record,
    #[serde(skip)]
    began: Instant,
}

#[derive(Debug, Serialize)]
pub struct EntryReport {
    pub method: String,
    pub path: String,
    pub ok: u64,
    pub failed: u64,
    pub response: Latency,
    /// The reason of the first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where the body of the first failure differs: recorded lines begin with `-`, lines of the
    /// answer with `+`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excerpt: Vec<String>,
}

impl Report {
    pub fn of(script: &Script, users: usize) -> Report {
        let entries = script.steps.iter().map(|step| EntryReport {
            method: step.method.to_string(),
            path: step.path.clone(),
            ok: 0,
            failed: 0,
            response: Latency::small(),
            problem: None,
            excerpt: Vec::new(),
        });
        Report {
            target: script.target.origin(),
            users,
            seconds: 0.0,
            ok: 0,
            failed: 0,
            unplayed: 0,
            foreign: script.foreign,
            interrupted: false,
            response: Latency::new(),
            entries: entries.collect(),
            record: empty_record(script, users),
            began: Instant::now(),
        }
    }

    pub fn add(&mut self, script: &Script, played: &Played) {
        let ns = u64::try_from(played.response.as_nanos()).unwrap_or(u64::MAX);
        add_to_record(&mut self.record, played, ns);
        let entry = &mut self.entries[played.place];
        match &played.problem {
            None => {
                entry.ok += 1;
                self.ok += 1;
                entry.response.count(ns);
                self.response.count(ns);
            }
            Some(problem) => {
                entry.failed += 1;
                self.failed += 1;
                if entry.problem.is_none() {
                    let recorded = script.steps[played.place].expected.body.as_deref();
                    entry.problem = Some(problem.words.clone());
                    entry.excerpt = excerpt_of(recorded, problem);
                }
            }
        }
    }

    pub fn finish(&mut self) {
        let elapsed = self.began.elapsed();
        self.seconds = elapsed.as_secs_f64();
        self.record.durations.measured_us = elapsed.as_micros() as u64;
        let planned = (self.entries.len() * self.users) as u64;
        self.unplayed = planned - self.ok - self.failed;
    }

    /// Returns whether everything was replayed and every answer was as recorded.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.unplayed == 0
    }
}

fn excerpt_of(recorded: Option<&[u8]>, problem: &Difference) -> Vec<String> {
    let bodies = recorded.zip(problem.body.as_deref());
    let told = bodies.and_then(|(recorded, body)| texts(recorded, body));
    told.map_or_else(Vec::new, |[recorded, body]| excerpt(&recorded, &body))
}

fn crowd(users: usize) -> String {
    match users {
        1 => "1 user".to_owned(),
        users => format!("{} users", figures::count(users as u64)),
    }
}

fn empty_record(script: &Script, users: usize) -> Record {
    let target = script.target.origin();
    let steps = script.steps.len();
    let plan = Plan {
        words: format!("{target} · replay of {steps} requests by {}", crowd(users)),
        urls: vec![target],
        schedule: "sessions".into(),
        connections: users as u64,
        threads: 1,
        protocol: "http/1.1".into(),
        tls: script.target.tls,
        keep_alive: true,
        ..Plan::default()
    };
    let machine = Machine::here(concat!("mehari ", env!("CARGO_PKG_VERSION")));
    Record::new(plan, machine, wall_clock::now())
}

fn add_to_record(record: &mut Record, played: &Played, ns: u64) {
    record.counts.attempted += 1;
    match played.outcome {
        Ok(PlayedAnswer { status, body_bytes }) => {
            record.counts.completed += 1;
            *record.counts.statuses.entry(status).or_default() += 1;
            record.counts.bytes_received += body_bytes;
            record.counts.body_bytes_received += body_bytes;
            record.response.count(ns);
            if status >= 400 {
                record.response_of_errors.count(ns);
            }
        }
        Err(class) => {
            record.counts.fail(class);
            record.unended.count(ns);
        }
    }
    record.timeline.count(Event {
        ended_unix_us: played.ended_unix_us,
        response_ns: played.outcome.is_ok().then_some(ns),
        bytes: played.outcome.map_or(0, |answer| answer.body_bytes),
    });
}

impl std::fmt::Display for Report {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        writeln!(
            out,
            "{:>7} {:>7} {:>9} {:>9} {:>9}  request",
            "ok", "failed", "median", "p99", "longest"
        )?;
        for entry in &self.entries {
            entry.write(out)?;
        }
        writeln!(
            out,
            "\n{} as recorded, {} not; {} to {} in {:.2} s",
            figures::count(self.ok),
            figures::count(self.failed),
            crowd(self.users),
            self.target,
            self.seconds
        )?;
        if self.unplayed > 0 {
            let unplayed = figures::count(self.unplayed);
            writeln!(out, "{unplayed} not played: the replay was ended before")?;
        }
        if self.foreign > 0 {
            let foreign = self.foreign;
            writeln!(out, "{foreign} entries of other origins were left out")?;
        }
        Ok(())
    }
}

impl EntryReport {
    fn write(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let time = |percentile: f64| {
            if self.response.is_empty() {
                "–".to_owned()
            } else {
                figures::duration(self.response.value_at_percentile(percentile))
            }
        };
        writeln!(
            out,
            "{:>7} {:>7} {:>9} {:>9} {:>9}  {} {}",
            figures::count(self.ok),
            figures::count(self.failed),
            time(50.0),
            match self.response.len() {
                // With fewer than a thousand answers the 99th percentile would be close to the
                // maximum.
                0..=999 => "–".to_owned(),
                _ => time(99.0),
            },
            time(100.0),
            self.method,
            self.path
        )?;
        if let Some(problem) = &self.problem {
            writeln!(out, "{:>45}  {problem}", "")?;
        }
        for line in &self.excerpt {
            writeln!(out, "{:>47}{line}", "")?;
        }
        Ok(())
    }
}
