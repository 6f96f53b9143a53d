//! Finds media type, character set, languages and content codings by a file's name, as Apache's
//! mod_mime does. Every suffix of a name counts. The last type and the last character set are used.
//! No character set is added by default, and a name without a known suffix gets no type.

use mehari_config::Settings;
use std::borrow::Cow;

pub fn media_type<'a>(name: &[u8], settings: &'a Settings) -> Option<Cow<'a, str>> {
    let named = type_by_name(name, settings)?;
    Some(match default_charset(named.as_bytes(), settings) {
        Some(charset) => format!("{named}; charset={charset}").into(),
        None => named,
    })
}

/// Returns the media type without the default character set, which is added to a response only when
/// no handler has set another type.
pub fn type_by_name<'a>(name: &[u8], settings: &'a Settings) -> Option<Cow<'a, str>> {
    let bare = match &settings.media.force_type {
        Some(forced) => Some(forced.as_str()),
        None => suffixes(name)
            .rev()
            .find_map(|suffix| of_suffix(suffix, settings)),
    }?;
    let charset = charset(name, settings).filter(|_| !names_charset(bare.as_bytes()));
    Some(match charset {
        Some(charset) => format!("{bare}; charset={charset}").into(),
        None => bare.into(),
    })
}

/// Returns the default character set if a response of this type gets it (`AddDefaultCharset`):
/// text/plain and text/html without a character set.
pub fn default_charset<'a>(media_type: &[u8], settings: &'a Settings) -> Option<&'a str> {
    let charset = settings.media.default_charset.as_deref()?;
    let end = memchr::memchr(b';', media_type).unwrap_or(media_type.len());
    let bare = media_type[..end].trim_ascii();
    let takes = bare.eq_ignore_ascii_case(b"text/plain") || bare.eq_ignore_ascii_case(b"text/html");
    (takes && !names_charset(media_type)).then_some(charset)
}

/// The name of the field Content-Type, with its colon.
const TYPE_NAME: &[u8] = b"content-type:";

/// Adds the default character set to the Content-Type in the header lines of a program.
pub fn add_default_charset(lines: &mut Vec<u8>, settings: &Settings) {
    if settings.media.default_charset.is_none() {
        return;
    }
    let mut at = 0;
    while at < lines.len() {
        let rest = &lines[at..];
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest[..length].trim_ascii_end();
        let is_type =
            line.len() > TYPE_NAME.len() && line[..TYPE_NAME.len()].eq_ignore_ascii_case(TYPE_NAME);
        let charset = is_type
            .then(|| default_charset(&line[TYPE_NAME.len()..], settings))
            .flatten();
        let end = at + line.len();
        at += length;
        if let Some(charset) = charset {
            let parameter = format!("; charset={charset}");
            at += parameter.len();
            lines.splice(end..end, parameter.into_bytes());
        }
    }
}

/// Adds a Content-Type to the header lines of a program that has printed none. As in Apache, the
/// type is that of the program's file by its name.
pub fn add_type_by_name(lines: &mut Vec<u8>, file: &[u8], settings: &Settings) {
    if lines.split_inclusive(|byte| *byte == b'\n').any(is_type) {
        return;
    }
    if let Some(media_type) = type_by_name(file, settings) {
        lines.extend_from_slice(format!("Content-Type: {media_type}\r\n").as_bytes());
    }
}

/// Removes the Content-Type from the header lines of a program whose response has no body. As in
/// Apache, there is no content that the field could describe.
pub fn remove_type(lines: &mut Vec<u8>) {
    let every = || lines.split_inclusive(|byte| *byte == b'\n');
    if every().any(is_type) {
        *lines = every()
            .filter(|line| !is_type(line))
            .flatten()
            .copied()
            .collect();
    }
}

fn is_type(line: &[u8]) -> bool {
    let name = line.get(..TYPE_NAME.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(TYPE_NAME))
}

fn names_charset(media_type: &[u8]) -> bool {
    let parameter = b"charset=";
    let mut places = media_type.windows(parameter.len());
    places.any(|place| place.eq_ignore_ascii_case(parameter))
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

/// Returns the character set of the last suffix that names one (`AddCharset`).
fn charset<'a>(name: &[u8], settings: &'a Settings) -> Option<&'a str> {
    let known = &settings.media.charsets;
    if known.is_empty() {
        return None;
    }
    let mut suffixes = suffixes(name).rev();
    suffixes.find_map(|suffix| meaning(known, suffix))
}

/// Returns the content codings of all suffixes (`AddEncoding`).
pub fn encoding(name: &[u8], settings: &Settings) -> Option<String> {
    let known = &settings.media.encodings;
    if known.is_empty() {
        return None;
    }
    let codings = suffixes(name).filter_map(|suffix| meaning(known, suffix));
    joined(&codings.collect::<Vec<_>>())
}

/// Returns the value of Content-Language: the languages of all suffixes (`AddLanguage`), or else
/// `DefaultLanguage`.
pub fn language(name: &[u8], settings: &Settings) -> Option<String> {
    let known = &settings.media.languages;
    let tags = suffixes(name).filter_map(|suffix| meaning(known, suffix));
    let tags: Vec<&str> = tags.collect();
    let named = (!tags.is_empty()).then(|| tags.join(","));
    named.or_else(|| settings.media.default_language.clone())
}

/// The properties of the content that a file's name gives, and the parts of the name without a
/// meaning.
pub struct NameMeaning<'a> {
    /// The media type without a character set.
    pub media_type: Option<&'a str>,
    pub charset: Option<&'a str>,
    pub languages: Vec<&'a str>,
    encodings: Vec<&'a str>,
    /// The first part of the name, and the suffixes that are unknown and not skipped.
    pub unknown: Vec<&'a [u8]>,
    /// Whether at least one suffix is known or skipped.
    pub is_known: bool,
}

impl<'a> NameMeaning<'a> {
    pub fn of(name: &'a [u8], settings: &'a Settings) -> NameMeaning<'a> {
        let media = &settings.media;
        let mut found = NameMeaning {
            media_type: None,
            charset: None,
            languages: Vec::new(),
            encodings: Vec::new(),
            unknown: Vec::new(),
            is_known: false,
        };
        let mut parts = name.split(|byte| *byte == b'.');
        found.unknown.extend(parts.next());
        for part in parts.filter(|part| !part.is_empty()) {
            let suffix = std::str::from_utf8(part).unwrap_or_default();
            let media_type = of_suffix(suffix, settings);
            let charset = meaning(&media.charsets, suffix);
            let language = meaning(&media.languages, suffix);
            let encoding = meaning(&media.encodings, suffix);
            found.media_type = media_type.or(found.media_type);
            found.charset = charset.or(found.charset);
            found.languages.extend(language);
            found.encodings.extend(encoding);
            let says = [media_type, charset, language, encoding];
            if says.iter().any(Option::is_some) || is_skipped(suffix, settings) {
                found.is_known = true;
            } else {
                found.unknown.push(part);
            }
        }
        if found.languages.is_empty() {
            found.languages.extend(media.default_language.as_deref());
        }
        found.media_type = media.force_type.as_deref().or(found.media_type);
        found
    }

    pub fn encoding(&self) -> Option<String> {
        joined(&self.encodings)
    }
}

/// Returns whether MultiViews skips this suffix (`MultiviewsMatch`).
fn is_skipped(suffix: &str, settings: &Settings) -> bool {
    let skipped = settings.negotiation.skipped;
    let is_it = |known: &str| known.eq_ignore_ascii_case(suffix);
    let mut handled = settings.handlers.by_suffix.iter();
    let mut filtered = settings.output.includes.suffixes.iter();
    skipped.all
        || (skipped.of_handlers && handled.any(|(known, _)| is_it(known)))
        || (skipped.of_filters && filtered.any(|known| is_it(known)))
}

fn joined(values: &[&str]) -> Option<String> {
    (!values.is_empty()).then(|| values.join(", "))
}

fn meaning<'a>(list: &'a [(String, String)], suffix: &str) -> Option<&'a str> {
    let mut known = list.iter();
    let found = known.find(|(known, _)| known.eq_ignore_ascii_case(suffix));
    found.map(|(_, value)| value.as_str())
}

/// Returns the text after the last dot of the last segment.
pub fn suffix(name: &[u8]) -> Option<&str> {
    suffixes(name).next_back()
}

/// Returns the suffixes of the last segment in order. The name `.x` has no suffix.
pub fn suffixes(name: &[u8]) -> impl DoubleEndedIterator<Item = &str> {
    let start = memchr::memrchr(b'/', name).map_or(0, |slash| slash + 1);
    let last = &name[start..];
    let first = memchr::memchr(b'.', last).map_or(last.len(), |dot| dot + 1);
    let parts = last[first..].split(|byte| *byte == b'.');
    let parts = parts.filter(|part| !part.is_empty());
    parts.filter_map(|part| std::str::from_utf8(part).ok())
}
