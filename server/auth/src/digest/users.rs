//! Reads the user files of `htdigest`. Each line is `user:realm:hash`, and the length of the hash
//! tells its algorithm. A file is read outside the event loop, and its content is kept until the
//! file changes.

use crate::passwords;
use mehari_config::DigestAlgorithm;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

/// The longest file in bytes.
const LONGEST: u64 = 16 << 20;
/// The longest time until a change of the file is noticed.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Users {
    files: RefCell<HashMap<PathBuf, UserFile>>,
}

struct UserFile {
    looked: Instant,
    modified: Option<SystemTime>,
    listed: Rc<UserList>,
}

/// The users of a file, with their hashes. `None` if the file cannot be read.
#[derive(Default)]
pub struct UserList(Option<HashMap<Vec<u8>, Vec<String>>>);

impl Users {
    /// Returns the users that the file had at most a second ago. Returns `None` if the file must be
    /// read.
    pub fn known(&self, file: &Path) -> Option<Rc<UserList>> {
        let mut files = self.files.borrow_mut();
        let known = files.get_mut(file)?;
        if known.looked.elapsed() >= LOOK {
            if known.modified.is_none() || modified(file) != known.modified {
                files.remove(file);
                return None;
            }
            known.looked = Instant::now();
        }
        Some(known.listed.clone())
    }

    pub async fn read(&self, file: &Path) {
        let path = file.to_path_buf();
        let looked = tokio::task::spawn_blocking(move || (modified(&path), listed(&path)));
        let (modified, users) = match looked.await {
            Ok((modified, users)) => (modified, users.ok()),
            Err(_) => (None, None),
        };
        let known = UserFile {
            looked: Instant::now(),
            modified: modified.filter(|_| users.is_some()),
            listed: Rc::new(UserList(users)),
        };
        self.files.borrow_mut().insert(file.to_path_buf(), known);
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file)
        .and_then(|found| found.modified())
        .ok()
}

fn listed(file: &Path) -> io::Result<HashMap<Vec<u8>, Vec<String>>> {
    let mut users: HashMap<Vec<u8>, Vec<String>> = HashMap::new();
    let mut add = |line: &[u8]| {
        let colon = line.iter().rposition(|byte| *byte == b':')?;
        let hash = String::from_utf8(line[colon + 1..].to_ascii_lowercase()).ok()?;
        let is_hash =
            matches!(hash.len(), 32 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash {
            users.entry(line[..colon].to_vec()).or_default().push(hash);
        }
        None::<()>
    };
    passwords::find_in_lines(file, LONGEST, &mut add)?;
    Ok(users)
}

impl UserList {
    pub fn is_readable(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the hash of user, realm and password.
    pub fn secret(&self, user: &[u8], realm: &str, kind: DigestAlgorithm) -> Option<&str> {
        // A name with a colon could be another user's name and realm.
        if user.contains(&b':') {
            return None;
        }
        let key = [user, b":", realm.as_bytes()].concat();
        let mut hashes = self.0.as_ref()?.get(&key)?.iter();
        let found = hashes.find(|hash| hash.len() == kind.digits());
        found.map(String::as_str)
    }
}
