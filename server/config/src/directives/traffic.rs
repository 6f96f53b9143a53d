//! The directives that limit requests and connections per location, client or address.

use super::row::*;
use crate::arguments::duration;
use crate::{Network, RateRule, RuleNumber, ServerTiming, TrafficRule};
use std::time::Duration;

pub const GROUP: Group = Group {
    title: "Traffic rules",
    rows: &[
        Directive::everywhere(
            "MaxConcurrentReqs",
            words("NUMBER|unlimited [METHOD...]", 1, ANY),
            "The most requests that may run here at once. If methods are named, only requests \
             with these methods count. Further requests get 503 with Retry-After.",
            concurrent,
        )
        .example("10 POST PUT", "none"),
        Directive::everywhere(
            "ClientRequestRate",
            words("NUMBER/SECONDS [burst=NUMBER] [delay=SECONDS] | off", 1, 3),
            "The rate of requests that one client address may send. A client may send `burst` \
             requests at once (by default NUMBER). Requests above the rate wait for at most \
             `delay`, by default not at all. If the wait would be longer, the request gets 429 \
             with Retry-After.",
            rate,
        )
        .example("60/60 burst=20 delay=2", "fast"),
        Directive::everywhere(
            "CreateTraceParent",
            Shape::Flag,
            "Whether the server adds a `traceparent` field (W3C Trace Context) to requests \
             without a well-formed one. Programs and back ends see the field as if the client had \
             sent it.",
            |target, arguments| {
                target.changes.push(Change::TraceParents(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "ServerTiming",
            words("Off|On|ADDRESS[/BITS]...", 1, ANY),
            "The clients whose responses have the field Server-Timing: all clients (On), or \
             clients with these addresses. The field has the time of each stage of the request up \
             to the head of the response, in milliseconds.",
            server_timing,
        )
        .default("Off")
        .example("127.0.0.1 10.0.0.0/8", "localhost"),
        Directive::everywhere(
            "TrackUploads",
            Shape::Flag,
            "Whether `SetHandler upload-progress` reports how far uploads are. An upload is a \
             request with an X-Progress-ID, in a header field or in the query.",
            |target, arguments| {
                target.changes.push(Change::TrackUploads(arguments.flag()?));
                Ok(())
            },
        )
        .default("Off"),
        Directive::server(
            "MaxConnectionsPerClient",
            Shape::Number {
                least: 0,
                most: 1_000_000,
            },
            "The most open connections of one client address. Further connections get 429 and are \
             closed. 0 means no limit.",
            |target, arguments| {
                target.site.limits.connections_per_client = arguments.number_u32()?;
                Ok(())
            },
        )
        .default("0")
        .unit("connections"),
        Directive::server(
            "ClientPrefixIPv6",
            Shape::Number {
                least: 1,
                most: 128,
            },
            "How many leading bits of an IPv6 address identify a client for ClientRequestRate and \
             MaxConnectionsPerClient. Addresses with the same leading bits count as one client, \
             because a client usually owns a whole network.",
            |target, arguments| {
                let bits = arguments.number_u32()?;
                target.site.limits.client_prefix = u8::try_from(bits).unwrap_or(128);
                Ok(())
            },
        )
        .default("64")
        .unit("bits"),
    ],
};

fn server_timing(target: &mut Target, arguments: &Arguments) -> Applied {
    let only = match arguments.words {
        [word] => word.text.to_ascii_lowercase(),
        _ => String::new(),
    };
    let clients = match only.as_str() {
        "off" => ServerTiming::Off,
        "on" => ServerTiming::On,
        _ => ServerTiming::For(
            (0..arguments.words.len())
                .map(|index| permitted(arguments, index))
                .collect::<Result<_, _>>()?,
        ),
    };
    target.site.times_stages |= clients != ServerTiming::Off;
    target.changes.push(Change::ServerTiming(clients));
    Ok(())
}

fn permitted(arguments: &Arguments, index: usize) -> Result<Network, Fault> {
    let text = arguments.filled(index)?;
    Network::parse(text).ok_or_else(|| {
        let message =
            format!("expected Off, On or addresses such as 127.0.0.1 10.0.0.0/8, not `{text}`");
        arguments.fault(index, message)
    })
}

fn concurrent(target: &mut Target, arguments: &Arguments) -> Applied {
    let first = arguments.filled(0)?;
    let limit = match first.to_ascii_lowercase().as_str() {
        "unlimited" => None,
        number => match number.parse::<u32>().ok().filter(|number| *number > 0) {
            Some(number) => Some(number),
            None => {
                let message = format!("expected a number above 0, or unlimited, not `{first}`");
                return Err(arguments.fault(0, message));
            }
        },
    };
    let mut methods = Vec::new();
    for (index, word) in arguments.words.iter().enumerate().skip(1) {
        if word.text.is_empty() || !word.text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(arguments.fault(
                index,
                format!("expected a method such as POST, not `{}`", word.text),
            ));
        }
        methods.push(word.text.clone());
    }
    target
        .changes
        .push(Change::Traffic(TrafficRule::Concurrent {
            number: RuleNumber::next(),
            limit,
            methods,
        }));
    Ok(())
}

fn rate(target: &mut Target, arguments: &Arguments) -> Applied {
    let first = arguments.filled(0)?;
    if first.eq_ignore_ascii_case("off") {
        target
            .changes
            .push(Change::Traffic(TrafficRule::Rate(None)));
        return Ok(());
    }
    let expected = || {
        arguments.fault(
            0,
            format!("expected NUMBER/SECONDS such as 60/60, or off, not `{first}`"),
        )
    };
    let (count, period) = first.split_once('/').ok_or_else(expected)?;
    let count = count
        .parse::<u32>()
        .ok()
        .filter(|count| (1..=1_000_000).contains(count));
    let period = duration(period).filter(|period| !period.is_zero() && period.as_secs() <= 86_400);
    let (count, period) = count.zip(period).ok_or_else(expected)?;
    let (mut burst, mut delay) = (count, Duration::ZERO);
    for (index, word) in arguments.words.iter().enumerate().skip(1) {
        let lower = word.text.to_ascii_lowercase();
        let wrong = || {
            arguments.fault(
                index,
                format!(
                    "expected burst=NUMBER or delay=SECONDS (30 at most), not `{}`",
                    word.text
                ),
            )
        };
        match lower.split_once('=') {
            Some(("burst", number)) => {
                let number = number.parse::<u32>().ok().filter(|number| *number > 0);
                burst = number.ok_or_else(wrong)?;
            }
            Some(("delay", time)) => {
                let time = duration(time).filter(|time| time.as_secs() <= 30);
                delay = time.ok_or_else(wrong)?;
            }
            _ => return Err(wrong()),
        }
    }
    target
        .changes
        .push(Change::Traffic(TrafficRule::Rate(Some(RateRule {
            number: RuleNumber::next(),
            interval: period / count,
            burst,
            delay,
        }))));
    Ok(())
}
