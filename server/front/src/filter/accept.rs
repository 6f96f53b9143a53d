//! `Accept-Encoding`: what a client likes how much (RFC 9110 section 12.5.3).

use mehari_config::Coding;

/// The coding the client likes best of those that are `offered`, the server's favourite of equals.
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

/// The weight of a coding in thousandths; 0 is "not acceptable". What is not named gets what `*` does;
/// the plain body is acceptable unless it is refused, and nobody's favourite unless it is named.
pub fn weight(accepted: &[u8], name: &str) -> u32 {
    let mut any = 0;
    for item in accepted.split(|&byte| byte == b',') {
        let mut words = item.split(|&byte| byte == b';');
        let coding = words.next().unwrap_or_default().trim_ascii();
        let weight = words.find_map(quality).unwrap_or(1000);
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

/// `q=0.5` as 500; what is not a quality as 0, so that a mistake sends the plain body.
fn quality(parameter: &[u8]) -> Option<u32> {
    let (name, value) = parameter.trim_ascii().split_at_checked(2)?;
    if !name.eq_ignore_ascii_case(b"q=") {
        return None;
    }
    let quality: Option<f32> = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok());
    Some((quality.unwrap_or(0.0).clamp(0.0, 1.0) * 1000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_field() {
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
            ("", "gzip", 0),
        ];
        for (field, name, expected) in cases {
            assert_eq!(weight(field.as_bytes(), name), expected, "{field:?} {name}");
        }
    }

    #[test]
    fn the_best_is_what_the_client_prefers_among_what_is_offered() {
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
