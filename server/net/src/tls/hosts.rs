//! Keeps the TLS settings of a site's hosts. The front asks for the settings of the host that a
//! client names.

use super::config;
use super::managed::Managed;
use mehari_config::{ClientCertificates, Site, TlsSettings};
use rustls::server::ProducesTickets;
use rustls::ServerConfig;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Why the site's TLS configuration is unusable. Each error names the file.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("an address uses TLS, but there is no SSLCertificateFile")]
    NoCertificate,
    #[error("{directive} {file}: {reason}", file = .file.display())]
    File {
        directive: &'static str,
        file: PathBuf,
        reason: String,
    },
    #[error(
        "SSLCertificateFile {certificate} and SSLCertificateKeyFile {key} do not match: the key \
         belongs to another certificate",
        certificate = .certificate.display(), key = .key.display()
    )]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error("{0}")]
    Settings(String),
}

impl Trouble {
    pub(super) fn file(
        directive: &'static str,
        file: &std::path::Path,
        reason: impl ToString,
    ) -> Trouble {
        Trouble::File {
            directive,
            file: file.to_path_buf(),
            reason: reason.to_string(),
        }
    }
}

/// The TLS settings that several hosts share.
struct SharedTls {
    settings: Arc<TlsSettings>,
    config: Arc<ServerConfig>,
    tickets: Option<Arc<dyn ProducesTickets>>,
}

pub struct Hosts {
    shared: Vec<SharedTls>,
    /// The index into `shared` for each host number.
    places: Vec<usize>,
    managed: Rc<Managed>,
}

impl Hosts {
    /// Reads the TLS files of all hosts. `before` holds the previous settings. Their tickets stay
    /// valid for hosts that ask for no client certificate before and after.
    ///
    /// # Errors
    ///
    /// The first file that cannot be used.
    pub fn load(site: &Site, before: Option<&Hosts>) -> Result<Hosts, Trouble> {
        let mut hosts = Hosts {
            shared: Vec::new(),
            places: Vec::new(),
            managed: before
                .map(|before| before.managed.clone())
                .unwrap_or_default(),
        };
        for host in site.all_hosts() {
            let place = if !host.tls.has_certificate() {
                // A host without a certificate uses the first host's settings.
                0
            } else {
                hosts.place_for(&host.tls, before)?
            };
            hosts.places.push(place);
        }
        if hosts.shared.is_empty() {
            Err(Trouble::NoCertificate)
        } else {
            Ok(hosts)
        }
    }

    /// Returns the problems of this site's TLS files.
    pub fn problems(site: &Site) -> Vec<Trouble> {
        let mut hosts = Hosts {
            shared: Vec::new(),
            places: Vec::new(),
            managed: Rc::default(),
        };
        let with_own = site.all_hosts().map(|host| &host.tls);
        let mut with_own = with_own.filter(|tls| tls.has_certificate()).peekable();
        if with_own.peek().is_none() {
            return vec![Trouble::NoCertificate];
        }
        with_own
            .filter_map(|tls| hosts.place_for(tls, None).err())
            .collect()
    }

    fn place_for(
        &mut self,
        settings: &TlsSettings,
        before: Option<&Hosts>,
    ) -> Result<usize, Trouble> {
        let known = |shared: &SharedTls| *shared.settings == *settings;
        if let Some(place) = self.shared.iter().position(known) {
            return Ok(place);
        }
        let tickets = match before.and_then(|before| before.tickets(settings)) {
            Some(tickets) => Some(tickets),
            None => config::tickets(settings)?,
        };
        self.shared.push(SharedTls {
            config: config::build(settings, tickets.clone(), &self.managed)?,
            settings: Arc::new(settings.clone()),
            tickets,
        });
        Ok(self.shared.len() - 1)
    }

    /// Returns the ticket keys to keep for hosts with these settings. A ticket also stands for a
    /// verified client certificate. Where clients send certificates, tickets therefore end with the
    /// configuration.
    fn tickets(&self, settings: &TlsSettings) -> Option<Arc<dyn ProducesTickets>> {
        let is_same = |shared: &&SharedTls| {
            shared.settings.certificates == settings.certificates
                && shared.settings.managed == settings.managed
                && shared.settings.tickets == settings.tickets
        };
        let asks_nobody = |settings: &TlsSettings| settings.clients() == ClientCertificates::None;
        let same = self.shared.iter().find(is_same)?;
        if asks_nobody(settings) && asks_nobody(&same.settings) {
            same.tickets.clone()
        } else {
            None
        }
    }

    /// Returns the managed certificates, which all later settings share.
    pub fn managed(&self) -> &Managed {
        &self.managed
    }

    /// Returns the settings of the host with this number.
    pub fn settings_of(&self, host: u32) -> (Arc<ServerConfig>, Arc<TlsSettings>) {
        let place = self.places.get(host as usize).copied().unwrap_or(0);
        let shared = &self.shared[place];
        (shared.config.clone(), shared.settings.clone())
    }
}
