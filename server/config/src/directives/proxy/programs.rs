//! Applies the directives of programs that the server starts: `FastCgiServer`, the Lua pool, the
//! scripts of `SetHandler fcgid-script`, and the console's process.

use super::super::row::*;
use super::members;
use crate::{
    BackEnd, BackEndAddress, PassFrom, Program, Proxied, Site, Speech, Upstream, CONSOLE, FCGID,
    LUA_POOL,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the name of a program's upstream.
pub fn name(file: &Path) -> String {
    format!("fcgi://{}", file.display())
}

pub fn program(target: &mut Target, arguments: &Arguments) -> Applied {
    let file = arguments.path(0, &target.site.server_root)?;
    let mut program = Program {
        file: file.clone(),
        arguments: Vec::new(),
        processes: 2,
        environment: Vec::new(),
        folder: None,
        asks_server: false,
    };
    let mut index = 1;
    while index < arguments.words.len() {
        option(&mut program, arguments, index)?;
        index += 2;
    }
    let upstream = members::upstream(target.site, &name(&file));
    if upstream.program.is_some() {
        let message = format!(
            "expected another program: `{}` is started already",
            file.display()
        );
        return Err(arguments.fault(0, message));
    }
    keep(upstream, program);
    Ok(())
}

fn keep(upstream: &mut Upstream, program: Program) {
    // A process serves one connection at a time.
    let member = BackEnd {
        max: program.processes,
        idle: program.processes,
        ..member(&program, Speech::FastCgi)
    };
    upstream.members = vec![member];
    upstream.program = Some(program);
}

fn member(program: &Program, speech: Speech) -> BackEnd {
    members::back_end(super::url::Url {
        speech,
        secure: false,
        // The path only names the program. The socket's address is chosen when the program starts.
        address: BackEndAddress::Unix(program.file.clone()),
        host: "localhost".into(),
        path: String::new(),
    })
}

/// Returns the path of Mehari itself. If the path cannot be found, starting the program fails with
/// a message.
fn mehari() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "mehari".into())
}

/// Returns the handler of `SetHandler mehari-console` in `<Location path>`. One process serves the
/// consoles of all places.
pub fn console_handler(site: &mut Site, path: &str) -> Proxied {
    /// More requests wait. A look into a process may take long.
    const CONNECTIONS: usize = 32;
    /// The process closes a connection that is idle for longer.
    const IDLE_TIME: Duration = Duration::from_secs(5);
    let program = Program {
        file: mehari(),
        arguments: vec!["console-process".into()],
        processes: 1,
        environment: Vec::new(),
        folder: None,
        asks_server: true,
    };
    let upstream = members::upstream(site, CONSOLE);
    upstream.members = vec![BackEnd {
        max: CONNECTIONS,
        idle_time: IDLE_TIME,
        ..member(&program, Speech::Http)
    }];
    upstream.program = Some(program);
    let to = if path.ends_with('/') { "/" } else { "" };
    Proxied {
        upstream: CONSOLE.into(),
        from: PassFrom::Prefix(path.to_owned()),
        to: Some(to.to_owned()),
        raw: false,
    }
}

/// Sets the upstream of `SetHandler lua`, with this number of processes. `None`: the number does
/// not change.
pub fn lua_pool(site: &mut Site, processes: Option<usize>) {
    const PROCESSES: usize = 2;
    let upstream = members::upstream(site, LUA_POOL);
    let known = upstream.program.as_ref().map(|known| known.processes);
    let program = Program {
        file: mehari(),
        arguments: vec!["lua-pool".into()],
        processes: processes.or(known).unwrap_or(PROCESSES),
        environment: Vec::new(),
        folder: None,
        asks_server: false,
    };
    keep(upstream, program);
}

/// Returns the handler of `SetHandler lua`.
pub fn lua_handler(site: &mut Site) -> Proxied {
    lua_pool(site, None);
    Proxied {
        upstream: LUA_POOL.into(),
        from: PassFrom::Prefix("/".into()),
        to: None,
        raw: false,
    }
}

/// Changes the settings of all scripts of `SetHandler fcgid-script`.
pub fn scripts(site: &mut Site, change: impl FnOnce(&mut Program)) {
    /// mod_fcgid's default of FcgidMinProcessesPerClass.
    const PROCESSES: usize = 3;
    let upstream = members::upstream(site, FCGID);
    let mut program = upstream.program.take().unwrap_or(Program {
        file: PathBuf::new(),
        arguments: Vec::new(),
        processes: PROCESSES,
        environment: Vec::new(),
        folder: None,
        asks_server: false,
    });
    change(&mut program);
    keep(upstream, program);
}

/// Returns the handler of `SetHandler fcgid-script`.
pub fn script_handler(site: &mut Site) -> Proxied {
    scripts(site, |_| ());
    Proxied {
        upstream: FCGID.into(),
        from: PassFrom::Prefix("/".into()),
        to: None,
        raw: false,
    }
}

/// Applies `FcgidInitialEnv NAME [VALUE]`. Without a value, the server's own variable of this name
/// is used.
pub fn initial_environment(target: &mut Target, arguments: &Arguments) -> Applied {
    let name = arguments.filled(0)?.to_string();
    let value = match arguments.words.get(1) {
        Some(word) => word.text.clone(),
        None => std::env::var(&name).unwrap_or_default(),
    };
    scripts(target.site, |program| {
        program.environment.retain(|(known, _)| *known != name);
        program.environment.push((name, value));
    });
    Ok(())
}

fn option(program: &mut Program, arguments: &Arguments, index: usize) -> Applied {
    const NAMES: &[&str] = &["-processes", "-initial-env"];
    let name = arguments.filled(index)?;
    let known = NAMES.iter().find(|known| known.eq_ignore_ascii_case(name));
    let Some(known) = known else {
        let message = format!("expected {}, not `{name}`", NAMES.join(" or "));
        return Err(arguments
            .fault(index, message)
            .or_nearest(name, NAMES.iter().copied()));
    };
    let value = arguments.word(index + 1)?.text.as_str();
    if *known == "-processes" {
        let number = value
            .parse()
            .ok()
            .filter(|number| (1..=1000).contains(number));
        program.processes = number.ok_or_else(|| {
            arguments.fault(
                index + 1,
                format!("expected a number from 1 to 1000, not `{value}`"),
            )
        })?;
        return Ok(());
    }
    match value.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            program
                .environment
                .push((name.to_string(), value.to_string()));
            Ok(())
        }
        _ => Err(arguments.fault(index + 1, format!("expected NAME=VALUE, not `{value}`"))),
    }
}
