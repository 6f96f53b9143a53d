//! What a program finds in %ENV and in `$r->dir_config`.

use super::row::*;

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
        .example("APP_MODE production", "A=B"),
        Directive::everywhere(
            "UnsetEnv",
            words("NAME...", 1, ANY),
            "Takes variables out of %ENV that were set further out.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    target
                        .changes
                        .push(Change::UnsetEnv(name(arguments, index)?));
                }
                Ok(())
            },
        )
        .example("APP_MODE", "A=B"),
        Directive::everywhere(
            "BrowserMatch",
            words("REGEX NAME...", 2, ANY),
            "Accepted for the quirks of old browsers, which nothing needs any more; nothing else can be set by it.",
            browser_match,
        )
        .aliases(&["BrowserMatchNoCase"])
        .example("\"MSIE [2-5]\" nokeepalive", "MSIE is_old"),
        Directive::everywhere(
            "PassEnv",
            words("NAME...", 1, ANY),
            "Hands variables of the server's own environment on.",
            pass_env,
        )
        .example("PATH", "A=B"),
        Directive::everywhere(
            "PerlSetEnv",
            words("NAME VALUE", 2, 2),
            "Sets a variable in %ENV; outside of sections, already while modules load.",
            |target, arguments| {
                let (name, value) = name_and_value(arguments)?;
                if !target.in_section {
                    target.site.perl.set_env.push((name.clone(), value.clone()));
                }
                target.changes.push(Change::SetEnv(name, value));
                Ok(())
            },
        )
        .example("APP_MODE production", "A=B C"),
        Directive::host(
            "PerlPassEnv",
            words("NAME...", 1, ANY),
            "Hands variables of the server's own environment on, already while modules load.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    let name = name(arguments, index)?;
                    if !target.site.perl.pass_env.contains(&name) {
                        target.site.perl.pass_env.push(name);
                    }
                }
                pass_env(target, arguments)
            },
        )
        .example("PATH", "A=B"),
        Directive::everywhere(
            "PerlSetVar",
            words("NAME VALUE", 2, 2),
            "A value for `$r->dir_config`.",
            |target, arguments| {
                let name = arguments.filled(0)?.to_string();
                let value = arguments.text(1)?.to_string();
                target.changes.push(Change::SetVar(name, value));
                Ok(())
            },
        )
        .example("Colour red", "Colour"),
        Directive::everywhere(
            "PerlAddVar",
            words("NAME VALUE...", 2, ANY),
            "Further values for `$r->dir_config->get`.",
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
        .example("Colour green blue", "Colour"),
    ],
};

fn name(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let text = arguments.filled(index)?;
    match text.contains(['=', '\0']) {
        true => Err(arguments.fault(
            index,
            format!("expected a variable's name without `=`, not `{text}`"),
        )),
        false => Ok(text.to_string()),
    }
}

fn name_and_value(arguments: &Arguments) -> Result<(String, String), Fault> {
    let value = arguments.words.get(1).map_or("", |word| &word.text);
    Ok((name(arguments, 0)?, value.to_string()))
}

fn pass_env(target: &mut Target, arguments: &Arguments) -> Applied {
    for index in 0..arguments.words.len() {
        let name = name(arguments, index)?;
        match std::env::var(&name) {
            Ok(value) => target.changes.push(Change::SetEnv(name, value)),
            Err(_) => target.environment.remark(format!(
                "`{name}` is not set (as text) in the server's environment"
            )),
        }
    }
    Ok(())
}

fn browser_match(target: &mut Target, arguments: &Arguments) -> Applied {
    const QUIRKS: &[&str] = &[
        "nokeepalive",
        "downgrade-1.0",
        "force-response-1.0",
        "redirect-carefully",
        "no-gzip",
        "gzip-only-text/html",
        "ssl-unclean-shutdown",
    ];
    for index in 1..arguments.words.len() {
        let text = arguments.filled(index)?;
        let name = text.strip_prefix('!').unwrap_or(text);
        if !QUIRKS.contains(&name) {
            let message = format!(
                "expected one of {}, not `{text}`: a request's fields do not set variables yet",
                QUIRKS.join(", ")
            );
            return Err(arguments.fault(index, message));
        }
    }
    target
        .environment
        .ignore("no browser in use needs another protocol");
    Ok(())
}
