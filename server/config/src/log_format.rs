//! `LogFormat`: parses Apache's escapes (mod_log_config, "Custom Log Formats") into items.

use std::sync::Arc;

/// The format of an access line: texts and items.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFormat {
    /// The format as written.
    pub text: String,
    pub items: Vec<LogItem>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LogItem {
    Text(String),
    Field {
        field: LogField,
        /// `%400,501{...}`: the item is logged only for these statuses. True (`%!400,501{...}`):
        /// only for all other statuses.
        statuses: Option<(bool, Vec<u16>)>,
        /// `%<s`: the item describes the client's request, not the internal redirect that followed.
        original: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum LogField {
    /// The client's host name if it was looked up, else the client's address.
    ClientName,
    ClientAddress,
    PeerAddress,
    LocalAddress,
    /// The number of bytes of the body. An empty body is logged as `0` (true) or as `-` (false).
    BodyBytes(bool),
    Cookie(String),
    /// `%D`, `%T`, `%{ms}T`.
    Duration(TimeUnit),
    Environment(String),
    FileName,
    Protocol,
    RequestField(String),
    ResponseField(String),
    KeptAlive,
    /// A value that Mehari never has: the remote logname, trailers.
    Nothing,
    /// A note of Perl's handlers (`$r->notes`).
    Note(String),
    RequestId,
    Method,
    ServerPort,
    ClientPort,
    Process,
    Worker,
    Query,
    RequestLine,
    Handler,
    Status,
    Time(LogTime),
    User,
    Path,
    ServerName,
    RequestHost,
    ConnectionStatus,
    BytesIn,
    BytesOut,
    BytesBoth,
    /// `%{VARIABLE}x`: a variable of the TLS connection.
    Tls(String),
    /// `%{queue}Q`: the time for which the request waited for a worker, in microseconds.
    Queued,
    /// `%{backend}Q`: the time from the end of the wait for a worker to the head of the response,
    /// in microseconds.
    Backend,
    /// `%{cache}Q`: the response cache's result.
    Cache,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

/// A time of the request: its arrival, or with `end` the time when its response was complete.
#[derive(Debug, Clone, PartialEq)]
pub struct LogTime {
    pub end: bool,
    pub style: TimeStyle,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TimeStyle {
    Clf,
    /// The time in whole units since 1970.
    Epoch(TimeUnit),
    /// The fraction of a second: three or six digits.
    Fraction(TimeUnit),
    /// The time in a format of strftime(3).
    Custom(String),
}

pub(crate) fn as_text<S: serde::Serializer>(
    format: &Arc<LogFormat>,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.serialize_str(&format.text)
}

/// The facts of a request that its access line needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogNeeds {
    /// Whether the format needs anything that the combined format does not contain.
    pub more: bool,
    pub request_fields: bool,
    pub response_fields: bool,
    pub route: bool,
    pub backend_time: bool,
    /// Whether the duration of the request is needed.
    pub duration: bool,
    /// Whether a log has a condition that is an expression.
    pub expression: bool,
}

impl LogNeeds {
    /// Returns what an expression may read.
    pub(crate) fn of_expression() -> LogNeeds {
        LogNeeds {
            more: true,
            response_fields: true,
            route: true,
            expression: true,
            ..LogNeeds::default()
        }
    }

    pub fn and(self, other: LogNeeds) -> LogNeeds {
        LogNeeds {
            more: self.more || other.more,
            request_fields: self.request_fields || other.request_fields,
            response_fields: self.response_fields || other.response_fields,
            route: self.route || other.route,
            backend_time: self.backend_time || other.backend_time,
            duration: self.duration || other.duration,
            expression: self.expression || other.expression,
        }
    }
}

impl LogFormat {
    /// Parses the text of a `LogFormat`.
    ///
    /// # Errors
    ///
    /// What was expected, and where.
    pub fn parse(text: &str) -> Result<Arc<LogFormat>, String> {
        let (mut items, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['%', '\\']) {
            plain.push_str(&rest[..at]);
            let escape = &rest[at..];
            let (taken, item) = match escape.as_bytes() {
                [b'\\', b'n', ..] => (2, LogItem::Text("\n".into())),
                [b'\\', b't', ..] => (2, LogItem::Text("\t".into())),
                [b'\\', b'r', ..] => (2, LogItem::Text("\r".into())),
                [b'\\', ..] => (1, LogItem::Text("\\".into())),
                [b'%', b'%', ..] => (2, LogItem::Text("%".into())),
                _ => directive(&escape[1..]).map(|(taken, item)| (taken + 1, item))?,
            };
            match item {
                LogItem::Text(text) => plain.push_str(&text),
                field => {
                    if !plain.is_empty() {
                        items.push(LogItem::Text(std::mem::take(&mut plain)));
                    }
                    items.push(field);
                }
            }
            rest = &escape[taken..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            items.push(LogItem::Text(plain));
        }
        let text = text.to_string();
        Ok(Arc::new(LogFormat { text, items }))
    }

    pub fn needs(&self) -> LogNeeds {
        let mut needs = LogNeeds {
            more: true,
            ..LogNeeds::default()
        };
        for item in &self.items {
            let LogItem::Field { field, .. } = item else {
                continue;
            };
            match field {
                LogField::RequestField(_) | LogField::Cookie(_) => needs.request_fields = true,
                LogField::ResponseField(_) => needs.response_fields = true,
                LogField::FileName | LogField::Handler | LogField::ServerName => needs.route = true,
                LogField::RequestHost => (needs.request_fields, needs.route) = (true, true),
                LogField::Backend => needs.backend_time = true,
                LogField::Duration(_) => needs.duration = true,
                LogField::Time(time) => needs.duration |= time.end,
                _ => {}
            }
        }
        needs
    }
}

/// Parses the text behind a `%`: modifiers, an argument in braces, a letter. Returns the item and
/// its length.
fn directive(text: &str) -> Result<(usize, LogItem), String> {
    let (mut statuses, mut original, mut argument) = (None, None, None);
    let mut at = 0;
    loop {
        let rest = &text[at..];
        match rest.bytes().next() {
            Some(b'<') => (original, at) = (Some(true), at + 1),
            Some(b'>') => (original, at) = (Some(false), at + 1),
            Some(b'!' | b'0'..=b'9') => {
                let length = rest.find(|c: char| !c.is_ascii_digit() && c != ',' && c != '!');
                let length = length.unwrap_or(rest.len());
                statuses = Some(status_list(&rest[..length])?);
                at += length;
            }
            Some(b'{') => {
                let end = rest.find('}').ok_or("expected a `}` behind `%{`")?;
                argument = Some(&rest[1..end]);
                at += end + 1;
            }
            _ => break,
        }
    }
    let rest = &text[at..];
    let (letter, length) = match rest.strip_prefix('^') {
        Some(name) if name.starts_with("ti") || name.starts_with("to") => ("^", 3),
        _ => match rest.chars().next() {
            Some(letter) => (&rest[..letter.len_utf8()], letter.len_utf8()),
            None => return Err("expected a letter behind `%`".into()),
        },
    };
    let field = field(letter, argument)?;
    // As in Apache, %s, %U, %T, %D and %r describe the client's request and not an internal
    // redirect, unless the item has a `>`.
    let first_by_default = matches!(letter, "s" | "U" | "T" | "D" | "r");
    Ok((
        at + length,
        LogItem::Field {
            field,
            statuses,
            original: original.unwrap_or(first_by_default),
        },
    ))
}

fn status_list(text: &str) -> Result<(bool, Vec<u16>), String> {
    let (negated, list) = match text.strip_prefix('!') {
        Some(list) => (true, list),
        None => (false, text),
    };
    let parsed: Result<Vec<u16>, _> = list.split(',').map(str::parse).collect();
    parsed
        .map(|list| (negated, list))
        .map_err(|_| format!("expected statuses such as 400,501 behind `%`, not `{text}`"))
}

fn field(letter: &str, argument: Option<&str>) -> Result<LogField, String> {
    let named = || match argument {
        Some(name) if !name.is_empty() => Ok(name.to_string()),
        _ => Err(format!("expected a name in braces: `%{{NAME}}{letter}`")),
    };
    let one_of = |known: &[(&str, LogField)]| {
        let word = argument.unwrap_or_default();
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, field)| field.clone()).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            format!("expected one of {names} in the braces of `%{{...}}{letter}`, not `{word}`")
        })
    };
    Ok(match letter {
        "a" => one_of(&[("", LogField::ClientAddress), ("c", LogField::PeerAddress)])?,
        "h" => one_of(&[("", LogField::ClientName), ("c", LogField::PeerAddress)])?,
        "A" => LogField::LocalAddress,
        "B" => LogField::BodyBytes(true),
        "b" => LogField::BodyBytes(false),
        "C" => LogField::Cookie(named()?),
        "D" => LogField::Duration(TimeUnit::Microseconds),
        "e" => LogField::Environment(named()?),
        "f" => LogField::FileName,
        "H" => LogField::Protocol,
        "i" => LogField::RequestField(named()?),
        "k" => LogField::KeptAlive,
        "l" | "^" => LogField::Nothing,
        "n" => LogField::Note(named()?),
        "L" => LogField::RequestId,
        "m" => LogField::Method,
        "o" => LogField::ResponseField(named()?),
        "p" => one_of(&[
            ("", LogField::ServerPort),
            ("canonical", LogField::ServerPort),
            ("local", LogField::ServerPort),
            ("remote", LogField::ClientPort),
        ])?,
        "P" => one_of(&[
            ("", LogField::Worker),
            ("pid", LogField::Worker),
            ("tid", LogField::Process),
            ("hextid", LogField::Process),
        ])?,
        "q" => LogField::Query,
        "Q" => one_of(&[
            ("queue", LogField::Queued),
            ("backend", LogField::Backend),
            ("cache", LogField::Cache),
            ("worker", LogField::Worker),
        ])?,
        "r" => LogField::RequestLine,
        "R" => LogField::Handler,
        "s" => LogField::Status,
        "t" => LogField::Time(time(argument.unwrap_or_default())),
        "T" => one_of(&[
            ("", LogField::Duration(TimeUnit::Seconds)),
            ("s", LogField::Duration(TimeUnit::Seconds)),
            ("ms", LogField::Duration(TimeUnit::Milliseconds)),
            ("us", LogField::Duration(TimeUnit::Microseconds)),
        ])?,
        "u" => LogField::User,
        "U" => LogField::Path,
        "v" => LogField::ServerName,
        "V" => LogField::RequestHost,
        "x" => LogField::Tls(named()?),
        "X" => LogField::ConnectionStatus,
        "I" => LogField::BytesIn,
        "O" => LogField::BytesOut,
        "S" => LogField::BytesBoth,
        other => {
            return Err(format!(
                "expected a letter of Apache's log formats behind `%`, not `{other}`"
            ))
        }
    })
}

fn time(format: &str) -> LogTime {
    let (end, format) = match (format.strip_prefix("end:"), format.strip_prefix("begin:")) {
        (Some(format), _) => (true, format),
        (None, Some(format)) => (false, format),
        (None, None) => (false, format),
    };
    let style = match format {
        "" => TimeStyle::Clf,
        "sec" => TimeStyle::Epoch(TimeUnit::Seconds),
        "msec" => TimeStyle::Epoch(TimeUnit::Milliseconds),
        "usec" => TimeStyle::Epoch(TimeUnit::Microseconds),
        "msec_frac" => TimeStyle::Fraction(TimeUnit::Milliseconds),
        "usec_frac" => TimeStyle::Fraction(TimeUnit::Microseconds),
        other => TimeStyle::Custom(other.to_string()),
    };
    LogTime { end, style }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_fields_alternate() {
        let format = LogFormat::parse("%h \\\"%>s\\t%%%!200,304{User-Agent}i").expect("right");
        let field = |field, statuses, original| LogItem::Field {
            field,
            statuses,
            original,
        };
        assert_eq!(
            format.items,
            [
                field(LogField::ClientName, None, false),
                LogItem::Text(" \\\"".into()),
                field(LogField::Status, None, false),
                LogItem::Text("\t%".into()),
                field(
                    LogField::RequestField("User-Agent".into()),
                    Some((true, vec![200, 304])),
                    false
                ),
            ]
        );
        assert!(format.needs().request_fields && !format.needs().response_fields);
    }

    #[test]
    fn a_wrong_format_is_refused_with_the_expected_text() {
        for (text, expected) in [
            ("%", "a letter behind `%`"),
            ("%{x", "a `}` behind `%{`"),
            ("%i", "a name in braces"),
            ("%z", "not `z`"),
            ("%{weeks}T", "one of , s, ms, us"),
            ("%4x4s", "x"),
            ("%70000s", "statuses such as"),
            ("%é", "not `é`"),
        ] {
            let error = LogFormat::parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
