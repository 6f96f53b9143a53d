//! The directives of output filters (mod_filter, mod_deflate, mod_brotli): compression, and the
//! filter of server-side includes.

use super::row::*;
use super::{includes, substitute};
use crate::overrides::{ALL, FILE_INFO};
use crate::{Coding, CompressionChange, IncludesChange, SubstitutionChange, TagRule};

pub const GROUP: Group = Group {
    title: "Output filters",
    rows: &[
        Directive::everywhere(
            "AddOutputFilterByType",
            words(
                "DEFLATE|BROTLI_COMPRESS|ZSTD|INCLUDES|SUBSTITUTE[;...] MEDIA/TYPE...",
                2,
                ANY,
            ),
            "Applies these filters to responses with these types. `text/*` means all types of \
             text. DEFLATE (gzip), BROTLI_COMPRESS and ZSTD compress the response for clients \
             that accept the coding. INCLUDES processes server-side includes. SUBSTITUTE applies \
             the rules of Substitute.",
            |target, arguments| {
                let codings = codings(arguments)?;
                for index in 1..arguments.words.len() {
                    let name = super::files::media_type(arguments, index)?.to_ascii_lowercase();
                    if names(arguments, "INCLUDES")? {
                        includes::push(target, IncludesChange::Type(name.clone()))?;
                    }
                    if names(arguments, "SUBSTITUTE")? {
                        substitute::push(target, SubstitutionChange::ByType(name.clone()));
                    }
                    push(target, CompressionChange::ByType(codings.clone(), name));
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("DEFLATE text/html text/css", "DEFLAT text/html"),
        Directive::everywhere(
            "SetOutputFilter",
            words(
                "DEFLATE|BROTLI_COMPRESS|ZSTD|INCLUDES|SUBSTITUTE[;...]|none",
                1,
                1,
            ),
            "Applies these filters to responses of all types. Compressed formats (images except \
             SVG, audio, video, archives) are not compressed again.",
            |target, arguments| {
                let has_includes = names(arguments, "INCLUDES")?;
                set_filters(target, arguments, IncludesChange::Always(has_includes))
            },
        )
        .htaccess(FILE_INFO)
        .example("BROTLI_COMPRESS;DEFLATE", "INFLATE"),
        Directive::everywhere(
            "PerlSetOutputFilter",
            words(
                "DEFLATE|BROTLI_COMPRESS|ZSTD|INCLUDES|SUBSTITUTE[;...]|none",
                1,
                1,
            ),
            "Does the same as SetOutputFilter. INCLUDES then comes after the Perl filters that \
             are named before, and otherwise before all Perl filters.",
            |target, arguments| {
                let change = if names(arguments, "INCLUDES")? {
                    IncludesChange::AmongPerl
                } else {
                    IncludesChange::Always(false)
                };
                set_filters(target, arguments, change)
            },
        )
        .htaccess(ALL)
        .example("BROTLI_COMPRESS;DEFLATE", "INFLATE"),
        Directive::everywhere(
            "AddOutputFilter",
            words(
                "DEFLATE|BROTLI_COMPRESS|ZSTD|INCLUDES|SUBSTITUTE[;...] SUFFIX...",
                2,
                ANY,
            ),
            "Applies these filters to responses from files with these suffixes. INCLUDES \
             processes their server-side includes. SUBSTITUTE applies the rules of Substitute.",
            |target, arguments| {
                let codings = codings(arguments)?;
                for suffix in suffixes(arguments, 1)? {
                    if names(arguments, "INCLUDES")? {
                        includes::push(target, IncludesChange::Suffix(suffix.clone()))?;
                    }
                    if names(arguments, "SUBSTITUTE")? {
                        substitute::push(target, SubstitutionChange::BySuffix(suffix.clone()));
                    }
                    push(target, CompressionChange::BySuffix(codings.clone(), suffix));
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("DEFLATE html", "INFLATE html"),
        Directive::everywhere(
            "RemoveOutputFilter",
            words("SUFFIX...", 1, ANY),
            "Cancels AddOutputFilter for these suffixes.",
            |target, arguments| {
                for suffix in suffixes(arguments, 0)? {
                    includes::push(target, IncludesChange::ForgetSuffix(suffix.clone()))?;
                    substitute::push(target, SubstitutionChange::ForgetSuffix(suffix.clone()));
                    push(target, CompressionChange::Forget(suffix));
                }
                Ok(())
            },
        )
        .htaccess(FILE_INFO)
        .example("html", "\"\""),
        Directive::everywhere(
            "DeflateCompressionLevel",
            Shape::Number { least: 1, most: 9 },
            "The compression level of gzip.",
            |target, arguments| level(target, arguments, Coding::Gzip),
        )
        .default("6")
        .tune(1, 9),
        Directive::everywhere(
            "BrotliCompressionQuality",
            Shape::Number { least: 0, most: 11 },
            "The compression level of brotli. 10 and 11 are slow. They are useful only for \
             compressed files that are kept.",
            |target, arguments| level(target, arguments, Coding::Brotli),
        )
        .default("5")
        .tune(0, 9),
        Directive::everywhere(
            "ZstdCompressionLevel",
            Shape::Number { least: 1, most: 19 },
            "The compression level of zstd.",
            |target, arguments| level(target, arguments, Coding::Zstandard),
        )
        .default("3")
        .tune(1, 12),
        Directive::everywhere(
            "DeflateAlterETag",
            Shape::Choice(TagRule::WORDS),
            "How a program's ETag changes when gzip or zstd compresses the response. Weak puts \
             `W/` before the ETag, and conditional requests still reach the program.",
            |target, arguments| tag(target, arguments, Coding::Gzip),
        )
        .default("Weak"),
        Directive::everywhere(
            "BrotliAlterETag",
            Shape::Choice(TagRule::WORDS),
            "How a program's ETag changes when brotli compresses the response. The values have \
             the meaning of those of DeflateAlterETag.",
            |target, arguments| tag(target, arguments, Coding::Brotli),
        )
        .default("Weak"),
        Directive::everywhere(
            "CompressionMinLength",
            Shape::Number {
                least: 0,
                most: 1 << 30,
            },
            "The shortest body that is compressed. A body of unknown length is compressed too.",
            |target, arguments| {
                push(target, CompressionChange::Least(arguments.number()?));
                Ok(())
            },
        )
        .default("256")
        .unit("bytes"),
        Directive::server(
            "CompressionCacheSize",
            Shape::Number {
                least: 0,
                most: u64::MAX,
            },
            "The memory for compressed files. With 0, each request compresses the file again.",
            |target, arguments| {
                target.site.stores.variants.memory = arguments.number()?;
                Ok(())
            },
        )
        .default("67108864")
        .unit("bytes"),
        Directive::server(
            "CompressionCacheRoot",
            Shape::Path,
            "A folder in which compressed files are kept too. They survive restarts.",
            |target, arguments| {
                let folder = arguments.path(0, &target.site.server_root)?;
                target.site.stores.variants.folder = Some(folder);
                Ok(())
            },
        )
        .example("/var/cache/mehari", "/one /two"),
        Directive::server(
            "CompressionCacheDiskSize",
            Shape::Number {
                least: 1 << 20,
                most: u64::MAX,
            },
            "The most bytes that CompressionCacheRoot may hold. The oldest file is removed first.",
            |target, arguments| {
                target.site.stores.variants.disk = arguments.number()?;
                Ok(())
            },
        )
        .default("1073741824")
        .unit("bytes"),
        Directive::ignored("FilterDeclare", CHAINS),
        Directive::ignored("FilterProvider", CHAINS),
        Directive::ignored("FilterChain", CHAINS),
        Directive::ignored("PerlSetInputFilter", NO_NATIVE),
        Directive::ignored("SetInputFilter", NO_NATIVE),
        Directive::ignored("AddInputFilter", NO_NATIVE),
        Directive::ignored("RemoveInputFilter", NO_NATIVE),
        Directive::ignored("FilterProtocol", CHAINS),
        Directive::ignored("FilterTrace", CHAINS),
        Directive::ignored("DeflateBufferSize", OWN_BUFFERS),
        Directive::ignored("DeflateMemLevel", OWN_BUFFERS),
        Directive::ignored("DeflateWindowSize", OWN_BUFFERS),
        Directive::ignored("BrotliCompressionWindow", OWN_BUFFERS),
        Directive::ignored("BrotliCompressionMaxInputBlock", OWN_BUFFERS),
        Directive::ignored("DeflateFilterNote", RATIO),
        Directive::ignored("BrotliFilterNote", RATIO),
    ],
};

const OWN_BUFFERS: &str = "the compression window is always the largest, and the server chooses \
                           its buffers";
const NO_NATIVE: &str =
    "the server itself filters no request bodies; PerlInputFilterHandler names Perl filters";
const CHAINS: &str = "filters are chosen by AddOutputFilterByType";
const RATIO: &str = "`%O` in a log format is the number of sent bytes";

fn push(target: &mut Target, change: CompressionChange) {
    target.changes.push(Change::Compression(change));
}

fn level(target: &mut Target, arguments: &Arguments, coding: Coding) -> Applied {
    let level = arguments.number_u32()?;
    push(target, CompressionChange::Level(coding, level));
    Ok(())
}

fn tag(target: &mut Target, arguments: &Arguments, coding: Coding) -> Applied {
    let rule = TagRule::named(arguments.choice()?);
    push(target, CompressionChange::Tag(coding, rule));
    Ok(())
}

/// Sets the filters of all responses.
fn set_filters(target: &mut Target, arguments: &Arguments, change: IncludesChange) -> Applied {
    let none = arguments.filled(0)?.eq_ignore_ascii_case("none");
    let codings = if none {
        Vec::new()
    } else {
        codings(arguments)?
    };
    includes::push(target, change)?;
    let substitutes = names(arguments, "SUBSTITUTE")?;
    substitute::push(target, SubstitutionChange::Always(substitutes));
    push(target, CompressionChange::Always(codings));
    Ok(())
}

/// The filters that are no codings.
const OTHERS: [&str; 2] = ["INCLUDES", "SUBSTITUTE"];

/// Tells whether the first argument names this filter.
fn names(arguments: &Arguments, filter: &str) -> Result<bool, Fault> {
    let mut words = arguments.filled(0)?.split(';');
    Ok(words.any(|word| word.eq_ignore_ascii_case(filter)))
}

/// Returns the codings among the filters of the first argument, separated by `;`.
fn codings(arguments: &Arguments) -> Result<Vec<Coding>, Fault> {
    let mut codings = Vec::new();
    for word in arguments
        .filled(0)?
        .split(';')
        .filter(|word| !word.is_empty())
    {
        let known = Coding::FILTERS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(word));
        if OTHERS.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            continue;
        }
        let Some((_, coding)) = known else {
            let names = Coding::FILTERS.iter().map(|(name, _)| *name).chain(OTHERS);
            let message = format!(
                "expected DEFLATE, BROTLI_COMPRESS, ZSTD, INCLUDES or SUBSTITUTE, not `{word}`"
            );
            return Err(arguments.fault(0, message).or_nearest(word, names));
        };
        if !codings.contains(coding) {
            codings.push(*coding);
        }
    }
    Ok(codings)
}

fn suffixes(arguments: &Arguments, from: usize) -> Result<Vec<String>, Fault> {
    let indexes = from..arguments.words.len();
    let suffix = |index| {
        let suffix = arguments.filled(index)?.trim_start_matches('.');
        Ok(suffix.to_ascii_lowercase())
    };
    indexes.map(suffix).collect()
}
