//! How many workers there are and what may wait for them: the prefork family.

use super::row::*;

const COUNT: Shape = Shape::Number {
    least: 1,
    most: 100_000,
};
const BY_POOL: &str = "decided at start from cores and memory";

pub const GROUP: Group = Group {
    title: "Workers",
    rows: &[
        Directive::server("StartServers", COUNT, "Workers forked at start.", |target, arguments| {
            target.site.workers.start = Some(arguments.number_u32()?);
            Ok(())
        })
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256),
        Directive::server("MinSpareServers", COUNT, "Idle workers kept at least.", |target, arguments| {
            target.site.workers.min_spare = Some(arguments.number_u32()?);
            Ok(())
        })
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256),
        Directive::server("MaxSpareServers", COUNT, "Idle workers kept at most.", |target, arguments| {
            target.site.workers.max_spare = Some(arguments.number_u32()?);
            Ok(())
        })
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256),
        Directive::server("MaxRequestWorkers", COUNT, "Workers at most.", |target, arguments| {
            target.site.workers.max = Some(arguments.number_u32()?);
            Ok(())
        })
        .aliases(&["MaxClients"])
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256),
        Directive::server(
            "MaxConnectionsPerChild",
            Shape::Number {
                least: 0,
                most: u32::MAX as u64,
            },
            "Requests a worker serves before it is replaced, give or take 20 %; 0 is no limit.",
            |target, arguments| {
                target.site.workers.max_requests = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .aliases(&["MaxRequestsPerChild"])
        .default("0")
        .unit("requests")
        .tune(0, 100_000),
        Directive::server(
            "WorkerQueue",
            Shape::Number {
                least: 0,
                most: 1_000_000,
            },
            "Requests that may wait for a worker; more are answered 503.",
            |target, arguments| {
                target.site.workers.queue = arguments.number_u32()?;
                Ok(())
            },
        )
        .default("1000")
        .unit("requests")
        .tune(0, 10_000),
        Directive::server(
            "WorkerQueueTimeout",
            Shape::Time {
                least: 1,
                most: 3600,
            },
            "How long a request may wait for a worker before it is answered 503.",
            |target, arguments| {
                target.site.workers.queue_timeout = arguments.time()?;
                Ok(())
            },
        )
        .default("10")
        .unit("seconds")
        .tune(1, 60),
        Directive::server(
            "WorkerDepth",
            Shape::Number { least: 1, most: 4 },
            "Requests a worker may hold that it has not begun; they are taken back when another is idle.",
            |target, arguments| {
                target.site.workers.depth = arguments.number_u32()?;
                Ok(())
            },
        )
        .default("4")
        .unit("requests")
        .tune(1, 4),
        Directive::server(
            "ListenBacklog",
            Shape::Number {
                least: 1,
                most: 1_000_000,
            },
            "Connections the kernel may hold before they are accepted.",
            |target, arguments| {
                target.site.limits.backlog = arguments.number_u32()?;
                Ok(())
            },
        )
        .default("1024")
        .unit("connections")
        .tune(64, 65_535),
    ],
};
