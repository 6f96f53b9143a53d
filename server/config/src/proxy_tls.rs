//! TLS to back ends (`https://`): the trusted authorities, and the server's own certificate.
//!
//! All hosts share the back ends, so there is one such setting for the server.

use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProxyTls {
    /// `SSLProxyVerify`. `None`: back ends must authenticate.
    pub verify: Option<bool>,
    /// `SSLProxyCheckPeerName`. `None`: the certificate must be for the name in the URL.
    pub check_name: Option<bool>,
    /// `SSLProxyCACertificateFile`. `None`: the system's authorities.
    pub authorities: Option<PathBuf>,
    /// `SSLProxyMachineCertificateFile`: the server's certificate and key, for back ends that
    /// request one.
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
