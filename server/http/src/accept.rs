//! Reads `Accept-Encoding`: how much a client prefers each coding (RFC 9110 section 12.5.3).

use mehari_config::Coding;

/// Returns the coding that the client prefers among the `offered` codings. Of codings with equal
/// weights, the server's favourite is returned.
pub fn best(accepted: &[u8], offered: impl Fn(Coding) -> bool) -> Option<Coding> {
    let mut best = None;
    for coding in Coding::ALL.into_iter().filter(|coding| offered(*coding)) {
        let weight = weight(accepted, coding.name());
        if best.map_or(weight > 0, |(_, known)| weight > known) {
            best = Some((coding, weight));
        }
    }
    best.map(|(coding, _)| coding)
        .filter(|coding| weight(accepted, coding.name()) >= weight(accepted, "identity"))
}

/// Returns the weight of a coding in thousandths. 0 means "not acceptable". A coding that the field
/// does not name has the weight of `*`. The name `identity` stands for a body without a coding.
/// Such a body is acceptable unless the client refuses it, and preferred only if the client names
/// it.
pub fn weight(accepted: &[u8], name: &str) -> u32 {
    let mut any = 0;
    for (coding, weight) in items(accepted) {
        let is_it = coding.eq_ignore_ascii_case(name.as_bytes())
            || (name == "gzip" && coding.eq_ignore_ascii_case(b"x-gzip"));
        if is_it {
            return weight;
        }
        if coding == b"*" && name != "identity" {
            any = weight;
        }
    }
    any
}

/// Iterates over the names in a field of this kind, with the weight of each.
pub fn items(accepted: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    accepted.split(|&byte| byte == b',').map(|item| {
        let mut words = item.split(|&byte| byte == b';');
        let name = words.next().unwrap_or_default().trim_ascii();
        (name, words.find_map(quality).unwrap_or(1000))
    })
}

/// Reads `q=0.5` as 500. An invalid quality counts as 0, so that the plain body is sent. Returns
/// `None` for another parameter.
fn quality(parameter: &[u8]) -> Option<u32> {
    let equals = memchr::memchr(b'=', parameter)?;
    let (name, value) = (&parameter[..equals], &parameter[equals + 1..]);
    let is_quality = name.trim_ascii().eq_ignore_ascii_case(b"q");
    is_quality.then(|| thousandths(value.trim_ascii()).unwrap_or(0))
}

/// Reads `0` or `1` with up to three digits behind a point (RFC 9110 section 12.4.2). Behind a `1`
/// the digits must be zeros.
fn thousandths(text: &[u8]) -> Option<u32> {
    let (whole, digits) = match text {
        [whole] => (whole, &[][..]),
        [whole, b'.', digits @ ..] => (whole, digits),
        _ => return None,
    };
    let known = matches!(whole, b'0' | b'1') && digits.len() <= 3;
    if !known || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let places = [100, 10, 1].into_iter().zip(digits);
    let rest: u32 = places
        .map(|(place, digit)| place * u32::from(digit - b'0'))
        .sum();
    let weight = u32::from(whole - b'0') * 1000 + rest;
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_coding_has_the_weight_that_the_field_gives() {
        let cases = [
            ("gzip", "gzip", 1000),
            ("x-gzip", "gzip", 1000),
            ("gzip;q=0", "gzip", 0),
            ("br;q=0.5, gzip", "br", 500),
            ("*;q=0.3", "br", 300),
            ("*, br;q=0", "br", 0),
            ("gzip, deflate", "br", 0),
            ("GZIP ; Q=0.25", "gzip", 250),
            ("gzip;q=x", "gzip", 0),
            ("gzip; q = 0", "gzip", 0),
            ("gzip;q=inf", "gzip", 0),
            ("gzip;q=1.001", "gzip", 0),
            ("gzip;q=1.000", "gzip", 1000),
            ("gzip;q=0.0001", "gzip", 0),
            ("gzip;level=9;q=0.4", "gzip", 400),
            ("gzip;q", "gzip", 1000),
            ("gzip;q=", "gzip", 0),
            ("", "gzip", 0),
        ];
        for (field, name, expected) in cases {
            assert_eq!(weight(field.as_bytes(), name), expected, "{field:?} {name}");
        }
    }

    #[test]
    fn best_returns_the_clients_favourite_of_the_offered_codings() {
        let cases = [
            ("gzip, br", Some(Coding::Brotli)),
            ("gzip, zstd", Some(Coding::Gzip)),
            ("gzip;q=1, br;q=0.9", Some(Coding::Gzip)),
            ("zstd", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip", Some(Coding::Gzip)),
            ("*;q=0.1", Some(Coding::Brotli)),
            ("gzip;q=0, *;q=0", None),
            ("", None),
        ];
        for (field, expected) in cases {
            let chosen = best(field.as_bytes(), |coding| coding != Coding::Zstandard);
            assert_eq!(chosen, expected, "{field:?}");
        }
    }
}
