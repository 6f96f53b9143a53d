//! The certificates that the server requests from an authority by itself (ACME, RFC 8555), as
//! mod_md's directives describe them.
//!
//! `directives/managed.rs` fills these settings, and `site` finds the hosts of each domain. The
//! crate `mehari-acme` requests the certificates.

use std::path::PathBuf;
use std::time::Duration;

mod names;

pub use names::host_name as managed_name;

/// The directories of Let's Encrypt: for real certificates, and for trials.
pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
pub(crate) const LETS_ENCRYPT_TRIAL: &str =
    "https://acme-staging-v02.api.letsencrypt.org/directory";

/// All managed domains, and what holds for each of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ManagedCertificates {
    pub authority: Authority,
    /// `MDStoreDir`: the folder of accounts, keys and certificates.
    pub store: PathBuf,
    /// `MDRetryDelay`: the pause after the first failure. Each further failure doubles the pause.
    pub retry_delay: Duration,
    pub domains: Vec<ManagedDomain>,
    /// The settings outside of `<MDomainSet>`.
    pub defaults: DomainSettings,
}

/// The authority that signs the certificates.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Authority {
    /// `MDCertificateAuthority`: the URL of its directory.
    pub directory: String,
    /// `MDCACertificateFile`: the roots that the authority's own server is verified with. `None`:
    /// the roots of the operating system.
    pub roots: Option<PathBuf>,
    /// `MDCertificateAgreement accepted`.
    pub is_agreed: bool,
    /// `MDContactEmail`.
    pub contact: Option<String>,
}

/// One certificate with all its names.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ManagedDomain {
    /// The host names in lower case. The first also names the domain.
    pub names: Vec<String>,
    pub settings: DomainSettings,
    /// Whether a host of the site uses the certificate.
    pub is_used: bool,
}

/// The settings of one domain. `None`: the setting outside of `<MDomainSet>`, else the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DomainSettings {
    /// `MDCAChallenges`, the preferred first.
    pub challenges: Option<Vec<ChallengeKind>>,
    /// `MDPrivateKeys`.
    pub key: Option<KeyKind>,
    /// `MDRenewWindow`.
    pub window: Option<RenewWindow>,
    /// `MDRenewMode`.
    pub mode: Option<RenewMode>,
    /// `MDRequireHttps`.
    pub require_https: Option<RequireHttps>,
    /// `MDStapling`.
    pub stapling: Option<bool>,
    /// `MDStaplingRenewWindow`.
    pub staple_window: Option<RenewWindow>,
    /// `MDMembers auto`: the other names of the domain's hosts are names of the domain too.
    pub adds_members: Option<bool>,
}

/// How the authority convinces itself that the server has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ChallengeKind {
    /// RFC 8555 section 8.3: a file on port 80.
    #[serde(rename = "http-01")]
    Http,
    /// RFC 8737: a certificate on port 443.
    #[serde(rename = "tls-alpn-01")]
    TlsAlpn,
}

/// The key of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum KeyKind {
    #[default]
    P256,
    P384,
    Rsa2048,
    Rsa3072,
    Rsa4096,
}

/// How long before its end a certificate or an OCSP response is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum RenewWindow {
    /// A part of the certificate's lifetime, in percent.
    Percent(u8),
    Time(Duration),
}

/// Which domains get a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RenewMode {
    /// Domains that a host uses.
    #[default]
    Auto,
    Always,
    /// No certificate is requested. A stored certificate is used.
    Manual,
}

/// What happens to requests without TLS for a domain's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequireHttps {
    #[default]
    Off,
    /// They are redirected by 302.
    Temporary,
    /// They are redirected by 301. Responses over TLS have Strict-Transport-Security.
    Permanent,
}

impl Default for ManagedCertificates {
    fn default() -> ManagedCertificates {
        ManagedCertificates {
            authority: Authority {
                directory: LETS_ENCRYPT.into(),
                roots: None,
                is_agreed: false,
                contact: None,
            },
            store: PathBuf::from("md"),
            retry_delay: Duration::from_secs(60),
            domains: Vec::new(),
            defaults: DomainSettings::default(),
        }
    }
}

/// Returns the URL of an authority's directory: `https://` and printable characters, or a name
/// of Let's Encrypt. `None`: the text is neither.
pub fn authority_url(text: &str) -> Option<String> {
    let url = match text.to_ascii_lowercase().as_str() {
        "letsencrypt" => LETS_ENCRYPT,
        "letsencrypt-test" => LETS_ENCRYPT_TRIAL,
        _ => text,
    };
    let host = url.strip_prefix("https://")?;
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}@".contains(&byte);
    let is_url = !host.is_empty() && !host.starts_with('/') && url.bytes().all(is_plain);
    is_url.then(|| url.to_owned())
}

impl ManagedDomain {
    /// Returns a domain with these names and the settings outside of `<MDomainSet>`. There is at
    /// least one name.
    pub fn of(names: Vec<String>) -> ManagedDomain {
        ManagedDomain {
            names,
            settings: DomainSettings::default(),
            is_used: false,
        }
    }

    /// Returns the first name, which names the domain in messages and in the store.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Tells whether the server requests a certificate for the domain.
    pub fn is_requested(&self) -> bool {
        match self.settings.mode.unwrap_or_default() {
            RenewMode::Auto => self.is_used,
            RenewMode::Always => true,
            RenewMode::Manual => false,
        }
    }

    /// Returns whether and how requests without TLS are redirected.
    pub fn require_https(&self) -> RequireHttps {
        self.settings.require_https.unwrap_or_default()
    }
}

impl DomainSettings {
    pub(crate) fn inherit(&mut self, defaults: &DomainSettings) {
        let defaults = defaults.clone();
        self.challenges = self.challenges.take().or(defaults.challenges);
        self.key = self.key.or(defaults.key);
        self.window = self.window.or(defaults.window);
        self.mode = self.mode.or(defaults.mode);
        self.require_https = self.require_https.or(defaults.require_https);
        self.stapling = self.stapling.or(defaults.stapling);
        self.staple_window = self.staple_window.or(defaults.staple_window);
        self.adds_members = self.adds_members.or(defaults.adds_members);
    }
}

impl ChallengeKind {
    /// Returns the name of RFC 8555 and RFC 8737.
    pub fn name(self) -> &'static str {
        match self {
            ChallengeKind::Http => "http-01",
            ChallengeKind::TlsAlpn => "tls-alpn-01",
        }
    }
}

impl RenewWindow {
    /// The default, as in mod_md.
    pub const DEFAULT: RenewWindow = RenewWindow::Percent(33);

    /// Returns how long before its end a certificate with this lifetime is renewed: at most nine
    /// tenths of the lifetime, so that a renewed certificate is not renewed at once.
    pub fn of(self, lifetime: Duration) -> Duration {
        let window = match self {
            RenewWindow::Percent(percent) => lifetime * u32::from(percent) / 100,
            RenewWindow::Time(time) => time,
        };
        window.min(lifetime * 9 / 10)
    }
}
