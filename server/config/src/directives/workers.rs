//! The directives for the number of workers and the limits of their queue. Most are those of
//! Apache's prefork module.

use super::row::*;
use crate::arguments::duration;
use crate::{QueueTarget, WorkerPolicy};
use std::time::Duration;

const COUNT: Shape = Shape::Number {
    least: 1,
    most: 100_000,
};
/// A number of workers that may be 0.
const SPARE: Shape = Shape::Number {
    least: 0,
    most: 100_000,
};
const REQUESTS: Shape = Shape::Number {
    least: 0,
    most: u32::MAX as u64,
};
const BY_POOL: &str = "chosen at the start by cores and memory";

pub const GROUP: Group = Group {
    title: "Workers",
    rows: &[
        Directive::server(
            "StartServers",
            SPARE,
            "The number of workers that are forked at the start. 0 counts as 1, except together \
             with `WorkerIdleTimeout ... All`.",
            |target, arguments| {
                target.team.workers.start = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256)
        .of_team(),
        Directive::server(
            "MinSpareServers",
            SPARE,
            "The least number of idle workers. 0 counts as 1, as in Apache.",
            |target, arguments| {
                let number = arguments.number_u32()?;
                if number == 0 {
                    target.environment.remark(
                        "MinSpareServers 0 counts as 1, as in Apache; `WorkerIdleTimeout 300 All` \
                         ends the last worker too",
                    );
                }
                target.team.workers.min_spare = Some(number.max(1));
                Ok(())
            },
        )
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256)
        .of_team(),
        Directive::server(
            "MaxSpareServers",
            COUNT,
            "The greatest number of idle workers.",
            |target, arguments| {
                target.team.workers.max_spare = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256)
        .of_team(),
        Directive::server(
            "MaxRequestWorkers",
            COUNT,
            "The greatest number of workers.",
            |target, arguments| {
                target.team.workers.max = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .aliases(&["MaxClients"])
        .otherwise(BY_POOL)
        .unit("workers")
        .tune(1, 256)
        .of_team(),
        Directive::server(
            "MaxConnectionsPerChild",
            REQUESTS,
            "The number of requests after which a worker is replaced. It varies by up to 20 % \
             from worker to worker. 0 means no limit.",
            |target, arguments| {
                target.team.workers.max_requests = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .aliases(&["MaxRequestsPerChild"])
        .default("0")
        .unit("requests")
        .tune(0, 100_000)
        .of_team(),
        Directive::server(
            "WorkerQueue",
            Shape::Number {
                least: 0,
                most: 1_000_000,
            },
            "The most requests that may wait for a worker. Further requests get 503.",
            |target, arguments| {
                target.team.workers.queue = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .default("1000")
        .unit("requests")
        .tune(0, 10_000)
        .of_team(),
        Directive::server(
            "WorkerQueueTimeout",
            Shape::Time {
                least: 1,
                most: 3600,
            },
            "How long a request may wait for a worker before it gets 503.",
            |target, arguments| {
                target.team.workers.queue_timeout = Some(arguments.time()?);
                Ok(())
            },
        )
        .default("10")
        .unit("seconds")
        .tune(1, 60)
        .of_team(),
        Directive::server(
            "WorkerQueueTarget",
            Shape::Words {
                usage: "Auto|Off|SECONDS (1ms to 3600)",
                least: 1,
                most: 1,
            },
            "The wait for a worker above which the workers count as overloaded. Then the newest \
             requests are served first. Requests that cannot be served in time get 503 at once. \
             Auto: ten times the measured time of a request, and at least 1 s.",
            |target, arguments| {
                target.team.workers.queue_target = Some(queue_target(arguments)?);
                Ok(())
            },
        )
        .default("Auto")
        .example("200ms", "many")
        .of_team(),
        Directive::server(
            "WorkerDepth",
            Shape::Number { least: 1, most: 4 },
            "The most requests that a worker may hold before it starts them. When another worker \
             is idle, the server takes such requests back.",
            |target, arguments| {
                target.team.workers.depth = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .default("4")
        .unit("requests")
        .tune(1, 4)
        .of_team(),
        Directive::server(
            "DeferredCalls",
            Shape::Number {
                least: 0,
                most: 1_000_000,
            },
            "The most calls of `$r->after_response` that may wait for a worker. Further calls are \
             refused, and `after_response` returns false.",
            |target, arguments| {
                target.team.workers.deferred.calls = arguments.number_u32()?;
                Ok(())
            },
        )
        .default("1000")
        .unit("calls"),
        Directive::server(
            "DeferredCallsMemory",
            Shape::Number {
                least: 0,
                most: 1 << 40,
            },
            "The most bytes that the waiting calls of `$r->after_response` may take together, \
             with their arguments.",
            |target, arguments| {
                target.team.workers.deferred.bytes = arguments.number()?;
                Ok(())
            },
        )
        .default("16777216")
        .unit("bytes"),
        Directive::server(
            "DeferredCallTimeout",
            Shape::Time {
                least: 1,
                most: 86_400,
            },
            "How long a call of `$r->after_response` may run before its worker is killed.",
            |target, arguments| {
                target.team.workers.deferred.timeout = arguments.time()?;
                Ok(())
            },
        )
        .default("60")
        .unit("seconds"),
        interpreters(
            "PerlInterpStart",
            COUNT,
            "`StartServers` of a host with `PerlOptions +Clone`. An interpreter of mod_perl is a \
             worker here.",
            |target, arguments| {
                let number = arguments.number_u32()?;
                if let Some(workers) = of_a_host(target) {
                    workers.start = Some(number);
                }
                Ok(())
            },
        ),
        interpreters(
            "PerlInterpMax",
            COUNT,
            "`MaxRequestWorkers` of a host with `PerlOptions +Clone`.",
            |target, arguments| {
                let number = arguments.number_u32()?;
                if let Some(workers) = of_a_host(target) {
                    workers.max = Some(number);
                }
                Ok(())
            },
        ),
        interpreters(
            "PerlInterpMinSpare",
            SPARE,
            "`MinSpareServers` of a host with `PerlOptions +Clone`.",
            |target, arguments| {
                let number = arguments.number_u32()?;
                if let Some(workers) = of_a_host(target) {
                    workers.min_spare = Some(number.max(1));
                }
                Ok(())
            },
        ),
        interpreters(
            "PerlInterpMaxSpare",
            COUNT,
            "`MaxSpareServers` of a host with `PerlOptions +Clone`.",
            |target, arguments| {
                let number = arguments.number_u32()?;
                if let Some(workers) = of_a_host(target) {
                    workers.max_spare = Some(number);
                }
                Ok(())
            },
        ),
        interpreters(
            "PerlInterpMaxRequests",
            REQUESTS,
            "`MaxConnectionsPerChild` of a host with `PerlOptions +Clone`.",
            |target, arguments| {
                let number = arguments.number_u32()?;
                if let Some(workers) = of_a_host(target) {
                    workers.max_requests = Some(number);
                }
                Ok(())
            },
        ),
        Directive::server(
            "ListenBacklog",
            Shape::Number {
                least: 1,
                most: 1_000_000,
            },
            "The most connections that the kernel holds before the server accepts them.",
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

/// Parses `Auto`, `Off` or a time.
fn queue_target(arguments: &Arguments) -> Result<QueueTarget, Fault> {
    let text = arguments.text(0)?;
    if text.eq_ignore_ascii_case("auto") {
        return Ok(QueueTarget::Auto);
    }
    if text.eq_ignore_ascii_case("off") {
        return Ok(QueueTarget::Off);
    }
    let bounds = Duration::from_millis(1)..=Duration::from_secs(3600);
    let time = duration(text).filter(|time| bounds.contains(time));
    time.map(QueueTarget::Time).ok_or_else(|| {
        let expected = format!("expected Auto, Off or a time from 1ms to 3600, not `{text}`");
        arguments.fault(0, expected)
    })
}

/// Returns a row about mod_perl's pool of interpreters, for a virtual host.
const fn interpreters(
    name: &'static str,
    shape: Shape,
    about: &'static str,
    apply: crate::directive::Apply,
) -> Directive {
    Directive::server(name, shape, about, apply)
        .otherwise("the main server's value")
        .of_team()
}

/// Returns the worker settings of the current virtual host. Outside of virtual hosts, notes that
/// the directive has no effect, because there the prefork directives set the number of workers.
fn of_a_host<'t>(target: &'t mut Target) -> Option<&'t mut WorkerPolicy> {
    if !target.in_host {
        let message =
            "a worker has one interpreter: StartServers and its family say how many there are";
        target.environment.ignore(message);
        return None;
    }
    Some(&mut target.team.workers)
}
