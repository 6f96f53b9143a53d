//! `Vary: Accept-Encoding` (RFC 9110 section 12.5.5): finds the field in header lines, and defines
//! the line that other modules add.

pub const LINE: &[u8] = b"Vary: Accept-Encoding\r\n";

/// Returns whether a Vary field in the lines already names Accept-Encoding.
pub fn names_accept_encoding(lines: &[u8]) -> bool {
    values(lines).any(|value| {
        let mut members = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        members.any(|member| member == b"*" || member.eq_ignore_ascii_case(b"accept-encoding"))
    })
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
