//! The TLS connections of recording and replaying.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::ClientConfig;
use tokio_rustls::TlsConnector;

use crate::trust;

/// A maker of TLS connections, cheap to clone.
#[derive(Clone)]
pub struct Trust(TlsConnector);

impl Trust {
    /// Trusts the system's roots (`SSL_CERT_FILE` names others), or any certificate if `anyone`.
    ///
    /// # Panics
    ///
    /// Never: the library's protocol versions are valid.
    pub fn new(anyone: bool) -> Trust {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("it supports the default TLS versions");
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
