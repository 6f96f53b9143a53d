//! `RewriteMap` files: read when first asked for, and again when they have changed.

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a change of a file may go unnoticed.
const LIFE: Duration = Duration::from_secs(1);
/// A longer file is no map.
const LONGEST: u64 = 64 << 20;

#[derive(Default)]
pub struct MapTable {
    files: RefCell<HashMap<PathBuf, Known>>,
}

struct Known {
    looked: Instant,
    modified: Option<SystemTime>,
    values: HashMap<Vec<u8>, Vec<u8>>,
}

impl MapTable {
    /// The value of a key; with `random` one of those that `|` parts.
    pub fn value(&self, file: &Path, random: bool, key: &[u8]) -> Option<Vec<u8>> {
        let mut files = self.files.borrow_mut();
        let fresh = files
            .get(file)
            .is_some_and(|known| known.looked.elapsed() < LIFE);
        if !fresh {
            let modified = std::fs::metadata(file)
                .and_then(|found| found.modified())
                .ok();
            match files.get_mut(file) {
                Some(known) if known.modified == modified => known.looked = Instant::now(),
                _ => {
                    let known = Known {
                        looked: Instant::now(),
                        modified,
                        values: read(file),
                    };
                    files.insert(file.to_path_buf(), known);
                }
            }
        }
        let value = files.get(file)?.values.get(key)?;
        if !random {
            return Some(value.clone());
        }
        let choices: Vec<&[u8]> = value.split(|byte| *byte == b'|').collect();
        let number = RandomState::new().build_hasher().finish() as usize;
        Some(choices[number % choices.len()].to_vec())
    }

    pub fn clear(&self) {
        self.files.borrow_mut().clear();
    }
}

/// `key value` lines; `#` begins a comment.
fn read(file: &Path) -> HashMap<Vec<u8>, Vec<u8>> {
    let fits = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    let text = match fits {
        true => std::fs::read(file).unwrap_or_default(),
        false => Vec::new(),
    };
    let mut values = HashMap::new();
    for line in text.split(|byte| *byte == b'\n') {
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
