//! Writes the header fields of a negotiated response, and the list of variants of a 300 or 406.

use super::{Choice, Variant};
use mehari_text::{html, percent};
use std::fmt::Write;

/// Returns the lines of Alternates, Vary, TCN and Content-Location, each with its line end.
pub fn fields(variants: &[Variant], choice: &Choice) -> String {
    let mut lines = String::new();
    let chosen = choice.variant.filter(|_| choice.is_transparent);
    if let Some(variant) = chosen.and_then(|at| variants.get(at)) {
        let _ = write!(lines, "Content-Location: {}\r\n", segment(&variant.name));
    }
    if choice.has_alternates && !variants.is_empty() {
        let all: Vec<String> = variants.iter().map(alternate).collect();
        let _ = write!(lines, "Alternates: {}\r\n", all.join(", "));
    }
    let vary = vary(variants, choice.is_transparent);
    if !vary.is_empty() {
        let _ = write!(lines, "Vary: {}\r\n", vary.join(","));
    }
    if choice.is_transparent {
        let said = if choice.variant.is_some() {
            "choice"
        } else {
            "list"
        };
        let _ = write!(lines, "TCN: {said}\r\n");
    }
    lines
}

/// Returns the request fields by which the variants differ.
fn vary(variants: &[Variant], is_transparent: bool) -> Vec<&'static str> {
    let Some(first) = variants.first() else {
        return Vec::new();
    };
    let coding = |variant: &Variant| variant.encoding.clone().unwrap_or_default();
    let differs = |is_same: &dyn Fn(&Variant) -> bool| !variants.iter().all(is_same);
    let all = [
        (is_transparent, "negotiate"),
        (
            differs(&|other| other.media_type == first.media_type),
            "accept",
        ),
        (
            differs(&|other| other.languages == first.languages),
            "accept-language",
        ),
        (
            differs(&|other| other.charset == first.charset),
            "accept-charset",
        ),
        (
            differs(&|other| coding(other) == coding(first)),
            "accept-encoding",
        ),
    ];
    let named = all.into_iter().filter(|(differs, _)| *differs);
    named.map(|(_, name)| name).collect()
}

/// Returns the description of a variant (RFC 2295 section 5.1).
fn alternate(variant: &Variant) -> String {
    let quality = format!("{:.3}", variant.source_quality);
    let quality = quality.trim_end_matches('0').trim_end_matches('.');
    let mut text = format!("{{\"{}\" {quality}", segment(&variant.name));
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(text, " {{{name} {}}}", shown(value.as_bytes()));
        }
    };
    put("type", &variant.media_type);
    put("charset", &variant.charset);
    put("language", &variant.languages.join(","));
    put("encoding", variant.encoding.as_deref().unwrap_or_default());
    if let Some(length) = variant.length.filter(|_| !variant.is_handled) {
        put("length", &length.to_string());
    }
    text.push('}');
    text
}

/// Returns the list of variants in HTML, for people.
pub fn list(variants: &[Variant]) -> String {
    let mut text = String::from("Available variants:\n<ul>\n");
    for variant in variants {
        let name = html::escape(&String::from_utf8_lossy(&variant.name));
        let link = html::escape(&segment(&variant.name));
        // The description of a type map may contain markup.
        let description = &variant.description;
        let _ = write!(text, "<li><a href=\"{link}\">{name}</a> {description}");
        let mut put = |what: &str, value: &str| {
            let _ = write!(text, ", {what} {}", html::escape(value));
        };
        let known = [
            ("type", variant.media_type.clone()),
            ("language", variant.languages.join(",")),
            ("charset", variant.charset.clone()),
        ];
        for (what, value) in known.iter().filter(|(_, value)| !value.is_empty()) {
            put(what, value);
        }
        if let Some(coding) = &variant.encoding {
            put("encoding", coding);
        }
        text.push_str("</li>\n");
    }
    text.push_str("</ul>\n");
    text
}

/// Returns the name as one segment of a URL path.
fn segment(name: &[u8]) -> String {
    shown(&percent::encode_path(name)).replace('/', "%2f")
}

/// Returns the text without control characters, which a header field cannot carry.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(|c| !c.is_control()).collect()
}
