//! Writes and reads bytes as pairs of hexadecimal digits.

const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Returns `bytes` as lower-case digits.
pub fn lower(bytes: &[u8]) -> String {
    digits(bytes, LOWER)
}

/// Returns `bytes` as upper-case digits.
pub fn upper(bytes: &[u8]) -> String {
    digits(bytes, UPPER)
}

fn digits(bytes: &[u8], digits: &[u8; 16]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(digits[usize::from(byte >> 4)]));
        text.push(char::from(digits[usize::from(byte & 15)]));
    }
    text
}

/// Returns the 16 lower-case digits of a number. All digits of a half are made at once.
#[inline]
pub fn sixteen_lower(number: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&eight_lower((number >> 32) as u32));
    digits[8..].copy_from_slice(&eight_lower(number as u32));
    digits
}

#[inline]
fn eight_lower(number: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Four bits come into each byte.
    let mut spread = u64::from(number);
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // A byte above nine becomes a letter.
    let letters = (spread + 6 * ONES) >> 4 & ONES;
    let to_letter = u64::from(b'a' - b'9' - 1);
    (spread + u64::from(b'0') * ONES + letters * to_letter).to_be_bytes()
}

/// Appends the two lower-case digits of `byte`.
#[inline]
pub fn push_lower(byte: u8, into: &mut Vec<u8>) {
    push(byte, LOWER, into);
}

/// Appends the two upper-case digits of `byte`.
#[inline]
pub fn push_upper(byte: u8, into: &mut Vec<u8>) {
    push(byte, UPPER, into);
}

#[inline]
fn push(byte: u8, digits: &[u8; 16], into: &mut Vec<u8>) {
    into.push(digits[usize::from(byte >> 4)]);
    into.push(digits[usize::from(byte & 15)]);
}

/// Returns the byte for two digits of either case, or `None` if a character is not a digit.
#[inline]
pub fn byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

/// Decodes a text of digits. Returns `None` for an odd number of digits or any other character.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = text.chunks_exact(2);
    pairs.map(|pair| byte(pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_digits_are_those_of_fmt() {
        let mut number = 0x0123_4567_89ab_cdef_u64;
        for _ in 0..1000 {
            let digits = sixteen_lower(number);
            assert_eq!(digits, format!("{number:016x}").as_bytes());
            number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(9);
        }
        assert_eq!(&sixteen_lower(0), b"0000000000000000");
        assert_eq!(&sixteen_lower(u64::MAX), b"ffffffffffffffff");
    }

    #[test]
    fn every_byte_decodes_to_itself() {
        let bytes: Vec<u8> = (0..=255).collect();
        for text in [lower(&bytes), upper(&bytes)] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(&bytes[..]));
        }
        assert_eq!(
            (lower(b"\xa0k"), upper(b"\xa0k")),
            ("a06b".into(), "A06B".into())
        );
    }

    #[test]
    fn other_text_than_pairs_of_digits_is_refused() {
        for text in ["0", "0g", "g0", "+1", "1 ", "0x"] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
