//! Decides whether a program's response is compressed, and changes its header accordingly.

use super::vary;
use crate::request::Request;
use mehari_config::{Coding, Compression, Settings, TagRule};
use mehari_http::{accept, status};

/// The plan for a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    pub coding: Option<Coding>,
    level: u32,
    tag: TagRule,
    pub least: u64,
    /// Whether other clients may get another coding.
    varies: bool,
}

/// Makes the plan. `None`: the response is sent unchanged to all clients.
pub fn plan(
    request: &Request<'_>,
    settings: &Settings,
    status: u16,
    lines: &[u8],
    length: Option<u64>,
) -> Option<Plan> {
    let file = request.path();
    let rules = &settings.output.compression;
    if rules.is_off() || status::has_no_body(status) || status == 206 {
        return None;
    }
    let known = ResponseCoding::of(lines);
    let short = length.is_some_and(|length| length < rules.least);
    if short || known.is_coded || known.is_final {
        return None;
    }
    let offered = |coding| offers(rules, coding, known.media_type, file, request, settings);
    if !Coding::ALL.into_iter().any(offered) {
        return None;
    }
    let accepted = request.list("accept-encoding").unwrap_or_default();
    let coding = accept::best(&accepted, offered);
    let coding = coding.filter(|_| !is_set(request, settings, "no-compression"));
    Some(Plan {
        coding,
        level: coding.map_or(0, |coding| rules.level(coding)),
        tag: coding.map_or(TagRule::NoChange, |coding| rules.tag_rule(coding)),
        least: rules.least,
        varies: !is_set(request, settings, "dont-vary") && !vary::names_accept_encoding(lines),
    })
}

/// Returns whether the rules of `Substitute` change the response. `file`: the path whose suffixes
/// count. The rules change neither a part of a
/// file nor a body with a content coding.
pub fn edits(
    request: &Request<'_>,
    file: &[u8],
    settings: &Settings,
    status: u16,
    lines: &[u8],
) -> bool {
    let rules = &settings.output.substitutions;
    if rules.are_off() || status::has_no_body(status) || status == 206 {
        return false;
    }
    let known = ResponseCoding::of(lines);
    let any_status = is_set(request, settings, "filter-errordocs");
    !known.is_coded && rules.are_for(status, known.media_type, file, any_status)
}

/// Returns the media type in the header lines of a response. Empty: the lines have none.
pub fn media_type(lines: &[u8]) -> &str {
    ResponseCoding::of(lines).media_type
}

/// Returns whether the response may be sent in this coding to clients that accept it.
pub fn offers(
    rules: &Compression,
    coding: Coding,
    media_type: &str,
    file: &[u8],
    request: &Request<'_>,
    settings: &Settings,
) -> bool {
    let is_html = || bare(media_type) == "text/html";
    rules.offers(coding, media_type, file)
        && (!is_set(request, settings, "gzip-only-text/html") || is_html())
        && (!rules.always.contains(&coding) || !is_compressed_by_nature(media_type))
        && !is_set(request, settings, coding.prohibition())
}

/// Returns whether a variable is set, by rules for the request, or by `SetEnv` or
/// `PerlSetEnv` for the place.
pub fn is_set(request: &Request<'_>, settings: &Settings, name: &str) -> bool {
    let noted = request
        .rule_state
        .and_then(|state| state.variable(name.as_bytes()));
    let programs = &settings.programs;
    let mut set = programs.set_env.iter().chain(&programs.perl_env);
    noted.is_some() || set.any(|(known, _)| known == name)
}

/// Returns the media type without its parameters.
fn bare(media_type: &str) -> String {
    let bare = media_type.split(';').next().unwrap_or_default();
    bare.trim().to_ascii_lowercase()
}

/// Returns whether the content of a type is already compressed, so that compression is useless.
fn is_compressed_by_nature(media_type: &str) -> bool {
    match bare(media_type).split_once('/') {
        Some(("image", kind)) => {
            !["svg+xml", "bmp", "x-icon", "vnd.microsoft.icon"].contains(&kind)
        }
        Some(("audio" | "video", _)) => true,
        Some(("font", kind)) => kind.starts_with("woff"),
        Some(("application", kind)) => [
            "zip",
            "gzip",
            "x-gzip",
            "x-bzip2",
            "x-xz",
            "zstd",
            "x-7z-compressed",
            "x-rar-compressed",
            "vnd.rar",
            "java-archive",
            "pdf",
        ]
        .contains(&kind),
        _ => false,
    }
}

/// The properties of a response that decide about compression, from its header lines.
struct ResponseCoding<'a> {
    media_type: &'a str,
    /// Whether the response has a Content-Encoding or is a range.
    is_coded: bool,
    /// Whether the response has `Cache-Control: no-transform`.
    is_final: bool,
}

impl<'a> ResponseCoding<'a> {
    fn of(lines: &'a [u8]) -> ResponseCoding<'a> {
        let mut known = ResponseCoding {
            media_type: "",
            is_coded: false,
            is_final: false,
        };
        for (name, value) in fields(lines) {
            let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
            match name.len() {
                12 if is("content-type") => {
                    known.media_type = std::str::from_utf8(value).unwrap_or_default();
                }
                13 if is("content-range") => known.is_coded = true,
                13 if is("cache-control") => {
                    let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                    known.is_final |= words.any(|word| word.eq_ignore_ascii_case(b"no-transform"));
                }
                16 if is("content-encoding") => {
                    known.is_coded |= !value.eq_ignore_ascii_case(b"identity");
                }
                _ => {}
            }
        }
        known
    }
}

fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

impl Plan {
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Returns the header lines of the response in this coding.
    pub fn header(&self, coding: Option<Coding>, said: &[u8]) -> Vec<u8> {
        let mut lines = Vec::with_capacity(said.len() + 64);
        for line in said.split_inclusive(|byte| *byte == b'\n') {
            let end = memchr::memchr(b':', line).unwrap_or(line.len());
            let is = |name: &str| line[..end].eq_ignore_ascii_case(name.as_bytes());
            match coding {
                // These fields describe the uncompressed bytes and are dropped.
                Some(_)
                    if [
                        "content-length",
                        "accept-ranges",
                        "content-md5",
                        "content-encoding",
                    ]
                    .into_iter()
                    .any(is) => {}
                Some(coding) if is("etag") => push_tag(&mut lines, line, end, self.tag, coding),
                _ => lines.extend_from_slice(line),
            }
        }
        if self.varies {
            lines.extend_from_slice(vary::LINE);
        }
        if let Some(coding) = coding {
            lines.extend_from_slice(b"Content-Encoding: ");
            lines.extend_from_slice(coding.name().as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
        lines
    }
}

fn push_tag(lines: &mut Vec<u8>, line: &[u8], end: usize, rule: TagRule, coding: Coding) {
    let value = line.get(end + 1..).unwrap_or_default().trim_ascii();
    let value = match (rule, value.strip_suffix(b"\"")) {
        (TagRule::Remove, _) => return,
        (TagRule::AddSuffix, Some(start)) => {
            [start, b"-", coding.name().as_bytes(), b"\""].concat()
        }
        (TagRule::Weak, _) if !value.starts_with(b"W/") => [b"W/", value].concat(),
        _ => value.to_vec(),
    };
    lines.extend_from_slice(b"ETag: ");
    lines.extend_from_slice(&value);
    lines.extend_from_slice(b"\r\n");
}
