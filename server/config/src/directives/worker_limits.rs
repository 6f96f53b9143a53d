//! The directives for the limits at which a worker is replaced by a new one.

use super::row::*;

/// A size in bytes. A process of perl takes more than a mebibyte.
const SIZE: Shape = Shape::Number {
    least: 1 << 20,
    most: 1 << 50,
};
const TIME: Shape = Shape::Time {
    least: 1,
    most: 30 * 86_400,
};

pub const GROUP: Group = Group {
    title: "Limits of a worker",
    rows: &[
        Directive::server(
            "MaxWorkerMemory",
            SIZE,
            "The most resident memory of a worker, with what it shares (RSS). A worker beyond it \
             is replaced after its request.",
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
            "The most memory of a worker that no other process has. A worker beyond it is \
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
            "The least memory that a worker shares with other processes. A worker below it is \
             replaced after its request.",
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
            "How long a worker lives before it is replaced, plus or minus 20 %.",
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
            TIME,
            "How long a worker may wait for a request before it ends. MinSpareServers workers \
             stay.",
            |target, arguments| {
                target.team.workers.limits.idle = Some(arguments.time()?);
                Ok(())
            },
        )
        .otherwise("no limit")
        .unit("seconds")
        .of_team(),
    ],
};
