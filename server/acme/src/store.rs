//! The folder of accounts, keys and certificates (`MDStoreDir`). Several processes may share it: a
//! process locks a domain before it requests a certificate.
//!
//! Each file is written beside its place and then renamed, so a reader sees the old or the new
//! file. Key and chain stand in one file, so they always fit.

use crate::Error;
use rustix::fs::{flock, FlockOperation};
use std::fs::{DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Store(PathBuf);

/// A lock, which ends with the value.
pub struct Lock(#[allow(dead_code)] File);

impl Store {
    /// Opens the store. Creates its folders, which only the owner can enter.
    pub fn open(folder: &Path) -> Result<Store, Error> {
        let failed = |error: io::Error| failure(folder, &error);
        for part in ["domains", "accounts", "locks", "revoking", "staples"] {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700);
            made.create(folder.join(part)).map_err(failed)?;
        }
        let meta = std::fs::metadata(folder).map_err(failed)?;
        let user = rustix::process::geteuid().as_raw();
        if meta.uid() != user || meta.mode() & 0o022 != 0 {
            return Err(Error::Store {
                file: folder.to_path_buf(),
                reason: format!("expected a folder that only user {user} may change"),
            });
        }
        Ok(Store(folder.to_path_buf()))
    }

    /// Returns the file of a domain's key and chain.
    pub fn certificate(&self, domain: &str) -> PathBuf {
        self.0.join("domains").join(format!("{domain}.pem"))
    }

    /// Returns the file of a domain's certificate that is being revoked.
    pub fn revocation(&self, domain: &str) -> PathBuf {
        self.0.join("revoking").join(format!("{domain}.json"))
    }

    /// Returns the file of the OCSP response of a domain's certificate.
    pub fn staple(&self, domain: &str) -> PathBuf {
        self.0.join("staples").join(format!("{domain}.der"))
    }

    /// Returns the file of the account with an authority.
    pub fn account(&self, directory: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        directory.hash(&mut hasher);
        let name = format!("{:016x}.json", hasher.finish());
        self.0.join("accounts").join(name)
    }

    /// Waits for the lock with this name, which other processes may hold.
    pub async fn lock(&self, name: &str) -> Result<Lock, Error> {
        let path = self.0.join("locks").join(name);
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| failure(&path, &error))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock(file)),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(error) => return Err(failure(&path, &error.into())),
            }
        }
    }
}

/// Reads a text file. `None`: there is none.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    let text = |bytes| String::from_utf8(bytes).map_err(io::Error::other);
    let read = read_bytes(path)?.map(text).transpose();
    read.map_err(|error| failure(path, &error))
}

/// Reads a file. `None`: there is none.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure(path, &error)),
    }
}

/// Removes a file if it is there.
pub fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failure(path, &error)),
        _ => Ok(()),
    }
}

/// Writes a file that only its owner can read. The file appears whole or not at all.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(text.as_ref())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(folder)?.sync_all()
    });
    written.map_err(|error| failure(path, &error))
}

fn failure(file: &Path, error: &io::Error) -> Error {
    Error::Store {
        file: file.to_path_buf(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_private_and_a_folder_that_others_may_change_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("md")).expect("a store");
        let file = store.certificate("example.org");
        assert!(read(&file).expect("readable").is_none());
        write(&file, "one").expect("written");
        write(&file, "two").expect("replaced");
        assert_eq!(read(&file).expect("readable").as_deref(), Some("two"));
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path().join("md"), open).expect("changed");
        assert!(Store::open(&folder.path().join("md")).is_err());
    }
}
