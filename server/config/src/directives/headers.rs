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
            words("[always|onsuccess] set|setifempty|append|add|merge|unset|edit|edit*|echo NAME [VALUE [REPLACEMENT]] [env=[!]NAME|expr=EXPRESSION]", 2, ANY),
            "Changes a field of the response. Values may contain `%{NAME}e`, `%{NAME}s`, `%t`, \
             `%D` and `%%`, as in Apache.",
            |target, arguments| {
                let rule = rule(arguments, false)?;
                target.changes.push(Change::Header(Arc::new(rule)));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("always set X-Frame-Options DENY", "put X y"),
        Directive::everywhere(
            "RequestHeader",
            words("set|setifempty|append|add|merge|unset|edit|edit* NAME [VALUE [REPLACEMENT]] [early|env=[!]NAME|expr=EXPRESSION]", 2, ANY),
            "Changes a field of the request before the request's handler sees it.",
            |target, arguments| {
                let rule = rule(arguments, true)?;
                target.changes.push(Change::RequestHeader(Arc::new(rule)));
                Ok(())
            },
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

fn rule(arguments: &Arguments, request: bool) -> Result<HeaderRule, Fault> {
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
    ];
    let first = arguments.filled(0)?.to_ascii_lowercase();
    let has_when = !request && ["always", "onsuccess"].contains(&first.as_str());
    let mut at = usize::from(has_when);
    let word = arguments.filled(at)?;
    let known = ACTIONS.iter().find(|(name, action)| {
        name.eq_ignore_ascii_case(word) && !(request && *action == HeaderAction::Echo)
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
        HeaderAction::Unset | HeaderAction::Echo => HeaderValue::None,
        HeaderAction::Edit | HeaderAction::EditEvery => {
            let text = arguments.filled(at)?;
            let compiled = Pattern::new(text);
            let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
            let pattern = compiled.map_err(|why| arguments.fault(at, wrong(why)))?;
            at += 2;
            HeaderValue::Edit(pattern, Text::groups(arguments.text(at - 1)?))
        }
        _ => {
            let text = arguments.text(at)?;
            at += 1;
            let text = match text.strip_prefix("expr=") {
                Some(expression) => Text::expression(expression),
                None => Text::header(text),
            };
            let text = text.map_err(|why| arguments.fault(at - 1, why))?;
            HeaderValue::Text(text)
        }
    };
    let condition = condition(arguments, at, request)?;
    Ok(HeaderRule {
        always: first == "always",
        action: *action,
        name,
        value,
        condition,
    })
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

fn condition(arguments: &Arguments, at: usize, request: bool) -> Result<Condition, Fault> {
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
    if request && word.text.eq_ignore_ascii_case("early") {
        return Ok(Condition::Always);
    }
    let message = format!("expected env=NAME or expr=EXPRESSION, not `{}`", word.text);
    Err(arguments.fault(at, message))
}
