//! The directives of mod_speling: which names count as similar to a name without a file.

use super::row::*;
use crate::overrides::OPTIONS;

pub const GROUP: Group = Group {
    title: "Misspelt paths",
    rows: &[
        Directive::everywhere(
            "CheckSpelling",
            Shape::Flag,
            "Whether a GET or HEAD for a file that is missing is redirected to the file with a \
             similar name: another case, or one character missing, added, mistyped or swapped with \
             its neighbour. If no name fits best, a list of the similar names is sent (300). Hidden \
             names are not suggested, nor any name where Perl handlers decide about access.",
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
            "Whether the list of CheckSpelling has the files that differ only in their suffixes.",
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
