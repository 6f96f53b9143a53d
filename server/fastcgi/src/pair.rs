//! Pairs of names and values (section 3.4): two lengths of one byte or four, then both texts.

/// Appends one pair.
#[inline]
pub fn push_pair(name: &[u8], value: &[u8], into: &mut Vec<u8>) {
    into.reserve(8 + name.len() + value.len());
    match (name.len(), value.len()) {
        (short @ 0..=127, other @ 0..=127) => {
            into.extend_from_slice(&[short as u8, other as u8]);
        }
        (name, value) => {
            push_length(name, into);
            push_length(value, into);
        }
    }
    into.extend_from_slice(name);
    into.extend_from_slice(value);
}

fn push_length(length: usize, into: &mut Vec<u8>) {
    match length {
        0..=127 => into.push(length as u8),
        _ => into.extend_from_slice(&(length as u32 | 0x8000_0000).to_be_bytes()),
    }
}

/// Reads the pairs of a whole stream. Returns `None` if the stream ends inside a pair.
pub fn pairs(mut rest: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let name = length(&mut rest)?;
        let value = length(&mut rest)?;
        let name = take(&mut rest, name)?.to_vec();
        let value = take(&mut rest, value)?.to_vec();
        pairs.push((name, value));
    }
    Some(pairs)
}

fn length(rest: &mut &[u8]) -> Option<usize> {
    match rest.first() {
        Some(short) if *short < 0x80 => take(rest, 1).map(|bytes| usize::from(bytes[0])),
        _ => {
            let bytes = take(rest, 4)?;
            let length = u32::from_be_bytes([bytes[0] & 0x7f, bytes[1], bytes[2], bytes[3]]);
            Some(length as usize)
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (bytes, others) = rest.split_at_checked(count)?;
    *rest = others;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_one_byte_or_four() {
        for (length, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 0, 0, 128]),
            (70_000, &[0x80, 1, 0x11, 0x70]),
        ] {
            let mut bytes = Vec::new();
            push_length(length, &mut bytes);
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn pairs_are_read_back_and_half_a_pair_is_refused() {
        let mut bytes = Vec::new();
        let long = vec![b'v'; 70_000];
        push_pair(b"SHORT", b"", &mut bytes);
        push_pair(b"LONG", &long, &mut bytes);
        let expected = vec![(b"SHORT".to_vec(), Vec::new()), (b"LONG".to_vec(), long)];
        assert_eq!(pairs(&bytes), Some(expected));
        assert_eq!(pairs(&bytes[..bytes.len() - 1]), None);
        assert_eq!(pairs(&[0x80, 0, 0]), None);
    }
}
