//! What a configuration says about TLS towards back ends (`https://`): whom the server believes, and who it says it is.
//!
//! Back ends are shared by all hosts, so there is one such rule for the server.

use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProxyTls {
    /// `SSLProxyVerify`; `None`: a back end has to prove who it is.
    pub verify: Option<bool>,
    /// `SSLProxyCheckPeerName`; `None`: its certificate has to be for the name in its URL.
    pub check_name: Option<bool>,
    /// `SSLProxyCACertificateFile`; `None`: the authorities the system trusts.
    pub authorities: Option<PathBuf>,
    /// `SSLProxyMachineCertificateFile`: the server's own certificate and key, for back ends that ask.
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
