//! The directives of mod_autoindex that decide which entries a listing has.

use super::row::*;
use crate::overrides::INDEXES;
use crate::ListingChange;

pub const GROUP: Group = Group {
    title: "Listings of folders",
    rows: &[
        Directive::everywhere(
            "IndexIgnore",
            words("NAME...", 1, ANY),
            "Shell patterns of names that listings leave out. The patterns of outer sections count \
             too. Listings never have dot files, backups and entries that the client may not read.",
            |target, arguments| {
                let names = (0..arguments.words.len()).map(|at| arguments.filled(at));
                let names = names.map(|name| name.map(str::to_owned));
                let ignored = ListingChange::Ignore(names.collect::<Result<_, _>>()?);
                target.changes.push(Change::Listing(ignored));
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .example("*.secret RCS", "\"\""),
        Directive::everywhere(
            "IndexIgnoreReset",
            Shape::Flag,
            "Whether IndexIgnore of outer sections does not count here.",
            |target, arguments| {
                if arguments.flag()? {
                    // As in Apache, the names of this section count, also those before this line.
                    let forget = Change::Listing(ListingChange::ForgetIgnored);
                    target.changes.insert(0, forget);
                }
                Ok(())
            },
        )
        .htaccess(INDEXES)
        .default("Off"),
        Directive::everywhere(
            "IndexOptions",
            words("[+|-]OPTION...", 0, ANY),
            "ShowForbidden: listings have the entries that the client may not read. Other options \
             have no effect, because listings are plain: names, dates and sizes, sorted by name.",
            options,
        )
        .htaccess(INDEXES)
        .example("+ShowForbidden", "\"\""),
    ],
};

/// Reads `IndexOptions`. As in Apache, a line without signs replaces the options of outer sections,
/// but not those of earlier lines in the same section.
fn options(target: &mut Target, arguments: &Arguments) -> Applied {
    const SHOW_FORBIDDEN: &str = "ShowForbidden";
    let mut clear = false;
    let mut shows_forbidden = None;
    for at in 0..arguments.words.len() {
        let word = arguments.filled(at)?;
        let name = word.strip_prefix(['+', '-']).unwrap_or(word);
        clear |= name.len() == word.len();
        if name.eq_ignore_ascii_case(SHOW_FORBIDDEN) {
            shows_forbidden = Some(!word.starts_with('-'));
        }
    }
    let mut earlier = target.changes.iter();
    clear &= !earlier.any(|change| {
        matches!(
            change,
            Change::Listing(ListingChange::Options { clear: true, .. })
        )
    });
    target.changes.push(Change::Listing(ListingChange::Options {
        clear,
        shows_forbidden,
    }));
    Ok(())
}
