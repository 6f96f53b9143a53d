//! Tracks the progress of uploads: requests with an `X-Progress-ID` in a place with `TrackUploads
//! On`. The front reads every body, so the front knows all uploads, whichever worker responds.

use crate::request::Field;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

const FIELD: &[u8] = b"x-progress-id";
/// The most tracked uploads, including finished ones.
const MOST: usize = 4096;
/// How long a finished upload is kept at least, so that its progress can be queried.
const KEPT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Upload {
    /// The length of the body in bytes. 0: unknown.
    pub size: u64,
    received: Cell<u64>,
    /// The final status and its time.
    ended: Cell<Option<(u16, Instant)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The id is unknown. Most likely the upload is about to begin.
    Starting,
    Uploading(u64, u64),
    /// Everything has arrived, and the response is not sent yet.
    Received(u64, u64),
    Done(u64),
    Failed(u16),
}

impl Upload {
    pub fn count(&self, bytes: usize) {
        self.received.set(self.received.get() + bytes as u64);
    }

    pub fn finish(&self, status: u16) {
        self.ended.set(Some((status, Instant::now())));
    }

    fn progress(&self) -> Progress {
        let received = self.received.get();
        match self.ended.get() {
            Some((200..=399, _)) => Progress::Done(self.size.max(received)),
            Some((status, _)) => Progress::Failed(status),
            None if self.size > 0 && received >= self.size => {
                Progress::Received(received, self.size)
            }
            None => Progress::Uploading(received, self.size),
        }
    }
}

#[derive(Default)]
pub struct Uploads(RefCell<HashMap<Box<[u8]>, Rc<Upload>>>);

impl Uploads {
    pub fn begin(&self, id: &[u8], size: u64) -> Option<Rc<Upload>> {
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST {
            let is_old = |upload: &Upload| {
                upload
                    .ended
                    .get()
                    .is_some_and(|(_, when)| when.elapsed() > KEPT)
            };
            known.retain(|_, upload| !is_old(upload));
        }
        if known.len() >= MOST {
            return None;
        }
        let upload = Rc::new(Upload {
            size,
            received: Cell::new(0),
            ended: Cell::new(None),
        });
        known.insert(id.into(), upload.clone());
        Some(upload)
    }

    pub fn progress(&self, id: &[u8]) -> Progress {
        let known = self.0.borrow();
        known
            .get(id)
            .map_or(Progress::Starting, |upload| upload.progress())
    }
}

/// Returns the id of an upload: the value of the field X-Progress-ID, or of the query's parameter
/// of this name. Like in lighttpd 1.4, a query of 32 hexadecimal digits is an id too.
pub fn id<'a>(mut fields: impl Iterator<Item = Field<'a>>, query: &'a [u8]) -> Option<&'a [u8]> {
    let named = fields.find(|(name, _)| name.eq_ignore_ascii_case(FIELD));
    let parameter = || {
        let mut words = query.split(|&byte| byte == b'&');
        words.find_map(|word| {
            let at = memchr::memchr(b'=', word)?;
            word[..at]
                .eq_ignore_ascii_case(FIELD)
                .then(|| &word[at + 1..])
        })
    };
    let whole = || (query.len() == 32 && query.iter().all(u8::is_ascii_hexdigit)).then_some(query);
    let id = named
        .map(|(_, value)| value)
        .or_else(parameter)
        .or_else(whole)?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    ((1..=64).contains(&id.len()) && id.iter().all(is_plain)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_three_places_and_hold_nothing_strange() {
        const HEX: &[u8] = b"0123456789abcdef0123456789ABCDEF";
        let header = |value: &'static [u8]| std::iter::once((&b"X-Progress-ID"[..], value));
        assert_eq!(id(header(b"a-1"), b""), Some(&b"a-1"[..]));
        assert_eq!(
            id(std::iter::empty(), b"x=1&x-progress-id=b_2"),
            Some(&b"b_2"[..])
        );
        assert_eq!(id(std::iter::empty(), HEX), Some(HEX));
        for query in [&b"X-Progress-ID="[..], b"X-Progress-ID=a'b", b"abc", b""] {
            assert_eq!(id(std::iter::empty(), query), None);
        }
    }

    #[test]
    fn progress_goes_from_start_to_end() {
        let uploads = Uploads::default();
        assert_eq!(uploads.progress(b"a"), Progress::Starting);
        let upload = uploads.begin(b"a", 10).expect("room");
        upload.count(4);
        assert_eq!(uploads.progress(b"a"), Progress::Uploading(4, 10));
        upload.count(6);
        assert_eq!(uploads.progress(b"a"), Progress::Received(10, 10));
        upload.finish(200);
        assert_eq!(uploads.progress(b"a"), Progress::Done(10));
        uploads.begin(b"b", 10).expect("room").finish(413);
        assert_eq!(uploads.progress(b"b"), Progress::Failed(413));
    }
}
