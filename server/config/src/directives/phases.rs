//! The directives that set Perl handlers: a row for each phase of a request, of a connection and of
//! the server.

use super::handlers::is_package;
use super::row::*;
use crate::preload::PreloadStage;
use crate::{Phase, Preload};

const HANDLERS: Shape = words("HANDLER...", 1, ANY);

/// Returns a row for a phase that a section may change.
const fn phase(
    name: &'static str,
    about: &'static str,
    apply: fn(&mut Target, &Arguments) -> Applied,
) -> Directive {
    Directive::everywhere(name, HANDLERS, about, apply)
        .htaccess(crate::overrides::ALL)
        .example("My::Handler", "My:Handler")
}

/// Returns a row for a phase that runs before a section is known, or without a request.
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
            "Runs first. Outside of sections it is a PerlPostReadRequestHandler. Inside a section \
             it is a PerlHeaderParserHandler.",
            |target, arguments| {
                let phase = if target.in_section {
                    Phase::HeaderParser
                } else {
                    Phase::PostReadRequest
                };
                push(target, arguments, phase)
            },
        ),
        server_phase(
            "PerlPostReadRequestHandler",
            "Runs when the server has read the head of the request.",
            |target, arguments| push(target, arguments, Phase::PostReadRequest),
        ),
        server_phase(
            "PerlTransHandler",
            "Maps the URI to a file name. The first handler that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Trans),
        ),
        server_phase(
            "PerlMapToStorageHandler",
            "Replaces the lookup of the file. The first handler that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::MapToStorage),
        ),
        phase(
            "PerlHeaderParserHandler",
            "Runs first after the sections of the request are known.",
            |target, arguments| push(target, arguments, Phase::HeaderParser),
        ),
        phase(
            "PerlAccessHandler",
            "Decides whether the client may make the request, by its address and the like. All \
             handlers must agree.",
            |target, arguments| push(target, arguments, Phase::Access),
        ),
        phase(
            "PerlAuthenHandler",
            "Authenticates the user. The first handler that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Authen),
        ),
        phase(
            "PerlAuthzHandler",
            "Authorises the user. The first handler that does not decline decides.",
            |target, arguments| push(target, arguments, Phase::Authz),
        ),
        phase(
            "PerlTypeHandler",
            "Chooses the content type and the handler. The first handler that does not decline \
             decides.",
            |target, arguments| push(target, arguments, Phase::Type),
        ),
        phase(
            "PerlFixupHandler",
            "Runs last before the response phase.",
            |target, arguments| push(target, arguments, Phase::Fixup),
        ),
        phase(
            "PerlLogHandler",
            "Runs when the client has got the response.",
            |target, arguments| push(target, arguments, Phase::Log),
        ),
        phase(
            "PerlInputFilterHandler",
            "Filters the body of a request that Perl answers (Apache2::Filter). The filters run \
             in the order in which they are written.",
            |target, arguments| push(target, arguments, Phase::InputFilter),
        ),
        phase(
            "PerlOutputFilterHandler",
            "Filters the body of Perl's response (Apache2::Filter). Flushed output passes the \
             filters at once.",
            |target, arguments| push(target, arguments, Phase::OutputFilter),
        ),
        phase(
            "PerlCleanupHandler",
            "Runs last, after the log phase.",
            |target, arguments| push(target, arguments, Phase::Cleanup),
        ),
        server_phase(
            "PerlChildInitHandler",
            "Runs in each worker before its first request.",
            |target, arguments| push(target, arguments, Phase::ChildInit),
        ),
        server_phase(
            "PerlChildExitHandler",
            "Runs in each worker when the worker ends.",
            |target, arguments| push(target, arguments, Phase::ChildExit),
        ),
        server_phase(
            "PerlOpenLogsHandler",
            "Runs after everything has loaded, before PerlPostConfigHandler. It must return OK.",
            |target, arguments| push(target, arguments, Phase::OpenLogs),
        ),
        server_phase(
            "PerlPostConfigHandler",
            "Runs after everything has loaded, before the workers are forked. It must return OK.",
            |target, arguments| push(target, arguments, Phase::PostConfig),
        ),
    ],
};

/// Checks the handlers of a line and adds them.
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
