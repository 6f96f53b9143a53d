//! Reads the field `Authorization: Digest ...` strictly. A repeated or malformed parameter makes
//! the whole field invalid.

use mehari_config::DigestAlgorithm;

/// The largest number of parameters in a field. RFC 7616 defines eleven.
const MOST: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestCredentials {
    pub user: Vec<u8>,
    pub realm: Vec<u8>,
    pub nonce: Vec<u8>,
    pub uri: Vec<u8>,
    pub response: Vec<u8>,
    /// Whether the client sends `opaque`, which no challenge of this server has.
    pub has_opaque: bool,
    /// The algorithm that the client named. `None` means MD5.
    pub algorithm: Option<DigestAlgorithm>,
    /// The parameters that come with `qop=auth`.
    pub quality: Option<Quality>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quality {
    pub client_nonce: Vec<u8>,
    pub count: u32,
    /// The eight digits of the count, as the client wrote them.
    pub written_count: Vec<u8>,
}

impl DigestCredentials {
    /// Reads the field. Returns `None` if the field is malformed or of another scheme.
    pub fn read(field: &[u8]) -> Option<DigestCredentials> {
        let (scheme, rest) = field.split_at(field.iter().position(|byte| *byte == b' ')?);
        if !scheme.eq_ignore_ascii_case(b"digest") {
            return None;
        }
        let mut known = parameters(rest)?;
        let mut take = |name: &str| {
            let at = known.iter().position(|(known, _)| known == name)?;
            Some(known.swap_remove(at).1)
        };
        let algorithm = match take("algorithm") {
            None => None,
            Some(name) => Some(DigestAlgorithm::named(std::str::from_utf8(&name).ok()?)?),
        };
        let quality = match take("qop") {
            None => None,
            Some(word) if word.eq_ignore_ascii_case(b"auth") => Some(quality(&mut take)?),
            Some(_) => return None,
        };
        let user = take("username")?;
        let strange = |byte: &u8| *byte < b' ' || *byte == 0x7f;
        if user.is_empty() || user.iter().any(strange) {
            return None;
        }
        Some(DigestCredentials {
            user,
            realm: take("realm")?,
            nonce: take("nonce")?,
            uri: take("uri")?,
            response: take("response")?,
            has_opaque: take("opaque").is_some(),
            algorithm,
            quality,
        })
    }
}

fn quality(take: &mut impl FnMut(&str) -> Option<Vec<u8>>) -> Option<Quality> {
    let client_nonce = take("cnonce")?;
    let written_count = take("nc")?;
    let text = std::str::from_utf8(&written_count).ok()?;
    let is_count = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let count = u32::from_str_radix(text, 16).ok().filter(|_| is_count)?;
    Some(Quality {
        client_nonce,
        count,
        written_count,
    })
}

/// Returns the parameters: lower-case names, none repeated, with their unquoted values.
fn parameters(mut rest: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        let Some(end) = rest.iter().position(|byte| *byte == b'=') else {
            return rest.is_empty().then_some(found);
        };
        let name = std::str::from_utf8(rest[..end].trim_ascii_end()).ok()?;
        let name = name.to_ascii_lowercase();
        let (value, behind) = value(rest[end + 1..].trim_ascii_start())?;
        if found.len() == MOST || found.iter().any(|(known, _)| *known == name) {
            return None;
        }
        found.push((name, value));
        rest = behind.trim_ascii_start();
        match rest.split_first() {
            None => return Some(found),
            Some((b',', behind)) => rest = behind,
            Some(_) => return None,
        }
    }
}

/// Splits a token or a quoted string off the text. Returns the value and the rest of the text.
fn value(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        let ends = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
        let end = text.iter().position(ends).unwrap_or(text.len());
        let token = &text[..end];
        return (!token.is_empty() && !token.contains(&b'"'))
            .then(|| (token.to_vec(), &text[end..]));
    };
    let mut value = Vec::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, &byte)) = bytes.next() {
        match byte {
            b'"' => return Some((value, &quoted[at + 1..])),
            b'\\' => value.push(*bytes.next()?.1),
            _ => value.push(byte),
        }
    }
    None
}
