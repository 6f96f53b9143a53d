//! Applies the parameters of health checks, and the directives of Apache's mod_proxy_hcheck.

use super::super::row::*;
use super::members::Value;
use crate::{CheckMethod, Expression, HealthCheck, NamedChecks};
use std::sync::Arc;

/// The parameters of a health check.
pub const NAMES: [&str; 7] = [
    "hcmethod",
    "hcinterval",
    "hcuri",
    "hcpasses",
    "hcfails",
    "hctemplate",
    "hcexpr",
];

/// `ProxyHCTemplate NAME PARAMETER=VALUE...`
pub fn template(target: &mut Target, arguments: &Arguments) -> Applied {
    let name = arguments.filled(0)?.to_string();
    let named = &mut target.site.back_ends.checks;
    let mut health = HealthCheck::default();
    for index in 1..arguments.words.len() {
        parameter(&mut health, named, &Value::of(arguments, index, &NAMES)?)?;
    }
    if named.templates.iter().any(|(known, _)| *known == name) {
        return Err(arguments.fault(
            0,
            format!("expected another name: `{name}` is a template already"),
        ));
    }
    named.templates.push((name, health));
    Ok(())
}

/// `ProxyHCExpr NAME {EXPRESSION}`
pub fn condition(target: &mut Target, arguments: &Arguments) -> Applied {
    let name = arguments.filled(0)?.to_string();
    arguments.filled(1)?;
    let text = arguments.written(1);
    let inner = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let parsed = Expression::parse_check(inner.unwrap_or(&text).trim());
    let parsed = parsed.map_err(|why| arguments.fault(1, why))?;
    let conditions = &mut target.site.back_ends.checks.conditions;
    if conditions.iter().any(|(known, _)| *known == name) {
        return Err(arguments.fault(
            0,
            format!("expected another name: `{name}` is an expression already"),
        ));
    }
    conditions.push((name, Arc::new(parsed)));
    Ok(())
}

/// Sets one parameter of a health check.
pub fn parameter(health: &mut HealthCheck, named: &NamedChecks, value: &Value) -> Applied {
    match value.name.as_str() {
        "hcmethod" => {
            let known = value.named(
                CheckMethod::NAMES
                    .iter()
                    .map(|(name, method)| (*name, method)),
            )?;
            health.method = Some(*known);
        }
        "hcinterval" => {
            let time = value.time()?;
            if time.is_zero() {
                return Err(value.expected("a time above zero"));
            }
            health.every = Some(time);
        }
        "hcuri"
            if !value.text.starts_with('/') || value.text.contains(|c: char| c.is_control()) =>
        {
            return Err(value.expected("a path that begins with `/`"))
        }
        "hcuri" => health.uri = Some(value.text.to_string()),
        "hcpasses" => health.passes = Some(value.number(1, 1000)? as u32),
        "hcfails" => health.fails = Some(value.number(1, 1000)? as u32),
        "hctemplate" => {
            let templates = named
                .templates
                .iter()
                .map(|(name, check)| (name.as_str(), check));
            *health = value.named(templates)?.clone().or(health);
        }
        _ => {
            let conditions = named
                .conditions
                .iter()
                .map(|(name, held)| (name.as_str(), held));
            health.condition = Some(value.named(conditions)?.clone());
        }
    }
    Ok(())
}
