//! Looks up values of `RewriteMap`. A file is read at the first lookup and again after a change. If
//! the map is a program, only the request that asks the program waits for it.

mod files;
mod program;

use files::Values;
use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub use program::Trouble;

/// The longest time until a change of a file is noticed.
const LIFE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct MapTable {
    files: RefCell<HashMap<PathBuf, MapFile>>,
    programs: program::Programs,
    /// The first lookup, in one evaluation of the rules, that needs a program: map and key.
    wanted: RefCell<Option<(String, Vec<u8>)>>,
}

struct MapFile {
    looked: Instant,
    modified: Option<SystemTime>,
    values: Values,
}

impl MapTable {
    /// Returns the value of a key. With `random`, the function returns one of the values that `|`
    /// separates.
    pub fn value(&self, file: &Path, random: bool, key: &[u8]) -> Option<Vec<u8>> {
        let value = self.look(file, files::lines, key)?;
        if !random {
            return Some(value);
        }
        let choices: Vec<&[u8]> = value.split(|byte| *byte == b'|').collect();
        let number = RandomState::new().build_hasher().finish() as usize;
        Some(choices[number % choices.len()].to_vec())
    }

    /// Returns the value of a key in an SDBM file.
    pub fn of_pages(&self, file: &Path, key: &[u8]) -> Option<Vec<u8>> {
        self.look(file, files::pages, key)
    }

    fn look(&self, file: &Path, read: fn(&Path) -> Values, key: &[u8]) -> Option<Vec<u8>> {
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
                    let known = MapFile {
                        looked: Instant::now(),
                        modified,
                        values: read(file),
                    };
                    files.insert(file.to_path_buf(), known);
                }
            }
        }
        files.get(file)?.values.get(key).cloned()
    }

    /// Notes that the rules need a program's answer.
    pub fn note_wanted(&self, map: &str, key: Vec<u8>) {
        let mut wanted = self.wanted.borrow_mut();
        wanted.get_or_insert_with(|| (map.to_string(), key));
    }

    pub fn take_wanted(&self) -> Option<(String, Vec<u8>)> {
        self.wanted.borrow_mut().take()
    }

    /// Asks the program. Returns `None` if the key has no value.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if the program gave no answer.
    pub async fn ask(&self, command: &[String], key: &[u8]) -> Result<Option<Vec<u8>>, Trouble> {
        self.programs.ask(command, key).await
    }

    pub fn clear(&self) {
        self.files.borrow_mut().clear();
        self.programs.clear();
    }
}
