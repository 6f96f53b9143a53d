//! Converts a page into the bytes of a file and back. The file has lengths, fields, and at its end
//! a hash of everything, which detects damage.

use crate::page::Page;
use crate::terms::Terms;
use std::hash::{DefaultHasher, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MAGIC: &[u8; 8] = b"mehari\x01\n";
/// The longest part of a page in bytes.
const LONGEST: usize = 1 << 30;

/// Makes the bytes of a file. The key comes first, so it can be read without the rest.
pub fn encode(key: &[u8], page: &Page) -> Vec<u8> {
    let terms = &page.terms;
    let mut file = MAGIC.to_vec();
    push(&mut file, key);
    file.extend_from_slice(&page.status.to_le_bytes());
    let since = page.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let times = [
        since,
        terms.lifetime,
        terms.age,
        terms.while_revalidate,
        terms.if_error,
    ];
    for time in times {
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        file.extend_from_slice(&milliseconds.to_le_bytes());
    }
    file.push(terms.ask.into());
    push_option(&mut file, terms.etag.as_deref());
    push_option(&mut file, terms.modified.as_deref());
    file.extend_from_slice(&(terms.vary.len() as u32).to_le_bytes());
    for (name, value) in &terms.vary {
        push(&mut file, name);
        push(&mut file, value);
    }
    push(&mut file, &page.lines);
    push(&mut file, &page.body);
    let hash = hash(&file);
    file.extend_from_slice(&hash.to_le_bytes());
    file
}

/// Reads the key and the page. Returns `None` if the file is damaged or is not a page.
pub fn decode(file: &[u8], number: u64) -> Option<(Vec<u8>, Page)> {
    let (rest, known) = file.split_last_chunk::<8>()?;
    if hash(rest) != u64::from_le_bytes(*known) {
        return None;
    }
    let mut reader = Reader(rest.strip_prefix(MAGIC)?);
    let key = reader.part()?.to_vec();
    let status = u16::from_le_bytes(*reader.chunk()?);
    let since = UNIX_EPOCH.checked_add(reader.time()?)?;
    let (lifetime, age) = (reader.time()?, reader.time()?);
    let (while_revalidate, if_error) = (reader.time()?, reader.time()?);
    let ask = reader.chunk::<1>()? == &[1];
    let (etag, modified) = (reader.option()?, reader.option()?);
    let count = u32::from_le_bytes(*reader.chunk()?);
    let mut vary = Vec::new();
    for _ in 0..count {
        vary.push((reader.part()?.to_vec(), reader.part()?.to_vec()));
    }
    let lines = reader.part()?.to_vec();
    let body = reader.part()?.to_vec().into();
    let terms = Terms {
        lifetime,
        age,
        while_revalidate,
        if_error,
        ask,
        etag,
        modified,
        vary,
    };
    reader.0.is_empty().then_some(())?;
    let page = Page {
        status,
        lines,
        body,
        since: since.min(SystemTime::now()),
        terms,
        number,
    };
    Some((key, page))
}

/// Returns the key, which is at the beginning of a file.
pub fn key(beginning: &[u8]) -> Option<&[u8]> {
    Reader(beginning.strip_prefix(MAGIC)?).part()
}

/// Hashes with SipHash without a key, so every process computes the same hash.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(bytes);
    hash.finish()
}

fn push(file: &mut Vec<u8>, part: &[u8]) {
    file.extend_from_slice(&(part.len() as u32).to_le_bytes());
    file.extend_from_slice(part);
}

fn push_option(file: &mut Vec<u8>, part: Option<&[u8]>) {
    file.push(part.is_some().into());
    push(file, part.unwrap_or_default());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn chunk<const SIZE: usize>(&mut self) -> Option<&'a [u8; SIZE]> {
        let (chunk, rest) = self.0.split_first_chunk::<SIZE>()?;
        self.0 = rest;
        Some(chunk)
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(*self.chunk()?) as usize;
        if length > LONGEST {
            return None;
        }
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    fn option(&mut self) -> Option<Option<Vec<u8>>> {
        let is_there = self.chunk::<1>()? == &[1];
        let part = self.part()?;
        Some(is_there.then(|| part.to_vec()))
    }

    fn time(&mut self) -> Option<Duration> {
        let milliseconds = u64::from_le_bytes(*self.chunk()?);
        Some(Duration::from_millis(milliseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page {
            status: 404,
            lines: b"ETag: \"a\"\r\n".to_vec(),
            body: b"body".to_vec().into(),
            since: UNIX_EPOCH + Duration::from_millis(1_234_567),
            terms: Terms {
                lifetime: Duration::from_secs(10),
                age: Duration::from_secs(2),
                while_revalidate: Duration::from_secs(5),
                if_error: Duration::from_secs(20),
                ask: true,
                etag: Some(b"\"a\"".to_vec()),
                modified: None,
                vary: vec![(b"x".to_vec(), b"y".to_vec())],
            },
            number: 7,
        }
    }

    #[test]
    fn a_decoded_page_equals_the_encoded_page() {
        let file = encode(b"key", &page());
        let (back, read) = decode(&file, 7).expect("a page");
        assert_eq!(back, b"key");
        assert_eq!(format!("{read:?}"), format!("{:?}", page()));
        assert_eq!(key(&file[..20]), Some(&b"key"[..]));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let file = encode(b"key", &page());
        for length in 0..file.len() {
            assert!(decode(&file[..length], 1).is_none(), "{length}");
        }
        for at in 0..file.len() {
            let mut other = file.clone();
            other[at] ^= 0x55;
            assert!(decode(&other, 1).is_none(), "{at}");
        }
    }
}
