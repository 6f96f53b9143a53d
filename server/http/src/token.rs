//! Tokens: the syntax of methods and field names (RFC 9110 section 5.6.2).

/// Returns whether `byte` is a `tchar`.
#[inline]
pub const fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut known = [false; 256];
        let mut byte = 0;
        while byte < known.len() {
            known[byte] = matches!(byte as u8,
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\''
                | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
            byte += 1;
        }
        known
    };
    TOKEN[byte as usize]
}
