//! `SetHandler mehari-console`: the console's pages below a `<Location>`.
//!
//! The console shows the requests, the code and the variables of the whole server. It therefore has
//! its own rules: the section names one path, stands in the configuration itself, and says by
//! `Require` who may see the console. No rule of an outer section counts.

use super::proxy::programs;
use super::row::*;
use crate::{Change, HandlerName, Scope, CONSOLE};
use std::sync::Arc;

pub const NAME: &str = "mehari-console";

/// Returns the handler for the section of the line.
pub fn handler(target: &mut Target, arguments: &Arguments) -> Result<HandlerName, Fault> {
    let Some(Scope::Location(path)) = target.scope.clone() else {
        return Err(misplaced(arguments, 0));
    };
    let proxied = programs::console_handler(target.site, &path);
    Ok(HandlerName::Proxy(Arc::new(proxied)))
}

/// Returns the fault of a line that names the console where it cannot be.
pub fn misplaced(arguments: &Arguments, index: usize) -> Fault {
    let message = "the console stands below one path; expected `SetHandler mehari-console` in \
                   <Location /PATH> of the configuration, beside a `Require`";
    arguments.fault(index, message)
}

/// Returns the message for a section that shows the console without saying to whom.
pub(crate) fn unprotected(changes: &[Change]) -> Option<&'static str> {
    let requires = |change: &Change| match change {
        Change::Require(requirement) => requirement.decides(b"GET"),
        _ => false,
    };
    if changes.iter().any(is_console) && !changes.iter().any(requires) {
        return Some(
            "the console shows the whole server; expected a `Require` in this section, such as \
             `Require local` or `Require user NAME`. `Require all granted` shows it to everybody",
        );
    }
    None
}

fn is_console(change: &Change) -> bool {
    match change {
        Change::SetHandler(HandlerName::Proxy(proxied)) => proxied.upstream == CONSOLE,
        _ => false,
    }
}
