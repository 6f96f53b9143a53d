//! Properties by file name: media type, character set, content coding. Every suffix counts, and the
//! last of each kind wins (Apache's mod_mime). As in Apache, no character set is added by default,
//! and a name without a known suffix gets no type.

use mehari_config::Settings;
use std::borrow::Cow;

pub fn media_type<'a>(name: &[u8], settings: &'a Settings) -> Option<Cow<'a, str>> {
    let media = &settings.media;
    let bare = match &media.force_type {
        Some(forced) => Some(forced.as_str()),
        None => suffixes(name)
            .rev()
            .find_map(|suffix| of_suffix(suffix, settings)),
    }?;
    let charset = if bare.contains(';') {
        None
    } else {
        charset(name, bare, settings)
    };
    Some(match charset {
        Some(charset) => format!("{bare}; charset={charset}").into(),
        None => bare.into(),
    })
}

fn of_suffix<'a>(suffix: &str, settings: &'a Settings) -> Option<&'a str> {
    let mut types = settings.files.types.iter();
    if let Some((_, known)) = types.find(|(known, _)| known.eq_ignore_ascii_case(suffix)) {
        return Some(known);
    }
    let is_it = |known: &&String| known.eq_ignore_ascii_case(suffix);
    if settings
        .media
        .removed_types
        .iter()
        .any(|known| is_it(&known))
    {
        return None;
    }
    match &settings.media.types {
        Some(types) => types.of(suffix),
        None => mime_guess::from_ext(suffix).first_raw(),
    }
}

fn charset<'a>(name: &[u8], media_type: &str, settings: &'a Settings) -> Option<&'a str> {
    let media = &settings.media;
    let of_suffix = || lookup(&media.charsets, name);
    let by_default = || {
        let takes = media_type == "text/plain" || media_type == "text/html";
        media.default_charset.as_deref().filter(|_| takes)
    };
    if media.charsets.is_empty() {
        by_default()
    } else {
        of_suffix().or_else(by_default)
    }
}

/// `AddEncoding`: the content coding of a suffix.
pub fn encoding<'a>(name: &[u8], settings: &'a Settings) -> Option<&'a str> {
    if settings.media.encodings.is_empty() {
        None
    } else {
        lookup(&settings.media.encodings, name)
    }
}

fn lookup<'a>(list: &'a [(String, String)], name: &[u8]) -> Option<&'a str> {
    suffixes(name).rev().find_map(|suffix| {
        let mut known = list.iter();
        let found = known.find(|(known, _)| known.eq_ignore_ascii_case(suffix));
        found.map(|(_, value)| value.as_str())
    })
}

/// The text behind the last dot of the last segment.
pub fn suffix(name: &[u8]) -> Option<&str> {
    suffixes(name).next_back()
}

/// The suffixes of the last segment, in order. `.x` alone is a name without suffix.
pub fn suffixes(name: &[u8]) -> impl DoubleEndedIterator<Item = &str> {
    let start = memchr::memrchr(b'/', name).map_or(0, |slash| slash + 1);
    let last = &name[start..];
    let first = memchr::memchr(b'.', last).map_or(last.len(), |dot| dot + 1);
    let parts = last[first..].split(|byte| *byte == b'.');
    let parts = parts.filter(|part| !part.is_empty());
    parts.filter_map(|part| std::str::from_utf8(part).ok())
}
