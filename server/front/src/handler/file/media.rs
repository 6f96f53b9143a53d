//! The media type of a file name: `AddType` first, then the registered ones. Like Apache we add no
//! charset that nobody configured, and a name without a known suffix gets no type at all.

use mehari_config::Settings;

pub fn media_type<'a>(name: &[u8], settings: &'a Settings) -> Option<&'a str> {
    let suffix = suffix(name)?;
    let mut types = settings.add_type.iter();
    let known = types.find(|(known, _)| known.eq_ignore_ascii_case(suffix));
    match known {
        Some((_, media_type)) => Some(media_type),
        None => mime_guess::from_ext(suffix).first_raw(),
    }
}

/// What follows the last dot of the last segment.
pub fn suffix(name: &[u8]) -> Option<&str> {
    let last = name.rsplit(|&byte| byte == b'/').next()?;
    let dot = memchr::memrchr(b'.', last)?;
    std::str::from_utf8(&last[dot + 1..]).ok()
}
