//! What answers a request: handlers, their rungs, and what scripts are allowed.

use super::files::suffix;
use super::proxy::passes;
use super::row::*;
use crate::environment::PreloadStage;
use crate::{HandlerName, Phase, Preload, Report};
use std::sync::Arc;

pub const GROUP: Group = Group {
    title: "Handlers",
    rows: &[
        Directive::everywhere(
            "SetHandler",
            words("cgi-script|perl-script|modperl|psgi|proxy:URL|default-handler|None", 1, 1),
            "What answers every request here. perl-script and modperl without a PerlResponseHandler run scripts on the rung `auto`.",
            |target, arguments| {
                let name = handler_name(target, arguments, true)?;
                target.changes.push(Change::SetHandler(name));
                Ok(())
            },
        )
        .otherwise("decided by the file")
        .example("perl-script", "perl-scrip"),
        Directive::everywhere(
            "AddHandler",
            words("cgi-script|perl-script|modperl|psgi|proxy:URL SUFFIX...", 2, ANY),
            "What runs files with these suffixes.",
            |target, arguments| {
                if arguments.text(0)? == "type-map" {
                    target.environment.ignore("a URL path stands for one file, whatever its language");
                    return Ok(());
                }
                let name = handler_name(target, arguments, false)?;
                for index in 1..arguments.words.len() {
                    let suffix = suffix(arguments, index)?;
                    target.changes.push(Change::AddHandler(suffix, name.clone()));
                }
                Ok(())
            },
        )
        .example("cgi-script .cgi", "cgi .cgi"),
        Directive::everywhere(
            "PerlResponseHandler",
            words("HANDLER...", 1, ANY),
            "The Perl that answers: the first that does not decline. ModPerl::Registry, ModPerl::PerlRun, Mehari::Fork and Mehari::Auto run files on that rung.",
            |target, arguments| super::phases::push(target, arguments, Phase::Response),
        )
        .aliases(&["PerlHandler"])
        .otherwise("Mehari::Auto")
        .example("ModPerl::Registry", "ModPerl:Registry"),
        Directive::everywhere(
            "PSGIApp",
            Shape::Path,
            "The application `SetHandler psgi` runs. It is loaded before the workers are forked.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                let preload = Preload::Psgi(file.clone());
                target.environment.preload(PreloadStage::Program, preload);
                target.changes.push(Change::PsgiApp(file));
                Ok(())
            },
        ),
        Directive::everywhere(
            "Options",
            words("[+|-]OPTION...", 1, ANY),
            "ExecCGI allows scripts. Apache's other options are accepted and change nothing.",
            options,
        )
        .otherwise("FollowSymLinks")
        .example("+ExecCGI", "+ExecCGi2"),
    ],
};

fn handler_name(
    target: &mut Target,
    arguments: &Arguments,
    may_be_unset: bool,
) -> Result<HandlerName, Fault> {
    const NAMES: &[&str] = &[
        "cgi-script",
        "perl-script",
        "modperl",
        "psgi",
        "default-handler",
        "server-status",
        "metrics",
        "health-live",
        "health-ready",
        "None",
    ];
    let text = arguments.text(0)?;
    if let Some(url) = text.strip_prefix("proxy:") {
        let proxied = passes::handler(target, arguments, url)?;
        return Ok(HandlerName::Proxy(Arc::new(proxied)));
    }
    Ok(match text.to_ascii_lowercase().as_str() {
        "cgi-script" => HandlerName::CgiScript,
        "perl-script" => HandlerName::PerlScript,
        "modperl" => HandlerName::Modperl,
        "psgi" => HandlerName::Psgi,
        "default-handler" => HandlerName::File,
        "server-status" => HandlerName::Report(Report::Status),
        "metrics" => HandlerName::Report(Report::Metrics),
        "health-live" => HandlerName::Report(Report::Live),
        "health-ready" => HandlerName::Report(Report::Ready),
        "none" if may_be_unset => HandlerName::Unset,
        _ => {
            let message = format!("expected {}, not `{text}`", NAMES.join(", "));
            return Err(arguments
                .fault(0, message)
                .or_nearest(text, NAMES.iter().copied()));
        }
    })
}

/// `My::Module`.
pub(super) fn is_package(text: &str) -> bool {
    text.split("::").all(is_identifier)
}

fn is_identifier(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || c == '_';
    text.chars().all(fits) && text.chars().next().is_some_and(|c| !c.is_numeric())
}

fn options(target: &mut Target, arguments: &Arguments) -> Applied {
    const KNOWN: &[&str] = &[
        "ExecCGI",
        "All",
        "None",
        "FollowSymLinks",
        "SymLinksIfOwnerMatch",
        "Indexes",
        "MultiViews",
        "Includes",
        "IncludesNOEXEC",
    ];
    let signs: Vec<bool> = arguments
        .words
        .iter()
        .map(|word| word.text.starts_with(['+', '-']))
        .collect();
    if signs.iter().any(|signed| *signed != signs[0]) {
        let mixed = signs
            .iter()
            .position(|signed| *signed != signs[0])
            .unwrap_or(0);
        return Err(arguments.fault(mixed, "expected every option with `+` or `-`, or none"));
    }
    // A list without signs replaces what was allowed before.
    let mut exec_cgi = (!signs[0]).then_some(false);
    for (index, word) in arguments.words.iter().enumerate() {
        let name = word.text.strip_prefix(['+', '-']).unwrap_or(&word.text);
        if !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let message = format!("there is no option `{name}`; expected {}", KNOWN.join(", "));
            return Err(arguments
                .fault(index, message)
                .or_nearest(name, KNOWN.iter().copied()));
        }
        if name.eq_ignore_ascii_case("ExecCGI") || name.eq_ignore_ascii_case("All") {
            exec_cgi = Some(!word.text.starts_with('-'));
        }
    }
    if let Some(allowed) = exec_cgi {
        target.changes.push(Change::ExecCgi(allowed));
    }
    Ok(())
}
