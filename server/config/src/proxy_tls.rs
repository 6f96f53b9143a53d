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
    /// `SSLProxyCACertificateFile`. `None`: the system's authorities.
    pub authorities: Option<PathBuf>,
    /// `SSLProxyMachineCertificateFile`: the server's certificate and key, for back ends that
    /// request a client certificate.
    pub identity: Option<PathBuf>,
}

impl ProxyTls {
    pub fn verifies(&self) -> bool {
        self.verify.unwrap_or(true)
    }

    pub fn checks_name(&self) -> bool {
        self.check_name.unwrap_or(true)
    }
}
