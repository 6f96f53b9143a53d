//! The directives of `<PerlPool>`: what a pool alone has, and who is assigned to it.

use super::row::*;
use crate::{AssignedPool, Cgroup};
use std::path::{Component, Path};
use std::sync::Arc;

pub const GROUP: Group = Group {
    title: "Pools",
    rows: &[
        Directive::everywhere(
            "PerlPool",
            words("NAME", 1, 1),
            "The `<PerlPool>` whose workers run the Perl of this host or section.",
            assign,
        )
        .otherwise("the workers of the host")
        .example("shop", "\"\"")
        .inside_only(),
        Directive::server(
            "PerlPoolCgroup",
            words("PATH [FILE=VALUE]...", 1, ANY),
            "The cgroup (version 2) of the pool's processes, which the server makes. FILE=VALUE \
             writes a value to a file of the cgroup, such as memory.max=2G. A path that does not \
             begin with `/` lies below the server's own cgroup.",
            cgroup,
        )
        .otherwise("the server's own cgroup")
        .example("shop memory.max=2G pids.max=200", "../shop")
        .pool_only(),
    ],
};

fn assign(target: &mut Target, arguments: &Arguments) -> Applied {
    let name = arguments.filled(0)?.to_owned();
    if target.in_section && target.scope.is_none() {
        let message =
            "expected PerlPool in <Location>, <Directory> or <Files> itself, because the pool \
             must be known before the request is";
        return Err(arguments.fault(0, message));
    }
    if !target.in_section {
        target.team.pool = Some(name.clone());
    }
    let at = arguments.word(0)?.at;
    target.environment.named_pools.push((name.clone(), at));
    let assigned = AssignedPool {
        name,
        ..AssignedPool::default()
    };
    target.changes.push(Change::PerlPool(Arc::new(assigned)));
    Ok(())
}

fn cgroup(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    let parts = Path::new(text).components();
    let fits = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !parts.clone().all(fits) || !parts.clone().any(|part| part != Component::RootDir) {
        let message = format!("expected the path of a cgroup without `.` and `..`, not `{text}`");
        return Err(arguments.fault(0, message));
    }
    let mut values = Vec::new();
    for index in 1..arguments.words.len() {
        values.push(cgroup_value(arguments, index)?);
    }
    if let Some(pool) = &mut target.pool {
        pool.cgroup = Some(Cgroup {
            path: text.into(),
            values,
        });
    }
    Ok(())
}

/// Parses `FILE=VALUE`. A file of a cgroup is named by its controller, as in `memory.max`.
fn cgroup_value(arguments: &Arguments, index: usize) -> Result<(String, String), Fault> {
    let text = arguments.filled(index)?;
    let is_part = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        !part.is_empty() && part.bytes().all(fits)
    };
    let fits = |(file, value): &(&str, &str)| {
        let is_file = file.contains('.') && file.split('.').all(is_part);
        is_file && !value.is_empty() && !value.contains(char::is_control)
    };
    let parsed = text.split_once('=').filter(fits);
    let (file, value) = parsed.ok_or_else(|| {
        let message = format!("expected FILE=VALUE such as memory.max=2G, not `{text}`");
        arguments.fault(index, message)
    })?;
    Ok((file.to_owned(), value.to_owned()))
}
