//! Vary (RFC 9110 section 12.5.5): finds Accept-Encoding in header lines, defines the line that
//! other modules add, and joins the fields of a response.

pub const LINE: &[u8] = b"Vary: Accept-Encoding\r\n";

/// Returns whether a Vary field in the lines already names Accept-Encoding.
pub fn names_accept_encoding(lines: &[u8]) -> bool {
    values(lines).any(|value| {
        let mut members = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        members.any(|member| member == b"*" || member.eq_ignore_ascii_case(b"accept-encoding"))
    })
}

/// Joins all Vary fields into the first and removes doubles, as Apache does.
pub fn join(fields: &mut Vec<(Vec<u8>, Vec<u8>)>) {
    let is_vary = |name: &[u8]| name.eq_ignore_ascii_case(b"vary");
    let mut members: Vec<Vec<u8>> = Vec::new();
    let mut first = None;
    let mut at = 0;
    fields.retain(|(name, value)| {
        if !is_vary(name) {
            at += 1;
            return true;
        }
        for member in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let is = |known: &Vec<u8>| known.eq_ignore_ascii_case(member);
            if !member.is_empty() && !members.iter().any(is) {
                members.push(member.to_vec());
            }
        }
        first.get_or_insert(at);
        false
    });
    if let Some(at) = first.filter(|_| !members.is_empty()) {
        fields.insert(at, (b"Vary".to_vec(), members.join(&b","[..])));
    }
}

fn values(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines.filter_map(|line| {
        let (name, value) = line.split_at_checked(5)?;
        name.eq_ignore_ascii_case(b"vary:")
            .then_some(value.trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::names_accept_encoding;

    #[test]
    fn it_is_said_once() {
        let cases: [(&[u8], bool); 5] = [
            (b"", false),
            (b"Vary: Cookie\r\n", false),
            (
                b"X: Accept-Encoding\r\nvary: Cookie, accept-encoding\r\n",
                true,
            ),
            (b"Vary: *\r\n", true),
            (b"Vary: Accept-Encoding-X\r\n", false),
        ];
        for (lines, expected) in cases {
            assert_eq!(
                names_accept_encoding(lines),
                expected,
                "{}",
                lines.escape_ascii()
            );
        }
    }
}
