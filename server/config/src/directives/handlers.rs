//! The directives that choose handlers and rungs, and permit scripts.

use super::console;
use super::files::suffix;
use super::includes;
use super::proxy::passes;
use super::proxy::url::UrlArgument;
use super::row::*;
use crate::environment::WantedAction;
use crate::line::Word;
use crate::overrides::{ALL, FILE_INFO, OPTIONS};
use crate::preload::PreloadStage;
use crate::{option, HandlerName, IncludesChange, Phase, Preload, Report, UploadFormat};
use std::sync::Arc;

pub const GROUP: Group = Group {
    title: "Handlers",
    rows: &[
        Directive::everywhere(
            "SetHandler",
            words("cgi-script|fcgid-script|perl-script|modperl|psgi|lua|proxy:URL|type-map|mehari-console|default-handler|None", 1, 1),
            "The handler of every request here. With perl-script or modperl and no \
             PerlResponseHandler, scripts run on the rung `auto`, so the server chooses how each \
             script runs. mehari-console may stand only in `<Location>`, together with a Require \
             line.",
            |target, arguments| {
                let name = if is_parsed(arguments)? {
                    includes::push(target, IncludesChange::Always(true))?;
                    HandlerName::File
                } else if arguments.text(0)?.eq_ignore_ascii_case(console::NAME) {
                    console::handler(target, arguments)?
                } else {
                    handler_name(target, arguments, true)?
                };
                target.changes.push(Change::SetHandler(name));
                Ok(())
            },
        )
        .otherwise("the file decides")
        .htaccess(FILE_INFO)
        .example("perl-script", "perl-scrip"),
        Directive::everywhere(
            "AddHandler",
            words("cgi-script|fcgid-script|perl-script|modperl|psgi|lua|proxy:URL|type-map SUFFIX...", 2, ANY),
            "The handler of files with these suffixes.",
            |target, arguments| {
                if is_parsed(arguments)? {
                    for index in 1..arguments.words.len() {
                        let suffix = suffix(arguments, index)?;
                        includes::push(target, IncludesChange::Suffix(suffix))?;
                    }
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
        .htaccess(FILE_INFO)
        .example("cgi-script .cgi", "cgi .cgi"),
        Directive::everywhere(
            "RemoveHandler",
            words("SUFFIX...", 1, ANY),
            "Removes the handler of these suffixes.",
            |target, arguments| {
                for index in 0..arguments.words.len() {
                    let suffix = suffix(arguments, index)?;
                    target.changes.push(Change::RemoveHandler(suffix));
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example(".cgi", "."),
        Directive::everywhere(
            "PerlResponseHandler",
            words("HANDLER...", 1, ANY),
            "The Perl handlers of the response phase. The first that does not decline answers. \
             Five names run files as scripts, each on its own rung: ModPerl::Registry, \
             ModPerl::PerlRun, Mehari::Fork, Mehari::Rewind and Mehari::Auto.",
            |target, arguments| super::phases::push(target, arguments, Phase::Response),
        )
        .htaccess(ALL)
        .aliases(&["PerlHandler"])
        .otherwise("Mehari::Auto")
        .example("ModPerl::Registry", "ModPerl:Registry"),
        Directive::everywhere(
            "PerlIsolation",
            words("rewind|none", 1, 1),
            "rewind: after each request, the memory of a PSGI application's or mod_perl handler's \
             process is restored, as on the rung `rewind`. A script has the isolation of its own \
             rung.",
            isolation,
        )
        .default("none")
        .example("rewind", "rewinds"),
        Directive::everywhere(
            "CGIPassAuth",
            Shape::Flag,
            "Whether programs see the client's Authorization field as HTTP_AUTHORIZATION. Every \
             process that such a program starts can then read it.",
            |target, arguments| {
                target.changes.push(Change::PassAuthorization(arguments.flag()?));
                Ok(())
            },
        )
        .htaccess(crate::overrides::AUTH)
        .default("Off")
        .example("On", "Yes"),
        Directive::everywhere(
            "PSGIApp",
            Shape::Path,
            "The application for `SetHandler psgi`. It is loaded before the workers are forked.",
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
            "ExecCGI allows scripts. FollowSymLinks and SymLinksIfOwnerMatch allow symbolic \
             links. Indexes allows listings of folders without an index. MultiViews chooses a \
             file for a name without its suffixes. Includes allows server-side includes; IncludesNOEXEC allows \
             them without commands.",
            options,
        )
        .htaccess(OPTIONS)
        .otherwise("FollowSymLinks")
        .example("+ExecCGI", "+ExecCGi2"),
    ],
};

fn isolation(target: &mut Target, arguments: &Arguments) -> Applied {
    const KNOWN: [&str; 2] = ["rewind", "none"];
    let text = arguments.text(0)?;
    let Some(known) = KNOWN.iter().position(|it| it.eq_ignore_ascii_case(text)) else {
        let message = format!("expected rewind or none, not `{text}`");
        return Err(arguments
            .fault(0, message)
            .or_nearest(text, KNOWN.into_iter()));
    };
    target.changes.push(Change::Rewound(known == 0));
    Ok(())
}

/// Tells whether the handler is `server-parsed`, an older way to enable server-side includes.
fn is_parsed(arguments: &Arguments) -> Result<bool, Fault> {
    Ok(arguments.filled(0)?.eq_ignore_ascii_case("server-parsed"))
}

fn handler_name(
    target: &mut Target,
    arguments: &Arguments,
    may_be_unset: bool,
) -> Result<HandlerName, Fault> {
    let name = UrlArgument {
        argument: 0,
        text: arguments.text(0)?,
    };
    named(target, arguments, name, may_be_unset)
}

/// Returns the handler with the name in this argument.
pub(super) fn named(
    target: &mut Target,
    arguments: &Arguments,
    name: UrlArgument<'_>,
    may_be_unset: bool,
) -> Result<HandlerName, Fault> {
    let text = name.text;
    const NAMES: &[&str] = &[
        "cgi-script",
        "fcgid-script",
        "perl-script",
        "modperl",
        "psgi",
        "default-handler",
        "type-map",
        "lua",
        "server-status",
        "server-info",
        "metrics",
        "health-live",
        "health-ready",
        "upload-progress",
        "upload-progress-xml",
        "upload-progress-json",
        console::NAME,
        "None",
    ];
    if let Some(url) = text.strip_prefix("proxy:") {
        let proxied = passes::handler(target, arguments, UrlArgument { text: url, ..name })?;
        return Ok(HandlerName::Proxy(Arc::new(proxied)));
    }
    if text.eq_ignore_ascii_case("lua") {
        let proxied = super::proxy::programs::lua_handler(target.site);
        return Ok(HandlerName::Proxy(Arc::new(proxied)));
    }
    if text.eq_ignore_ascii_case(console::NAME) {
        return Err(console::misplaced(arguments, name.argument));
    }
    if ["fcgid-script", "fastcgi-script"].contains(&text.to_ascii_lowercase().as_str()) {
        let proxied = super::proxy::programs::script_handler(target.site);
        return Ok(HandlerName::Proxy(Arc::new(proxied)));
    }
    Ok(match text.to_ascii_lowercase().as_str() {
        "cgi-script" => HandlerName::CgiScript,
        "perl-script" => HandlerName::PerlScript,
        "modperl" => HandlerName::Modperl,
        "psgi" => HandlerName::Psgi,
        "default-handler" => HandlerName::File,
        "type-map" | "application/x-type-map" => HandlerName::TypeMap,
        "server-status" => HandlerName::Report(Report::Status),
        "server-info" => HandlerName::Report(Report::Info),
        "metrics" => HandlerName::Report(Report::Metrics),
        "health-live" => HandlerName::Report(Report::Live),
        "health-ready" => HandlerName::Report(Report::Ready),
        "upload-progress" => HandlerName::Report(Report::Uploads(UploadFormat::Script)),
        "upload-progress-xml" => HandlerName::Report(Report::Uploads(UploadFormat::Xml)),
        "upload-progress-json" => HandlerName::Report(Report::Uploads(UploadFormat::Json)),
        "none" if may_be_unset => HandlerName::Unset,
        _ if is_media_type(text) => {
            target.environment.remark(if is_name_of_programs(text) {
                "the Action of this name answers; without one requests are answered 500"
            } else {
                UNKNOWN_HANDLER
            });
            HandlerName::Named(text.to_string())
        }
        _ => {
            // An `Action` of this name may follow. The name is checked when the whole configuration
            // is read.
            let message = format!(
                "expected {} or the name of an Action, not `{text}`",
                NAMES.join(", ")
            );
            let fault = arguments.fault(name.argument, message);
            let fault = fault.or_nearest(text, NAMES.iter().copied());
            if is_unknown(text, NAMES) {
                target.environment.remark(UNKNOWN_HANDLER);
            }
            target.environment.wants_action.push(WantedAction {
                name: text.to_string(),
                fault,
                may_be_missing: is_unknown(text, NAMES),
            });
            HandlerName::Named(text.to_string())
        }
    })
}

const UNKNOWN_HANDLER: &str =
    "as in Apache, no module has this handler: without an Action of this \
     name, files are sent as they are";

/// Tells whether a handler of this name, such as `application/x-httpd-php`, would run programs, so
/// that the files are not for clients. Apache sends the files of other names.
pub fn is_name_of_programs(name: &str) -> bool {
    let lower = name.to_ascii_lowercase().replace("javascript", "");
    let parts = ["php", "cgi", "perl", "script", "python", "ruby"];
    parts.into_iter().any(|part| lower.contains(part))
}

/// Tells whether Apache has no handler of this name, and whether the name is unlike those of
/// `known` and of handlers that would hide the source of programs.
fn is_unknown(name: &str, known: &[&'static str]) -> bool {
    /// Apache's handlers that Mehari does not have.
    const REFUSED: [&str; 9] = [
        "balancer-manager",
        "cache-status",
        "cern_meta",
        "imap-file",
        "ldap-status",
        "lua-script",
        "mod_python",
        "proxy-server",
        "send-as-is",
    ];
    let lower = name.to_ascii_lowercase();
    let is_word = lower
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    is_word
        && !lower.is_empty()
        && !REFUSED.contains(&lower.as_str())
        && !is_name_of_programs(name)
        && crate::nearest(&lower, known.iter().copied()).is_none()
}

/// Tells whether the name of a handler is a media type, as PHP's handler name
/// `application/x-httpd-php`.
fn is_media_type(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    text.split_once('/').is_some_and(|(kind, name)| {
        !kind.is_empty() && !name.is_empty() && kind.chars().all(fits) && name.chars().all(fits)
    })
}

/// Tells whether a text has the form of a package name: `My::Module`.
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
        "RunScripts",
    ];
    let is_signed = |word: &Word| word.text.starts_with(['+', '-']);
    let signs: Vec<bool> = arguments.words.iter().map(is_signed).collect();
    // As in Apache, options with signs may follow `All` or `None`.
    let first = signs.iter().position(|signed| *signed);
    let is_whole = |word: &Word| ["all", "none"].contains(&&*word.text.to_ascii_lowercase());
    let is_after_whole = arguments.words.first().is_some_and(is_whole);
    let mixed = match first {
        Some(at) if at > 0 && !is_after_whole => Some(at),
        Some(at) => (at..signs.len()).find(|index| !signs[*index]),
        None => None,
    };
    if let Some(mixed) = mixed {
        return Err(arguments.fault(mixed, "expected every option with `+` or `-`, or none"));
    }
    // A list without signs replaces the list of outer sections.
    let (mut on, mut off) = (0, 0);
    for (index, word) in arguments.words.iter().enumerate() {
        let name = word.text.strip_prefix(['+', '-']).unwrap_or(&word.text);
        let Some(bits) = option::named(name) else {
            let message = format!("there is no option `{name}`; expected {}", KNOWN.join(", "));
            return Err(arguments
                .fault(index, message)
                .or_nearest(name, KNOWN.iter().copied()));
        };
        if bits & target.environment.refused_options != 0 {
            let message = format!(
                "the option `{name}` is not allowed here; expected it in `AllowOverride Options=...`"
            );
            return Err(arguments.fault(index, message));
        }
        // The last word about an option counts.
        (on, off) = if word.text.starts_with('-') {
            (on & !bits, off | bits)
        } else {
            (on | bits, off & !bits)
        };
    }
    target.changes.push(Change::Options {
        clear: !signs[0],
        on,
        off,
    });
    Ok(())
}
