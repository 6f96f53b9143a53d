//! Perl handlers, a row for each phase of a request and of a server's life.

use super::handlers::is_package;
use super::row::*;
use crate::preload::PreloadStage;
use crate::{Phase, Preload};

const HANDLERS: Shape = words("HANDLER...", 1, ANY);

/// A row for a phase that a section may change.
const fn phase(
    name: &'static str,
    about: &'static str,
    apply: fn(&mut Target, &Arguments) -> Applied,
) -> Directive {
    Directive::everywhere(name, HANDLERS, about, apply)
        .htaccess(crate::overrides::FILE_INFO)
        .example("My::Handler", "My:Handler")
}

/// A row for a phase that runs before a section is known, or without a request.
const fn server_phase(
    name: &'static str,
    about: &'static str,
    apply: fn(&mut Target, &Arguments) -> Applied,
) -> Directive {
    Directive::host(name, HANDLERS, about, apply).example("My::Handler", "My:Handler")
}

pub const GROUP: Group = Group {
    title: "Phases",
    rows: &[
        phase(
            "PerlInitHandler",
            "First of all: PerlPostReadRequestHandler outside of sections, PerlHeaderParserHandler in one.",
            |target, arguments| {
                let phase = if target.in_section { Phase::HeaderParser } else { Phase::PostReadRequest };
                push(target, arguments, phase)
            },
        ),
        server_phase(
            "PerlPostReadRequestHandler",
            "Runs as soon as the request is read.",
            |target, arguments| push(target, arguments, Phase::PostReadRequest),
        ),
        server_phase(
            "PerlTransHandler",
            "From the URI to a file name; the first that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Trans),
        ),
        server_phase(
            "PerlMapToStorageHandler",
            "Takes the place of looking the file up; the first that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::MapToStorage),
        ),
        phase(
            "PerlHeaderParserHandler",
            "Runs first once the sections are known.",
            |target, arguments| push(target, arguments, Phase::HeaderParser),
        ),
        phase(
            "PerlAccessHandler",
            "Who may ask, by address and the like; all must agree.",
            |target, arguments| push(target, arguments, Phase::Access),
        ),
        phase(
            "PerlAuthenHandler",
            "Who it is; the first that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Authen),
        ),
        phase(
            "PerlAuthzHandler",
            "What that user may; the first that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Authz),
        ),
        phase(
            "PerlTypeHandler",
            "The content type and the handler; the first that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Type),
        ),
        phase(
            "PerlFixupHandler",
            "The last before the response.",
            |target, arguments| push(target, arguments, Phase::Fixup),
        ),
        phase(
            "PerlLogHandler",
            "Runs when the client has its answer.",
            |target, arguments| push(target, arguments, Phase::Log),
        ),
        phase(
            "PerlInputFilterHandler",
            "Reads and changes the body of a request that Perl answers, in Apache2::Filter's way; in the order written.",
            |target, arguments| push(target, arguments, Phase::InputFilter),
        ),
        phase(
            "PerlOutputFilterHandler",
            "Reads and changes the body that Perl answers with, in Apache2::Filter's way; what is flushed passes at once.",
            |target, arguments| push(target, arguments, Phase::OutputFilter),
        ),
        phase(
            "PerlCleanupHandler",
            "The last of all, behind the log.",
            |target, arguments| push(target, arguments, Phase::Cleanup),
        ),
        server_phase(
            "PerlChildInitHandler",
            "Runs in each worker before its first request.",
            |target, arguments| push(target, arguments, Phase::ChildInit),
        ),
        server_phase(
            "PerlChildExitHandler",
            "Runs in each worker when it ends.",
            |target, arguments| push(target, arguments, Phase::ChildExit),
        ),
        server_phase(
            "PerlOpenLogsHandler",
            "Runs once all is preloaded, before PerlPostConfigHandler; must answer OK.",
            |target, arguments| push(target, arguments, Phase::OpenLogs),
        ),
        server_phase(
            "PerlPostConfigHandler",
            "Runs once all is preloaded, before the workers are forked; must answer OK.",
            |target, arguments| push(target, arguments, Phase::PostConfig),
        ),
    ],
};

/// Checks the handlers of a line and stacks them.
pub(super) fn push(target: &mut Target, arguments: &Arguments, phase: Phase) -> Applied {
    let mut names = Vec::new();
    for index in 0..arguments.words.len() {
        let text = arguments.filled(index)?;
        if text == "sub" {
            let message = "expected an anonymous sub in quotes: 'sub { ... }'";
            return Err(arguments.fault(index, message));
        }
        if !is_handler(text) {
            let message = format!("expected a handler such as My::Module, My::Module::sub, My::Module->method, $My::object->method or 'sub {{ ... }}', not `{text}`");
            return Err(arguments.fault(index, message));
        }
        if let Some(preload) = Preload::of_handler(text) {
            target.environment.preload(PreloadStage::Handler, preload);
        }
        names.push(text.to_string());
    }
    target.changes.push(Change::PerlHandler(phase, names));
    Ok(())
}

fn is_handler(text: &str) -> bool {
    if is_anonymous(text) {
        return true;
    }
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let text = text.strip_prefix('$').unwrap_or(text);
    let (package, method) = match text.split_once("->") {
        Some((package, method)) => (package, Some(method)),
        None => (text, None),
    };
    is_package(package) && method.is_none_or(|name| is_package(name) && !name.contains(':'))
}

fn is_anonymous(text: &str) -> bool {
    let body = text.strip_prefix("sub").map(str::trim_start);
    body.is_some_and(|body| body.starts_with(['{', '(', ':']))
}
