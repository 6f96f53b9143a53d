//! Applies `Header` and `RequestHeader`: rules that change the fields of a response or a request.

use crate::request::variables::ExpressionVariables;
use mehari_config::{
    Base, Condition, Expires, HeaderAction, HeaderRule, HeaderValue, Matched, Pattern, Rules, Text,
    VariableSource,
};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The tables of a response's fields, as Apache has them. Rules with `always` change the fields
/// that survive an error, and other rules change those of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The server's own error page or redirect: rules without `always` do not count, and rules with
    /// `always` only add fields.
    OfServer,
    /// A file: cookies of rules survive an error.
    OfFile,
    /// What a script prints: all fields but those of its content survive an error.
    OfScript,
    /// It is not known which fields survive an error: all rules change all fields.
    One,
}

/// Applies the rules to the fields of a request.
pub fn change_request(
    rules: &[Arc<HeaderRule>],
    fields: &mut Fields,
    variables: &ExpressionVariables,
) {
    for rule in rules {
        if holds(&rule.condition, variables) {
            change(rule, fields, variables);
        }
    }
}

/// Applies all rules and returns the changed header lines of the response that `variables`
/// describes. `set`: fields that replace fields of the same name.
pub fn change_response(
    rules: &Rules,
    tables: Tables,
    variables: &ExpressionVariables,
    set: &[(Vec<u8>, Vec<u8>)],
) -> Vec<u8> {
    let mut fields = parse(variables.lines);
    let is_set = |name: &[u8]| {
        set.iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    fields.retain(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie") || !is_set(name));
    fields.extend_from_slice(set);
    if variables.status < 400 && rules.expires.active {
        add_expiry(&rules.expires, &mut fields);
    }
    let fields = change_tables(rules, tables, fields, variables);
    let mut lines = Vec::with_capacity(variables.lines.len() + 64);
    for (name, value) in fields {
        lines.extend_from_slice(&name);
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(&value);
        lines.extend_from_slice(b"\r\n");
    }
    lines
}

/// Whether the field is one of those that survive an error.
fn survives(name: &[u8], tables: Tables) -> bool {
    const OF_CONTENT: [&str; 7] = [
        "content-type",
        "content-length",
        "content-range",
        "transfer-encoding",
        "last-modified",
        "etag",
        "location",
    ];
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match tables {
        Tables::OfScript => !OF_CONTENT.iter().any(|known| is(known)),
        _ => is("set-cookie"),
    }
}

/// Applies the rules of `Header` to the tables, and returns the fields of both.
fn change_tables(
    rules: &Rules,
    tables: Tables,
    mut fields: Fields,
    variables: &ExpressionVariables,
) -> Fields {
    let mut surviving = Fields::new();
    if matches!(tables, Tables::OfFile | Tables::OfScript) {
        let survives = |field: &(Vec<u8>, Vec<u8>)| survives(&field.0, tables);
        (surviving, fields) = fields.into_iter().partition(survives);
    }
    let holding = |rule: &&Arc<HeaderRule>| holds(&rule.condition, variables);
    for rule in rules.headers.iter().filter(holding) {
        match (rule.always, tables) {
            (false, Tables::OfServer) => {}
            (false, _) | (true, Tables::One) => change(rule, &mut fields, variables),
            (true, _) => change(rule, &mut surviving, variables),
        }
    }
    surviving.append(&mut fields);
    surviving
}

fn parse(lines: &[u8]) -> Fields {
    let lines = lines.split(|byte| *byte == b'\n');
    let parsed = lines.filter_map(|line| {
        let at = memchr::memchr(b':', line)?;
        Some((line[..at].to_vec(), line[at + 1..].trim_ascii().to_vec()))
    });
    parsed.collect()
}

fn holds(condition: &Condition, variables: &ExpressionVariables) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Variable { name, set } => variables.environment(name).is_some() == *set,
        Condition::Expression(expression) => expression.holds(variables),
    }
}

fn change(rule: &HeaderRule, fields: &mut Fields, variables: &ExpressionVariables) {
    let name = rule.name.as_bytes();
    let is = |known: &(Vec<u8>, Vec<u8>)| known.0.eq_ignore_ascii_case(name);
    let value = match &rule.value {
        HeaderValue::Text(text) => clean(text.of(variables)),
        HeaderValue::Edit(pattern, text) => {
            let every = rule.action == HeaderAction::EditEvery;
            for field in fields.iter_mut().filter(|field| is(field)) {
                field.1 = clean(edited(&field.1, pattern, text, every, variables));
            }
            return;
        }
        HeaderValue::None => Vec::new(),
    };
    match rule.action {
        HeaderAction::Set => {
            fields.retain(|field| !is(field));
            fields.push((name.to_vec(), value));
        }
        HeaderAction::SetIfEmpty if fields.iter().any(is) => {}
        HeaderAction::Add | HeaderAction::SetIfEmpty => fields.push((name.to_vec(), value)),
        HeaderAction::Append | HeaderAction::Merge => {
            let merges = rule.action == HeaderAction::Merge;
            match fields.iter_mut().find(|field| is(field)) {
                None => fields.push((name.to_vec(), value)),
                Some(field) if merges && has_member(&field.1, &value) => {}
                Some(field) => {
                    field.1.extend_from_slice(b", ");
                    field.1.extend_from_slice(&value);
                }
            }
        }
        HeaderAction::Unset => fields.retain(|field| !is(field)),
        HeaderAction::Echo => echo(&rule.name, fields, variables),
        HeaderAction::Edit | HeaderAction::EditEvery => {}
    }
}

/// Copies the fields of the request that match `pattern` to the response.
fn echo(pattern: &str, fields: &mut Fields, variables: &ExpressionVariables) {
    for (name, value) in variables.request.fields {
        let matches = match pattern.strip_suffix('*') {
            Some(start) => {
                name.len() >= start.len()
                    && name[..start.len()].eq_ignore_ascii_case(start.as_bytes())
            }
            None => name.eq_ignore_ascii_case(pattern.trim_matches(['^', '$']).as_bytes()),
        };
        if matches {
            fields.push((name.to_vec(), value.to_vec()));
        }
    }
}

fn has_member(list: &[u8], member: &[u8]) -> bool {
    list.split(|byte| *byte == b',')
        .any(|known| known.trim_ascii() == member.trim_ascii())
}

/// Removes control characters, which would end the line or be refused later.
fn clean(mut value: Vec<u8>) -> Vec<u8> {
    value.retain(|byte| *byte == b'\t' || !byte.is_ascii_control());
    value
}

fn edited(
    value: &[u8],
    pattern: &Pattern,
    text: &Text,
    every: bool,
    variables: &dyn VariableSource,
) -> Vec<u8> {
    let mut edited = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(groups) = pattern.groups_at(value, at) {
        let whole = groups.whole();
        edited.extend_from_slice(&value[at..whole.start]);
        let matched = Matched {
            variables,
            groups: Some((value.into(), groups)),
        };
        text.put(&matched, &mut edited);
        at = whole.end;
        if whole.is_empty() {
            let Some(byte) = value.get(at) else { break };
            edited.push(*byte);
            at += 1;
        }
        if !every {
            break;
        }
    }
    edited.extend_from_slice(value.get(at..).unwrap_or_default());
    edited
}

fn add_expiry(expires: &Expires, fields: &mut Fields) {
    let field = |name: &str| {
        let mut known = fields.iter();
        known.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
    };
    if field("expires").is_some() {
        return;
    }
    let media_type = field("content-type").map_or(&[][..], |(_, value)| value);
    let Some(expiry) = expires.of(media_type) else {
        return;
    };
    let now = SystemTime::now();
    let modified = field("last-modified")
        .and_then(|(_, value)| httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok());
    let from = match (expiry.from, modified) {
        (Base::Modification, None) => return,
        (Base::Modification, Some(modified)) => modified,
        (Base::Access, _) => now,
    };
    let until = from + expiry.after;
    let left = until.duration_since(now).unwrap_or(Duration::ZERO);
    // A program's own Cache-Control is not changed.
    if field("cache-control").is_none() {
        let value = format!("max-age={}", left.as_secs()).into_bytes();
        fields.push((b"Cache-Control".to_vec(), value));
    }
    let date = httpdate::fmt_http_date(until).into_bytes();
    fields.push((b"Expires".to_vec(), date));
}
