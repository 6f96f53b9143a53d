//! The directives for the limits at which a worker is replaced by a new one.

use super::row::*;
use crate::arguments::duration;
use crate::IdleLimit;
use std::time::Duration;

/// A size in bytes. A process of perl takes more than a mebibyte.
const SIZE: Shape = Shape::Number {
    least: 1 << 20,
    most: 1 << 50,
};
/// The longest time in seconds.
const LONGEST: u64 = 30 * 86_400;
const TIME: Shape = Shape::Time {
    least: 1,
    most: LONGEST,
};

pub const GROUP: Group = Group {
    title: "Limits of a worker",
    rows: &[
        Directive::server(
            "MaxWorkerMemory",
            SIZE,
            "The most resident memory (RSS) that a worker may have, including the memory that it \
             shares. A worker with more is replaced after its request.",
            |target, arguments| {
                target.team.workers.limits.memory = Some(arguments.number()?);
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("bytes")
        .example("300000000", "300M")
        .of_team(),
        Directive::server(
            "MaxUnsharedMemory",
            SIZE,
            "The most memory that a worker may have for itself alone. A worker with more is \
             replaced after its request.",
            |target, arguments| {
                target.team.workers.limits.unshared = Some(arguments.number()?);
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("bytes")
        .example("100000000", "100M")
        .of_team(),
        Directive::server(
            "MinSharedMemory",
            SIZE,
            "The least memory that a worker must share with other processes. A worker with less \
             is replaced after its request.",
            |target, arguments| {
                target.team.workers.limits.shared = Some(arguments.number()?);
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("bytes")
        .example("10000000", "10M")
        .of_team(),
        Directive::server(
            "MaxWorkerLifetime",
            TIME,
            "The time after which a worker is replaced. It varies by up to 20 % from worker to \
             worker.",
            |target, arguments| {
                target.team.workers.limits.lifetime = Some(arguments.time()?);
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("seconds")
        .of_team(),
        Directive::server(
            "WorkerIdleTimeout",
            Shape::Words {
                usage: "SECONDS (1 to 2592000) [All]",
                least: 1,
                most: 2,
            },
            "How long a worker may wait for a request before it ends. MinSpareServers workers \
             stay. With All, these workers end too, and the next request forks a worker.",
            |target, arguments| {
                target.team.workers.limits.idle = Some(idle_limit(arguments)?);
                Ok(())
            },
        )
        .otherwise("no limit")
        .example("300 All", "All")
        .of_team(),
    ],
};

fn idle_limit(arguments: &Arguments) -> Result<IdleLimit, Fault> {
    let text = arguments.text(0)?;
    let bounds = Duration::from_secs(1)..=Duration::from_secs(LONGEST);
    let Some(time) = duration(text).filter(|time| bounds.contains(time)) else {
        let expected = format!("expected seconds, 1 to {LONGEST} (or 90s, 2min), not `{text}`");
        return Err(arguments.fault(0, expected));
    };
    let ends_all = match arguments.words.get(1) {
        None => false,
        Some(word) if word.text.eq_ignore_ascii_case("all") => true,
        Some(word) => {
            let expected = format!("expected All or nothing, not `{}`", word.text);
            return Err(arguments.fault(1, expected));
        }
    };
    Ok(IdleLimit { time, ends_all })
}
