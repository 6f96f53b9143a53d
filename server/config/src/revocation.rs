//! Revocation lists: where they are, and which certificates are looked up in them. Clients'
//! certificates have such settings (`SSLCARevocationFile`), and so have those of back ends
//! (`SSLProxyCARevocationFile`).

use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Revocations {
    /// `SSLCARevocationFile`.
    pub file: Option<PathBuf>,
    /// `SSLCARevocationPath`.
    pub folder: Option<PathBuf>,
    /// `SSLCARevocationCheck`.
    pub check: Option<RevocationCheck>,
}

/// `SSLCARevocationCheck`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RevocationCheck {
    pub depth: RevocationDepth,
    /// `no_crl_for_cert_ok`: a certificate passes if its authority has no list.
    pub permits_unlisted: bool,
}

/// The certificates that are looked up in the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RevocationDepth {
    None,
    /// The certificate of the client or the back end.
    Leaf,
    /// This certificate and those of the authorities between it and the root.
    Chain,
}

impl Revocations {
    pub(crate) fn inherit(&mut self, main: &Revocations) {
        self.file = self.file.take().or_else(|| main.file.clone());
        self.folder = self.folder.take().or_else(|| main.folder.clone());
        self.check = self.check.or(main.check);
    }

    pub fn has_lists(&self) -> bool {
        self.file.is_some() || self.folder.is_some()
    }

    /// Returns what is looked up, or `None` if nothing is. If there are lists, whole chains are
    /// looked up unless the configuration says otherwise.
    pub fn check(&self) -> Option<RevocationCheck> {
        let by_default = RevocationCheck {
            depth: RevocationDepth::Chain,
            permits_unlisted: false,
        };
        let check = self.check.or(self.has_lists().then_some(by_default));
        check.filter(|check| check.depth != RevocationDepth::None)
    }

    /// Returns the file and the folder, so that the caller can watch them.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.file.iter().chain(&self.folder)
    }
}
