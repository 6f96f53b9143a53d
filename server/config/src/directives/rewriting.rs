//! The directives of redirects and rewriting.

use std::sync::Arc;

use super::handlers;
use super::proxy::passes;
use super::proxy::url::UrlArgument;
use super::row::*;
use crate::line::Word;
use crate::overrides::FILE_INFO;
use crate::{
    BackEndStart, Pattern, PlaceRedirect, RedirectFrom, RedirectRule, RewriteCondition, RewriteMap,
    RewriteOptions, RewriteRule, Text,
};

pub const GROUP: Group = Group {
    title: "Redirects and rewriting",
    rows: &[
        Directive::everywhere(
            "Redirect",
            words("[STATUS] [/URL-PATH] URL", 1, 3),
            "Redirects clients to the URL, to which the rest of the path is appended. STATUS is \
             permanent, temp (the default), seeother, gone, or a number. In a section, the URL \
             path may be left out. All paths of the section are then redirected to the URL alone, \
             and the URL may contain variables such as `%{HTTP_HOST}`.",
            |target, arguments| redirect(target, arguments, None, false),
        )
        .htaccess(FILE_INFO)
        .example("permanent /old https://www.example.com/new", "somewhere"),
        Directive::everywhere(
            "RedirectMatch",
            words("[STATUS] REGEX URL", 1, 3),
            "Redirects paths that match. `$1` in the URL stands for the first group of the \
             expression.",
            |target, arguments| redirect(target, arguments, None, true),
        )
        .htaccess(FILE_INFO)
        .example("301 ^/old/(.*)$ /new/$1", "( /x"),
        Directive::everywhere(
            "RedirectPermanent",
            words("/URL-PATH URL", 2, 2),
            "The same as `Redirect permanent`.",
            |target, arguments| redirect(target, arguments, Some(301), false),
        )
        .htaccess(FILE_INFO)
        .example("/old /new", "somewhere"),
        Directive::everywhere(
            "RedirectTemp",
            words("/URL-PATH URL", 2, 2),
            "The same as `Redirect temp`.",
            |target, arguments| redirect(target, arguments, Some(302), false),
        )
        .htaccess(FILE_INFO)
        .example("/old /new", "somewhere"),
        Directive::everywhere(
            "RedirectRelative",
            Shape::Flag,
            "Whether a redirect to a path of this server is sent as a path, without scheme and \
             host.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::RelativeRedirects(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("Off"),
        Directive::everywhere(
            "RewriteEngine",
            Shape::Flag,
            "Whether the rewrite rules of this server, host or section run.",
            |target, arguments| {
                target
                    .changes
                    .push(Change::RewriteEngine(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("Off"),
        Directive::everywhere(
            "RewriteRule",
            words("[!]REGEX TARGET|- [FLAG,...]", 2, ANY),
            "Rewrites paths that match, if the RewriteCond lines before the rule are true. Flags: \
             L END R F G P PT QSA QSD QSL NC NE NS C S N E CO T H B BNP BNE BCTLS DPI \
             UnsafeAllow3F UnsafePrefixStat. With P, the host of the target must be literal: it \
             contains no variable.",
            rule,
        )
        .htaccess(FILE_INFO)
        .example("^/old/(.*)$ /new/$1 [R=301,L]", "^/old /new [L,XX]"),
        Directive::everywhere(
            "RewriteCond",
            words("TEXT [!]REGEX|TEST [FLAG,...]", 2, ANY),
            "A condition for the next RewriteRule.",
            condition,
        )
        .htaccess(FILE_INFO)
        .example("%{HTTP_HOST} !^www\\. [NC]", "%{HTTP_HST ^www"),
        Directive::everywhere(
            "RewriteBase",
            words("/URL-PATH", 1, 1),
            "The URL path to which the rules of a folder append relative targets.",
            |target, arguments| {
                let path = arguments.filled(0)?;
                if !path.starts_with('/') {
                    return Err(arguments.fault(
                        0,
                        format!("expected a URL path that begins with `/`, not `{path}`"),
                    ));
                }
                target.changes.push(Change::RewriteBase(path.to_string()));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("the folder's own URL path")
        .example("/app", "app"),
        Directive::everywhere(
            "RewriteOptions",
            words("Inherit|InheritBefore|InheritDown|...", 1, ANY),
            "How rules are inherited. Inherit: the rules of outer sections run after the rules of \
             this section. InheritBefore: they run before. InheritDown and InheritDownBefore: inner \
             sections inherit the rules of this section so, unless they say IgnoreInherit. \
             AllowNoSlash and MergeBase work too. Options hold for inner sections without a \
             RewriteOptions of their own.",
            options,
        )
        .htaccess(FILE_INFO)
        .otherwise("none")
        .example("Inherit", "Inherits"),
        Directive::host(
            "RewriteMap",
            words(
                "NAME txt:FILE|rnd:FILE|int:FUNCTION|dbm=sdbm:FILE|prg:PROGRAM [ARGUMENT]...",
                2,
                ANY,
            ),
            "The map of `${NAME:key}`. A file that has changed is read again. A program reads \
             each key as a line and must write the value as a line within five seconds. The line \
             `NULL` means that there is no value.",
            map,
        )
        .example("lower int:tolower", "lower dbm:/etc/map"),
    ],
};

fn redirect(
    target: &mut Target,
    arguments: &Arguments,
    status: Option<u16>,
    by_pattern: bool,
) -> Applied {
    let mut at = 0;
    let status = match status {
        Some(status) => status,
        None => {
            let word = arguments.filled(0)?;
            let said = match word.to_ascii_lowercase().as_str() {
                "permanent" => Some(301),
                "temp" => Some(302),
                "seeother" => Some(303),
                "gone" => Some(410),
                other => other
                    .parse()
                    .ok()
                    .filter(|status| (200..=599).contains(status)),
            };
            at += usize::from(said.is_some());
            said.unwrap_or(302)
        }
    };
    let rest = &arguments.words[at..];
    let moves = (300..400).contains(&status);
    let (from, to) = match (rest, moves) {
        ([from, to], true) => ((at, from), Some((at + 1, to))),
        ([to], true) if target.in_section && !by_pattern => {
            return redirect_place(target, arguments, status, Some((at, to)));
        }
        ([from], false) => ((at, from), None),
        ([], false) if target.in_section && !by_pattern => {
            return redirect_place(target, arguments, status, None);
        }
        _ => {
            let last = arguments.words.len().saturating_sub(1);
            return Err(arguments.fault(
                last,
                "expected a path, and where it leads for a status from 300 to 399",
            ));
        }
    };
    let from = match from {
        (index, word) if by_pattern => {
            let compiled = Pattern::new(&word.text);
            let wrong = |why| format!("expected a regular expression ({why}), not `{}`", word.text);
            RedirectFrom::Match(compiled.map_err(|why| arguments.fault(index, wrong(why)))?)
        }
        (index, word) if !word.text.starts_with('/') => {
            let message = format!(
                "expected a URL path that begins with `/`, not `{}`",
                word.text
            );
            return Err(arguments.fault(index, message));
        }
        (_, word) => RedirectFrom::Below(word.text.clone()),
    };
    let to = match to {
        None => None,
        Some((index, word)) if !is_target(&word.text) && !word.text.starts_with('$') => {
            return Err(arguments.fault(index, no_target(&word.text)));
        }
        Some((_, word)) if by_pattern => Some(Text::groups(&word.text)),
        Some((_, word)) => Some(Text::literal(&word.text)),
    };
    let rule = Arc::new(RedirectRule { status, from, to });
    target.changes.push(Change::Redirect(rule));
    Ok(())
}

/// Reads a redirect of all paths of a section.
fn redirect_place(
    target: &mut Target,
    arguments: &Arguments,
    status: u16,
    to: Option<(usize, &Word)>,
) -> Applied {
    let read = |(index, word): (usize, &Word)| {
        let text = Text::expression(&word.text).map_err(|why| arguments.fault(index, why))?;
        if text.is_fixed() && !is_target(&word.text) {
            Err(arguments.fault(index, no_target(&word.text)))
        } else {
            Ok(text)
        }
    };
    let to = to.map(read).transpose()?;
    let rule = Arc::new(PlaceRedirect { status, to });
    target.changes.push(Change::PlaceRedirect(rule));
    Ok(())
}

/// Tells whether a redirect may lead to this text.
fn is_target(text: &str) -> bool {
    text.starts_with('/') || crate::rules::is_url(text.as_bytes())
}

fn no_target(text: &str) -> String {
    format!("expected a URL or a path that begins with `/`, not `{text}`")
}

fn texts<'a>(arguments: &'a Arguments) -> Vec<&'a str> {
    arguments
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect()
}

fn condition(target: &mut Target, arguments: &Arguments) -> Applied {
    let condition = RewriteCondition::parse(&texts(arguments));
    let condition = condition.map_err(|(index, why)| arguments.fault(index, why))?;
    target.environment.conditions.push(condition);
    Ok(())
}

fn rule(target: &mut Target, arguments: &Arguments) -> Applied {
    let conditions = std::mem::take(&mut target.environment.conditions);
    let rule = RewriteRule::parse(&texts(arguments), conditions);
    let (mut rule, wishes) = rule.map_err(|(index, why)| arguments.fault(index, why))?;
    let named = |name: &String| {
        let name = UrlArgument {
            argument: 2,
            text: name,
        };
        handlers::named(target, arguments, name, true)
    };
    let handler = wishes.handler.as_ref().map(named).transpose()?;
    rule.flags.force(handler, wishes.media_type);
    if wishes.proxy {
        let Some(origin) = rule.fixed_origin().map(str::to_string) else {
            let message = "expected a URL with its host written out, such as http://127.0.0.1:8081/$1, with the flag P";
            return Err(arguments.fault(1, message));
        };
        rule.back_end = Some(BackEndStart {
            upstream: passes::upstream(
                target,
                arguments,
                UrlArgument {
                    argument: 1,
                    text: &origin,
                },
            )?,
            length: origin.len(),
        });
    }
    target.changes.push(Change::RewriteRule(Arc::new(rule)));
    Ok(())
}

fn options(target: &mut Target, arguments: &Arguments) -> Applied {
    const KNOWN: &[&str] = &[
        "Inherit",
        "InheritBefore",
        "InheritDown",
        "InheritDownBefore",
        "IgnoreInherit",
        "AllowNoSlash",
        "AllowAnyURI",
        "MergeBase",
        "IgnoreContextInfo",
        "LegacyPrefixDocRoot",
        "LongURLOptimization",
        "UnsafePrefixStat",
        "UnsafeAllow3F",
    ];
    let mut options = RewriteOptions::default();
    for (index, word) in arguments.words.iter().enumerate() {
        let name = word.text.split('=').next().unwrap_or_default();
        if !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name))
            && !name.eq_ignore_ascii_case("MaxRedirects")
        {
            let fault = arguments.fault(
                index,
                format!("expected {}, not `{name}`", KNOWN.join(", ")),
            );
            return Err(fault.or_nearest(name, KNOWN.iter().copied()));
        }
        match name.to_ascii_lowercase().as_str() {
            "inherit" => options.inherit = true,
            "inheritbefore" => options.inherit_before = true,
            "inheritdown" => options.inherit_down = true,
            "inheritdownbefore" => options.inherit_down_before = true,
            "ignoreinherit" => options.ignore_inherit = true,
            "allownoslash" => options.allow_no_slash = true,
            "mergebase" => options.merge_base = true,
            _ => {}
        }
    }
    // As in Apache, other options also replace those of outer scopes.
    target.changes.push(Change::RewriteOptions(options));
    Ok(())
}

fn map(target: &mut Target, arguments: &Arguments) -> Applied {
    let kind = arguments.filled(1)?;
    let rest: Vec<&str> = texts(arguments).drain(2..).collect();
    let map = RewriteMap::parse(kind, &rest, &target.site.server_root);
    let map = map.map_err(|why| arguments.fault(1, why))?;
    let name = arguments.filled(0)?.to_string();
    target.host.rules.maps.insert(name, map);
    Ok(())
}
