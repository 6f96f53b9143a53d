//! Compression of responses: its settings for a location, and the stores of compressed files. The
//! directives are those of `mod_deflate` and `mod_brotli`.

use std::path::PathBuf;

/// A content coding that the server can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    Brotli,
    Zstandard,
    Gzip,
}

impl Coding {
    /// All codings, the best first.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstandard, Coding::Gzip];

    /// Returns the registered name (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
    pub fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstandard => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    pub fn suffix(self) -> &'static str {
        match self {
            Coding::Brotli => ".br",
            Coding::Zstandard => ".zst",
            Coding::Gzip => ".gz",
        }
    }

    /// Returns the variable of a request that forbids the coding.
    pub fn prohibition(self) -> &'static str {
        match self {
            Coding::Brotli => "no-brotli",
            Coding::Zstandard => "no-zstd",
            Coding::Gzip => "no-gzip",
        }
    }

    /// The names of the filters. For each coding, the documented name comes first.
    pub(crate) const FILTERS: [(&'static str, Coding); 6] = [
        ("DEFLATE", Coding::Gzip),
        ("BROTLI_COMPRESS", Coding::Brotli),
        ("ZSTD", Coding::Zstandard),
        ("GZIP", Coding::Gzip),
        ("BROTLI", Coding::Brotli),
        ("ZSTD_COMPRESS", Coding::Zstandard),
    ];
}

/// The change of the entity tag of a body that is compressed while it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum TagRule {
    /// Adds the prefix `W/`: the tag becomes weak (RFC 9110 section 8.8.1).
    Weak,
    /// Adds a suffix, as in `"x-gzip"`.
    AddSuffix,
    NoChange,
    Remove,
}

impl TagRule {
    pub(crate) const WORDS: &'static [&'static str] = &["Weak", "AddSuffix", "NoChange", "Remove"];

    pub(crate) fn named(word: &str) -> TagRule {
        match word {
            "AddSuffix" => TagRule::AddSuffix,
            "NoChange" => TagRule::NoChange,
            "Remove" => TagRule::Remove,
            _ => TagRule::Weak,
        }
    }
}

/// How responses of one location are compressed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Compression {
    /// `SetOutputFilter`: the codings for every media type.
    pub always: Vec<Coding>,
    /// `AddOutputFilterByType`: the media type in lower case, and its codings. `text/*` means all
    /// types of text.
    pub by_type: Vec<(String, Vec<Coding>)>,
    /// `AddOutputFilter`: the suffix without the dot, in lower case, and its codings.
    pub by_suffix: Vec<(String, Vec<Coding>)>,
    pub gzip_level: u32,
    pub brotli_quality: u32,
    pub zstd_level: u32,
    pub gzip_tag: TagRule,
    pub brotli_tag: TagRule,
    /// `CompressionMinLength`: a body with fewer bytes is not compressed.
    pub least: u64,
}

impl Default for Compression {
    fn default() -> Compression {
        Compression {
            always: Vec::new(),
            by_type: Vec::new(),
            by_suffix: Vec::new(),
            gzip_level: 6,
            brotli_quality: 5,
            zstd_level: 3,
            gzip_tag: TagRule::Weak,
            brotli_tag: TagRule::Weak,
            least: 256,
        }
    }
}

impl Compression {
    pub fn is_off(&self) -> bool {
        self.always.is_empty() && self.by_type.is_empty() && self.by_suffix.is_empty()
    }

    pub fn level(&self, coding: Coding) -> u32 {
        match coding {
            Coding::Brotli => self.brotli_quality,
            Coding::Zstandard => self.zstd_level,
            Coding::Gzip => self.gzip_level,
        }
    }

    pub fn tag_rule(&self, coding: Coding) -> TagRule {
        match coding {
            Coding::Brotli => self.brotli_tag,
            _ => self.gzip_tag,
        }
    }

    /// Tells whether a response with this media type and file name may have this coding.
    pub fn offers(&self, coding: Coding, media_type: &str, file: &[u8]) -> bool {
        let is_type = |known: &str| {
            let bare = media_type.split(';').next().unwrap_or_default().trim();
            match known.strip_suffix('*') {
                Some(kind) => {
                    bare.len() >= kind.len()
                        && bare.is_char_boundary(kind.len())
                        && bare[..kind.len()].eq_ignore_ascii_case(kind)
                }
                None => known.eq_ignore_ascii_case(bare),
            }
        };
        let has = |list: &[Coding]| list.contains(&coding);
        has(&self.always)
            || (self.by_type.iter()).any(|(known, list)| has(list) && is_type(known))
            || (self.by_suffix.iter()).any(|(suffix, list)| has(list) && ends_in(file, suffix))
    }

    pub(crate) fn change(&mut self, change: &CompressionChange) {
        let forget = |list: &mut Vec<(String, Vec<Coding>)>, name: &str| {
            list.retain(|(known, _)| known != name);
        };
        match change {
            CompressionChange::Always(codings) => self.always.clone_from(codings),
            CompressionChange::ByType(codings, media_type) => {
                add(&mut self.by_type, media_type, codings)
            }
            CompressionChange::BySuffix(codings, suffix) => {
                forget(&mut self.by_suffix, suffix);
                add(&mut self.by_suffix, suffix, codings);
            }
            CompressionChange::Forget(suffix) => forget(&mut self.by_suffix, suffix),
            CompressionChange::Level(Coding::Gzip, level) => self.gzip_level = *level,
            CompressionChange::Level(Coding::Brotli, level) => self.brotli_quality = *level,
            CompressionChange::Level(Coding::Zstandard, level) => self.zstd_level = *level,
            CompressionChange::Tag(Coding::Brotli, rule) => self.brotli_tag = *rule,
            CompressionChange::Tag(_, rule) => self.gzip_tag = *rule,
            CompressionChange::Least(bytes) => self.least = *bytes,
        }
    }
}

fn add(list: &mut Vec<(String, Vec<Coding>)>, name: &str, codings: &[Coding]) {
    match list.iter_mut().find(|(known, _)| known == name) {
        None => list.push((name.to_string(), codings.to_vec())),
        Some((_, known)) => {
            let new = codings.iter().filter(|coding| !known.contains(coding));
            let new: Vec<Coding> = new.copied().collect();
            known.extend(new);
        }
    }
}

fn ends_in(file: &[u8], suffix: &str) -> bool {
    let before = file.len().saturating_sub(suffix.len() + 1);
    match file[before..].split_first() {
        Some((b'.', rest)) => rest.eq_ignore_ascii_case(suffix.as_bytes()),
        _ => false,
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum CompressionChange {
    Always(Vec<Coding>),
    ByType(Vec<Coding>, String),
    BySuffix(Vec<Coding>, String),
    Forget(String),
    Level(Coding, u32),
    Tag(Coding, TagRule),
    Least(u64),
}

/// The stores of compressed files.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VariantStore {
    /// `CompressionCacheSize`: the size of the store in memory, in bytes. 0: no store in memory.
    pub memory: u64,
    /// `CompressionCacheRoot`: the folder of the store on disk, and the limit of its size in bytes
    /// (`CompressionCacheDiskSize`).
    pub folder: Option<PathBuf>,
    pub disk: u64,
}

impl Default for VariantStore {
    fn default() -> VariantStore {
        VariantStore {
            memory: 64 << 20,
            folder: None,
            disk: 1 << 30,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_applies_by_media_type_or_suffix() {
        let mut compression = Compression::default();
        assert!(compression.is_off());
        compression.change(&CompressionChange::ByType(
            vec![Coding::Gzip],
            "text/*".into(),
        ));
        compression.change(&CompressionChange::BySuffix(
            vec![Coding::Brotli],
            "svg".into(),
        ));
        let rows = [
            (Coding::Gzip, "Text/HTML; charset=utf-8", "x.html", true),
            (Coding::Gzip, "image/png", "x.png", false),
            (Coding::Gzip, "tex", "x", false),
            (Coding::Brotli, "text/html", "x.html", false),
            (Coding::Brotli, "image/svg+xml", "/a/x.SVG", true),
            (Coding::Brotli, "image/svg+xml", "/a/svg", false),
        ];
        for (coding, media_type, file, expected) in rows {
            let offered = compression.offers(coding, media_type, file.as_bytes());
            assert_eq!(offered, expected, "{coding:?} {media_type} {file}");
        }
    }
}
