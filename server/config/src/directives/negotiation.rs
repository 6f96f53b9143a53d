//! The directives of content negotiation: the languages of files, and the preferences among
//! variants.

use super::files::{each_suffix, token};
use super::row::*;
use crate::overrides::FILE_INFO;
use crate::{ForcedLanguages, SkippedSuffixes};

pub const GROUP: Group = Group {
    title: "Content negotiation",
    rows: &[
        Directive::everywhere(
            "AddLanguage",
            words("LANGUAGE SUFFIX...", 2, ANY),
            "The language of files with these suffixes. The server sends it as Content-Language \
             and chooses variants by it.",
            |target, arguments| {
                let tag = language(arguments, 0)?;
                each_suffix(target, arguments, 1, |suffix| {
                    Change::AddLanguage(suffix, tag.clone())
                })
            },
        )
        .htaccess(FILE_INFO)
        .example("pt-BR .pt-br", "pt_BR? .pt"),
        Directive::everywhere(
            "RemoveLanguage",
            words("SUFFIX...", 1, ANY),
            "Removes the language of these suffixes.",
            |target, arguments| each_suffix(target, arguments, 0, Change::RemoveLanguage),
        )
        .htaccess(FILE_INFO)
        .example(".en", "."),
        Directive::everywhere(
            "DefaultLanguage",
            words("LANGUAGE", 1, 1),
            "The language of files that have no suffix of a language.",
            |target, arguments| {
                let tag = language(arguments, 0)?;
                target.changes.push(Change::DefaultLanguage(tag));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("en", "e/n"),
        Directive::everywhere(
            "LanguagePriority",
            words("LANGUAGE...", 1, ANY),
            "The order of languages, the best first, for clients that prefer none.",
            |target, arguments| {
                let count = arguments.words.len();
                let tags = (0..count).map(|index| Ok(arguments.filled(index)?.to_string()));
                let tags = tags.collect::<Result<Vec<String>, Fault>>()?;
                target.changes.push(Change::LanguagePriority(tags));
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("en de fr", "\"\""),
        Directive::everywhere(
            "ForceLanguagePriority",
            words("None|Prefer|Fallback", 1, 2),
            "When LanguagePriority decides. Prefer: among variants of the same quality. Fallback: \
             if no variant has a language that the client accepts. If Fallback is not given, such \
             a request gets 406.",
            force_language_priority,
        )
        .htaccess(FILE_INFO)
        .default("Prefer")
        .example("Prefer Fallback", "None Prefer"),
        Directive::host(
            "CacheNegotiatedDocs",
            Shape::Flag,
            "Whether caches of HTTP/1.0 may keep the variants of type maps. Off: these variants \
             have an Expires field with the present time.",
            |target, arguments| {
                target.host.mapping.caches_negotiated = arguments.flag()?;
                Ok(())
            },
        )
        .default("Off"),
        Directive::everywhere(
            "MultiviewsMatch",
            words("Any|NegotiatedOnly|Filters|Handlers", 1, 2),
            "The suffixes that a request may leave out under `Options MultiViews`. \
             NegotiatedOnly: suffixes of types, languages, character sets and codings. Handlers: \
             also the suffixes of AddHandler. Filters: also the suffixes of AddOutputFilter and \
             AddInputFilter. Any: all suffixes.",
            multiviews_match,
        )
        .htaccess(FILE_INFO)
        .default("NegotiatedOnly")
        .example("Handlers Filters", "Any Handlers"),
    ],
};

/// Returns a language tag, in lower case.
fn language(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    Ok(token(arguments, index, "a language tag such as en or pt-BR")?.to_ascii_lowercase())
}

fn force_language_priority(target: &mut Target, arguments: &Arguments) -> Applied {
    const WORDS: [&str; 3] = ["None", "Prefer", "Fallback"];
    let mut forced = ForcedLanguages {
        prefer: false,
        fallback: false,
    };
    for index in 0..arguments.words.len() {
        let word = arguments.filled(index)?;
        match word.to_ascii_lowercase().as_str() {
            "none" if arguments.words.len() == 1 => {}
            "none" => return Err(arguments.fault(index, "expected None alone")),
            "prefer" => forced.prefer = true,
            "fallback" => forced.fallback = true,
            _ => {
                let message = format!("expected None, Prefer or Fallback, not `{word}`");
                return Err(arguments
                    .fault(index, message)
                    .or_nearest(word, WORDS.into_iter()));
            }
        }
    }
    target.changes.push(Change::ForceLanguagePriority(forced));
    Ok(())
}

fn multiviews_match(target: &mut Target, arguments: &Arguments) -> Applied {
    const WORDS: [&str; 4] = ["Any", "NegotiatedOnly", "Filters", "Handlers"];
    let mut skipped = SkippedSuffixes::default();
    for index in 0..arguments.words.len() {
        let word = arguments.filled(index)?;
        let is_alone = arguments.words.len() == 1;
        match word.to_ascii_lowercase().as_str() {
            "any" if is_alone => skipped.all = true,
            "negotiatedonly" if is_alone => {}
            "any" | "negotiatedonly" => {
                return Err(arguments.fault(index, format!("expected {word} alone")))
            }
            "filters" => skipped.of_filters = true,
            "handlers" => skipped.of_handlers = true,
            _ => {
                let message =
                    format!("expected Any, NegotiatedOnly, Filters or Handlers, not `{word}`");
                return Err(arguments
                    .fault(index, message)
                    .or_nearest(word, WORDS.into_iter()));
            }
        }
    }
    target.changes.push(Change::MultiviewsMatch(skipped));
    Ok(())
}
