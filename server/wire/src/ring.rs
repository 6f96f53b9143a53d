//! Reads records from the response ring. The worker may have written any bytes there.

use crate::layout::{RecordHeader, RECORD_LIMIT, RING_SIZE};

/// The worker wrote an impossible position or record. The worker is broken and must be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub kind: u16,
    pub detail: u16,
    /// The length of the payload in bytes.
    pub length: usize,
    /// The length of the whole record in the ring in bytes: header, payload, and padding.
    pub size: u64,
}

/// Reads the record at position `at` and appends its payload to `into`.
///
/// # Errors
///
/// [`Corrupt`] if the record exceeds the `unread` bytes or [`RECORD_LIMIT`].
///
/// # Safety
///
/// `ring` is valid for `RING_SIZE` bytes.
pub(crate) unsafe fn read(
    ring: *const u8,
    at: u64,
    unread: u64,
    into: &mut Vec<u8>,
) -> Result<Record, Corrupt> {
    const HEADER: usize = std::mem::size_of::<RecordHeader>();
    if unread < HEADER as u64 {
        return Err(Corrupt);
    }
    let mut header = [0u8; HEADER];
    copy(ring, at, &mut header);
    let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
    let kind = u16::from_ne_bytes([header[4], header[5]]);
    let detail = u16::from_ne_bytes([header[6], header[7]]);
    let size = (HEADER + length.next_multiple_of(8)) as u64;
    if length > RECORD_LIMIT || size > unread {
        return Err(Corrupt);
    }
    let start = into.len();
    into.resize(start + length, 0);
    copy(ring, at.wrapping_add(HEADER as u64), &mut into[start..]);
    Ok(Record {
        kind,
        detail,
        length,
        size,
    })
}

/// Copies `into.len()` bytes from position `at`, across the end of the ring where necessary.
///
/// # Safety
///
/// `ring` is valid for `RING_SIZE` bytes, and `into` is not longer than the ring.
unsafe fn copy(ring: *const u8, at: u64, into: &mut [u8]) {
    let offset = (at % RING_SIZE as u64) as usize;
    let first = into.len().min(RING_SIZE - offset);
    std::ptr::copy_nonoverlapping(ring.add(offset), into.as_mut_ptr(), first);
    std::ptr::copy_nonoverlapping(ring, into.as_mut_ptr().add(first), into.len() - first);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring_with(at: u64, length: u32, payload: &[u8]) -> Vec<u8> {
        let mut ring = vec![0u8; RING_SIZE];
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&length.to_ne_bytes());
        bytes.extend_from_slice(&3u16.to_ne_bytes());
        bytes.extend_from_slice(&200u16.to_ne_bytes());
        bytes.extend_from_slice(payload);
        for (i, byte) in bytes.iter().enumerate() {
            ring[(at as usize + i) % RING_SIZE] = *byte;
        }
        ring
    }

    #[test]
    fn a_record_that_wraps_is_read_whole() {
        for at in [0, RING_SIZE as u64 - 3, RING_SIZE as u64 - 10] {
            let ring = ring_with(at, 5, b"hello");
            let mut into = Vec::new();
            let record = unsafe { read(ring.as_ptr(), at, 16, &mut into) }.expect("sound");
            assert_eq!((record.kind, record.detail, record.size), (3, 200, 16));
            assert_eq!(into, b"hello");
        }
    }

    #[test]
    fn a_record_longer_than_the_written_bytes_is_corrupt() {
        let ring = ring_with(0, 5000, b"");
        assert_eq!(
            unsafe { read(ring.as_ptr(), 0, 64, &mut Vec::new()) },
            Err(Corrupt)
        );
        let ring = ring_with(0, u32::MAX, b"");
        assert_eq!(
            unsafe { read(ring.as_ptr(), 0, RING_SIZE as u64, &mut Vec::new()) },
            Err(Corrupt)
        );
    }
}
