//! The directives of server-side includes, with the names of mod_include.

use super::row::*;
use crate::overrides::{ALL, LIMIT, OPTIONS};
use crate::{ByMode, IncludesChange};

pub const GROUP: Group = Group {
    title: "Server-side includes",
    rows: &[
        Directive::everywhere(
            "XBitHack",
            Shape::Choice(&["Off", "On", "Full"]),
            "On: an HTML file whose owner may execute it has server-side includes, if `Options \
             Includes` allows it. Full: if the group may execute the file too, the page also has \
             Last-Modified.",
            |target, arguments| {
                let by_mode = match arguments.choice()? {
                    "On" => ByMode::On,
                    "Full" => ByMode::Full,
                    _ => ByMode::Off,
                };
                push(target, IncludesChange::ByMode(by_mode))
            },
        )
        .htaccess(OPTIONS)
        .otherwise("Off"),
        Directive::everywhere(
            "SSIErrorMsg",
            words("TEXT", 1, 1),
            "The text that the page shows in place of a failed element. The error log has the \
             reason.",
            |target, arguments| push_text(target, arguments, IncludesChange::ErrorMessage),
        )
        .htaccess(ALL)
        .otherwise("[an error occurred while processing this directive]")
        .example("\"<!-- sorry -->\"", "sorry not"),
        Directive::everywhere(
            "SSITimeFormat",
            words("FORMAT", 1, 1),
            "The format of dates, as in strftime(3).",
            |target, arguments| push_text(target, arguments, IncludesChange::TimeFormat),
        )
        .htaccess(ALL)
        .otherwise("%A, %d-%b-%Y %H:%M:%S %Z")
        .example("\"%d.%m.%Y\"", "%d %m"),
        Directive::everywhere(
            "SSIUndefinedEcho",
            words("TEXT", 1, 1),
            "The text that `echo` shows for an undefined variable.",
            |target, arguments| push_text(target, arguments, IncludesChange::Undefined),
        )
        .htaccess(ALL)
        .otherwise("(none)")
        .example("\"<!-- undef -->\"", "a b"),
        Directive::everywhere(
            "SSILegacyExprParser",
            Shape::Flag,
            "Whether `if` and `elif` use the older syntax, `\"$NAME\" = /regex/ && ...`, instead \
             of Apache's common expressions.",
            |target, arguments| {
                let legacy = arguments.flag()?;
                push(target, IncludesChange::Legacy(legacy))
            },
        )
        .htaccess(LIMIT)
        .otherwise("Off"),
        Directive::everywhere(
            "SSIETag",
            Shape::Flag,
            "Whether pages keep their ETag.",
            |target, arguments| {
                let keep = arguments.flag()?;
                push(target, IncludesChange::KeepTags(keep))
            },
        )
        .htaccess(LIMIT)
        .otherwise("Off"),
        Directive::everywhere(
            "SSILastModified",
            Shape::Flag,
            "Whether pages keep their Last-Modified.",
            |target, arguments| {
                let keep = arguments.flag()?;
                push(target, IncludesChange::KeepDates(keep))
            },
        )
        .htaccess(LIMIT)
        .otherwise("Off"),
    ],
};

fn push_text(
    target: &mut Target,
    arguments: &Arguments,
    change: fn(String) -> IncludesChange,
) -> Applied {
    push(target, change(arguments.text(0)?.to_string()))
}

pub(super) fn push(target: &mut Target, change: IncludesChange) -> Applied {
    target.changes.push(Change::Includes(change));
    Ok(())
}
