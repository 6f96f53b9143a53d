//! The directives of logs: their destinations, the format of access lines, the level of the error
//! log.

use super::row::*;
use crate::{
    AccessFormat, AccessLogSettings, Condition, Expression, LogFormat, LogLevel, LogProgram,
    LogTarget,
};

pub const GROUP: Group = Group {
    title: "Logs",
    rows: &[
        Directive::host(
            "ErrorLog",
            Shape::Path,
            "The file for errors, or `|PROGRAM` for a program that reads them. `stderr` means the \
             server's standard error. `off` means that nothing is written.",
            |target, arguments| {
                let log = log_target(target, arguments)?;
                if target.in_host {
                    target.host.own_logs.error = Some(log)
                } else {
                    target.site.logs.error = log
                }
                Ok(())
            },
        )
        .otherwise("stderr")
        .example("logs/error_log", "syslog:local7"),
        Directive::everywhere(
            "LogLevel",
            words("[perl:]emerg|alert|crit|error|warn|notice|info|debug", 1, ANY),
            "The least severe level that is written. With `perl:`, the level is that of Perl code. \
             In a section, the level is that of CGI programs and Perl code, and the server's own \
             lines have the level of the host. For Perl code, both only add lines to those of the \
             host.",
            log_level,
        )
        .default("notice")
        .example("info", "loud"),
        Directive::host(
            "CustomLog",
            words(
                "FILE|\"|PROGRAM\" [NICKNAME|FORMAT] [env=[!]NAME|expr=EXPRESSION]",
                1,
                3,
            ),
            "The access log, with one line per request: a file, or the input of a program. The \
             format is combined, common, json, vhost_combined, or a LogFormat. If there are \
             several CustomLog lines, each log gets every request. `stderr` means the server's \
             standard error. `off` means that nothing is written.",
            custom_log,
        )
        .aliases(&["TransferLog"])
        .otherwise("no log; stderr for `mehari serve PATH`")
        .example("logs/access_log \"%h %t %>s\"", "logs/access_log \"%h %z\""),
        Directive::server(
            "GlobalLog",
            words(
                "FILE|\"|PROGRAM\" [NICKNAME|FORMAT] [env=[!]NAME|expr=EXPRESSION]",
                1,
                3,
            ),
            "Like CustomLog, but for the requests of all hosts. Hosts with their own CustomLog \
             are included.",
            |target, arguments| {
                let log = access_log(target, arguments)?;
                target.environment.global_logs.push(log);
                Ok(())
            },
        )
        .otherwise("none")
        .example("logs/all \"%v %h %t %>s\"", "logs/all \"%h %z\""),
        Directive::host(
            "LogFormat",
            words("FORMAT [NICKNAME]", 1, 2),
            "The format of an access log, with Apache's escapes (docs/reference/logs.md). If the \
             nickname is left out, it is TransferLog's format.",
            log_format,
        )
        .example("\"%h %l %u %t %>s %b %D\" timed", "\"%h %z\" broken"),
    ],
};

fn log_target(target: &Target, arguments: &Arguments) -> Result<LogTarget, Fault> {
    let text = arguments.filled(0)?;
    match text {
        "stderr" | "/dev/stderr" => return Ok(LogTarget::Stderr),
        "off" | "/dev/null" => return Ok(LogTarget::Off),
        _ => {}
    }
    if text.starts_with("syslog") {
        let message = format!("expected a file, `|PROGRAM`, `stderr` or `off`, not `{text}`: `|logger` reaches syslog");
        return Err(arguments.fault(0, message));
    }
    if let Some(command) = text.strip_prefix('|') {
        let by_shell = command.starts_with('$');
        let command = command.trim_start_matches(['|', '$']).trim();
        if command.is_empty() {
            return Err(arguments.fault(0, "expected a program behind `|`"));
        }
        let command = command.to_string();
        return Ok(LogTarget::Pipe(LogProgram { command, by_shell }));
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
            Some("perl" | "perl_module" | "mod_perl.c") => {
                target.changes.push(Change::PerlLogLevel(level));
            }
            None if target.in_section => target.changes.push(Change::LogLevel(level)),
            None if target.in_host => target.host.own_logs.level = Some(level),
            None => target.site.logs.level = level,
            Some(module) => target
                .environment
                .remark(format!("one level for all: `{module}` has none of its own")),
        }
    }
    Ok(())
}

const COMBINED: &str = "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"";
const COMMON: &str = "%h %l %u %t \"%r\" %>s %b";

fn log_format(target: &mut Target, arguments: &Arguments) -> Applied {
    let format = parse_format(arguments, 0)?;
    let nickname = arguments.words.get(1).map_or("", |word| &word.text);
    if nickname.contains('%') {
        return Err(arguments.fault(1, format!("expected a nickname, not `{nickname}`")));
    }
    let formats = &mut target.environment.log_formats;
    formats.insert(nickname.to_string(), format);
    Ok(())
}

fn parse_format(arguments: &Arguments, index: usize) -> Result<AccessFormat, Fault> {
    let text = arguments.filled(index)?;
    if text == COMBINED {
        return Ok(AccessFormat::Combined);
    }
    let parsed = LogFormat::parse(text).map_err(|message| arguments.fault(index, message))?;
    Ok(AccessFormat::Custom(parsed))
}

fn access_log(target: &Target, arguments: &Arguments) -> Result<AccessLogSettings, Fault> {
    Ok(AccessLogSettings {
        target: log_target(target, arguments)?,
        format: named_format(target, arguments)?,
        condition: condition(arguments)?,
    })
}

fn custom_log(target: &mut Target, arguments: &Arguments) -> Applied {
    let log = access_log(target, arguments)?;
    let logs = if target.in_host {
        &mut target.host.own_logs.access
    } else {
        &mut target.site.logs.access
    };
    logs.push(log);
    Ok(())
}

/// Returns the format of a log: the format with the given nickname, the format that is written in
/// the line, or the format of a `LogFormat` without a nickname.
fn named_format(target: &Target, arguments: &Arguments) -> Result<AccessFormat, Fault> {
    let known = &target.environment.log_formats;
    let Some(word) = arguments.words.get(1) else {
        return Ok(known.get("").cloned().unwrap_or(AccessFormat::Combined));
    };
    if word.text.contains('%') {
        return parse_format(arguments, 1);
    }
    if let Some(format) = known.get(&word.text) {
        return Ok(format.clone());
    }
    match word.text.to_ascii_lowercase().as_str() {
        "combined" => Ok(AccessFormat::Combined),
        "json" => Ok(AccessFormat::Json),
        "common" => built_in(COMMON, arguments),
        "vhost_combined" => built_in(&format!("%v:%p {COMBINED}"), arguments),
        "combinedio" => built_in(&format!("{COMBINED} %I %O"), arguments),
        _ => {
            let message = format!(
                "there is no format `{0}`; expected combined, common, json or a `LogFormat ... \
                 {0}` before it",
                word.text
            );
            let names = known.keys().map(String::as_str);
            let names = names.chain(["combined", "common", "json"]);
            Err(arguments.fault(1, message).or_nearest(&word.text, names))
        }
    }
}

fn built_in(text: &str, arguments: &Arguments) -> Result<AccessFormat, Fault> {
    let parsed = LogFormat::parse(text).map_err(|message| arguments.fault(1, message))?;
    Ok(AccessFormat::Custom(parsed))
}

fn condition(arguments: &Arguments) -> Result<Condition, Fault> {
    let Some(word) = arguments.words.get(2) else {
        return Ok(Condition::Always);
    };
    if let Some(name) = word.text.strip_prefix("env=") {
        let unset = name.strip_prefix('!');
        return Ok(Condition::Variable {
            name: unset.unwrap_or(name).to_string(),
            set: unset.is_none(),
        });
    }
    match word.text.strip_prefix("expr=") {
        Some(text) => Expression::parse(text)
            .map(Condition::Expression)
            .map_err(|why| arguments.fault(2, why)),
        None => {
            let message = format!(
                "expected env=NAME, env=!NAME or expr=EXPRESSION, not `{}`",
                word.text
            );
            Err(arguments.fault(2, message))
        }
    }
}
