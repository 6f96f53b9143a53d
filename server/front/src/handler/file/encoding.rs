//! Content codings of neighbours (`style.css.br` beside `style.css`): which one a client may get.

use super::target::FileTarget;
use crate::request::Request;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Brotli,
    Zstandard,
    Gzip,
}

impl Coding {
    /// Best first.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstandard, Coding::Gzip];

    /// The name of the registry (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
    pub fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstandard => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    pub fn suffix(self) -> &'static str {
        match self {
            Coding::Brotli => ".br",
            Coding::Zstandard => ".zst",
            Coding::Gzip => ".gz",
        }
    }
}

/// The neighbour the client likes best. `None`: the file itself.
pub fn choose(request: &Request<'_>, target: &FileTarget) -> Option<Coding> {
    if !target.has_neighbours() {
        return None;
    }
    let accepted = request.field("accept-encoding")?;
    let mut best = None;
    for coding in Coding::ALL {
        let weight = weight(accepted, coding.name());
        let better = best.map_or(weight > 0, |(_, known)| weight > known);
        if better && target.has_neighbour(coding) {
            best = Some((coding, weight));
        }
    }
    best.map(|(coding, _)| coding)
}

/// The weight of a coding in thousandths; 0 is "not acceptable" (RFC 9110 section 12.5.3).
fn weight(accepted: &[u8], name: &str) -> u32 {
    let mut any = 0;
    for item in accepted.split(|&byte| byte == b',') {
        let mut words = item.split(|&byte| byte == b';');
        let coding = words.next().unwrap_or_default().trim_ascii();
        let weight = words.find_map(quality).unwrap_or(1000);
        if coding.eq_ignore_ascii_case(name.as_bytes()) {
            return weight;
        }
        if coding == b"*" {
            any = weight;
        }
    }
    any
}

/// `q=0.5` as 500; what is not a quality as 0, so that a mistake sends the plain file.
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
    use super::weight;

    #[test]
    fn weights_follow_the_field() {
        let cases = [
            ("gzip", "gzip", 1000),
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
}
