//! The directives that limit connections and requests.

use std::time::Duration;

use super::row::*;
use crate::arguments::duration;
use crate::MinimumRate;

const BYTES: Shape = Shape::Number {
    least: 256,
    most: 16 << 20,
};
const SECONDS: Shape = Shape::Time {
    least: 1,
    most: 86_400,
};

pub const GROUP: Group = Group {
    title: "Connections and limits",
    rows: &[
        Directive::host(
            "Timeout",
            SECONDS,
            "The longest time a request may run, and the longest time a client may read nothing \
             of its response.",
            |target, arguments| {
                let time = arguments.time()?;
                if !target.in_host {
                    target.site.limits.write_timeout = time;
                }
                target.changes.push(Change::RequestTimeout(time));
                Ok(())
            },
        )
        .default("60")
        .unit("seconds"),
        Directive::everywhere(
            "CGIScriptTimeout",
            SECONDS,
            "The longest time a request may run here, in place of Timeout.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::RequestTimeout(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("Timeout")
        .unit("seconds"),
        Directive::everywhere(
            "SlowRequestTime",
            SECONDS,
            "A request that has run for longer writes its Perl stack to the error log, once, and \
             goes on. Timeout and CGIScriptTimeout end a request.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::SlowRequestTime(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("none")
        .unit("seconds"),
        Directive::server(
            "RequestReadTimeout",
            words(
                "[handshake=SECONDS] [header=SECONDS[-SECONDS][,MinRate=BYTES]] [body=...]",
                1,
                3,
            ),
            "How long a client may take for its TLS handshake and for its header block, and be \
             silent within its body; later is 408. With MinRate each so many bytes buy it \
             another second, up to the second time. A body is always held to a rate: 500 bytes a \
             second unless it says another.",
            read_timeout,
        )
        .default("handshake=20 header=20 body=20")
        .shared()
        .unit("seconds")
        .example("header=20-40,MinRate=500 body=20", "header=0"),
        Directive::server(
            "KeepAlive",
            Shape::Flag,
            "Whether a connection serves several requests.",
            |target, arguments| {
                target.environment.keep_alive_off = !arguments.flag()?;
                Ok(())
            },
        )
        .default("On")
        .shared(),
        Directive::server(
            "KeepAliveTimeout",
            SECONDS,
            "How long a connection without a request stays open.",
            |target, arguments| {
                target.site.limits.keep_alive = Some(arguments.time()?);
                Ok(())
            },
        )
        .default("5")
        .shared()
        .unit("seconds")
        .tune(1, 75),
        Directive::server(
            "MaxKeepAliveRequests",
            Shape::Number {
                least: 0,
                most: u64::MAX,
            },
            "Requests per connection. 0, the default, means no limit: an idle connection \
             occupies no worker.",
            |target, arguments| {
                target.site.limits.keep_alive_requests = arguments.number()?;
                Ok(())
            },
        )
        .default("0")
        .shared()
        .unit("requests"),
        Directive::server(
            "MaxConnections",
            Shape::Number {
                least: 1,
                most: 10_000_000,
            },
            "Maximum of open client connections.",
            |target, arguments| {
                target.site.limits.connections = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("10000")
        .unit("connections"),
        Directive::server(
            "LimitRequestLine",
            BYTES,
            "Limit of the request line. A longer line gets 414.",
            |target, arguments| {
                target.site.limits.request_line = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("8190")
        .shared()
        .unit("bytes")
        .example("4096", "8k"),
        Directive::server(
            "LimitRequestFields",
            Shape::Number {
                least: 1,
                most: 32_767,
            },
            "Maximum of header fields. More fields get 431.",
            |target, arguments| {
                target.site.limits.fields = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("100")
        .shared()
        .unit("fields"),
        Directive::server(
            "LimitRequestFieldSize",
            BYTES,
            "Limit of a header field. A longer field gets 431.",
            |target, arguments| {
                target.site.limits.field_size = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("8190")
        .shared()
        .unit("bytes")
        .example("4096", "8k"),
        Directive::server(
            "LimitRequestHeader",
            BYTES,
            "Limit of the request line and all fields together. A longer head gets 431.",
            |target, arguments| {
                target.site.limits.header_size = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("65536")
        .unit("bytes")
        .example("32768", "64k"),
        Directive::everywhere(
            "LimitRequestBody",
            Shape::Number {
                least: 0,
                most: u64::MAX,
            },
            "Limit of the request body. A larger body gets 413. 0 means no limit. The default is \
             Apache's since 2.4.53. Bodies over 64 KiB go to a temporary file, so a site without \
             uploads should choose less.",
            |target, arguments| {
                target.changes.push(Change::BodyLimit(arguments.number()?));
                Ok(())
            },
        )
        .default("1073741824")
        .unit("bytes")
        .example("1048576", "1m"),
    ],
};

fn read_timeout(target: &mut Target, arguments: &Arguments) -> Applied {
    for (index, word) in arguments.words.iter().enumerate() {
        let lower = word.text.to_ascii_lowercase();
        let read = lower.split_once('=').and_then(|(stage, value)| {
            let (first, rate) = read_pace(value)?;
            let limits = &mut target.site.limits;
            match stage {
                // The number of bytes of a handshake is not counted, so a handshake has no minimum
                // rate.
                "handshake" => limits.handshake_timeout = rate.longest.unwrap_or(first),
                "header" => (limits.header_timeout, limits.header_rate) = (first, rate),
                "body" if rate.bytes == 0 => {
                    let bytes = LEAST_OF_BODIES;
                    limits.body_timeout = first;
                    limits.body_rate = MinimumRate { bytes, ..rate };
                }
                "body" => (limits.body_timeout, limits.body_rate) = (first, rate),
                _ => return None,
            }
            Some(())
        });
        read.ok_or_else(|| {
            let message = format!(
                "expected handshake=, header= or body=SECONDS[-SECONDS][,MinRate=BYTES], 1 to \
                 86400 seconds, not `{}`",
                word.text
            );
            arguments.fault(index, message)
        })?;
    }
    Ok(())
}

/// The default minimum rate of bodies in bytes per second, from Apache's example.
const LEAST_OF_BODIES: u64 = 500;

/// Parses the time limit and the rate of a value such as `20`, `20-40` or `20-40,minrate=500`.
fn read_pace(value: &str) -> Option<(Duration, MinimumRate)> {
    let (times, bytes) = match value.split_once(",minrate=") {
        Some((times, rate)) => (times, rate.parse().ok().filter(|rate| *rate > 0)?),
        None => (value, 0),
    };
    let bounds = Duration::from_secs(1)..=Duration::from_secs(86_400);
    let time = |text| duration(text).filter(|time| bounds.contains(time));
    let (first, longest) = match times.split_once('-') {
        Some((first, longest)) => (time(first)?, Some(time(longest)?)),
        None => (time(times)?, None),
    };
    if longest.is_some_and(|longest| longest < first) {
        return None;
    }
    // Without a rate, the longest time is the limit from the beginning.
    match (longest, bytes) {
        (Some(longest), 0) => Some((longest, MinimumRate::default())),
        _ => Some((first, MinimumRate { bytes, longest })),
    }
}
