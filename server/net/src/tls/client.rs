//! Verifies clients' certificates with the configured authorities and revocation lists.

use super::config::read_certificates;
use super::hosts::Trouble;
use mehari_config::{ClientCertificates, TlsSettings};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::WebPkiClientVerifier;
use rustls::RootCertStore;
use std::path::Path;
use std::sync::Arc;

/// Makes the verifier. Returns `None` if clients are not asked for certificates.
pub fn verifier(
    settings: &TlsSettings,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, Trouble> {
    if settings.clients() == ClientCertificates::None {
        return Ok(None);
    }
    let Some(file) = &settings.client_roots else {
        let text = "SSLVerifyClient needs SSLCACertificateFile, which names the authorities";
        return Err(Trouble::Settings(text.into()));
    };
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates("SSLCACertificateFile", file)? {
        let added = roots.add(certificate);
        added.map_err(|error| Trouble::file("SSLCACertificateFile", file, error))?;
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    if let Some(file) = &settings.client_revocations {
        builder = builder.with_crls(read_revocations(file)?);
    }
    if settings.clients() == ClientCertificates::Optional {
        builder = builder.allow_unauthenticated();
    }
    let built = builder.build();
    built
        .map(Some)
        .map_err(|error| Trouble::file("SSLCACertificateFile", file, error))
}

fn read_revocations(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Trouble> {
    const DIRECTIVE: &str = "SSLCARevocationFile";
    let read = CertificateRevocationListDer::pem_file_iter(file).and_then(|found| found.collect());
    let found: Vec<_> = read.map_err(|error| Trouble::file(DIRECTIVE, file, error))?;
    if found.is_empty() {
        Err(Trouble::file(
            DIRECTIVE,
            file,
            "the file has no revocation list in PEM",
        ))
    } else {
        Ok(found)
    }
}
