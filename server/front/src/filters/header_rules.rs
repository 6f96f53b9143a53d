//! Applies `Header` and `RequestHeader`: rules that change the fields of a response or a request.

use super::vary;
use crate::request::variables::{modified, ExpressionVariables};
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use mehari_config::{
    Base, Condition, Expires, HeaderAction, HeaderRule, HeaderValue, Matched, Pattern, Piece,
    Rules, Text, VariableSource,
};
use mehari_http::status;
use mehari_pool::{HeadTable, TableMarks};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The tables of a response's fields, as Apache has them. Rules with `always` change the fields
/// that survive an error, and other rules change those of the response. A worker may have said the
/// tables of some fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The server's own error page or redirect: rules without `always` do not count, and rules with
    /// `always` only add fields.
    Server,
    /// A file, a Perl handler or a back end: no field survives an error.
    Handler,
    /// What a script prints: all fields but those of its content survive an error.
    Script,
}

/// The tables of the fields of one response.
#[derive(Clone, Copy)]
pub struct KnownTables<'a> {
    pub kind: Tables,
    /// What the worker has said.
    pub marks: &'a TableMarks,
    /// The number of the last fields that rules have added. These survive an error.
    pub noted: usize,
}

/// Applies the rules to the fields of a request.
pub fn change_request(
    rules: &[Arc<HeaderRule>],
    fields: &mut Fields,
    variables: &ExpressionVariables,
) {
    for rule in rules {
        if holds(&rule.condition, variables, variables) {
            change(rule, value_of(rule, variables), fields, variables);
        }
    }
}

/// The variable with which a response has no Vary.
pub const FORCE_NO_VARY: &str = "force-no-vary";

/// Applies all rules and returns the changed header lines of the response that `variables`
/// describes. `set`: fields that replace fields of the same name. The response gets a Vary field
/// for the request fields that conditions have read.
pub fn change_response(
    rules: &Rules,
    tables: KnownTables<'_>,
    variables: &ExpressionVariables,
    set: &[(Vec<u8>, Vec<u8>)],
) -> Vec<u8> {
    let (mut surviving, mut fields) = parted(parse(variables.lines), tables);
    let is_left = |(name, _): &(Vec<u8>, Vec<u8>)| {
        let is_set = |(known, _): &(Vec<u8>, Vec<u8>)| known.eq_ignore_ascii_case(name);
        name.eq_ignore_ascii_case(b"set-cookie") || !set.iter().any(is_set)
    };
    surviving.retain(is_left);
    fields.retain(is_left);
    fields.extend_from_slice(set);
    if variables.status < 400 && rules.expires.active {
        add_expiry(&rules.expires, variables.file, &surviving, &mut fields);
    }
    change_tables(rules, tables.kind, [&mut surviving, &mut fields], variables);
    let mut fields = [surviving, fields].concat();
    if status::has_no_body(variables.status) {
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case(b"content-type"));
    }
    match variables.environment(FORCE_NO_VARY) {
        Some(_) => fields.retain(|(name, _)| !name.eq_ignore_ascii_case(b"vary")),
        None => vary::join(&mut fields),
    }
    let mut lines = Vec::with_capacity(variables.lines.len() + 64);
    for (name, value) in fields {
        lines.extend_from_slice(&name);
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(&value);
        lines.extend_from_slice(b"\r\n");
    }
    lines
}

/// Parts the fields into those that survive an error and the others.
fn parted(fields: Fields, tables: KnownTables<'_>) -> (Fields, Fields) {
    if tables.kind == Tables::Server {
        return (Fields::new(), fields);
    }
    let own = fields.len().saturating_sub(tables.noted);
    let names = fields[..own].iter().map(|(name, _)| &name[..]);
    let marked = tables.marks.tables(names);
    let (mut surviving, mut others) = (Fields::new(), Fields::new());
    for (at, field) in fields.into_iter().enumerate() {
        let survives = match marked.get(at) {
            Some(Some(table)) => *table == HeadTable::Error,
            Some(None) => tables.kind == Tables::Script && !is_of_content(&field.0),
            None => true,
        };
        if survives {
            surviving.push(field);
        } else {
            others.push(field);
        }
    }
    (surviving, others)
}

/// Whether a script that prints the field describes its content, so that the field does not survive
/// an error.
fn is_of_content(name: &[u8]) -> bool {
    const OF_CONTENT: [&str; 7] = [
        "content-type",
        "content-length",
        "content-range",
        "transfer-encoding",
        "last-modified",
        "etag",
        "location",
    ];
    let mut known = OF_CONTENT.iter();
    known.any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Applies the rules of `Header` to the table of surviving fields and to the other table.
fn change_tables(
    rules: &Rules,
    tables: Tables,
    [surviving, fields]: [&mut Fields; 2],
    variables: &ExpressionVariables,
) {
    push_vary(fields, variables);
    for rule in &rules.headers {
        if tables == Tables::Server && !rule.always {
            continue;
        }
        let changed = Changed {
            variables,
            tables: [&*fields, &*surviving],
        };
        let holds = holds(&rule.condition, variables, &changed);
        let value = holds.then(|| value_of(rule, &changed)).flatten();
        push_vary(fields, variables);
        if !holds {
            continue;
        }
        if rule.always && !changes_type(rule, tables) {
            change(rule, value, surviving, variables)
        } else {
            change(rule, value, fields, variables)
        }
    }
}

/// Whether the rule changes the Content-Type of the content, in whichever table the rule works, as
/// in Apache.
fn changes_type(rule: &HeaderRule, tables: Tables) -> bool {
    use HeaderAction::{Edit, EditEvery, Set};
    let is_of_content = matches!(rule.action, Set | Edit | EditEvery);
    rule.name.eq_ignore_ascii_case("content-type") && (is_of_content || tables == Tables::Server)
}

/// The variables of a response whose fields rules have already changed.
struct Changed<'a, 'v> {
    variables: &'a ExpressionVariables<'v>,
    /// The fields of the response, and those that survive an error.
    tables: [&'a Fields; 2],
}

impl VariableSource for Changed<'_, '_> {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        let Piece::Response(name) = piece else {
            return self.variables.put(piece, into);
        };
        let mut fields = self.tables.into_iter().flatten();
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        into.extend_from_slice(found.map_or(&[], |(_, value)| &value[..]));
    }

    fn admits(&self, path: &[u8], file: Option<&std::path::Path>) -> bool {
        self.variables.admits(path, file)
    }

    fn note_varying(&self, field: Cow<'_, str>) {
        self.variables.note_varying(field);
    }
}

/// Adds the fields that conditions have read since the last call to Vary.
fn push_vary(fields: &mut Fields, variables: &ExpressionVariables) {
    for name in variables.varying.take() {
        fields.push((b"Vary".to_vec(), name.into_bytes()));
    }
}

fn parse(lines: &[u8]) -> Fields {
    let lines = lines.split(|byte| *byte == b'\n');
    let parsed = lines.filter_map(|line| {
        let at = memchr::memchr(b':', line)?;
        Some((line[..at].to_vec(), line[at + 1..].trim_ascii().to_vec()))
    });
    parsed.collect()
}

fn holds(
    condition: &Condition,
    variables: &ExpressionVariables,
    source: &dyn VariableSource,
) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Variable { name, set } => variables.environment(name).is_some() == *set,
        Condition::Expression(expression) => expression.holds(source),
    }
}

/// Returns the value of a rule, or the text that replaces what the rule's pattern matches.
fn value_of(rule: &HeaderRule, source: &dyn VariableSource) -> Option<Vec<u8>> {
    match &rule.value {
        HeaderValue::Text(text) => Some(clean(text.of(source))),
        HeaderValue::Edit(_, text) => Some(text.of(source)),
        HeaderValue::Basic(user, password) => {
            let (user, password) = (user.of(source), password.of(source));
            let pair = [&user[..], b":", &password].concat();
            let credentials = || format!("Basic {}", STANDARD.encode(pair)).into_bytes();
            let are_known = !user.is_empty() && !password.is_empty();
            are_known.then(credentials)
        }
        HeaderValue::Echo(_) | HeaderValue::None => None,
    }
}

fn change(
    rule: &HeaderRule,
    value: Option<Vec<u8>>,
    fields: &mut Fields,
    variables: &ExpressionVariables,
) {
    let name = rule.name.as_bytes();
    let is = |known: &(Vec<u8>, Vec<u8>)| known.0.eq_ignore_ascii_case(name);
    let value = value.unwrap_or_default();
    match &rule.value {
        HeaderValue::Edit(pattern, _) => {
            let text = Text::groups(&String::from_utf8_lossy(&value));
            let every = rule.action == HeaderAction::EditEvery;
            for field in fields.iter_mut().filter(|field| is(field)) {
                field.1 = clean(edited(&field.1, pattern, &text, every, variables));
            }
            return;
        }
        HeaderValue::Echo(pattern) => return echo(pattern, fields, variables),
        HeaderValue::Basic(..) if value.is_empty() => return fields.retain(|field| !is(field)),
        HeaderValue::Basic(..) | HeaderValue::Text(_) | HeaderValue::None => {}
    }
    match rule.action {
        HeaderAction::Note => {
            if let Some((_, noted)) = fields.iter().find(|field| is(field)) {
                variables.notes.borrow_mut().push((value, noted.clone()));
            }
        }
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
        HeaderAction::Echo | HeaderAction::Edit | HeaderAction::EditEvery => {}
    }
}

/// Copies the fields of the request whose names match `pattern` to the response.
fn echo(pattern: &Pattern, fields: &mut Fields, variables: &ExpressionVariables) {
    for (name, value) in variables.request.fields {
        if pattern.matches(name) {
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

/// Adds the fields of `ExpiresDefault` and `ExpiresByType`. `file`: the file of the request, which
/// may be a program. As in Apache, its date counts, and not that of the response.
fn add_expiry(expires: &Expires, file: &[u8], surviving: &Fields, fields: &mut Fields) {
    let field = |name: &str| {
        let mut known = fields.iter().chain(surviving);
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
    let from = match expiry.from {
        Base::Modification => match modified(file) {
            Some(modified) => modified,
            None => return,
        },
        Base::Access => now,
    };
    // As in Apache, a time in the past is now.
    let until = (from + expiry.after).max(now);
    let left = until.duration_since(now).unwrap_or(Duration::ZERO);
    let age = format!("max-age={}", left.as_secs()).into_bytes();
    let mut names = fields.iter_mut();
    match names.find(|(name, _)| name.eq_ignore_ascii_case(b"cache-control")) {
        Some((_, value)) => *value = [&value[..], b", ", &age].concat(),
        None => fields.push((b"Cache-Control".to_vec(), age)),
    }
    let date = httpdate::fmt_http_date(until).into_bytes();
    fields.push((b"Expires".to_vec(), date));
}
