//! The directives that name Perl handlers for `Require` and `AuthBasicProvider`, or set handlers of
//! connections.

use super::handlers::is_package;
use super::phases::push;
use super::row::*;
use crate::preload::PreloadStage;
use crate::{Phase, Preload};

const PROVIDER: Shape = words("NAME HANDLER", 2, 2);

pub const GROUP: Group = Group {
    title: "Perl providers and connections",
    rows: &[
        Directive::host(
            "PerlAddAuthzProvider",
            PROVIDER,
            "The handler of `Require NAME WORDS`. It gets the request and the words. It returns \
             one of these constants of Apache2::Const: AUTHZ_GRANTED, AUTHZ_DENIED, \
             AUTHZ_NEUTRAL, AUTHZ_DENIED_NO_USER.",
            |target, arguments| {
                let (name, handler) = provider(target, arguments)?;
                target.environment.authorizers.insert(name, handler);
                Ok(())
            },
        )
        .example("staff My::Staff->is_one", "staff My:Staff"),
        Directive::host(
            "PerlAddAuthnProvider",
            PROVIDER,
            "The handler of `AuthBasicProvider NAME`. It gets the request, the user and the \
             password. It returns one of these constants of Apache2::Const: AUTH_GRANTED, \
             AUTH_DENIED, AUTH_USER_NOT_FOUND.",
            |target, arguments| {
                let (name, handler) = provider(target, arguments)?;
                target.environment.authenticators.insert(name, handler);
                Ok(())
            },
        )
        .example("staff My::Staff->knows", "staff My:Staff"),
        Directive::host(
            "PerlPreConnectionHandler",
            words("HANDLER...", 1, ANY),
            "Runs with the connection as its argument, before the first request of the connection \
             that a worker sees. Any result except OK and DECLINED refuses the request.",
            |target, arguments| push(target, arguments, Phase::PreConnection),
        )
        .example("My::Gate", "My:Gate"),
        Directive::host(
            "PerlProcessConnectionHandler",
            words("HANDLER...", 1, ANY),
            "Serves the connection instead of HTTP. A worker gets the accepted socket as \
             `$c->client_socket`. The host is chosen by address and port. TLS and the PROXY \
             protocol are not available.",
            |target, arguments| push(target, arguments, Phase::ProcessConnection),
        )
        .example("My::Echo", "My:Echo"),
    ],
};

fn is_handler(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    match text.split_once("->") {
        Some((package, method)) => is_package(package) && is_package(method),
        None => is_package(text),
    }
}

fn handler(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let text = arguments.filled(index)?;
    if is_handler(text) {
        Ok(text.to_string())
    } else {
        let message = format!(
            "expected a handler such as My::Module, My::Module::sub or My::Module->method, not \
             `{text}`"
        );
        Err(arguments.fault(index, message))
    }
}

fn provider(target: &mut Target, arguments: &Arguments) -> Result<(String, String), Fault> {
    let handler = handler(arguments, 1)?;
    if let Some(preload) = Preload::of_handler(&handler) {
        target.environment.preload(PreloadStage::Handler, preload);
    }
    Ok((arguments.filled(0)?.to_string(), handler))
}

/// Applies `AuthBasicProvider`. The handler that a provider's name refers to becomes a handler of
/// the phase Authen.
pub(super) fn of_passwords(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut handlers = Vec::new();
    for index in 0..arguments.words.len() {
        let name = arguments.filled(index)?;
        if name.eq_ignore_ascii_case("file") {
            continue;
        }
        let Some(handler) = target.environment.authenticators.get(name) else {
            let known = target.environment.authenticators.keys();
            let message = format!("expected file or a name of PerlAddAuthnProvider, not `{name}`");
            let names = known.map(String::as_str).chain(["file"]);
            return Err(arguments.fault(index, message).or_nearest(name, names));
        };
        handlers.push(format!("'{handler}'"));
    }
    if !handlers.is_empty() {
        let code = format!(
            "sub {{ require Mehari::Providers; Mehari::Providers::knows_password($_[0], {}) }}",
            handlers.join(", ")
        );
        target
            .changes
            .push(Change::PerlHandler(Phase::Authen, vec![code]));
    }
    Ok(())
}
