//! TLS to back ends (`https://`): the trusted authorities, and the server's own certificate.
//!
//! All hosts share the back ends, so the server has these settings only once.

use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProxyTls {
    /// `SSLProxyVerify`. `None`: the certificates of back ends are verified.
    pub verify: Option<bool>,
    /// `SSLProxyCheckPeerName`. `None`: the certificate must be valid for the name in the back
    /// end's URL.
    pub check_name: Option<bool>,
    /// `SSLProxyCACertificateFile`. If neither a file nor a folder is given, the system's
    /// authorities count.
    pub authorities: Option<PathBuf>,
    /// `SSLProxyCACertificatePath`: a folder of such authorities.
    pub authority_folder: Option<PathBuf>,
    /// The revocation lists for the certificates of back ends.
    pub revocations: crate::Revocations,
    /// `SSLProxyMachineCertificateFile`: the server's certificate and key, for back ends that
    /// request a client certificate.
    pub identity: Option<PathBuf>,
    /// `SSLProxyMachineCertificateChainFile`: the certificates between the server's own and the
    /// root.
    pub identity_chain: Option<PathBuf>,
}

impl ProxyTls {
    pub fn verifies(&self) -> bool {
        self.verify.unwrap_or(true)
    }

    pub fn checks_name(&self) -> bool {
        self.check_name.unwrap_or(true)
    }
}
