//! The directives that limit connections and requests.

use std::time::Duration;

use super::row::*;
use crate::arguments::duration;
use crate::overrides::ALL;
use crate::{LimitedResource, MinimumRate, ProcessLimit};

const BYTES: Shape = Shape::Number {
    least: 256,
    most: 16 << 20,
};
/// A time that may be shorter than a second.
const SECONDS: Shape = Shape::Time {
    least: 0,
    most: DAY,
};
const DAY: u64 = 86_400;
const MOST_FIELDS: u64 = 32_767;

pub const GROUP: Group = Group {
    title: "Connections and limits",
    rows: &[
        Directive::host(
            "Timeout",
            SECONDS,
            "The longest time that a request may run. It is also the longest time that a client \
             may read nothing of its response.",
            |target, arguments| {
                let time = arguments.time_above_zero()?;
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
            "The longest time that a request may run here, in place of Timeout.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::RequestTimeout(arguments.time_above_zero()?));
                Ok(())
            },
        )
        .otherwise("Timeout")
        .unit("seconds"),
        Directive::everywhere(
            "SlowRequestTime",
            SECONDS,
            "The time after which a running request writes its Perl stack to the error log, once. \
             The request goes on. Timeout and CGIScriptTimeout end a request.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::SlowRequestTime(arguments.time_above_zero()?));
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
            "Limits the time of slow clients. `handshake` is the time for the TLS handshake. \
             `header` is the time for the request line and the header fields. `body` is the \
             longest pause within a body. A client that takes longer for the header or the body \
             gets 408. `20-40,MinRate=500` gives 20 seconds, and one second more for every 500 \
             bytes that arrive, up to 40 seconds. A body has a minimum rate, by default 500 bytes \
             per second. 0: the limit is a day, without a rate.",
            read_timeout,
        )
        .default("handshake=20 header=20 body=20")
        .shared()
        .unit("seconds")
        .example("header=20-40,MinRate=500 body=20", "header=-1"),
        Directive::server(
            "KeepAlive",
            Shape::Flag,
            "Whether a connection may serve several requests.",
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
            "How long a connection without a request stays open. 0: it is closed, as with \
             `KeepAlive Off`.",
            |target, arguments| {
                let time = arguments.time()?;
                target.environment.keeps_no_time = time.is_zero();
                target.site.limits.keep_alive = Some(time);
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
            "The most requests per connection. 0, the default, means no limit, because an idle \
             connection occupies no worker.",
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
            "The most open client connections. A further connection closes the one that has waited \
             longest for its client's next request, or its first byte. If every client has sent a \
             part of a request or waits for a response, the further connection gets 503.",
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
            "The longest request line. A longer line gets 414.",
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
                least: 0,
                most: MOST_FIELDS,
            },
            "The most header fields. A request with more gets 431. 0: the most that can be \
             configured.",
            |target, arguments| {
                target.site.limits.fields = match arguments.number_usize()? {
                    0 => MOST_FIELDS as usize,
                    fields => fields,
                };
                Ok(())
            },
        )
        .default("100")
        .shared()
        .unit("fields"),
        Directive::server(
            "LimitRequestFieldSize",
            BYTES,
            "The longest header field. A longer field gets 431.",
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
            "The longest request line and header fields together. A longer head gets 431.",
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
            "The largest request body. A larger body gets 413. 0 means no limit. The default is \
             Apache's since 2.4.53. Bodies over 64 KiB go to a temporary file, so a site without \
             uploads should set a smaller limit.",
            |target, arguments| {
                target.changes.push(Change::BodyLimit(arguments.number()?));
                Ok(())
            },
        )
        .htaccess(ALL)
        .default("1073741824")
        .unit("bytes")
        .example("1048576", "1m"),
        Directive::everywhere(
            "RLimitCPU",
            words("SECONDS|max [SECONDS|max]", 1, 2),
            "The most processor time of a CGI program. The first value is the soft limit, the \
             second the hard limit.",
            |target, arguments| process_limit(target, arguments, LimitedResource::Cpu),
        )
        .htaccess(ALL)
        .otherwise("the server's own limit")
        .example("60 120", "many"),
        Directive::everywhere(
            "RLimitMEM",
            words("BYTES|max [BYTES|max]", 1, 2),
            "The largest address space of a CGI program. The first value is the soft limit, the \
             second the hard limit.",
            |target, arguments| process_limit(target, arguments, LimitedResource::Memory),
        )
        .htaccess(ALL)
        .otherwise("the server's own limit")
        .example("268435456", "256M"),
        Directive::everywhere(
            "RLimitNPROC",
            words("NUMBER|max [NUMBER|max]", 1, 2),
            "The most processes of a CGI program's user. At the limit, the program cannot start \
             another process. The first value is the soft limit, the second the hard limit.",
            |target, arguments| process_limit(target, arguments, LimitedResource::Processes),
        )
        .htaccess(ALL)
        .otherwise("the server's own limit")
        .example("200", "-1"),
        Directive::host(
            "HttpProtocolOptions",
            words("Strict|LenientMethods|Require1.0...", 1, 3),
            "Only the values that say what the server always does are accepted: strict parsing \
             (RFC 9112), any method, no HTTP/0.9.",
            protocol_options,
        )
        .otherwise("Strict LenientMethods Require1.0")
        .example("Strict Require1.0", "Unsafe"),
        Directive::host(
            "MergeTrailers",
            Shape::Flag,
            "Only Off is accepted. Trailer fields never become header fields.",
            |_, arguments| {
                only_flag(
                    arguments,
                    false,
                    "trailer fields never become header fields",
                )
            },
        )
        .otherwise("Off")
        .example("Off", "On"),
        Directive::everywhere(
            "MergeSlashes",
            Shape::Flag,
            "Only On is accepted. Sections match paths without repeated slashes.",
            |_, arguments| {
                only_flag(
                    arguments,
                    true,
                    "access rules match paths without repeated slashes",
                )
            },
        )
        .otherwise("On")
        .example("On", "Off"),
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
                "body" if rate.bytes == 0 && value != "0" => {
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
                "expected handshake=, header= or body=SECONDS[-SECONDS][,MinRate=BYTES], 86400 \
                 seconds at most, not `{}`",
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
    let longest = Duration::from_secs(DAY);
    if value == "0" {
        return Some((longest, MinimumRate::default()));
    }
    let time = |text| duration(text).filter(|time| !time.is_zero() && *time <= longest);
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

fn process_limit(target: &mut Target, arguments: &Arguments, resource: LimitedResource) -> Applied {
    let limit = |index: usize| -> Result<Option<u64>, Fault> {
        let text = arguments.filled(index)?;
        if text.eq_ignore_ascii_case("max") {
            return Ok(None);
        }
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && *number > 0);
        number.map(Some).ok_or_else(|| {
            let message = format!("expected a whole number, 1 or more, or max, not `{text}`");
            arguments.fault(index, message)
        })
    };
    let soft = limit(0)?;
    let hard = if arguments.words.len() > 1 {
        limit(1)?
    } else {
        None
    };
    if let (Some(most), true) = (hard, soft.is_some_and(|soft| Some(soft) > hard)) {
        let message = format!("expected a soft limit of at most {most}, the hard limit");
        return Err(arguments.fault(0, message));
    }
    let limit = ProcessLimit { soft, hard };
    target.changes.push(Change::ProcessLimit(resource, limit));
    Ok(())
}

fn protocol_options(_: &mut Target, arguments: &Arguments) -> Applied {
    const DONE: [&str; 3] = ["Strict", "LenientMethods", "Require1.0"];
    const REFUSED: [(&str, &str); 3] = [
        (
            "Unsafe",
            "what RFC 9112 forbids is refused, because servers read it differently",
        ),
        (
            "RegisteredMethods",
            "programs may have methods of their own; `Require method` chooses",
        ),
        (
            "Allow0.9",
            "HTTP/0.9 has no header fields and is not spoken",
        ),
    ];
    for (index, word) in arguments.words.iter().enumerate() {
        let is = |name: &str| name.eq_ignore_ascii_case(&word.text);
        if DONE.into_iter().any(is) {
            continue;
        }
        let message = match REFUSED.iter().find(|(name, _)| is(name)) {
            Some((name, why)) => format!("expected {}, not {name}: {why}", DONE.join(", ")),
            None => format!("expected {}, not `{}`", DONE.join(", "), word.text),
        };
        let fault = arguments.fault(index, message);
        return Err(fault.or_nearest(&word.text, DONE.into_iter()));
    }
    Ok(())
}

/// Accepts the value of a flag that cannot be changed, and says why the other is refused.
fn only_flag(arguments: &Arguments, only: bool, why: &str) -> Applied {
    if arguments.flag()? == only {
        return Ok(());
    }
    let expected = if only { "On" } else { "Off" };
    Err(arguments.fault(0, format!("expected {expected}: {why}")))
}
