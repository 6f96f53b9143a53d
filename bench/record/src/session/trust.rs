//! Decides which server certificates recording and replaying accept.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::ClientConfig;
use tokio_rustls::TlsConnector;

use crate::trust;

/// Opens TLS connections. Clones share their configuration.
#[derive(Clone)]
pub struct Trust(TlsConnector);

impl Trust {
    /// Trusts the system's authorities (`SSL_CERT_FILE` names others). With `anyone`, accepts every
    /// certificate.
    ///
    /// # Panics
    ///
    /// Never: the library's protocol versions are valid.
    pub fn new(anyone: bool) -> Trust {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default TLS versions");
        let config = if anyone {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(trust::AnyCertificate(provider)))
                .with_no_client_auth()
        } else {
            builder
                .with_root_certificates(trust::of_the_system())
                .with_no_client_auth()
        };
        Trust(TlsConnector::from(Arc::new(config)))
    }

    pub(super) fn connector(&self) -> &TlsConnector {
        &self.0
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("Trust")
    }
}
