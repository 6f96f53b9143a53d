//! `Options MultiViews`: a name without its suffix finds a file with one.
//!
//! Languages and qualities are not negotiated. Of several files the first by name is used.

use mehari_http::path::Path;
use mehari_text::percent;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The most examined entries.
const MOST: usize = 10_000;

/// The path of `name.suffix` in the folder. `rest` is `/name` and the rest of the path.
pub fn choose(folder: &[u8], path: &Path, rest: &[u8]) -> Option<Path> {
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
    let (name, behind) = rest.split_at(end);
    if name.is_empty() {
        return None;
    }
    let entries = std::fs::read_dir(std::path::Path::new(OsStr::from_bytes(folder))).ok()?;
    let mut fitting: Vec<Vec<u8>> = entries
        .flatten()
        .take(MOST)
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .map(|entry| entry.file_name().as_bytes().to_vec())
        .filter(|known| {
            known
                .strip_prefix(name)
                .is_some_and(|suffix| suffix.starts_with(b"."))
        })
        .collect();
    fitting.sort();
    let start = &path.merged[..path.merged.len() - rest.len()];
    let candidates = fitting.into_iter().filter_map(|known| {
        let whole = [start, &known, behind].concat();
        let path = Path::decode(&percent::encode_path(&whole)).ok()?;
        (!path.is_hidden()).then_some(path)
    });
    candidates.into_iter().next()
}
