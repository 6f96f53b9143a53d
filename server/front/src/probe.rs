//! The HTTP/1 parsers as functions over bytes, for the fuzzer: what a connection does with what it reads.

use crate::http1::chunked::Decoder;
use crate::http1::head::Head;
use crate::http1::scan::Scan;
use mehari_config::ConnectionLimits;

/// Reads a request head that arrives in pieces of `piece` bytes. `Ok(None)`: it is not complete. `Ok(Some)`: its
/// length, method and target. `Err`: the status it is refused with.
#[allow(clippy::type_complexity)]
pub fn request_head(
    bytes: &[u8],
    piece: usize,
    limits: &ConnectionLimits,
) -> Result<Option<(usize, Vec<u8>, Vec<u8>)>, u16> {
    let (mut scan, mut head) = (Scan::default(), Head::default());
    let mut arrived = 0;
    while arrived < bytes.len() {
        arrived = bytes.len().min(arrived + piece.max(1));
        let seen = &bytes[..arrived];
        if let Some(extent) = scan.advance(seen, limits).map_err(|why| why.status)? {
            head.parse(seen, extent).map_err(|why| why.status)?;
            for (name, value) in &head.fields {
                assert!(!name.of(seen).is_empty(), "a field without a name");
                assert!(!value.of(seen).contains(&b'\n'), "a value with a line end");
            }
            let (method, target) = (head.method.of(seen), head.target(seen));
            return Ok(Some((extent.end, method.to_vec(), target.to_vec())));
        }
    }
    Ok(None)
}

/// Reads a chunked body that arrives in pieces. The body so far, the bytes it took, and whether it is complete.
pub fn chunked_body(bytes: &[u8], piece: usize) -> Result<(Vec<u8>, usize, bool), u16> {
    let mut decoder = Decoder::new(8192, 100);
    let (mut body, mut taken) = (Vec::new(), 0);
    while taken < bytes.len() && !decoder.is_done() {
        let end = bytes.len().min(taken + piece.max(1));
        let count = decoder
            .decode(&bytes[taken..end], &mut body)
            .map_err(|why| why.status)?;
        assert!(count > 0, "the decoder stands still");
        taken += count;
    }
    Ok((body, taken, decoder.is_done()))
}
