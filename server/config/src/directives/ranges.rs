//! The directives that limit the ranges of a request.

use super::row::*;
use crate::RangeLimits;

pub const GROUP: Group = Group {
    title: "Ranges",
    rows: &[
        Directive::everywhere(
            "MaxRanges",
            words(USAGE, 1, 1),
            "The most ranges that a request gets. A request for more ranges gets the whole \
             content. With `none` no request gets ranges, and files are sent with Accept-Ranges: \
             none.",
            |target, arguments| {
                let limit = limit(arguments, RangeLimits::default().ranges)?;
                target.changes.push(Change::MaxRanges(limit));
                Ok(())
            },
        )
        .default("default")
        .example("100", "0"),
        Directive::everywhere(
            "MaxRangeOverlaps",
            words(USAGE, 1, 1),
            "The most ranges of a request that overlap or adjoin the range before them. The \
             server merges such ranges. A request with more such ranges gets the whole content.",
            |target, arguments| {
                let limit = limit(arguments, RangeLimits::default().overlaps)?;
                target.changes.push(Change::MaxRangeOverlaps(limit));
                Ok(())
            },
        )
        .default("default")
        .example("none", "-1"),
        Directive::everywhere(
            "MaxRangeReversals",
            words(USAGE, 1, 1),
            "The most ranges of a request that overlap an earlier range and begin before it. The \
             server merges such ranges. A request with more such ranges gets the whole content.",
            |target, arguments| {
                let limit = limit(arguments, RangeLimits::default().reversals)?;
                target.changes.push(Change::MaxRangeReversals(limit));
                Ok(())
            },
        )
        .default("default")
        .example("unlimited", "many"),
    ],
};

const USAGE: &str = "default|unlimited|none|NUMBER";

fn limit(arguments: &Arguments, default: Option<u32>) -> Result<Option<u32>, Fault> {
    let text = arguments.filled(0)?;
    Ok(match text.to_ascii_lowercase().as_str() {
        "default" => default,
        "unlimited" => None,
        "none" => Some(0),
        number => match number.parse().ok().filter(|&number| number > 0) {
            Some(number) => Some(number),
            None => {
                let message = format!(
                    "expected default, unlimited, none or a number from 1 to {}, not `{text}`",
                    u32::MAX
                );
                let known = ["default", "unlimited", "none"];
                return Err(arguments
                    .fault(0, message)
                    .or_nearest(text, known.into_iter()));
            }
        },
    })
}
