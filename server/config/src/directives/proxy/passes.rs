//! Applies `ProxyPass` and related directives. They map URL paths to back ends, and URLs of back
//! ends to URL paths.

use super::super::row::*;
use super::members;
use super::programs;
use super::url::{self, ProxyTarget, UrlArgument};
use crate::{BackEnd, HandlerName, Pass, PassFrom, Pattern, Proxied, Scope, Site};
use std::sync::Arc;

pub fn pass(target: &mut Target, arguments: &Arguments, is_match: bool) -> Applied {
    let (from, at) = match &target.scope {
        Some(scope) => (location(scope, arguments, is_match)?, 0),
        None => (path(arguments, is_match)?, 1),
    };
    let text = arguments.filled(at)?;
    let to = match text {
        "!" => None,
        _ => Some(Arc::new(proxied(target, arguments, at, from.clone())?)),
    };
    match (&target.scope, to) {
        (None, to) => target.host.mapping.passes.push(Pass { from, to }),
        (Some(_), Some(to)) => target
            .changes
            .push(Change::SetHandler(HandlerName::Proxy(to))),
        (Some(_), None) => target.changes.push(Change::SetHandler(HandlerName::Unset)),
    }
    Ok(())
}

fn path(arguments: &Arguments, is_match: bool) -> Result<PassFrom, Fault> {
    let text = arguments.filled(0)?;
    arguments.word(1)?;
    if is_match {
        return matching(text, arguments);
    }
    if text.starts_with('/') {
        Ok(PassFrom::Prefix(text.to_string()))
    } else {
        let message = format!("expected a URL path that begins with `/`, not `{text}`");
        Err(arguments.fault(0, message))
    }
}

fn matching(text: &str, arguments: &Arguments) -> Result<PassFrom, Fault> {
    let pattern = Pattern::new(text);
    pattern.map(PassFrom::Match).map_err(|why| {
        let message = format!("expected a regular expression ({why}), not `{text}`");
        arguments.fault(0, message)
    })
}

fn location(scope: &Scope, arguments: &Arguments, is_match: bool) -> Result<PassFrom, Fault> {
    match scope {
        Scope::Location(path) if is_match => matching(path, arguments),
        Scope::Location(path) => Ok(PassFrom::Prefix(path.clone())),
        Scope::LocationMatch(pattern) => Ok(PassFrom::Match(pattern.clone())),
        _ => {
            let message = format!(
                "{} stands for a URL path; expected it in <Location> or outside of sections",
                arguments.name
            );
            Err(arguments.fault(0, message))
        }
    }
}

fn proxied(
    target: &mut Target,
    arguments: &Arguments,
    at: usize,
    from: PassFrom,
) -> Result<Proxied, Fault> {
    let (text, inserted) = split_at_group(arguments.filled(at)?, &from);
    let mut raw = false;
    let site = &mut *target.site;
    let (upstream, alone, to) = match url::place(arguments, UrlArgument { argument: at, text })? {
        ProxyTarget::Balancer(name, path) => {
            members::upstream(site, &name);
            (name, false, path + inserted)
        }
        ProxyTarget::Program(file) => {
            let name = programs::name(&file);
            members::upstream(site, &name);
            (name, true, String::new())
        }
        ProxyTarget::BackEnd(mut url) => {
            let path = std::mem::take(&mut url.path) + inserted;
            let member = members::back_end(url);
            (add_single_upstream(site, member), true, path)
        }
    };
    for index in at + 1..arguments.words.len() {
        let word = arguments.filled(index)?;
        if word.eq_ignore_ascii_case("nocanon") {
            raw = true;
        } else if is_interpolation(word) {
            continue;
        } else if !alone {
            members::balancer_parameter(site, &upstream, arguments, index)?;
        } else {
            let checks = site.back_ends.checks.clone();
            if let Some(member) = members::upstream(site, &upstream).members.first_mut() {
                members::member_parameter(member, &checks, arguments, index)?;
            }
        }
    }
    named(target, arguments, at, &upstream);
    Ok(Proxied {
        upstream,
        from,
        to: Some(to),
        raw,
    })
}

/// Splits `http://host$1` into the URL of the host and the path, if the path begins with a slash in
/// any case: the first group of the pattern begins with a slash. A client could choose the host
/// otherwise.
fn split_at_group<'t>(text: &'t str, from: &PassFrom) -> (&'t str, &'t str) {
    let host = text.find("://").map_or(0, |at| at + 3);
    let end = text[host..].find(['/', '$']).map(|at| host + at);
    match (end, from) {
        (Some(at), PassFrom::Match(pattern))
            if text[at..].starts_with("$1") && begins_with_slash(&pattern.to_string()) =>
        {
            text.split_at(at)
        }
        _ => (text, ""),
    }
}

/// Tells whether the first group of a pattern begins with a slash in every match. Only plain text
/// may stand before the group.
fn begins_with_slash(pattern: &str) -> bool {
    let Some((before, group)) = pattern.split_once('(') else {
        return false;
    };
    let Some(group) = group
        .strip_prefix('/')
        .filter(|_| !before.contains(['|', '[', '\\']))
    else {
        return false;
    };
    let mut depth = 1;
    let mut characters = group.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            // Another branch of the group may begin with anything.
            '|' if depth == 1 => return false,
            '[' => {
                // A class may begin with `]`, and parentheses are plain characters in it.
                let mut class = characters.by_ref().skip_while(|(_, c)| *c == '^').skip(1);
                if !class.any(|(_, c)| c == ']') {
                    return false;
                }
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let rest = &group[at + 1..];
            return !rest.starts_with(['?', '*', '+', '{']) && !rest.contains('|');
        }
    }
    false
}

/// Remembers the position where an upstream was named, in case the upstream is never defined.
fn named(target: &mut Target, arguments: &Arguments, index: usize, upstream: &str) {
    let at = arguments
        .words
        .get(index)
        .map_or(arguments.end, |word| word.at);
    target.environment.named.push((upstream.to_string(), at));
}

/// Adds an upstream with a single back end, and returns the name of the upstream.
pub fn add_single_upstream(site: &mut Site, member: BackEnd) -> String {
    let name = member.name();
    let upstream = members::upstream(site, &name);
    if upstream.members.is_empty() {
        upstream.members.push(member);
    }
    name
}

/// Returns the back end of `SetHandler "proxy:URL"`, from the URL behind `proxy:`.
pub fn handler(
    target: &mut Target,
    arguments: &Arguments,
    url: UrlArgument<'_>,
) -> Result<Proxied, Fault> {
    let upstream = upstream(target, arguments, url)?;
    Ok(Proxied {
        upstream,
        from: PassFrom::Prefix("/".into()),
        to: None,
        raw: false,
    })
}

/// Returns the name of the upstream for the URL in this argument.
pub fn upstream(
    target: &mut Target,
    arguments: &Arguments,
    url: UrlArgument<'_>,
) -> Result<String, Fault> {
    let site = &mut *target.site;
    let upstream = match url::place(arguments, url)? {
        ProxyTarget::Balancer(name, _) => {
            members::upstream(site, &name);
            name
        }
        ProxyTarget::Program(file) => {
            let name = programs::name(&file);
            members::upstream(site, &name);
            name
        }
        ProxyTarget::BackEnd(url) => add_single_upstream(site, members::back_end(url)),
    };
    named(target, arguments, url.argument, &upstream);
    Ok(upstream)
}

/// Tells whether the word wants variables in a URL. They count only with
/// `ProxyPassInterpolateEnv On`, which is refused.
fn is_interpolation(word: &str) -> bool {
    word.eq_ignore_ascii_case("interpolate")
}

pub fn reverse(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut words = arguments.words.iter();
    let count = words.position(|word| is_interpolation(&word.text));
    let count = count.unwrap_or(arguments.words.len());
    let (path, at) = match (&target.scope, count) {
        (Some(Scope::Location(path)), 1) => (path.clone(), 0),
        (_, 1) => {
            let message = format!(
                "expected a URL path before `{}`, or a section <Location>",
                arguments.filled(0)?
            );
            return Err(arguments.fault(0, message));
        }
        _ => (arguments.filled(0)?.to_string(), 1),
    };
    if !path.starts_with('/') {
        let message = format!("expected a URL path that begins with `/`, not `{path}`");
        return Err(arguments.fault(0, message));
    }
    let url = arguments.filled(at)?.to_string();
    target.changes.push(Change::ProxyReverse(url, path));
    Ok(())
}
