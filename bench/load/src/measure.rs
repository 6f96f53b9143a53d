//! Makes a whole native measurement: measures the ceiling, runs the plan, writes the record, and
//! judges the run. `mehari bench` and `mehari compare` call it.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use mehari_record::{Judgement, Latency, Machine, Record};

use crate::address::Address;
use crate::crossing::nanoseconds_between_cores;
use crate::driver::{run, Control};
use crate::live::Watched;
use crate::moment::{nanoseconds, Moment};
use crate::observe::FailureKind;
use crate::outcome::RunOutcome;
use crate::plan::Plan;
use crate::plan_error::PlanError;
use crate::recorder::Recorder;
use crate::verdict::{self, ceiling, cores::Processes, counters::Counters};
use crate::words;

/// The optional steps of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// Whether to measure the ceiling before the run: the most requests per second that the
    /// generator itself can send, measured with a built-in responder.
    pub ceiling: bool,
}

/// Runs `plan` and returns its record with the verdict. `each_tick` supplies the live view.
///
/// # Errors
/// [`PlanError`] if the plan cannot be carried out. No request was sent then.
pub fn measure(
    plan: &Plan,
    control: &Control,
    measurement: Measurement,
    observer: impl Fn(usize, Recorder) -> Watched,
) -> Result<Record, PlanError> {
    plan.check()?;
    let ceiling = if measurement.ceiling {
        ceiling::measure(plan)?
    } else {
        None
    };
    let end = crate::arrivals::planned_end(plan);
    let crossing_before = nanoseconds_between_cores();
    let before = Counters::read();
    let (processes, began) = (Processes::read(), std::time::Instant::now());
    let outcome = run(plan, control, |thread| observer(thread, Recorder::new(end)))?;
    let counted = Counters::read().since(&before);
    let (now, took) = (Processes::read(), began.elapsed());
    let mut record = record(plan, &outcome);
    if let Some(machine) = record.machines.first_mut() {
        machine.cores_taken = now.since(&processes, took, machine.processors);
    }
    note_crossing(&mut record, [crossing_before, nanoseconds_between_cores()]);
    verdict::judge(
        &mut record,
        &verdict::Evidence::new(plan, &outcome, counted, ceiling),
    );
    record.judge_steadiness();
    note_ceiling(&mut record, plan, measurement);
    Ok(record)
}

fn record(plan: &Plan, outcome: &RunOutcome<Watched>) -> Record {
    let mut machine = Machine::here(concat!("mehari ", env!("CARGO_PKG_VERSION")));
    machine.cost = cost(outcome);
    let measured_from = outcome.began + plan.warm_up;
    let mut record = Record::new(
        words::plan(plan, outcome.threads.len()),
        machine,
        unix_us(measured_from),
    );
    let mut unfinished = 0;
    for part in outcome
        .threads
        .iter()
        .map(|thread| &thread.observer.recorder)
    {
        add_latencies(&mut record, part);
        let counts = &mut record.counts;
        counts.completed += part.completed;
        for (status, count) in part
            .statuses
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            *counts.statuses.entry(status as u16).or_default() += count;
        }
        for kind in FailureKind::ALL {
            match (part.failures[kind as usize], kind) {
                (0, _) => {}
                (count, FailureKind::Unfinished) => unfinished += count,
                (count, _) => *counts.failed.entry(kind.name().into()).or_default() += count,
            }
        }
        counts.bytes_sent += part.sent_bytes;
        counts.bytes_received += part.received_bytes;
        counts.body_bytes_received += part.body_bytes;
        counts.connections += part.connections;
        if record.server.is_empty() && part.server != "-" {
            record.server.clone_from(&part.server);
        }
    }
    note_addresses(&mut record, &outcome.addresses);
    note_troubles(&mut record, outcome);
    let counts = &mut record.counts;
    counts.censored = unfinished;
    counts.attempted = counts.completed + unfinished + counts.failures();
    record.durations = durations(plan, outcome);
    add_sessions(&mut record, outcome);
    record
}

/// Notes in the verdict that the ceiling was not measured, and why.
fn note_ceiling(record: &mut Record, plan: &Plan, measurement: Measurement) {
    if let Some(what) = ceiling::beyond(plan).filter(|_| measurement.ceiling) {
        record.verdict.note(format!(
            "The generator's own ceiling was not taken: there is none for {what}; its processor time is the check.",
        ));
    }
}

/// Notes the distance of the cores before and after the run.
fn note_crossing(record: &mut Record, measured: [Option<u64>; 2]) {
    let Some(machine) = record.machines.first_mut() else {
        return;
    };
    machine.core_crossing_ns = measured.map(Option::unwrap_or_default);
    let [before, after] = machine.core_crossing_ns;
    if machine.cores_moved() {
        record.verdict.add(
            "cores moved",
            Judgement::Suspect,
            format!(
                "the host moved this machine's cores: a cache line took {before} ns from one to another before the run \
                 and {after} ns after it, so the load before and after that is not one load"
            ),
        );
    }
}

/// Notes the address used for each host name.
fn note_addresses(record: &mut Record, addresses: &[Address]) {
    if addresses.is_empty() {
        return;
    }
    let pairs = addresses
        .iter()
        .map(|address| (address.name.clone(), address.used.to_string().into()));
    let pairs = serde_json::Map::from_iter(pairs);
    record.plan.other.insert("addresses".into(), pairs.into());
    for address in addresses
        .iter()
        .filter(|address| !address.passed.is_empty())
    {
        let passed: Vec<String> = address.passed.iter().map(SocketAddr::to_string).collect();
        record.verdict.note(format!(
            "{} was loaded at {}: {} took no connection.",
            address.name,
            address.used,
            passed.join(", ")
        ));
    }
}

/// Notes the first reason of each failure class.
fn note_troubles(record: &mut Record, outcome: &RunOutcome<Watched>) {
    for kind in FailureKind::ALL {
        let mut parts = outcome
            .threads
            .iter()
            .map(|thread| &thread.observer.recorder);
        if let Some(why) = parts.find_map(|part| part.troubles.get(&kind)) {
            record.verdict.note(format!(
                "The first failure of class \"{}\": {why}.",
                kind.name()
            ));
        }
    }
}

fn add_latencies(record: &mut Record, part: &Recorder) {
    let pairs: [(&mut Latency, &Latency); 9] = [
        (&mut record.response, &part.response),
        (&mut record.service, &part.service),
        (&mut record.response_of_errors, &part.response_of_errors),
        (&mut record.unended, &part.unended),
        (&mut record.connect, &part.connect),
        (&mut record.first_byte, &part.first_byte),
        (&mut record.lag.connections_busy, &part.busy.latency()),
        (&mut record.lag.generator_late, &part.late.latency()),
        (&mut record.lag.read_late, &part.read_late.latency()),
    ];
    for (all, part) in pairs {
        all.add(part)
            .expect("the histograms of one run have one shape");
    }
    record
        .timeline
        .add(&part.timeline)
        .expect("the timelines of one run have one shape");
}

fn add_sessions(record: &mut Record, outcome: &RunOutcome<Watched>) {
    let parts = || {
        outcome
            .threads
            .iter()
            .map(|thread| &thread.observer.recorder)
    };
    let sessions: u64 = parts().map(|part| part.sessions).sum();
    if sessions > 0 {
        let incomplete: u64 = parts().map(|part| part.sessions_incomplete).sum();
        record
            .plan
            .other
            .insert("sessions_played".into(), sessions.into());
        record
            .plan
            .other
            .insert("sessions_incomplete".into(), incomplete.into());
    }
}

fn durations(plan: &Plan, outcome: &RunOutcome<Watched>) -> mehari_record::Durations {
    let parts = || {
        outcome
            .threads
            .iter()
            .map(|thread| &thread.observer.recorder)
    };
    let last = parts().map(|part| part.last_done).max().unwrap_or_default();
    let ended = outcome
        .threads
        .iter()
        .map(|thread| thread.ended)
        .max()
        .unwrap_or_default();
    let from = Moment::ZERO.after(plan.warm_up);
    let planned_end = crate::arrivals::planned_end(plan);
    let end = if planned_end < ended {
        planned_end
    } else if outcome.interrupted {
        ended
    } else {
        last // the number of requests ended the run
    };
    mehari_record::Durations {
        warm_up_us: from.0 / 1000,
        measured_us: end.since(from) / 1000,
        drain_us: last.since(end) / 1000,
    }
}

fn cost(outcome: &RunOutcome<Watched>) -> mehari_record::GeneratorCost {
    let sum = |of: fn(&crate::outcome::ThreadOutcome<Watched>) -> Duration| {
        nanoseconds(outcome.threads.iter().map(of).sum()) / 1000
    };
    mehari_record::GeneratorCost {
        cpu_user_us: sum(|thread| thread.cpu_user),
        cpu_system_us: sum(|thread| thread.cpu_system),
        cpu_spin_us: 0,
        involuntary_switches: outcome
            .threads
            .iter()
            .map(|thread| thread.preemptions)
            .sum(),
        run_queue_us: sum(|thread| thread.run_queue_delay),
        peak_memory_bytes: peak_memory(),
    }
}

/// Returns the largest resident memory of the process.
fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn unix_us(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_micros() as u64
}
