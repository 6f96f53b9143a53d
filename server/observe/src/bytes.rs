//! Checks several bytes at a time. The front's request readers call these functions, and the logs
//! find the bytes to escape with them.

/// Returns whether `fit` holds for all bytes. If `fit` consists of comparisons, the processor
/// compares sixteen bytes at once.
#[inline]
pub fn all(bytes: &[u8], fit: impl Fn(u8) -> bool) -> bool {
    match bytes.len() {
        16.. => all_words::<16>(bytes, fit),
        8.. => all_words::<8>(bytes, fit),
        _ => bytes.iter().all(|&byte| fit(byte)),
    }
}

/// Checks words of N bytes. The bytes behind the last whole word lie within the last N bytes, which
/// are checked in any case.
#[inline]
fn all_words<const N: usize>(bytes: &[u8], fit: impl Fn(u8) -> bool) -> bool {
    let (words, _) = bytes.as_chunks::<N>();
    let last = bytes.last_chunk::<N>();
    last.is_some_and(|last| fits(last, &fit)) && words.iter().all(|word| fits(word, &fit))
}

/// Inlined because a call for each word would take as long as the check of the word.
#[inline(always)]
fn fits<const N: usize>(word: &[u8; N], fit: &impl Fn(u8) -> bool) -> bool {
    word.iter().fold(true, |all, &byte| all & fit(byte))
}

/// Returns how many bytes at the beginning fit. Only one branch is needed for four bytes.
#[inline]
pub fn leading(bytes: &[u8], fit: impl Fn(u8) -> bool) -> usize {
    let (words, _) = bytes.as_chunks::<4>();
    let words = words.iter().take_while(|word| fits(word, &fit)).count();
    let rest = bytes[4 * words..].iter();
    4 * words + rest.take_while(|&&byte| fit(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfit_byte_is_found_at_every_position() {
        let fit = |byte: u8| byte == b'a';
        for length in 0..70 {
            let mut bytes = vec![b'a'; length];
            assert!(all(&bytes, fit));
            assert_eq!(leading(&bytes, fit), length);
            for at in 0..length {
                bytes[at] = b'b';
                assert!(!all(&bytes, fit), "{at} of {length}");
                assert_eq!(leading(&bytes, fit), at);
                bytes[at] = b'a';
            }
        }
    }
}
