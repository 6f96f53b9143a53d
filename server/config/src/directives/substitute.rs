//! The directives of mod_substitute: the filter SUBSTITUTE changes the text of responses.

use std::sync::Arc;

use super::row::*;
use crate::overrides::FILE_INFO;
use crate::{Substitution, SubstitutionChange};

pub const GROUP: Group = Group {
    title: "Substitutions in responses",
    rows: &[
        Directive::everywhere(
            "Substitute",
            words("s/PATTERN/REPLACEMENT/[i][n][q|f]", 1, 1),
            "Replaces each match of PATTERN in each line of a response that passes the filter \
             SUBSTITUTE (SetOutputFilter, AddOutputFilterByType, AddOutputFilter). Another \
             character may stand in place of `/`. With the flag i, case does not matter. With n, \
             PATTERN is a fixed text. With q, a match of a later rule cannot reach from the \
             replacement into the text beside it.",
            |target, arguments| {
                let rule = Substitution::parse(arguments.filled(0)?);
                let rule = rule.map_err(|why| arguments.fault(0, why))?;
                push(target, SubstitutionChange::Rule(Arc::new(rule)));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("s|http://old/|/|i", "s/a/b/x"),
        Directive::everywhere(
            "SubstituteMaxLineLength",
            words("BYTES[b|k|m|g]", 1, 1),
            "The longest line that Substitute may read or make. If a line is longer, the response \
             ends there.",
            |target, arguments| {
                let bytes = length(arguments)?;
                push(target, SubstitutionChange::LongestLine(bytes));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .default("1m")
        .example("10k", "10 lines"),
        Directive::everywhere(
            "SubstituteInheritBefore",
            Shape::Flag,
            "When the rules of outer sections are applied. On: before the rules of this section. \
             Off: after them.",
            |target, arguments| {
                let on = arguments.flag()?;
                push(target, SubstitutionChange::InheritBefore(on));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .otherwise("Off"),
    ],
};

pub(super) fn push(target: &mut Target, change: SubstitutionChange) {
    target.changes.push(Change::Substitution(change));
}

/// The most bytes of a line that may be configured.
const MOST: usize = 1 << 30;

/// Reads a number of bytes with an optional unit.
fn length(arguments: &Arguments) -> Result<usize, Fault> {
    let text = arguments.filled(0)?;
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        _ => None,
    };
    let bytes = digits.parse::<usize>().ok().zip(shift);
    let bytes = bytes.and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes
        .filter(|bytes| (1..=MOST).contains(bytes))
        .ok_or_else(|| {
            let message =
                format!("expected a number of bytes from 1 to 1g, such as 10k or 1m, not `{text}`");
            arguments.fault(0, message)
        })
}
