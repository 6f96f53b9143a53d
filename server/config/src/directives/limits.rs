//! What a connection and a request may cost.

use std::time::Duration;

use super::row::*;
use crate::arguments::duration;

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
            "Longest a request may run, and longest a client may take nothing of its answer.",
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
            "Longest a request may run here, whatever Timeout says.",
            |target, arguments| {
                target.changes.push(Change::RequestTimeout(arguments.time()?));
                Ok(())
            },
        )
        .otherwise("Timeout")
        .unit("seconds"),
        Directive::server(
            "RequestReadTimeout",
            words("[handshake=SECONDS] [header=SECONDS] [body=SECONDS]", 1, 3),
            "How long a client may take for its TLS handshake and for its header block, and be silent within its body.",
            read_timeout,
        )
        .default("handshake=20 header=20 body=20")
        .shared()
        .unit("seconds")
        .example("header=20-40,MinRate=500 body=20", "header=0"),
        Directive::server("KeepAlive", Shape::Flag, "Whether a connection serves several requests.", |target, arguments| {
            target.environment.keep_alive_off = !arguments.flag()?;
            Ok(())
        })
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
            "Requests a connection serves; 0 is no limit. An idle connection holds no worker, so there is none by default.",
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
            "Open client connections at most.",
            |target, arguments| {
                target.site.limits.connections = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("10000")
        .unit("connections"),
        Directive::server("LimitRequestLine", BYTES, "Longest request line; longer is answered 414.", |target, arguments| {
            target.site.limits.request_line = arguments.number_usize()?;
            Ok(())
        })
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
            "Header fields at most; more is answered 431.",
            |target, arguments| {
                target.site.limits.fields = arguments.number_usize()?;
                Ok(())
            },
        )
        .default("100")
        .shared()
        .unit("fields"),
        Directive::server("LimitRequestFieldSize", BYTES, "Longest header field; longer is answered 431.", |target, arguments| {
            target.site.limits.field_size = arguments.number_usize()?;
            Ok(())
        })
        .default("8190")
        .shared()
        .unit("bytes")
        .example("4096", "8k"),
        Directive::server(
            "LimitRequestHeader",
            BYTES,
            "Longest header block, request line and all fields together; longer is answered 431.",
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
            "Largest request body; larger is answered 413; 0 is no limit. The default is Apache's since 2.4.53: bodies over 64 KiB go to a temporary file, so a site that takes no uploads does well with less.",
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
        let expected = || {
            let message = format!(
                "expected handshake=SECONDS, header=SECONDS or body=SECONDS, 1 to 86400, not `{}`",
                word.text
            );
            arguments.fault(index, message)
        };
        let lower = word.text.to_ascii_lowercase();
        let (stage, value) = lower.split_once('=').ok_or_else(expected)?;
        let (times, rate) = value
            .split_once(",minrate=")
            .map_or((value, None), |(t, r)| (t, Some(r)));
        // `20-40`: Apache goes from the first to the second as data comes in.
        let last = times.rsplit('-').next().unwrap_or(times);
        let bounds = Duration::from_secs(1)..=Duration::from_secs(86_400);
        let time = duration(last)
            .filter(|time| bounds.contains(time))
            .ok_or_else(expected)?;
        match stage {
            "handshake" => target.site.limits.handshake_timeout = time,
            "header" => target.site.limits.header_timeout = time,
            "body" => target.site.limits.body_timeout = time,
            _ => return Err(expected()),
        }
        if rate.is_some() || last != times {
            target.environment.remark(format!(
                "{stage} is given {} s whatever its rate: MinRate is not used",
                time.as_secs()
            ));
        }
    }
    Ok(())
}
