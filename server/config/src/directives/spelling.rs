//! The directives of mod_speling: which names count as similar to a name without a file.

use super::row::*;
use crate::overrides::OPTIONS;

pub const GROUP: Group = Group {
    title: "Misspelt paths",
    rows: &[
        Directive::everywhere(
            "CheckSpelling",
            Shape::Flag,
            "Whether a GET or HEAD request for a missing file is redirected to the file with a \
             similar name. A similar name differs in upper and lower case, or by one character \
             that is missing, added, mistyped or swapped with its neighbour. If no name fits \
             best, the client gets a list of the similar names (300). Hidden names are never \
             suggested. Where Perl handlers decide about access, no name is suggested.",
            |target, arguments| {
                let on = arguments.flag()?;
                target.changes.push(Change::CheckSpelling(on));
                Ok(())
            },
        )
        .htaccess(OPTIONS)
        .default("Off"),
        Directive::everywhere(
            "CheckCaseOnly",
            Shape::Flag,
            "Whether CheckSpelling corrects only upper and lower case.",
            |target, arguments| {
                let on = arguments.flag()?;
                target.changes.push(Change::CheckCaseOnly(on));
                Ok(())
            },
        )
        .htaccess(OPTIONS)
        .default("Off"),
        Directive::everywhere(
            "CheckBasenameMatch",
            Shape::Flag,
            "Whether the list of CheckSpelling also has the files whose names differ only in \
             their suffixes.",
            |target, arguments| {
                let on = arguments.flag()?;
                target.changes.push(Change::CheckBasenames(on));
                Ok(())
            },
        )
        .htaccess(OPTIONS)
        .default("On"),
    ],
};
