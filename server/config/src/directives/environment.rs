//! The directives that set variables of %ENV and of `$r->dir_config`.

use std::sync::Arc;

use super::row::*;
use crate::overrides::{ALL, FILE_INFO};
use crate::{Expression, Pattern, Text, VariableRule, When};

pub const GROUP: Group = Group {
    title: "Environment",
    rows: &[
        Directive::everywhere(
            "SetEnv",
            words("NAME [VALUE]", 1, 2),
            "Sets a variable in %ENV.",
            |target, arguments| {
                let (name, value) = name_and_value(arguments)?;
                target.changes.push(Change::SetEnv(name, value));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("APP_MODE production", "A=B"),
        Directive::everywhere(
            "UnsetEnv",
            words("NAME...", 1, ANY),
            "Removes variables of outer sections from %ENV.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    target
                        .changes
                        .push(Change::UnsetEnv(name(arguments, index)?));
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("APP_MODE", "A=B"),
        Directive::everywhere(
            "SetEnvIf",
            words("ATTRIBUTE REGEX [!]NAME[=VALUE]...", 3, ANY),
            "Sets variables if an attribute of the request matches the expression. ATTRIBUTE is a \
             header field, Remote_Addr, Request_URI, Request_Method or the like, or a regular \
             expression for the names of header fields: the last of these fields counts. `$1` in \
             VALUE stands for the first group.",
            |target, arguments| set_if(target, arguments, Pattern::new),
        )
        .htaccess(FILE_INFO)
        .example("User-Agent Bot is_bot=yes", "User-Agent ( is_bot"),
        Directive::everywhere(
            "SetEnvIfNoCase",
            words("ATTRIBUTE REGEX [!]NAME[=VALUE]...", 3, ANY),
            "Like SetEnvIf, but upper and lower case are equal.",
            |target, arguments| set_if(target, arguments, Pattern::caseless),
        )
        .htaccess(FILE_INFO)
        .example("User-Agent bot is_bot=yes", "User-Agent ( is_bot"),
        Directive::everywhere(
            "SetEnvIfExpr",
            words("EXPRESSION [!]NAME[=VALUE]...", 2, ANY),
            "Sets variables if an expression is true.",
            set_if_expression,
        )
        .htaccess(FILE_INFO)
        .example("\"%{QUERY_STRING} == 'x'\" is_x", "\"%{QUERY_STRING\" is_x"),
        Directive::everywhere(
            "BrowserMatch",
            words("REGEX [!]NAME[=VALUE]...", 2, ANY),
            "Has the effect of `SetEnvIf User-Agent`. Variables for Apache itself, such as \
             nokeepalive, have no effect.",
            |target, arguments| browser_match(target, arguments, Pattern::new),
        )
        .htaccess(FILE_INFO)
        .example("\"MSIE [2-5]\" nokeepalive", "( is_old"),
        Directive::everywhere(
            "BrowserMatchNoCase",
            words("REGEX [!]NAME[=VALUE]...", 2, ANY),
            "Like BrowserMatch, but upper and lower case are equal.",
            |target, arguments| browser_match(target, arguments, Pattern::caseless),
        )
        .htaccess(FILE_INFO)
        .example("bot is_bot", "( is_old"),
        Directive::everywhere(
            "PassEnv",
            words("NAME...", 1, ANY),
            "Passes variables of the server's environment to programs.",
            |target, arguments| pass_env(target, arguments, Change::SetEnv),
        )
        .htaccess(FILE_INFO)
        .example("PATH", "A=B"),
        Directive::everywhere(
            "PerlSetEnv",
            words("NAME VALUE", 2, 2),
            "Sets a variable in %ENV for Perl. Outside of sections, the variable is set before \
             modules load. A CGI program sees the variable only if Perl handlers run before the \
             program.",
            |target, arguments| {
                let (name, value) = name_and_value(arguments)?;
                if !target.in_section {
                    target.team.perl.set_env.push((name.clone(), value.clone()));
                }
                target.changes.push(Change::PerlSetEnv(name, value));
                Ok(())
            },
        )
        .htaccess(ALL)
        .example("APP_MODE production", "A=B C")
        .of_pool(),
        Directive::host(
            "PerlPassEnv",
            words("NAME...", 1, ANY),
            "Passes variables of the server's environment to Perl before modules load.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    let name = name(arguments, index)?;
                    if !target.team.perl.pass_env.contains(&name) {
                        target.team.perl.pass_env.push(name);
                    }
                }
                pass_env(target, arguments, Change::PerlSetEnv)
            },
        )
        .example("PATH", "A=B")
        .of_pool(),
        Directive::everywhere(
            "PerlSetVar",
            words("NAME VALUE", 2, 2),
            "A value that `$r->dir_config` returns.",
            |target, arguments| {
                let name = arguments.filled(0)?.to_string();
                let value = arguments.text(1)?.to_string();
                target.changes.push(Change::SetVar(name, value));
                Ok(())
            },
        )
        .htaccess(ALL)
        .example("Colour red", "Colour"),
        Directive::everywhere(
            "PerlAddVar",
            words("NAME VALUE...", 2, ANY),
            "Further values that `$r->dir_config->get` returns.",
            |target, arguments| {
                let name = arguments.filled(0)?.to_string();
                for word in &arguments.words[1..] {
                    target
                        .changes
                        .push(Change::AddVar(name.clone(), word.text.clone()));
                }
                Ok(())
            },
        )
        .htaccess(ALL)
        .example("Colour green blue", "Colour"),
    ],
};

fn name(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let text = arguments.filled(index)?;
    if text.contains(['=', '\0']) {
        Err(arguments.fault(
            index,
            format!("expected a variable's name without `=`, not `{text}`"),
        ))
    } else {
        Ok(text.to_string())
    }
}

fn name_and_value(arguments: &Arguments) -> Result<(String, String), Fault> {
    let value = arguments.words.get(1).map_or("", |word| &word.text);
    Ok((name(arguments, 0)?, value.to_string()))
}

fn pass_env(
    target: &mut Target,
    arguments: &Arguments,
    change: fn(String, String) -> Change,
) -> Applied {
    for index in 0..arguments.words.len() {
        let name = name(arguments, index)?;
        match std::env::var(&name) {
            Ok(value) => target.changes.push(change(name, value)),
            Err(_) => target.environment.remark(format!(
                "`{name}` is not set (as text) in the server's environment"
            )),
        }
    }
    Ok(())
}

type Compile = fn(&str) -> Result<Pattern, String>;

fn compiled(arguments: &Arguments, index: usize, compile: Compile) -> Result<Pattern, Fault> {
    let text = arguments.text(index)?;
    let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
    compile(text).map_err(|why| arguments.fault(index, wrong(why)))
}

fn set_if(target: &mut Target, arguments: &Arguments, compile: Compile) -> Applied {
    let attribute = arguments.filled(0)?;
    let pattern = compiled(arguments, 1, compile)?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let when = if attribute.chars().all(is_of_name) {
        When::Attribute(attribute.to_string(), pattern)
    } else {
        When::FieldNamed(compiled(arguments, 0, compile)?, pattern)
    };
    variables(target, arguments, when, 2)
}

fn set_if_expression(target: &mut Target, arguments: &Arguments) -> Applied {
    let expression = Expression::parse(arguments.filled(0)?);
    let expression = expression.map_err(|why| arguments.fault(0, why))?;
    variables(target, arguments, When::Expression(expression), 1)
}

fn browser_match(target: &mut Target, arguments: &Arguments, compile: Compile) -> Applied {
    let pattern = compiled(arguments, 0, compile)?;
    variables(
        target,
        arguments,
        When::Attribute("User-Agent".into(), pattern),
        1,
    )
}

/// Adds a rule for the variables `NAME`, `NAME=VALUE` and `!NAME` from the word `from` on.
fn variables(target: &mut Target, arguments: &Arguments, when: When, from: usize) -> Applied {
    const QUIRKS: &[&str] = &[
        "nokeepalive",
        "downgrade-1.0",
        "force-response-1.0",
        "redirect-carefully",
        "ssl-unclean-shutdown",
    ];
    let mut sets = Vec::new();
    for index in from..arguments.words.len() {
        let text = arguments.filled(index)?;
        if QUIRKS.contains(&text) {
            continue;
        }
        sets.push(match (text.strip_prefix('!'), text.split_once('=')) {
            (Some(name), _) => (name.to_string(), None),
            (None, Some((name, value))) => (name.to_string(), Some(Text::groups(value))),
            (None, None) => (text.to_string(), Some(Text::literal("1"))),
        });
    }
    if sets.is_empty() {
        target
            .environment
            .ignore("no browser in use needs another protocol");
        return Ok(());
    }
    let rule = Arc::new(VariableRule { when, sets });
    target.changes.push(Change::Variables(rule));
    Ok(())
}
