//! The files of a folder that `openssl rehash` has named, as SSLCACertificatePath and its relatives
//! read them: a name is a hash of 8 hexadecimal digits, a dot and a number.

use std::io;
use std::path::{Path, PathBuf};

/// What the files of a folder hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashedFiles {
    /// Files such as `9d66eef0.0`.
    Certificates,
    /// Files such as `9d66eef0.r0`.
    RevocationLists,
}

impl HashedFiles {
    fn are_named(self, name: &str) -> bool {
        let Some((hash, number)) = name.split_once('.') else {
            return false;
        };
        let number = match self {
            HashedFiles::Certificates => Some(number),
            HashedFiles::RevocationLists => number.strip_prefix('r'),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_hash = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash && number.is_some_and(is_number)
    }

    /// Returns the files of the folder that OpenSSL would look at, in the order of their names.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or has no such file.
    pub fn of(self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in folder.read_dir()? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| self.are_named(name)) {
                files.push(folder.join(name));
            }
        }
        files.sort();
        if files.is_empty() {
            let (what, example) = match self {
                HashedFiles::Certificates => ("PEM files", "9d66eef0.0"),
                HashedFiles::RevocationLists => ("revocation lists", "9d66eef0.r0"),
            };
            return Err(io::Error::other(format!(
                "expected {what} with the names that `openssl rehash` makes, such as {example}"
            )));
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::HashedFiles::{Certificates, RevocationLists};
    use super::*;

    #[test]
    fn names_tell_certificates_from_lists_and_from_other_files() {
        for (name, certificate, list) in [
            ("9d66eef0.0", true, false),
            ("9D66EEF0.12", true, false),
            ("9d66eef0.r0", false, true),
            ("9d66eef0.r", false, false),
            ("9d66eef0.", false, false),
            ("9d66eef0", false, false),
            ("9d66eef.0", false, false),
            ("9d66eefg.0", false, false),
            ("authority.pem", false, false),
        ] {
            assert_eq!(Certificates.are_named(name), certificate, "{name}");
            assert_eq!(RevocationLists.are_named(name), list, "{name}");
        }
    }

    #[test]
    fn a_folder_without_such_names_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("0a1b2c3d.0"), "").expect("written");
        let files = Certificates.of(folder.path()).expect("one file");
        assert_eq!(files, [folder.path().join("0a1b2c3d.0")]);
        let error = RevocationLists.of(folder.path()).expect_err("no list");
        assert!(error.to_string().contains("9d66eef0.r0"), "{error}");
        let missing = folder.path().join("missing");
        let error = Certificates.of(&missing).expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
