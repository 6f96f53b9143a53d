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
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .map(|half| char::from(digits[usize::from(half)]))
        .collect()
}

/// Writes the lower-case digits of `bytes` into a place of twice as many bytes.
#[inline]
pub fn write_lower(bytes: &[u8], into: &mut [u8]) {
    debug_assert_eq!(into.len(), 2 * bytes.len());
    for (pair, byte) in into.chunks_exact_mut(2).zip(bytes) {
        let halves = [byte >> 4, byte & 15];
        pair.copy_from_slice(&halves.map(|half| LOWER[usize::from(half)]));
    }
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
