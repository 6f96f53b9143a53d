//! The directive that sends the spans of requests to a collector: `TraceExport`.

use super::row::*;
use crate::arguments::{duration, plain};
use crate::TraceExport;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

pub const GROUP: Group = Group {
    title: "Tracing",
    rows: &[Directive::server(
        "TraceExport",
        words(
            "URL [every=NUMBER] [service=NAME] [parents=follow|ignore] [queue=NUMBER] \
             [timeout=SECONDS] [ca=FILE] | Off",
            1,
            7,
        ),
        "Sends the spans of sampled requests to an OpenTelemetry collector, as JSON (OTLP over \
         HTTP or HTTPS). `every=100`, the default, samples one request in 100. `service` is the \
         service name of the spans. With `parents=follow`, the client's `traceparent` decides \
         whether its request is sampled. `queue` is the number of requests that may wait for the \
         collector (default 1000). `timeout` is the time that the collector may take for a batch \
         (default 10 seconds). `ca` is a PEM file with the authorities that may sign the \
         certificate of an `https://` collector. Without `ca`, these are the authorities that the \
         system trusts.",
        trace_export,
    )
    .default("Off")
    .example(
        "http://127.0.0.1:4318/v1/traces every=20 service=shop parents=follow queue=500 timeout=5",
        "ftp://collector/",
    )],
};

/// The limits of the options' numbers.
const EVERY: RangeInclusive<u32> = 1..=1_000_000;
const QUEUE: RangeInclusive<u32> = 1..=100_000;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);
/// The longest name of a service in bytes.
const LONGEST_NAME: usize = 255;

fn trace_export(target: &mut Target, arguments: &Arguments) -> Applied {
    let url = arguments.filled(0)?;
    if url.eq_ignore_ascii_case("off") {
        target.site.process.trace_export = None;
        return match arguments.words.len() {
            1 => Ok(()),
            _ => Err(arguments.fault(1, "expected nothing after Off")),
        };
    }
    let mut export = TraceExport::parse(url).ok_or_else(|| {
        let message = format!("expected http[s]://HOST[:PORT][/PATH] or Off, not `{url}`");
        arguments.fault(0, message)
    })?;
    for index in 1..arguments.words.len() {
        option(&mut export, arguments, index, &target.site.server_root)?;
    }
    target.site.process.trace_export = Some(export);
    Ok(())
}

fn option(export: &mut TraceExport, arguments: &Arguments, index: usize, root: &Path) -> Applied {
    const NAMES: &[&str] = &["every", "service", "parents", "queue", "timeout", "ca"];
    let text = arguments.filled(index)?;
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let wrong = |expected| arguments.fault(index, format!("expected {expected}, not `{text}`"));
    match name.to_ascii_lowercase().as_str() {
        "every" => {
            let every = number(value, &EVERY);
            export.every = every.ok_or_else(|| wrong("every=NUMBER from 1 to 1000000"))?;
        }
        "service" if is_name(value) => value.clone_into(&mut export.service),
        "service" => return Err(wrong("service=NAME of at most 255 bytes")),
        "parents" => {
            export.follows_parents = match value.to_ascii_lowercase().as_str() {
                "follow" => true,
                "ignore" => false,
                _ => return Err(wrong("parents=follow or parents=ignore")),
            }
        }
        "queue" => {
            let queue = number(value, &QUEUE).and_then(|queue| usize::try_from(queue).ok());
            export.queue = queue.ok_or_else(|| wrong("queue=NUMBER from 1 to 100000"))?;
        }
        "timeout" => {
            let timeout = duration(value).filter(|timeout| TIMEOUT.contains(timeout));
            export.timeout = timeout.ok_or_else(|| wrong("timeout=SECONDS, 1 to 60 (or 500ms)"))?;
        }
        "ca" if !export.is_secure => return Err(wrong("ca= only with https://")),
        "ca" if value.is_empty() => return Err(wrong("ca=FILE")),
        "ca" => export.authorities = Some(plain(&root.join(value))),
        _ => {
            let fault = wrong("every=, service=, parents=, queue=, timeout= or ca=");
            return Err(fault.or_nearest(name, NAMES.iter().copied()));
        }
    }
    Ok(())
}

fn number(text: &str, limits: &RangeInclusive<u32>) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.filter(|number| limits.contains(number))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && !text.contains(char::is_control)
}
