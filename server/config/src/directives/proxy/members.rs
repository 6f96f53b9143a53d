//! Applies `BalancerMember` and `ProxySet`, and the parameters `NAME=VALUE` that these directives
//! and `ProxyPass` take.

use super::super::row::*;
use super::health;
use super::url::{self, Url};
use crate::arguments::duration;
use crate::environment::Environment;
use crate::{BackEnd, Method, NamedChecks, Site, Standing, Upstream};
use std::time::Duration;

const MEMBER_NAMES: &[&str] = &[
    "loadfactor",
    "max",
    "smax",
    "min",
    "ttl",
    "timeout",
    "connectiontimeout",
    "retry",
    "route",
    "status",
    "slowstart",
    "failontimeout",
    "disablereuse",
    "enablereuse",
    "keepalive",
    "flushpackets",
    "acquire",
    "ping",
    "upgrade",
    "iobuffersize",
    "receivebuffersize",
    "responsefieldsize",
    "addressttl",
    "flushwait",
    "flusher",
    "secret",
    "redirect",
    "lbset",
];
const BALANCER_NAMES: &[&str] = &[
    "lbmethod",
    "stickysession",
    "nofailover",
    "backlog",
    "timeout",
    "maxattempts",
    "growth",
    "nonce",
    "scolonpathdelim",
    "forcerecovery",
    "stickysessionsep",
    "failonstatus",
    "failontimeout",
];

pub fn member(target: &mut Target, arguments: &Arguments) -> Applied {
    let (name, at) = balancer(target, arguments)?;
    let text = arguments.filled(at)?;
    let url = url::back_end(arguments, at, text)?;
    let mut member = back_end(url);
    for index in at + 1..arguments.words.len() {
        member_parameter(&mut member, &target.site.back_ends.checks, arguments, index)?;
    }
    let upstream = upstream(target.site, &name);
    if let Some(other) = upstream.members.first() {
        if other.speech != member.speech {
            let message = format!(
                "expected {}://, which the other members speak",
                other.speech.scheme()
            );
            return Err(arguments.fault(at, message));
        }
    }
    if upstream
        .members
        .iter()
        .any(|known| known.name() == member.name())
    {
        let message = format!("expected another back end: `{text}` is a member already");
        return Err(arguments.fault(at, message));
    }
    upstream.members.push(member);
    Ok(())
}

pub fn set(target: &mut Target, arguments: &Arguments) -> Applied {
    if let (None, Some(url)) = (&target.environment.balancer, &target.environment.back_end) {
        return set_back_end(target.site, arguments, url);
    }
    let (name, at) = balancer(target, arguments)?;
    for index in at..arguments.words.len() {
        balancer_parameter(target.site, &name, arguments, index)?;
    }
    Ok(())
}

/// Sets the parameters of `<Proxy URL NAME=VALUE...>`.
pub fn set_in_head(site: &mut Site, environment: &Environment, arguments: &Arguments) -> Applied {
    match (&environment.balancer, &environment.back_end) {
        (Some(name), _) => {
            let mut all = 0..arguments.words.len();
            all.try_for_each(|index| balancer_parameter(site, name, arguments, index))
        }
        (None, Some(url)) => set_back_end(site, arguments, url),
        (None, None) => Err(arguments.fault(0, "expected `<Proxy *>` and no more")),
    }
}

/// Sets the parameters of a single back end.
fn set_back_end(site: &mut Site, arguments: &Arguments, url: &str) -> Applied {
    let Some(mut url) = url::read(url) else {
        let message = format!("expected a section of one back end, not of `{url}`");
        return Err(arguments.fault(0, message));
    };
    url.path.clear();
    let name = super::passes::add_single_upstream(site, back_end(url));
    let checks = site.back_ends.checks.clone();
    for index in 0..arguments.words.len() {
        if let Some(member) = upstream(site, &name).members.first_mut() {
            member_parameter(member, &checks, arguments, index)?;
        }
    }
    Ok(())
}

/// Returns the balancer of a line, and the index of the word behind its name.
fn balancer(target: &Target, arguments: &Arguments) -> Result<(String, usize), Fault> {
    let first = arguments.filled(0)?;
    if first
        .get(..11)
        .is_some_and(|start| start.eq_ignore_ascii_case("balancer://"))
    {
        return Ok((first.trim_end_matches('/').to_ascii_lowercase(), 1));
    }
    match &target.environment.balancer {
        Some(name) => Ok((name.clone(), 0)),
        None => Err(arguments.fault(0, format!("expected balancer://NAME before `{first}`, or a section <Proxy balancer://NAME> around it"))),
    }
}

/// Returns the upstream with this name. Creates the upstream if it does not exist.
pub fn upstream<'s>(site: &'s mut Site, name: &str) -> &'s mut Upstream {
    let known = site
        .back_ends
        .upstreams
        .iter()
        .position(|known| known.name == name);
    let place = known.unwrap_or_else(|| {
        site.back_ends.upstreams.push(empty(name));
        site.back_ends.upstreams.len() - 1
    });
    &mut site.back_ends.upstreams[place]
}

fn empty(name: &str) -> Upstream {
    Upstream {
        name: name.to_string(),
        members: Vec::new(),
        method: Method::Random,
        sticky: None,
        no_failover: false,
        fail_on_timeout: false,
        fail_on_status: Vec::new(),
        queue: 1000,
        queue_timeout: Duration::from_secs(10),
        attempts: 3,
        health: Default::default(),
        program: None,
    }
}

/// Returns the back end that a program chooses by a URL while the server runs, and the path on the
/// back end. `None`: the text is not the URL of a back end that uses HTTP.
pub fn chosen(text: &str) -> Option<(Upstream, String)> {
    let url = super::url::read(text).filter(|url| url.speech == crate::Speech::Http)?;
    let path = url.path.clone();
    let member = back_end(url);
    let member = BackEnd {
        path: String::new(),
        ..member
    };
    let upstream = Upstream {
        members: vec![member.clone()],
        ..empty(&member.name())
    };
    Some((upstream, path))
}

pub fn back_end(url: Url) -> BackEnd {
    BackEnd {
        path: url.path.trim_end_matches('/').to_string(),
        secure: url.secure,
        ..BackEnd::new(url.speech, url.address, url.host)
    }
}

/// Sets one parameter of a back end. `checks`: what the parameters of health checks can name.
pub fn member_parameter(
    member: &mut BackEnd,
    checks: &NamedChecks,
    arguments: &Arguments,
    index: usize,
) -> Applied {
    let value = Value::of(arguments, index, &[MEMBER_NAMES, &health::NAMES].concat())?;
    if value.name.starts_with("hc") {
        return health::parameter(&mut member.health, checks, &value);
    }
    match value.name.as_str() {
        "loadfactor" => {
            let weight: Option<f64> = value.text.parse().ok();
            let fits = weight.filter(|weight| (1.0..=100.0).contains(weight));
            member.weight = fits.ok_or_else(|| value.expected("a load factor from 1 to 100"))?;
        }
        "max" => member.max = value.number(0, 100_000)?,
        "smax" => member.idle = value.number(0, 100_000)?,
        "ttl" => member.idle_time = value.time()?,
        "timeout" => member.timeout = Some(value.time()?),
        "connectiontimeout" => member.connect_timeout = value.time()?,
        "retry" => member.retry = value.time()?,
        "route" => member.route = Some(value.text.to_string()),
        "redirect" => member.redirect = Some(value.text.to_string()),
        "lbset" => member.set = value.number(0, 99)? as u8,
        "slowstart" => member.slow_start = value.time()?,
        "failontimeout" => member.fail_on_timeout = value.flag()?,
        "disablereuse" => member.reuse = !value.flag()?,
        "enablereuse" => member.reuse = value.flag()?,
        "status" => {
            member.standing = standing(&value, member.standing)?;
            // The errors of the member are ignored.
            if !value.text.starts_with('-') && value.text.contains(['i', 'I']) {
                member.retry = Duration::ZERO;
            }
        }
        // These have no effect: connections are always kept, responses are forwarded at once, every
        // upgrade is forwarded, buffers have their own sizes, and no back end speaks AJP.
        _ => {}
    }
    Ok(())
}

/// Sets one parameter of the balancer with this name.
pub fn balancer_parameter(
    site: &mut Site,
    name: &str,
    arguments: &Arguments,
    index: usize,
) -> Applied {
    let value = Value::of(arguments, index, &[BALANCER_NAMES, &health::NAMES].concat())?;
    if value.name.starts_with("hc") {
        let mut health = upstream(site, name).health.clone();
        health::parameter(&mut health, &site.back_ends.checks, &value)?;
        upstream(site, name).health = health;
        return Ok(());
    }
    let upstream = upstream(site, name);
    match value.name.as_str() {
        "lbmethod" => {
            let methods = Method::NAMES.iter().map(|(name, method)| (*name, method));
            upstream.method = *value.named(methods)?;
        }
        "stickysession" => {
            let names = value.text.split_once('|');
            let (cookie, parameter) = names.unwrap_or((value.text, value.text));
            let sticky = upstream.sticky.get_or_insert_default();
            (sticky.cookie, sticky.parameter) = (cookie.to_owned(), parameter.to_owned());
        }
        "stickysessionsep" => {
            let off = value.text.eq_ignore_ascii_case("off");
            let separator = match value.text.as_bytes() {
                _ if off => None,
                [byte] => Some(*byte),
                _ => return Err(value.expected("one character or Off")),
            };
            upstream.sticky.get_or_insert_default().separator = separator;
        }
        "scolonpathdelim" => {
            upstream.sticky.get_or_insert_default().ends_at_semicolon = value.flag()?
        }
        "failonstatus" => {
            let statuses = value.text.split(',').map(|status| {
                let status = status.trim().parse().ok();
                status.filter(|status| (100..=599).contains(status))
            });
            let statuses: Option<Vec<u16>> = statuses.collect();
            let expected = || value.expected("statuses from 100 to 599, such as 500,503");
            upstream.fail_on_status = statuses.ok_or_else(expected)?;
        }
        "failontimeout" => upstream.fail_on_timeout = value.flag()?,
        "nofailover" => upstream.no_failover = value.flag()?,
        "backlog" => upstream.queue = value.number(0, 1_000_000)?,
        "timeout" => upstream.queue_timeout = value.time()?,
        "maxattempts" => upstream.attempts = value.number(0, 100)?,
        // These have no effect: members cannot be added, there is no page with forms, and a group
        // without a healthy member is always tried again.
        _ => {}
    }
    Ok(())
}

/// Parses the value of `status=`: `+D`, `-D`, `D`, or several letters at once.
fn standing(value: &Value, before: Standing) -> Result<Standing, Fault> {
    let expected = || value.expected("status=[+|-] and letters of D, S, N, H, R, I and E");
    let (set, letters) = match value.text.strip_prefix('-') {
        Some(letters) => (false, letters),
        None => (true, value.text.strip_prefix('+').unwrap_or(value.text)),
    };
    let mut standing = before;
    for letter in letters.chars() {
        standing = match (letter.to_ascii_uppercase(), set) {
            ('D' | 'S', true) => Standing::Disabled,
            ('N', true) => Standing::Draining,
            ('H' | 'R', true) => Standing::HotSpare,
            ('D' | 'S' | 'N' | 'H' | 'R', false) => Standing::Enabled,
            // The retry time says whether errors count. A server begins without failed members.
            ('I' | 'E', _) => standing,
            _ => return Err(expected()),
        };
    }
    if letters.is_empty() {
        Err(expected())
    } else {
        Ok(standing)
    }
}

/// An argument `NAME=VALUE`.
pub struct Value<'a> {
    arguments: &'a Arguments<'a>,
    index: usize,
    /// The name of the parameter, in lower case.
    pub name: String,
    pub text: &'a str,
}

impl<'a> Value<'a> {
    pub fn of(
        arguments: &'a Arguments<'a>,
        index: usize,
        known: &[&'static str],
    ) -> Result<Value<'a>, Fault> {
        let word = arguments.filled(index)?;
        let Some((name, text)) = word.split_once('=') else {
            return Err(arguments.fault(index, format!("expected NAME=VALUE, not `{word}`")));
        };
        let lower = name.to_ascii_lowercase();
        if !known.contains(&lower.as_str()) {
            let message = format!("expected one of {}, not `{name}`", known.join(", "));
            return Err(arguments
                .fault(index, message)
                .or_nearest(name, known.iter().copied()));
        }
        Ok(Value {
            arguments,
            index,
            name: lower,
            text,
        })
    }

    pub fn expected(&self, what: &str) -> Fault {
        let message = format!("expected {what}, not `{}`", self.text);
        self.arguments.fault(self.index, message)
    }

    pub fn number(&self, least: usize, most: usize) -> Result<usize, Fault> {
        let number = self.text.parse().ok();
        let fits = number.filter(|number| (least..=most).contains(number));
        fits.ok_or_else(|| self.expected(&format!("a number from {least} to {most}")))
    }

    pub fn time(&self) -> Result<Duration, Fault> {
        let time = duration(self.text).filter(|time| *time <= Duration::from_secs(86_400));
        time.ok_or_else(|| self.expected("seconds, up to 86400 (or 500ms, 2min)"))
    }

    /// Returns what the value names. Names have no case.
    pub fn named<'n, T>(
        &self,
        all: impl Iterator<Item = (&'n str, T)> + Clone,
    ) -> Result<T, Fault> {
        let mut known = all.clone();
        let found = known.find(|(name, _)| name.eq_ignore_ascii_case(self.text));
        found.map(|(_, found)| found).ok_or_else(|| {
            let names: Vec<_> = all.map(|(name, _)| name).collect();
            if names.is_empty() {
                let message = format!(
                    "expected ProxyHCTemplate or ProxyHCExpr to define `{}` before this line",
                    self.text
                );
                return self.arguments.fault(self.index, message);
            }
            let what = names.join(", ");
            self.expected(&what)
                .or_nearest(self.text, names.iter().copied())
        })
    }

    fn flag(&self) -> Result<bool, Fault> {
        match self.text.to_ascii_lowercase().as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(self.expected("On or Off")),
        }
    }
}
