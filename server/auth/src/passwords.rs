//! Basic authentication: reads the user and the password from a request and checks the password.
//!
//! Threads check passwords, a few at a time, because bcrypt is slow on purpose. A correct password
//! is remembered for five minutes as a keyed digest, so the next requests of the user need no
//! check. A wrong password is not remembered, so each request with it waits for a check.

mod crypt;
mod file;
mod formats;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::Engine;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub(crate) use file::find_in_lines;
pub use file::{is_member, plain};
pub use formats::is_same;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);
/// How long a correct password is remembered.
const LIFE: Duration = Duration::from_secs(300);
/// The longest time until a change of the user file is noticed.
const LOOK: Duration = Duration::from_secs(1);
/// The largest number of users whose passwords are remembered.
const USERS: usize = 16 * 1024;
/// The number of passwords that are checked at once.
const AT_ONCE: usize = 2;
/// The number of checks that may wait.
const WAITING: usize = 64;

/// A user and a password from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: Vec<u8>,
    password: Vec<u8>,
}

impl Credentials {
    /// Reads an `Authorization: Basic ...` field. Returns `None` if the field is malformed or of
    /// another scheme.
    pub fn of(field: &[u8]) -> Option<Credentials> {
        let (scheme, encoded) = field.split_at(field.iter().position(|byte| *byte == b' ')?);
        if !scheme.eq_ignore_ascii_case(b"basic") {
            return None;
        }
        let decoded = decoded(encoded.trim_ascii())?;
        let colon = memchr::memchr(b':', &decoded)?;
        let (user, password) = (decoded[..colon].to_vec(), decoded[colon + 1..].to_vec());
        let strange = |byte: &u8| *byte < b' ' || *byte == 0x7f;
        (!user.is_empty() && !user.iter().any(strange)).then_some(Credentials { user, password })
    }
}

/// Decodes base64 as Apache does: with or without padding, and up to the first other byte.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut length = text.iter().take_while(|byte| is_digit(byte)).count();
    if length % 4 == 1 {
        length -= 1;
    }
    LENIENT.decode(&text[..length]).ok()
}

pub struct Passwords {
    key: [u8; 32],
    right: RefCell<HashMap<[u8; 32], Instant>>,
    files: RefCell<HashMap<PathBuf, (Instant, Option<SystemTime>)>>,
    turns: tokio::sync::Semaphore,
    waiting: std::cell::Cell<usize>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordCheck {
    Right,
    Wrong,
    /// Too many checks are waiting.
    Busy,
    /// The user file cannot be read.
    Unreadable,
}

impl Default for Passwords {
    fn default() -> Passwords {
        let mut key = [0; 32];
        // Without random bytes no password is remembered: see `remember`.
        if getrandom::fill(&mut key).is_err() {
            key = [0; 32];
        }
        Passwords {
            key,
            right: RefCell::default(),
            files: RefCell::default(),
            turns: tokio::sync::Semaphore::new(AT_ONCE),
            waiting: std::cell::Cell::new(0),
        }
    }
}

impl Passwords {
    /// Returns whether the credentials were correct recently and the file is unchanged since then.
    pub fn are_remembered(&self, file: &Path, credentials: &Credentials) -> bool {
        let digest = self.digest(file, credentials);
        let mut right = self.right.borrow_mut();
        match right.get(&digest) {
            Some(since) if since.elapsed() < LIFE => true,
            Some(_) => {
                right.remove(&digest);
                false
            }
            None => false,
        }
    }

    /// Looks the user up in the file and checks the password on another thread.
    pub async fn check(&self, file: &Path, credentials: &Credentials) -> PasswordCheck {
        if self.waiting.get() >= WAITING {
            return PasswordCheck::Busy;
        }
        self.waiting.set(self.waiting.get() + 1);
        let _place = WaitingCheck(&self.waiting);
        let Ok(_turn) = self.turns.acquire().await else {
            return PasswordCheck::Busy;
        };
        // Another request may have had the same password checked during the wait.
        if self.are_remembered(file, credentials) {
            return PasswordCheck::Right;
        }
        let digest = self.digest(file, credentials);
        let (path, asked) = (file.to_path_buf(), credentials.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let line = file::password_of(&path, &asked.user)?;
            // The check of an unknown user takes as long as that of a known user.
            let known = line.as_deref().unwrap_or(formats::NOBODY);
            Ok(formats::matches(known, &asked.password) && line.is_some())
        });
        match looked.await {
            Ok(Ok(true)) => {
                self.remember(digest);
                PasswordCheck::Right
            }
            Ok(Ok(false)) => PasswordCheck::Wrong,
            Ok(Err::<bool, std::io::Error>(_)) | Err(_) => PasswordCheck::Unreadable,
        }
    }

    fn remember(&self, digest: [u8; 32]) {
        if self.key == [0; 32] {
            return;
        }
        let mut right = self.right.borrow_mut();
        if right.len() >= USERS {
            right.clear();
        }
        right.insert(digest, Instant::now());
    }

    /// Computes the digest that is remembered. The digest includes the file's modification time, so
    /// a changed file invalidates the digest.
    fn digest(&self, file: &Path, credentials: &Credentials) -> [u8; 32] {
        let Ok(mut digest) = <Hmac<Sha256> as Mac>::new_from_slice(&self.key) else {
            return [0; 32];
        };
        let modified = self.modified(file);
        let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let since = since.map_or(0, |since| since.as_nanos());
        let parts: [&[u8]; 4] = [
            file.as_os_str().as_encoded_bytes(),
            &since.to_le_bytes(),
            &credentials.user,
            &credentials.password,
        ];
        for part in parts {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().into_bytes().into()
    }

    fn modified(&self, file: &Path) -> Option<SystemTime> {
        let mut files = self.files.borrow_mut();
        match files.get(file) {
            Some((looked, modified)) if looked.elapsed() < LOOK => *modified,
            _ => {
                let modified = std::fs::metadata(file)
                    .and_then(|found| found.modified())
                    .ok();
                files.insert(file.to_path_buf(), (Instant::now(), modified));
                modified
            }
        }
    }
}

struct WaitingCheck<'a>(&'a std::cell::Cell<usize>);

impl Drop for WaitingCheck<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_credentials_are_refused() {
        let of = |field: &str| Credentials::of(field.as_bytes());
        let right = of("Basic YW5uOnNlY3JldDp4").expect("right");
        assert_eq!(right.user, b"ann");
        assert_eq!(right.password, b"secret:x");
        assert!(of("basic YW5uOg==").is_some());
        for wrong in [
            "",
            "Basic",
            "Basic !!",
            "Basic YW5u",
            "Digest x",
            "Basic OnNlY3JldA==",
        ] {
            assert!(of(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_correct_password_is_remembered_until_the_file_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("users");
        std::fs::write(&file, "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n").expect("written");
        let passwords = Passwords::default();
        let ann = Credentials {
            user: b"ann".to_vec(),
            password: b"secret".to_vec(),
        };
        let bad = Credentials {
            user: b"ann".to_vec(),
            password: b"wrong".to_vec(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            assert!(!passwords.are_remembered(&file, &ann));
            assert_eq!(passwords.check(&file, &bad).await, PasswordCheck::Wrong);
            assert_eq!(passwords.check(&file, &ann).await, PasswordCheck::Right);
            assert!(
                passwords.are_remembered(&file, &ann) && !passwords.are_remembered(&file, &bad)
            );
            let missing = folder.path().join("missing");
            assert_eq!(
                passwords.check(&missing, &ann).await,
                PasswordCheck::Unreadable
            );
        });
        let later = SystemTime::now() + Duration::from_secs(9);
        std::fs::File::options()
            .write(true)
            .open(&file)
            .expect("own")
            .set_modified(later)
            .expect("own");
        passwords.files.borrow_mut().clear();
        assert!(!passwords.are_remembered(&file, &ann));
    }
}
