//! Logs: where they go, how an access line looks, what is worth an error line.

use super::row::*;
use crate::{AccessFormat, LogLevel, LogTarget};

pub const GROUP: Group = Group {
    title: "Logs",
    rows: &[
        Directive::host(
            "ErrorLog",
            Shape::Path,
            "The file errors are written to; `stderr` and `off` are not files.",
            |target, arguments| {
                let log = log_target(target, arguments)?;
                match target.in_host {
                    true => target.host.own_logs.error = Some(log),
                    false => target.site.logs.error = log,
                }
                Ok(())
            },
        )
        .otherwise("stderr")
        .example("logs/error_log", "|/usr/bin/rotatelogs"),
        Directive::host(
            "LogLevel",
            words("emerg|alert|crit|error|warn|notice|info|debug", 1, ANY),
            "The least serious message that is written.",
            log_level,
        )
        .default("notice")
        .example("info", "loud"),
        Directive::host(
            "CustomLog",
            words("FILE [combined|json]", 1, 3),
            "The file every request is written to; `stderr` and `off` are not files.",
            custom_log,
        )
        .aliases(&["TransferLog"])
        .otherwise("none; stderr for `mehari serve PATH`")
        .example("logs/access_log combined", "logs/access_log \"%h %t\""),
    ],
};

fn log_target(target: &Target, arguments: &Arguments) -> Result<LogTarget, Fault> {
    let text = arguments.filled(0)?;
    match text {
        "stderr" | "/dev/stderr" => return Ok(LogTarget::Stderr),
        "off" | "/dev/null" => return Ok(LogTarget::Off),
        _ => {}
    }
    if text.starts_with('|') || text.starts_with("syslog") {
        let message = format!("expected a file, `stderr` or `off`, not `{text}`: logs are not piped; USR1 reopens files");
        return Err(arguments.fault(0, message));
    }
    Ok(LogTarget::File(
        arguments.path(0, &target.site.server_root)?,
    ))
}

fn log_level(target: &mut Target, arguments: &Arguments) -> Applied {
    const NAMES: &[&str] = &[
        "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug",
    ];
    for (index, word) in arguments.words.iter().enumerate() {
        let text = word.text.to_ascii_lowercase();
        let (module, name) = text
            .rsplit_once(':')
            .map_or((None, text.as_str()), |(m, n)| (Some(m), n));
        let level = match name {
            "emerg" => LogLevel::Emerg,
            "alert" => LogLevel::Alert,
            "crit" => LogLevel::Crit,
            "error" => LogLevel::Error,
            "warn" => LogLevel::Warn,
            "notice" => LogLevel::Notice,
            "info" => LogLevel::Info,
            "debug" => LogLevel::Debug,
            trace if (1..=8).any(|n| trace == format!("trace{n}")) => LogLevel::Debug,
            _ => {
                let message = format!("expected {}, not `{}`", NAMES.join(", "), word.text);
                return Err(arguments
                    .fault(index, message)
                    .or_nearest(name, NAMES.iter().copied()));
            }
        };
        match module {
            None if target.in_host => target.host.own_logs.level = Some(level),
            None => target.site.logs.level = level,
            Some(module) => target
                .environment
                .remark(format!("one level for all: `{module}` has none of its own")),
        }
    }
    Ok(())
}

fn custom_log(target: &mut Target, arguments: &Arguments) -> Applied {
    let log = log_target(target, arguments)?;
    if let Some(condition) = arguments.words.get(2) {
        let message = format!(
            "`{}`: every request is logged; expected no condition",
            condition.text
        );
        return Err(Fault::new(condition.at, message));
    }
    let nickname = arguments.words.get(1).map_or("combined", |word| &word.text);
    let format = match nickname.to_ascii_lowercase().as_str() {
        "combined" => AccessFormat::Combined,
        "json" => AccessFormat::Json,
        "common" | "vhost_combined" => {
            target
                .environment
                .remark(format!("`{nickname}` is written as `combined`"));
            AccessFormat::Combined
        }
        _ => {
            let fault = arguments.fault(1, format!("expected combined or json, not `{nickname}`"));
            return Err(fault.or_nearest(nickname, ["combined", "json"].into_iter()));
        }
    };
    if target.in_host {
        target.host.own_logs.access = Some((log, format));
        return Ok(());
    }
    if target.site.logs.access != LogTarget::Off {
        target
            .environment
            .remark("there is one access log: this one takes the place of the one before");
    }
    target.site.logs.access = log;
    target.site.logs.access_format = format;
    Ok(())
}
