//! Offers the parsers of a connection as functions over bytes. The fuzzer calls these functions.

use crate::handlers::fastcgi::Reply;
use crate::handlers::proxy::{Http, Reader, RequestSummary, Step};
use crate::handlers::{gateway, BackendHead};
use mehari_config::{BackEnd, BackEndAddress, ConnectionLimits, LogLevel, Speech};
use mehari_http::header_block;
use mehari_http::http1::chunked::Decoder;
use mehari_http::http1::head::Head;
use mehari_http::http1::scan::Scan;
use mehari_observe::{AccessEntry, Journal, Origin};
use mehari_upstream::Input;
use std::collections::VecDeque;
use std::rc::Rc;

/// Parses a request head in pieces of `piece` bytes. Returns the head's length, method and target.
/// `Ok(None)`: the head is incomplete.
///
/// # Errors
///
/// The status of the refusal.
///
/// # Panics
///
/// If a parsed part breaks a promise of the parser, which the fuzzer looks for.
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

/// Decodes a chunked body in pieces. Returns the body so far, the number of bytes used, and whether
/// the body is complete.
///
/// # Errors
///
/// The status of the refusal.
///
/// # Panics
///
/// If the decoder takes no byte, which the fuzzer looks for.
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

/// Parses a back end's response in pieces. Returns the status, the body so far, and whether the
/// body is complete. `Ok(None)`: the head is incomplete.
///
/// # Errors
///
/// The status that the client would get.
///
/// # Panics
///
/// If a header line could be split, which the fuzzer looks for.
#[allow(clippy::type_complexity)]
pub fn back_end_reply(
    bytes: &[u8],
    piece: usize,
    speech: Speech,
) -> Result<Option<(u16, Vec<u8>, bool)>, u16> {
    let asked = RequestSummary::for_fuzzing(Rc::new(Deaf));
    let address = BackEndAddress::Tcp("127.0.0.1".into(), 80);
    let member = BackEnd::new(speech, address, "localhost".into());
    let mut reader = match speech {
        Speech::Http => Reader::Http(Http::new(&asked)),
        Speech::FastCgi => Reader::FastCgi(Box::<Reply>::default()),
        Speech::Scgi | Speech::Uwsgi => Reader::Gateway(gateway::Reply::default()),
    };
    let (mut input, mut interim) = (Input::default(), VecDeque::new());
    let (mut status, mut body) = (None, Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        input.push(piece);
        if status.is_none() {
            let said = reader.head(&mut input, &asked, &member, &mut interim);
            status = match said.map_err(|why| why.status())? {
                None => continue,
                Some(BackendHead::Response(head)) => {
                    assert!(
                        header_block::validate(&head.lines).is_ok(),
                        "a head that could be split"
                    );
                    Some(head.status)
                }
                Some(_) => return Ok(Some((0, body, true))),
            };
        }
        loop {
            let step = reader.body(&mut input, &asked, &mut body, 1000);
            match step.map_err(|why| why.status())? {
                Step::Done(_) => return Ok(status.map(|status| (status, body, true))),
                Step::More => break,
                Step::Full => {}
            }
        }
    }
    Ok(status.map(|status| (status, body, false)))
}

/// A journal that drops everything.
struct Deaf;

impl Journal for Deaf {
    fn access(&self, _: u32, _: &AccessEntry<'_>) {}
    fn error(&self, _: u32, _: LogLevel, _: Origin, _: &str) {}
}
