//! HPACK, RFC 7541, without a dynamic table on either side.

use super::huffman;
use crate::request::Fields;

/// Appendix A, as far as it is needed: names, and the values that have an entry of their own.
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The block of a request.
pub fn request(fields: &Fields, tls: bool) -> Vec<u8> {
    let mut out = Vec::new();
    field(&mut out, ":method", &fields.method);
    field(&mut out, ":scheme", if tls { "https" } else { "http" });
    field(&mut out, ":authority", &fields.authority);
    field(&mut out, ":path", &fields.path);
    for (name, value) in &fields.others {
        field(&mut out, name, value);
    }
    out
}

/// One field: indexed where the static table has it whole, else a literal that is not to be indexed.
pub fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    if let Some(place) = STATIC.iter().position(|entry| *entry == (name, value)) {
        return integer(out, 0x80, 7, place + 1);
    }
    match STATIC.iter().position(|(known, _)| *known == name) {
        Some(place) => integer(out, 0, 4, place + 1),
        None => {
            out.push(0);
            string(out, name);
        }
    }
    string(out, value);
}

fn string(out: &mut Vec<u8>, text: &str) {
    integer(out, 0, 7, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Section 5.1.
fn integer(out: &mut Vec<u8>, pattern: u8, bits: u32, value: usize) {
    let most = (1usize << bits) - 1;
    if value < most {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        out.push((rest % 128) as u8 | 0x80);
        rest /= 128;
    }
    out.push(rest as u8);
}

/// The `:status` of a response's block; `None` when there is none to be read.
pub fn status(block: &[u8]) -> Option<u16> {
    // Nearly always the first byte is an entry of the static table.
    if let Some(index @ 0x88..=0x8e) = block.first() {
        return STATIC[usize::from(index & 0x7f) - 1].1.parse().ok();
    }
    let mut found = None;
    decode(block, |name, value| {
        if name == ":status" {
            found = value.parse::<u16>().ok();
        }
    })?;
    found.filter(|status| (100..1000).contains(status))
}

/// The block as HTTP/1 would have said it, for those who look into heads.
pub fn as_text(block: &[u8]) -> String {
    let (mut status, mut fields) = (String::new(), String::new());
    decode(block, |name, value| match name {
        ":status" => status = value.to_string(),
        _ => fields.push_str(&format!("{name}: {value}\r\n")),
    });
    format!("HTTP/2 {status}\r\n{fields}\r\n")
}

/// Calls `each` with every field; `None` when the block is not HPACK or needs a dynamic table.
fn decode(mut block: &[u8], mut each: impl FnMut(&str, &str)) -> Option<()> {
    while let Some(first) = block.first().copied() {
        if first & 0x80 != 0 {
            let (name, value) = *STATIC.get(take_integer(&mut block, 7)?.checked_sub(1)?)?;
            each(name, value);
        } else if first & 0xe0 == 0x20 {
            // A change of the dynamic table's size: to the nothing we asked for.
            take_integer(&mut block, 5)?;
        } else {
            let bits = if first & 0x40 != 0 { 6 } else { 4 };
            let index = take_integer(&mut block, bits)?;
            let name = match index {
                0 => take_string(&mut block)?,
                index => STATIC.get(index - 1)?.0.to_string(),
            };
            let value = take_string(&mut block)?;
            each(&name, &value);
        }
    }
    Some(())
}

fn take_integer(block: &mut &[u8], bits: u32) -> Option<usize> {
    let (first, mut rest) = block.split_first()?;
    let most = (1usize << bits) - 1;
    let mut value = usize::from(*first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            value = value.checked_add(usize::from(byte & 0x7f).checked_shl(shift)?)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
            if shift > 28 {
                return None;
            }
        }
    }
    *block = rest;
    Some(value)
}

fn take_string(block: &mut &[u8]) -> Option<String> {
    let coded = block.first()? & 0x80 != 0;
    let length = take_integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length)?;
    *block = rest;
    match coded {
        true => Some(huffman::decode(bytes)),
        false => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}
