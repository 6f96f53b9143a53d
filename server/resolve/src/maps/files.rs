//! Reads map files: lines of a text file, pairs in the pages of an SDBM file.

use std::collections::HashMap;
use std::path::Path;

/// The longest map file in bytes.
const LONGEST: u64 = 64 << 20;
/// The page size of an SDBM file in bytes, as apr-util and `httxt2dbm` write it.
const PAGE: usize = 1024;

pub type Values = HashMap<Vec<u8>, Vec<u8>>;

fn bytes(file: &Path) -> Vec<u8> {
    let fits = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    if fits {
        std::fs::read(file).unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// Reads lines of the form `key value`. A `#` begins a comment.
pub fn lines(file: &Path) -> Values {
    let mut values = HashMap::new();
    for line in bytes(file).split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        if let (Some(key), Some(value), false) =
            (words.next(), words.next(), line.starts_with(b"#"))
        {
            values.entry(key.to_vec()).or_insert_with(|| value.to_vec());
        }
    }
    values
}

/// Reads the pairs of all pages in order. Reading every pair needs no hash.
pub fn pages(file: &Path) -> Values {
    let bytes = bytes(file);
    bytes.chunks_exact(PAGE).flat_map(pairs).collect()
}

/// Reads the pairs of a page. A page begins with the number of its strings and their offsets. The
/// strings are packed from the page's end, and keys and values alternate. An invalid offset ends
/// the page.
fn pairs(page: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let number = |at: usize| {
        let bytes = page.get(2 * at..2 * at + 2)?;
        Some(usize::from(u16::from_ne_bytes([bytes[0], bytes[1]])))
    };
    let mut found = Vec::new();
    let mut end = PAGE;
    for pair in 0..number(0).unwrap_or(0) / 2 {
        let (Some(key), Some(value)) = (number(2 * pair + 1), number(2 * pair + 2)) else {
            break;
        };
        let (Some(key_bytes), Some(value_bytes)) = (page.get(key..end), page.get(value..key))
        else {
            break;
        };
        found.push((key_bytes.to_vec(), value_bytes.to_vec()));
        end = value;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_pages_give_their_pairs_and_broken_pages_no_panic() {
        let mut page = vec![0; PAGE];
        let mut end = PAGE;
        let strings: [&[u8]; 4] = [b"red", b"/real.html", b"blue", b"/b.html"];
        page[..2].copy_from_slice(&4u16.to_ne_bytes());
        for (at, string) in strings.iter().enumerate() {
            end -= string.len();
            page[end..end + string.len()].copy_from_slice(string);
            page[2 * at + 2..2 * at + 4].copy_from_slice(&(end as u16).to_ne_bytes());
        }
        let found = pairs(&page);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], (b"red".to_vec(), b"/real.html".to_vec()));
        assert_eq!(found[1], (b"blue".to_vec(), b"/b.html".to_vec()));
        // A broken page is read up to the error.
        page[2..4].copy_from_slice(&2000u16.to_ne_bytes());
        assert!(pairs(&page).is_empty());
        assert!(pairs(&[0xff; PAGE]).is_empty());
    }
}
