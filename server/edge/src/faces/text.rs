//! Encodes texts for URLs, XML, quoted strings and header fields, and decodes such texts.

use super::Current;
use mehari_text::percent::ByteSet;
use mehari_text::{html, percent};
use mlua::{Lua, Result, String as LuaString, Table, Value};
use std::fmt::Write;
use std::rc::Rc;

const LETTERS_AND_DIGITS: &ByteSet = &ByteSet::letters_digits_and(b"");
/// The bytes that lighttpd leaves unencoded in a part of a path. The next constant is the set for a
/// part of a query.
const OF_PATH: &ByteSet = &ByteSet::letters_digits_and(b"!()*-./_~");
const OF_QUERY: &ByteSet = &ByteSet::letters_digits_and(b" !$()*,-./:?@_~");

type Change = fn(&[u8]) -> Vec<u8>;

pub fn install(lua: &Lua, host: &Table, _: &Rc<Current>) -> Result<()> {
    const CHANGES: &[(&str, Change)] = &[
        ("urlenc", |text| percent::encode(text, OF_PATH)),
        ("urldec", percent::decode_lenient),
        ("urlenc_normalize", normalize),
        ("fspath_simplify", simplify),
        ("xmlenc", |text| {
            let mut escaped = Vec::with_capacity(text.len());
            html::push(text, "&#x27;", &mut escaped);
            escaped
        }),
        ("quotedenc", quote),
        ("quoteddec", unquote),
        ("bsenc", |text| backslashed(text, false)),
        ("bsenc_json", |text| backslashed(text, true)),
        ("bsdec", unbackslash),
    ];
    for (name, change) in CHANGES {
        host.set(
            *name,
            lua.create_function(move |lua, text: LuaString| {
                lua.create_string(change(&text.as_bytes()))
            })?,
        )?;
    }
    host.set("urldec_query", lua.create_function(named_arguments)?)?;
    host.set("urlenc_query", lua.create_function(query)?)?;
    host.set(
        "cookie_tokens",
        lua.create_function(|lua, text: Option<LuaString>| {
            let table = lua.create_table()?;
            let Some(text) = text else { return Ok(table) };
            let text = text.as_bytes();
            for crumb in text.split(|byte| *byte == b';') {
                let crumb = crumb.trim_ascii();
                let at = memchr::memchr(b'=', crumb).unwrap_or(crumb.len());
                let value = crumb.get(at + 1..).unwrap_or_default();
                if at > 0 {
                    let name = lua.create_string(&crumb[..at])?;
                    table.raw_set(name, lua.create_string(value)?)?;
                }
            }
            Ok(table)
        })?,
    )?;
    host.set(
        "header_tokens",
        lua.create_function(|lua, text: Option<LuaString>| {
            let text = text
                .map(|text| text.as_bytes().to_vec())
                .unwrap_or_default();
            let tokens = tokens(&text);
            tokens
                .into_iter()
                .map(|token| lua.create_string(token))
                .collect::<Result<Vec<_>>>()
        })?,
    )
}

/// Returns the arguments of a query by name. If a name occurs several times, its last value counts.
fn named_arguments(lua: &Lua, query: Option<LuaString>) -> Result<Table> {
    let table = lua.create_table()?;
    let Some(query) = query else { return Ok(table) };
    let decoded = |part: &[u8]| lua.create_string(percent::decode_lenient(&blanks(part)));
    let query = query.as_bytes();
    let arguments = query.split(|byte| *byte == b'&');
    for argument in arguments.filter(|argument| !argument.is_empty()) {
        let at = memchr::memchr(b'=', argument).unwrap_or(argument.len());
        let value = argument.get(at + 1..).unwrap_or_default();
        table.raw_set(decoded(&argument[..at])?, decoded(value)?)?;
    }
    Ok(table)
}

/// Makes a query from the table's named arguments. Other entries are ignored, as in lighttpd.
fn query(lua: &Lua, arguments: Value) -> Result<LuaString> {
    let mut query = Vec::new();
    let encoded = |part: &LuaString| percent::encode(&part.as_bytes(), OF_QUERY);
    let pairs = arguments.as_table().map(|table| table.pairs());
    for pair in pairs.into_iter().flatten() {
        let (name, value): (LuaString, LuaString) = pair?;
        if !query.is_empty() {
            query.push(b'&');
        }
        query.extend(encoded(&name));
        query.push(b'=');
        query.extend(encoded(&value));
    }
    query
        .iter_mut()
        .filter(|byte| **byte == b' ')
        .for_each(|byte| *byte = b'+');
    lua.create_string(query)
}

/// Turns each `+` into a blank, which `+` stands for in a query.
fn blanks(query: &[u8]) -> Vec<u8> {
    let blank = |&byte: &u8| if byte == b'+' { b' ' } else { byte };
    query.iter().map(blank).collect()
}

/// Normalizes a path and its query: only necessary bytes stay encoded, with upper-case digits.
fn normalize(text: &[u8]) -> Vec<u8> {
    let (path, query) = match memchr::memchr(b'?', text) {
        Some(at) => text.split_at(at),
        None => (text, &[][..]),
    };
    let mut whole = percent::encode_path(&percent::decode_lenient(path));
    if let Some((_, query)) = query.split_first() {
        whole.push(b'?');
        let mut at = 0;
        while let Some(&byte) = query.get(at) {
            let encoded = query.get(at..at + 3).filter(|_| byte == b'%');
            let decoded = encoded.map(percent::decode_lenient);
            match decoded.as_deref() {
                Some([one]) if one.is_ascii_alphanumeric() || b"-._~".contains(one) => {
                    whole.push(*one);
                    at += 3;
                }
                Some([_]) => {
                    whole.extend_from_slice(&query[at..at + 3].to_ascii_uppercase());
                    at += 3;
                }
                _ => {
                    if byte.is_ascii_graphic() && !b"\"<>#".contains(&byte) {
                        whole.push(byte)
                    } else {
                        whole.extend_from_slice(&percent::encode(&[byte], LETTERS_AND_DIGITS))
                    }
                    at += 1;
                }
            }
        }
    }
    whole
}

/// Removes `//`, `/./` and `/../` from a path. The result never leads above the root.
fn simplify(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut ends_in_folder = false;
    for part in path.split(|byte| *byte == b'/') {
        ends_in_folder = matches!(part, b"" | b"." | b"..");
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut simple = if path.starts_with(b"/") {
        b"/".to_vec()
    } else {
        Vec::new()
    };
    simple.extend_from_slice(&parts.join(&b'/'));
    if ends_in_folder && !parts.is_empty() {
        simple.push(b'/');
    }
    simple
}

/// Makes a quoted-string (RFC 9110 section 5.6.4).
fn quote(text: &[u8]) -> Vec<u8> {
    let mut quoted = b"\"".to_vec();
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    quoted
}

fn unquote(text: &[u8]) -> Vec<u8> {
    let inner = text
        .strip_prefix(b"\"")
        .and_then(|text| text.strip_suffix(b"\""));
    let Some(inner) = inner else {
        return text.to_vec();
    };
    let mut plain = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => plain.extend(bytes.next()),
            byte => plain.push(*byte),
        }
    }
    plain
}

fn backslashed(text: &[u8], json: bool) -> Vec<u8> {
    let mut escaped = String::with_capacity(text.len());
    let mut bytes = Vec::with_capacity(text.len());
    for &byte in text {
        escaped.clear();
        match byte {
            b'"' => escaped.push_str("\\\""),
            b'\\' => escaped.push_str("\\\\"),
            b'\n' => escaped.push_str("\\n"),
            b'\r' => escaped.push_str("\\r"),
            b'\t' => escaped.push_str("\\t"),
            8 if json => escaped.push_str("\\b"),
            12 if json => escaped.push_str("\\f"),
            0..=31 | 127 if json => drop(write!(escaped, "\\u{byte:04X}")),
            0..=31 | 127 => drop(write!(escaped, "\\x{byte:02X}")),
            byte => {
                bytes.push(byte);
                continue;
            }
        }
        bytes.extend_from_slice(escaped.as_bytes());
    }
    bytes
}

fn unbackslash(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        let Some((&kind, behind)) = rest.split_first().filter(|_| byte == b'\\') else {
            plain.push(byte);
            continue;
        };
        rest = behind;
        let coded = |length: usize, rest: &[u8]| {
            let digits = std::str::from_utf8(rest.get(..length)?).ok()?;
            u32::from_str_radix(digits, 16).ok()
        };
        match kind {
            b'n' => plain.push(b'\n'),
            b'r' => plain.push(b'\r'),
            b't' => plain.push(b'\t'),
            b'b' => plain.push(8),
            b'f' => plain.push(12),
            b'x' if coded(2, rest).is_some() => {
                plain.push(coded(2, rest).unwrap_or_default() as u8);
                rest = &rest[2..];
            }
            b'u' if coded(4, rest).is_some() => {
                let letter = char::from_u32(coded(4, rest).unwrap_or_default());
                let mut utf8 = [0; 4];
                let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
                plain.extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
                rest = &rest[4..];
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Splits a field into tokens and separators as lighttpd does: words, quoted strings, and each of
/// `,;=`.
fn tokens(text: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let start = at;
        at += 1;
        match byte {
            b' ' | b'\t' => continue,
            b',' | b';' | b'=' => tokens.push(vec![byte]),
            b'"' => {
                while let Some(&byte) = text.get(at) {
                    at += 1 + usize::from(byte == b'\\');
                    if byte == b'"' {
                        break;
                    }
                }
                tokens.push(text[start..at.min(text.len())].to_vec());
            }
            _ => {
                let end = |byte: &u8| b" \t,;=\"".contains(byte);
                at += text[at..].iter().position(end).unwrap_or(text.len() - at);
                tokens.push(text[start..at].to_vec());
            }
        }
    }
    tokens
}
