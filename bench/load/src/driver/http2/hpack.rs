//! Encodes requests and decodes responses with HPACK (RFC 7541). The first request of a connection
//! enters the fields that all requests share into the server's dynamic table. Later requests refer
//! to these fields by number. Responses use no dynamic table.
//!
//! The blocks are rendered once before the run. A library would encode every request anew.

use super::huffman;
use crate::request::Fields;

/// The static table (RFC 7541 appendix A). An empty text means that the entry has no value.
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

/// The header block of one request in three encodings.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// For the first request of a connection. This block enters the common fields into the table.
    pub first: Vec<u8>,
    /// For later requests of the connection.
    pub later: Vec<u8>,
    /// For a server without a dynamic table.
    pub plain: Vec<u8>,
}

/// The default size of the dynamic table in bytes, and what an entry counts in addition to its
/// text.
pub const TABLE: usize = 4096;
const ENTRY: usize = 32;

type Field = (String, String);

/// Returns the fields of a request in sending order.
fn list(fields: &Fields, tls: bool) -> Vec<Field> {
    let scheme = if tls { "https" } else { "http" };
    let pseudo = [
        (":method", fields.method.as_str()),
        (":scheme", scheme),
        (":authority", fields.authority.as_str()),
        (":path", fields.path.as_str()),
    ];
    let pseudo = pseudo.map(|(name, value)| (name.to_string(), value.to_string()));
    pseudo
        .into_iter()
        .chain(fields.others.iter().cloned())
        .collect()
}

/// Returns the blocks of all requests to one endpoint.
pub fn requests<'f>(all: impl Iterator<Item = &'f Fields>, tls: bool) -> Vec<Block> {
    let lists: Vec<Vec<Field>> = all.map(|fields| list(fields, tls)).collect();
    let common = common(&lists);
    lists.iter().map(|list| block(list, &common)).collect()
}

/// Returns the fields that all requests share, as far as the table can hold them. Returns no fields
/// if the requests have them in different orders.
fn common(lists: &[Vec<Field>]) -> Vec<Field> {
    let Some(first) = lists.first() else {
        return Vec::new();
    };
    let mut room = TABLE;
    let mut common: Vec<Field> = Vec::new();
    for field in first {
        let size = field.0.len() + field.1.len() + ENTRY;
        let once = |list: &Vec<Field>| list.iter().filter(|other| *other == field).count() == 1;
        if static_place(field).is_none() && size <= room && lists.iter().all(once) {
            room -= size;
            common.push(field.clone());
        }
    }
    let in_order = |list: &Vec<Field>| {
        let kept = list.iter().filter(|field| common.contains(field));
        kept.eq(common.iter())
    };
    if lists.iter().all(in_order) {
        common
    } else {
        Vec::new()
    }
}

fn static_place((name, value): &Field) -> Option<usize> {
    STATIC
        .iter()
        .position(|entry| *entry == (name.as_str(), value.as_str()))
}

fn block(list: &[Field], common: &[Field]) -> Block {
    let mut block = Block::default();
    for one in list {
        field(&mut block.plain, &one.0, &one.1);
        match common.iter().position(|other| other == one) {
            Some(place) => {
                literal(&mut block.first, INDEXED, &one.0, &one.1);
                // The entry that was added last has the lowest number.
                let number = STATIC.len() + common.len() - place;
                integer(&mut block.later, 0x80, 7, number);
            }
            None => {
                field(&mut block.first, &one.0, &one.1);
                field(&mut block.later, &one.0, &one.1);
            }
        }
    }
    block
}

/// Encodes one field: as an index if the static table has the name with this value, otherwise as a
/// literal without indexing.
pub fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    if let Some(place) = STATIC.iter().position(|entry| *entry == (name, value)) {
        return integer(out, 0x80, 7, place + 1);
    }
    literal(out, UNINDEXED, name, value);
}

/// The kind of a literal: the first bits of its first byte.
#[derive(Clone, Copy)]
struct LiteralKind {
    pattern: u8,
    /// How many bits of the first byte hold the index of the name.
    number_bits: u32,
}

/// The decoder adds the field to its table (section 6.2.1).
const INDEXED: LiteralKind = LiteralKind {
    pattern: 0x40,
    number_bits: 6,
};
/// The decoder's table stays as it is (section 6.2.2).
const UNINDEXED: LiteralKind = LiteralKind {
    pattern: 0,
    number_bits: 4,
};

/// Encodes a literal (section 6.2). If the static table has the name, the name's index is written
/// instead.
fn literal(out: &mut Vec<u8>, kind: LiteralKind, name: &str, value: &str) {
    match STATIC.iter().position(|(known, _)| *known == name) {
        Some(place) => integer(out, kind.pattern, kind.number_bits, place + 1),
        None => {
            out.push(kind.pattern);
            string(out, name);
        }
    }
    string(out, value);
}

fn string(out: &mut Vec<u8>, text: &str) {
    integer(out, 0, 7, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Encodes an integer (section 5.1).
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

/// Returns the `:status` of a response's block; `None` if the block has no readable status.
pub fn status(block: &[u8]) -> Option<u16> {
    // The first byte is nearly always the index of a `:status` entry in the static table.
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

/// Decodes the block into an HTTP/1 head, for observers and cookie jars.
pub fn as_text(block: &[u8]) -> String {
    let (mut status, mut fields) = (String::new(), String::new());
    decode(block, |name, value| match name {
        ":status" => status = value.to_string(),
        _ => fields.push_str(&format!("{name}: {value}\r\n")),
    });
    format!("HTTP/2 {status}\r\n{fields}\r\n")
}

/// Calls `each` with every field; `None` if the block is not HPACK or needs a dynamic table.
fn decode(mut block: &[u8], mut each: impl FnMut(&str, &str)) -> Option<()> {
    while let Some(first) = block.first().copied() {
        if first & 0x80 != 0 {
            let (name, value) = *STATIC.get(take_integer(&mut block, 7)?.checked_sub(1)?)?;
            each(name, value);
        } else if first & 0xe0 == 0x20 {
            // A change of the dynamic table's size. The settings allow size 0 only.
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
    if coded {
        Some(huffman::decode(bytes))
    } else {
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
