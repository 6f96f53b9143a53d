//! What a configuration says about TLS: which addresses speak it, with which certificates, to whom.
//!
//! Filled by the rows of `directives/tls.rs`; the front turns it into its library's terms.

use std::path::PathBuf;

/// One address to take connections at.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listen {
    /// `host:port`, `[v6]:port` or `unix:/path`.
    pub address: String,
    /// TLS is spoken there. `None`: not said; see [`crate::Site::is_secure`].
    pub secure: Option<bool>,
}

impl Listen {
    /// As the command line writes it: an address, or one behind `https://` or `http://`.
    pub fn parse(text: &str) -> Listen {
        let bare = |text: &str| text.strip_suffix('/').unwrap_or(text).to_string();
        match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(address), _) => Listen {
                address: bare(address),
                secure: Some(true),
            },
            (None, Some(address)) => Listen {
                address: bare(address),
                secure: Some(false),
            },
            (None, None) => Listen {
                address: text.to_string(),
                secure: None,
            },
        }
    }
}

/// A certificate and where its key is. Several may stand side by side, of different key types.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CertificateFiles {
    /// The server's certificate in PEM, and after it, if they are there, those that lead to the root.
    pub certificate: PathBuf,
    /// `None`: the key stands in the certificate's file.
    pub key: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum TlsVersion {
    #[serde(rename = "TLSv1.2")]
    Tls12,
    #[serde(rename = "TLSv1.3")]
    Tls13,
}

/// `SSLVerifyClient`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificates {
    #[default]
    None,
    /// A client may come without one; one it shows must be good.
    Optional,
    Require,
}

/// The TLS side of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct TlsSettings {
    /// `SSLEngine On`: addresses that do not say otherwise speak TLS.
    pub engine: Option<bool>,
    pub certificates: Vec<CertificateFiles>,
    /// `SSLCertificateChainFile`: what follows each certificate on the way to its root.
    pub chain: Option<PathBuf>,
    pub versions: Vec<TlsVersion>,
    /// `SSLCipherSuite`, by their registered names (`TLS_...`), best first. Empty: the library's.
    pub ciphers: Vec<&'static str>,
    /// `SSLHonorCipherOrder`.
    pub own_order: bool,
    /// `SSLSessionTickets`.
    pub tickets: bool,
    pub clients: ClientCertificates,
    /// `SSLCACertificateFile`: who may sign clients' certificates.
    pub client_roots: Option<PathBuf>,
    /// `SSLCARevocationFile`.
    pub client_revocations: Option<PathBuf>,
    /// `SSLStaplingFile`: an OCSP answer in DER, kept fresh by another program.
    pub staple: Option<PathBuf>,
    /// `Protocols`: HTTP/2 is offered, and taken in clear text.
    pub http2: bool,
}

impl TlsSettings {
    /// Every file that is read, for watching them.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let pairs = self.certificates.iter();
        pairs
            .flat_map(|pair| std::iter::once(&pair.certificate).chain(&pair.key))
            .chain(&self.chain)
            .chain(&self.client_roots)
            .chain(&self.client_revocations)
            .chain(&self.staple)
    }
}

impl crate::Site {
    /// Whether connections at this address begin with TLS: its own word, else `SSLEngine`, else
    /// that it is port 443 and there is a certificate.
    pub fn is_secure(&self, listen: &Listen) -> bool {
        let by_port = || listen.address.ends_with(":443") && !self.tls.certificates.is_empty();
        let by_engine = || self.tls.engine.unwrap_or_else(by_port);
        listen.secure.unwrap_or_else(by_engine) && !listen.address.starts_with("unix:")
    }
}
