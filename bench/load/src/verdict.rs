//! Judges a run. Each check compares a measured figure with two limits: above the first the run is
//! SUSPECT, above the second INVALID.

pub mod ceiling;
pub mod cores;
pub mod counters;

use std::time::Duration;

use mehari_record::figures::{duration, significant};
use mehari_record::{Judgement, Record};

use crate::outcome::RunOutcome;
use crate::plan::{Plan, Schedule};
use counters::Counters;

/// What the checks need in addition to the record's own figures.
pub struct Evidence {
    threads: Vec<ThreadEvidence>,
    elapsed: Duration,
    counters: Counters,
    /// The ceiling: the generator's requests per second with the built-in responder.
    ceiling: Option<f64>,
    open: bool,
    /// Open loop only: the requests wanted, begun and answered within the measured time.
    wanted: u64,
    begun: u64,
    answered: u64,
    loopback: bool,
    /// The number of requests that are always under way, for a closed loop without sessions and
    /// failures.
    users: Option<f64>,
    interrupted: bool,
}

struct ThreadEvidence {
    cpu: Duration,
    run_queue_delay: Duration,
    preemptions: u64,
}

impl Evidence {
    pub fn new(
        plan: &Plan,
        outcome: &RunOutcome<crate::live::Watched>,
        counters: Counters,
        ceiling: Option<f64>,
    ) -> Evidence {
        let parts = || {
            outcome
                .threads
                .iter()
                .map(|thread| &thread.observer.recorder)
        };
        let wanted = parts()
            .map(|part| part.completed + part.failures.iter().sum::<u64>())
            .sum();
        let users = match plan.schedule {
            Schedule::Closed { connections } if plan.sessions.is_empty() => {
                Some(connections as f64)
            }
            _ => None,
        };
        Evidence {
            threads: outcome
                .threads
                .iter()
                .map(|thread| ThreadEvidence {
                    cpu: thread.cpu(),
                    run_queue_delay: thread.run_queue_delay,
                    preemptions: thread.preemptions,
                })
                .collect(),
            elapsed: outcome.elapsed,
            counters,
            ceiling,
            open: !matches!(plan.schedule, Schedule::Closed { .. }),
            wanted,
            begun: parts().map(|part| part.begun_in_window).sum(),
            answered: parts().map(|part| part.done_in_window).sum(),
            loopback: plan
                .requests
                .iter()
                .any(|request| is_loopback(&request.endpoint.host)),
            users,
            interrupted: outcome.interrupted,
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Runs all checks and adds their findings to the record's verdict.
pub fn judge(record: &mut Record, evidence: &Evidence) {
    judge_samples(record);
    judge_pacing(record, evidence);
    judge_reading(record, evidence);
    judge_processor(record, evidence);
    judge_ports(record);
    judge_network(record, evidence);
    judge_ceiling(record, evidence);
    judge_accounting(record, evidence);
    if evidence.interrupted {
        record.verdict.note("The run was ended before its time.");
    }
    if evidence.loopback {
        record.verdict.note(
            "Generator and server shared this machine's cores: the rates are of both together.",
        );
    }
    let taken = record.machines.first().map(|machine| machine.cores_words());
    if let Some(words) = taken.filter(|words| !words.is_empty()) {
        record.verdict.note(words);
    }
}

/// Returns the worst level that `value` reaches.
fn level(value: f64, suspect: f64, invalid: f64) -> Option<Judgement> {
    match value {
        value if value > invalid => Some(Judgement::Invalid),
        value if value > suspect => Some(Judgement::Suspect),
        _ => None,
    }
}

fn judge_samples(record: &mut Record) {
    if record.counts.attempted == 0 {
        let text = "nothing was intended within the measured time";
        record.verdict.add("samples", Judgement::Invalid, text);
    } else if record.counts.completed == 0 {
        let text = "no request was answered: there is no latency to speak of";
        record.verdict.add("samples", Judgement::Invalid, text);
    }
}

/// Checks whether requests started at their intended times. Only the generator's own delay counts.
fn judge_pacing(record: &mut Record, evidence: &Evidence) {
    if !evidence.open || evidence.wanted == 0 {
        return;
    }
    let late = &record.lag.generator_late;
    if !late.is_empty() {
        let late = late.value_at_percentile(99.0) as f64;
        let median = record.response.value_at_percentile(50.0) as f64;
        let (suspect, invalid) = ((0.05 * median).max(200e3), (0.2 * median).max(1e6));
        if let Some(judgement) = level(late, suspect, invalid) {
            let text = format!(
                "1 % of the requests were sent {} or more after their time by the generator's own fault (limit {})",
                duration(late as u64),
                duration(suspect as u64),
            );
            record.verdict.add("pacing", judgement, text);
        }
    }
    let missing = 1.0 - evidence.begun as f64 / evidence.wanted as f64;
    if let Some(judgement) = level(missing, 0.005, 0.02) {
        let text = format!(
            "{:.1} % of the requests could not be begun within the time",
            100.0 * missing
        );
        record.verdict.add("pacing", judgement, text);
    }
    let behind = 1.0 - evidence.answered as f64 / evidence.wanted as f64;
    if behind > 0.01 && record.durations.drain_us > record.durations.measured_us / 100 {
        let text = format!(
            "overloaded: {:.1} % of the answers came after the measured time, so latency grows with the duration",
            100.0 * behind
        );
        record.verdict.add("overload", Judgement::Suspect, text);
    }
}

/// Checks whether answers were read in time. A user of a closed loop sends the next request after
/// reading, so late reading reduces the server's load. The measured times do not include the delay.
/// An open loop is not affected.
fn judge_reading(record: &mut Record, evidence: &Evidence) {
    let late = record.lag.read_late.mean();
    let limit = (0.25 * record.response.mean()).max(50e3);
    if evidence.open || record.lag.read_late.is_empty() || late <= limit {
        return;
    }
    let text = format!(
        "users asked again {} after their answers came, on average, for being read late (limit {}): the load was lighter than meant",
        duration(late as u64),
        duration(limit as u64),
    );
    record.verdict.add("reading", Judgement::Suspect, text);
}

fn judge_processor(record: &mut Record, evidence: &Evidence) {
    let wall = evidence.elapsed.as_secs_f64().max(1e-9);
    let worst =
        |of: fn(&ThreadEvidence) -> f64| evidence.threads.iter().map(of).fold(0.0, f64::max);
    let busy = worst(|thread| thread.cpu.as_secs_f64()) / wall;
    if let Some(judgement) = level(busy, 0.7, 0.9) {
        let text = format!(
            "a generator thread used {:.0} % of a core (limit 70 %)",
            100.0 * busy
        );
        record.verdict.add("generator cpu", judgement, text);
    }
    let waiting = worst(|thread| thread.run_queue_delay.as_secs_f64()) / wall;
    if let Some(judgement) = level(waiting, 0.01, 0.05) {
        let text = format!(
            "a generator thread waited {:.1} % of the time for a core (limit 1 %)",
            100.0 * waiting
        );
        record.verdict.add("run queue", judgement, text);
    }
    let preempted = worst(|thread| thread.preemptions as f64) / wall;
    if let Some(judgement) = level(preempted, 50.0, f64::INFINITY) {
        let text =
            format!("a generator thread was preempted {preempted:.0} times a second (limit 50)");
        record.verdict.add("preemption", judgement, text);
    }
}

fn judge_ports(record: &mut Record) {
    for (class, check) in [("no port", "ports"), ("no descriptor", "descriptors")] {
        let count = record.counts.failed.get(class).copied().unwrap_or(0);
        let share = count as f64 / record.counts.attempted.max(1) as f64;
        if let Some(judgement) = level(share, 0.0, 0.001) {
            let text = format!("{count} requests found {class} free on this side");
            record.verdict.add(check, judgement, text);
        }
    }
}

/// Checks the kernel's counters. The counters cover the whole machine, including the traffic of
/// other programs.
fn judge_network(record: &mut Record, evidence: &Evidence) {
    for (count, what) in evidence.counters.troubles() {
        let text = format!("{count} {what} on this machine during the run");
        record.verdict.add("tcp", Judgement::Suspect, text);
    }
}

fn judge_ceiling(record: &mut Record, evidence: &Evidence) {
    let Some(ceiling) = evidence.ceiling else {
        return;
    };
    // An overloaded open loop is answered after its planned time too.
    let rate = record.answer_rate();
    record
        .plan
        .other
        .insert("ceiling".into(), ceiling.round().into());
    if let Some(judgement) = level(rate / ceiling, 0.6, 0.85) {
        let text = format!(
            "{:.0} % of the {}/s that the generator reaches against a responder that does nothing (limit 60 %)",
            100.0 * rate / ceiling,
            significant(ceiling)
        );
        record.verdict.add("ceiling", judgement, text);
    }
}

/// Checks Little's law, which holds for every closed loop: users = rate * (response time + time
/// until the answer is read).
fn judge_accounting(record: &mut Record, evidence: &Evidence) {
    let Some(users) = evidence.users else { return };
    let clean =
        record.counts.failures() == 0 && record.counts.censored == 0 && !evidence.interrupted;
    // The law holds while all users are active. In a short run their start and end take a large
    // part of the time.
    let short = record.durations.measured_us < 1_000_000
        || (record.counts.completed as f64) < 200.0 * users;
    if !clean || short {
        return;
    }
    let rate = record.counts.completed as f64 * 1e6 / record.durations.measured_us.max(1) as f64;
    let found = rate * (record.response.mean() + record.lag.read_late.mean()) / 1e9;
    if (found - users).abs() / users > 0.02 {
        let text = format!(
            "rate x (response time + reading late) gives {found:.2} users, there were {users}"
        );
        record.verdict.add("accounting", Judgement::Suspect, text);
    }
}
