//! The TLS settings: which addresses use TLS, with which certificates, and which clients may
//! connect.
//!
//! The directives of `directives/tls.rs` fill the settings. `mehari_net` translates them for its
//! TLS library.

use std::path::PathBuf;

/// One address of `Listen`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listen {
    /// `host:port`, `[v6]:port`, `unix:/path`, or `*:port` for every IPv4 and IPv6 address.
    pub address: String,
    /// Whether the address uses TLS. `None`: not configured, so [`crate::Site::is_secure`] decides.
    pub secure: Option<bool>,
}

impl Listen {
    /// Parses an address as the command line writes it. `https://` or `http://` may precede the
    /// address.
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

/// The files of a certificate and its key. A host may have several certificates with different
/// types of keys.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CertificateFiles {
    /// The server's certificate in PEM, optionally followed by its chain.
    pub certificate: PathBuf,
    /// `None`: the key is in the certificate's file.
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
    /// A client may connect without a certificate. A certificate that the client sends must be
    /// valid.
    Optional,
    Require,
}

/// `SSLVHostSNIPolicy`: the other hosts to which a connection may carry requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SniPolicy {
    /// None.
    Strict,
    /// Hosts with the same certificates, protocol versions, ciphers and rules about clients'
    /// certificates.
    #[default]
    Secure,
    /// Hosts with the same rules about clients' certificates.
    AuthOnly,
    /// All.
    Insecure,
}

/// The TLS settings of a host. `None` or an empty list: the main server's setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct TlsSettings {
    /// `SSLEngine On`: addresses without their own setting use TLS.
    pub engine: Option<bool>,
    pub certificates: Vec<CertificateFiles>,
    /// The managed domain whose certificate the host uses.
    pub managed: Option<String>,
    /// Whether and how requests without TLS are redirected (`MDRequireHttps`).
    pub require_https: Option<crate::RequireHttps>,
    /// `SSLCertificateChainFile`: the certificates between each certificate and its root.
    pub chain: Option<PathBuf>,
    pub versions: Vec<TlsVersion>,
    /// `SSLCipherSuite`: the registered names, the best first. Names of TLS 1.3 ciphers begin with
    /// `TLS13_` instead of `TLS_`. Empty: the ciphers that the TLS library chooses.
    pub ciphers: Vec<&'static str>,
    /// `SSLHonorCipherOrder`.
    pub own_order: Option<bool>,
    /// `SSLSessionTickets`.
    pub tickets: Option<bool>,
    pub clients: Option<ClientCertificates>,
    /// `SSLCACertificateFile`: the authorities that may sign clients' certificates.
    pub client_roots: Option<PathBuf>,
    /// `SSLCACertificatePath`: a folder of such authorities.
    pub client_root_folder: Option<PathBuf>,
    /// The revocation lists for clients' certificates.
    pub client_revocations: crate::Revocations,
    /// `SSLStaplingFile`: the file of an OCSP response in DER. Another program renews the file.
    pub staple: Option<PathBuf>,
    /// `Protocols`: whether the server offers HTTP/2.
    pub http2: Option<bool>,
}

impl TlsSettings {
    pub(crate) fn inherit(&mut self, main: &TlsSettings) {
        let main = main.clone();
        self.engine = self.engine.or(main.engine);
        if !self.has_certificate() {
            self.certificates = main.certificates;
            self.managed = main.managed;
            self.chain = self.chain.take().or(main.chain);
            self.staple = self.staple.take().or(main.staple);
        }
        if self.versions.is_empty() {
            self.versions = main.versions;
        }
        if self.ciphers.is_empty() {
            self.ciphers = main.ciphers;
        }
        self.own_order = self.own_order.or(main.own_order);
        self.tickets = self.tickets.or(main.tickets);
        self.http2 = self.http2.or(main.http2);
        self.clients = self.clients.or(main.clients);
        self.client_roots = self.client_roots.take().or(main.client_roots);
        self.client_root_folder = self.client_root_folder.take().or(main.client_root_folder);
        self.client_revocations.inherit(&main.client_revocations);
    }

    /// Tells whether the host has a certificate, from files or managed.
    pub fn has_certificate(&self) -> bool {
        !self.certificates.is_empty() || self.managed.is_some()
    }

    /// Returns whether and how the server requests certificates from clients.
    pub fn clients(&self) -> ClientCertificates {
        self.clients.unwrap_or_default()
    }

    /// Tells whether both hosts admit clients by the same rules about certificates.
    fn trusts_as(&self, other: &TlsSettings) -> bool {
        self.clients() == other.clients()
            && self.client_roots == other.client_roots
            && self.client_root_folder == other.client_root_folder
            && self.client_revocations == other.client_revocations
    }

    /// Tells whether both hosts have the same certificates, protocol versions and ciphers.
    fn speaks_as(&self, other: &TlsSettings) -> bool {
        self.certificates == other.certificates
            && self.managed == other.managed
            && self.chain == other.chain
            && self.versions == other.versions
            && self.ciphers == other.ciphers
    }

    /// Tells whether a connection that was opened for a host with these settings may carry requests
    /// for another host.
    pub fn may_carry(&self, other: &TlsSettings, policy: SniPolicy) -> bool {
        match policy {
            SniPolicy::Strict => false,
            SniPolicy::Secure => self.trusts_as(other) && self.speaks_as(other),
            SniPolicy::AuthOnly => self.trusts_as(other),
            SniPolicy::Insecure => true,
        }
    }

    /// Tells whether a host asks clients for certificates by rules by which a connection that was
    /// opened for these settings has not asked.
    pub fn lacks_certificate_for(&self, other: &TlsSettings) -> bool {
        other.clients() != ClientCertificates::None && !self.trusts_as(other)
    }

    /// Returns all files that these settings name, so that the caller can watch the files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let pairs = self.certificates.iter();
        pairs
            .flat_map(|pair| std::iter::once(&pair.certificate).chain(&pair.key))
            .chain(&self.chain)
            .chain(&self.client_roots)
            .chain(&self.client_root_folder)
            .chain(self.client_revocations.paths())
            .chain(&self.staple)
    }
}
