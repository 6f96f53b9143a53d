//! The TLS side of a site: for each name that a client may ask for, how it is answered.

use super::config;
use mehari_config::{ClientCertificates, Site};
use rustls::server::ProducesTickets;
use rustls::ServerConfig;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a site cannot speak TLS as it is configured. Each names the files concerned.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("an address is to speak TLS, but there is no SSLCertificateFile")]
    NoCertificate,
    #[error("{directive} {file}: {reason}", file = .file.display())]
    File {
        directive: &'static str,
        file: PathBuf,
        reason: String,
    },
    #[error(
        "SSLCertificateFile {certificate} and SSLCertificateKeyFile {key} do not belong together: the key is another certificate's",
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

/// How clients of one name are met.
struct Host {
    config: Arc<ServerConfig>,
    tickets: Option<Arc<dyn ProducesTickets>>,
}

pub struct Hosts {
    first: Host,
}

impl Hosts {
    /// Reads every file. `before`: what was in force until now, whose tickets stay good where nothing
    /// about clients' certificates could have changed.
    pub fn load(site: &Site, before: Option<&Hosts>) -> Result<Hosts, Trouble> {
        if site.tls.certificates.is_empty() {
            return Err(Trouble::NoCertificate);
        }
        let asks_clients = site.tls.clients != ClientCertificates::None;
        let tickets = match before.and_then(|before| before.first.tickets.clone()) {
            Some(tickets) if site.tls.tickets && !asks_clients => Some(tickets),
            _ => config::tickets(&site.tls)?,
        };
        let config = config::build(&site.tls, tickets.clone())?;
        // A ticket vouches for the client it was given to: under another policy it must not.
        let tickets = tickets.filter(|_| !asks_clients);
        let first = Host { config, tickets };
        Ok(Hosts { first })
    }

    /// For the name in the client's greeting.
    pub(super) fn config(&self, _name: Option<&str>) -> Arc<ServerConfig> {
        self.first.config.clone()
    }
}
