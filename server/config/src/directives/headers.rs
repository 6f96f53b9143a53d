//! The directives that change header fields of requests and responses, or set the lifetime of
//! responses.

use std::sync::Arc;

use super::row::*;
use crate::overrides::{FILE_INFO, INDEXES};
use crate::{Condition, Expiry, Expression, HeaderAction, HeaderRule, HeaderValue, Pattern, Text};

pub const GROUP: Group = Group {
    title: "Headers",
    rows: &[
        Directive::everywhere(
            "Header",
            words("[always|onsuccess] set|setifempty|append|add|merge|unset|edit|edit*|echo|note NAME [VALUE [REPLACEMENT]] [early|env=[!]NAME|expr=EXPRESSION]", 2, ANY),
            "Changes a field of the response. Values may contain `%{NAME}e`, `%{NAME}s`, `%t`, \
             `%D` and `%%`, as in Apache. `note` copies a field to a note for \
             the logs (`%{NOTE}n`).",
            response_rule,
        )
        .htaccess(FILE_INFO)
        .example("always set X-Frame-Options DENY", "put X y"),
        Directive::everywhere(
            "RequestHeader",
            words("set|setifempty|append|add|merge|unset|edit|edit* NAME [VALUE [REPLACEMENT]] [early|env=[!]NAME|expr=EXPRESSION]", 2, ANY),
            "Changes a field of the request before the request's handler sees it.",
            request_rule,
        )
        .htaccess(FILE_INFO)
        .example("unset X-Debug", "echo X-Debug"),
        Directive::everywhere(
            "ExpiresActive",
            Shape::Flag,
            "Whether responses get the field Expires, and `max-age` in Cache-Control.",
            |target, arguments| {
                target.changes.push(Change::ExpiresActive(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .otherwise("Off"),
        Directive::everywhere(
            "ExpiresDefault",
            words("A|M SECONDS, or \"access|modification plus N UNIT...\"", 1, ANY),
            "The lifetime of responses whose type has no ExpiresByType.",
            |target, arguments| {
                let expiry = expiry(arguments, 0)?;
                target.changes.push(Change::ExpiresDefault(expiry));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .example("\"access plus 1 month\"", "soon"),
        Directive::everywhere(
            "ExpiresByType",
            words("MEDIA/TYPE A|M SECONDS, or \"access|modification plus N UNIT...\"", 2, ANY),
            "The lifetime of responses with this media type. `text/*` means all types of text.",
            |target, arguments| {
                let media_type = super::files::media_type(arguments, 0)?.to_ascii_lowercase();
                let expiry = expiry(arguments, 1)?;
                target.changes.push(Change::ExpiresByType(media_type, expiry));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .example("image/png A86400", "image/png soon"),
    ],
};

fn expiry(arguments: &Arguments, from: usize) -> Result<Expiry, Fault> {
    arguments.filled(from)?;
    let words: Vec<&str> = arguments.words[from..]
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    Expiry::parse(&words).ok_or_else(|| {
        let message = format!(
            "expected A3600, M3600 or `access plus 1 day`, not `{}`",
            words.join(" ")
        );
        arguments.fault(from, message)
    })
}

fn rule(arguments: &Arguments, request: bool) -> Result<ReadRule, Fault> {
    const ACTIONS: &[(&str, HeaderAction)] = &[
        ("set", HeaderAction::Set),
        ("setifempty", HeaderAction::SetIfEmpty),
        ("append", HeaderAction::Append),
        ("add", HeaderAction::Add),
        ("merge", HeaderAction::Merge),
        ("unset", HeaderAction::Unset),
        ("edit", HeaderAction::Edit),
        ("edit*", HeaderAction::EditEvery),
        ("echo", HeaderAction::Echo),
        ("note", HeaderAction::Note),
    ];
    let first = arguments.filled(0)?.to_ascii_lowercase();
    let has_when = !request && ["always", "onsuccess"].contains(&first.as_str());
    let mut at = usize::from(has_when);
    let word = arguments.filled(at)?;
    let known = ACTIONS.iter().find(|(name, action)| {
        let is_of_responses = matches!(action, HeaderAction::Echo | HeaderAction::Note);
        name.eq_ignore_ascii_case(word) && !(request && is_of_responses)
    });
    let Some((_, action)) = known else {
        let names = ACTIONS.iter().map(|(name, _)| *name);
        let list: Vec<&str> = names.clone().collect();
        let fault = arguments.fault(at, format!("expected {}, not `{word}`", list.join(", ")));
        return Err(fault.or_nearest(word, names));
    };
    let name = field_name(arguments, at + 1, *action)?;
    at += 2;
    let value = match action {
        HeaderAction::Unset => HeaderValue::None,
        HeaderAction::Echo => {
            let compiled = Pattern::caseless(&name);
            let wrong = |why| format!("expected a regular expression ({why}), not `{name}`");
            HeaderValue::Echo(compiled.map_err(|why| arguments.fault(at - 1, wrong(why)))?)
        }
        HeaderAction::Edit | HeaderAction::EditEvery => {
            let text = arguments.filled(at)?;
            let compiled = Pattern::new(text);
            let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
            let pattern = compiled.map_err(|why| arguments.fault(at, wrong(why)))?;
            at += 2;
            HeaderValue::Edit(pattern, value_text(arguments, at - 1)?)
        }
        _ => {
            at += 1;
            HeaderValue::Text(value_text(arguments, at - 1)?)
        }
    };
    let is_early = arguments
        .words
        .get(at)
        .is_some_and(|word| word.text.eq_ignore_ascii_case("early"));
    let condition = if is_early {
        Condition::Always
    } else {
        condition(arguments, at)?
    };
    let rule = HeaderRule {
        always: first == "always",
        action: *action,
        name,
        value,
        condition,
    };
    Ok(ReadRule { rule, is_early })
}

/// A rule, and whether it stands behind the word `early`.
struct ReadRule {
    rule: HeaderRule,
    is_early: bool,
}

fn value_text(arguments: &Arguments, at: usize) -> Result<Text, Fault> {
    let text = arguments.text(at)?;
    let text = match text.strip_prefix("expr=") {
        Some(expression) => Text::expression(expression),
        None => Text::header(text),
    };
    text.map_err(|why| arguments.fault(at, why))
}

/// Reads `Header`. As in Apache, an early rule of a section never applies. An early rule of the
/// server changes the fields before the handler does.
fn response_rule(target: &mut Target, arguments: &Arguments) -> Applied {
    let ReadRule { mut rule, is_early } = rule(arguments, false)?;
    if is_early && (target.in_section || target.in_htaccess) {
        return without_effect(target);
    }
    if is_early {
        use HeaderAction::{Add, Append, Merge, Set, SetIfEmpty};
        if !matches!(rule.action, Add | Append | Merge | Set | SetIfEmpty) {
            return without_effect(target);
        }
        rule.action = SetIfEmpty;
    }
    target.changes.push(Change::Header(Arc::new(rule)));
    Ok(())
}

fn request_rule(target: &mut Target, arguments: &Arguments) -> Applied {
    let ReadRule { rule, is_early } = rule(arguments, true)?;
    if is_early && (target.in_section || target.in_htaccess) {
        return without_effect(target);
    }
    target.changes.push(Change::RequestHeader(Arc::new(rule)));
    Ok(())
}

fn without_effect(target: &mut Target) -> Applied {
    let message = "as in Apache, this has no effect: no fields or section are known so early";
    target.environment.remark(message);
    Ok(())
}

fn field_name(arguments: &Arguments, at: usize, action: HeaderAction) -> Result<String, Fault> {
    let name = arguments.filled(at)?;
    let name = name.strip_suffix(':').unwrap_or(name);
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if action == HeaderAction::Echo || (!name.is_empty() && name.chars().all(is_token)) {
        return Ok(name.to_string());
    }
    Err(arguments.fault(
        at,
        format!("expected the name of a header field, not `{name}`"),
    ))
}

fn condition(arguments: &Arguments, at: usize) -> Result<Condition, Fault> {
    let Some(word) = arguments.words.get(at) else {
        return Ok(Condition::Always);
    };
    if let Some(name) = word.text.strip_prefix("env=") {
        return Ok(Condition::Variable {
            name: name.trim_start_matches('!').to_string(),
            set: !name.starts_with('!'),
        });
    }
    if let Some(expression) = word.text.strip_prefix("expr=") {
        let parsed = Expression::parse(expression).map_err(|why| arguments.fault(at, why))?;
        return Ok(Condition::Expression(parsed));
    }
    let message = format!(
        "expected early, env=NAME or expr=EXPRESSION, not `{}`",
        word.text
    );
    Err(arguments.fault(at, message))
}

/// Reads `AuthBasicFake`.
pub(super) fn fake(target: &mut Target, arguments: &Arguments) -> Applied {
    let user = arguments.filled(0)?;
    if user.eq_ignore_ascii_case("off") {
        target.changes.push(Change::BasicFake(None));
        return Ok(());
    }
    let read = |index, text| Text::expression(text).map_err(|why| arguments.fault(index, why));
    let password = match arguments.words.get(1) {
        Some(word) => read(1, &word.text)?,
        None => Text::literal("password"),
    };
    let rule = HeaderRule {
        always: false,
        action: HeaderAction::Set,
        name: "Authorization".to_string(),
        value: HeaderValue::Basic(read(0, user)?, password),
        condition: Condition::Always,
    };
    target.changes.push(Change::BasicFake(Some(Arc::new(rule))));
    Ok(())
}
