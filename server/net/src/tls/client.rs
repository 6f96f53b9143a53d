//! Verifies clients' certificates with the configured authorities and revocation lists.

use super::config::read_certificates;
use super::hosts::Trouble;
use mehari_config::{ClientCertificates, HashedFiles, RevocationDepth, Revocations, TlsSettings};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::WebPkiClientVerifier;
use rustls::RootCertStore;
use std::path::PathBuf;
use std::sync::Arc;

const FILE: &str = "SSLCACertificateFile";
const FOLDER: &str = "SSLCACertificatePath";
const LISTS: &str = "SSLCARevocationFile";
const LIST_FOLDER: &str = "SSLCARevocationPath";

/// Makes the verifier. Returns `None` if clients are not asked for certificates.
pub fn verifier(
    settings: &TlsSettings,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, Trouble> {
    if settings.clients() == ClientCertificates::None {
        return Ok(None);
    }
    let roots = authorities(settings)?;
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    if let Some(check) = settings.client_revocations.check() {
        builder = builder
            .with_crls(lists(&settings.client_revocations)?)
            .enforce_revocation_expiration();
        if check.depth == RevocationDepth::Leaf {
            builder = builder.only_check_end_entity_revocation();
        }
        if check.permits_unlisted {
            builder = builder.allow_unknown_revocation_status();
        }
    }
    if settings.clients() == ClientCertificates::Optional {
        builder = builder.allow_unauthenticated();
    }
    let built = builder.build().map(Some);
    built.map_err(|error| Trouble::Settings(format!("SSLVerifyClient: {error}")))
}

/// Reads the authorities of SSLCACertificateFile and SSLCACertificatePath.
fn authorities(settings: &TlsSettings) -> Result<RootCertStore, Trouble> {
    let mut files: Vec<(&'static str, PathBuf)> = Vec::new();
    files.extend(settings.client_roots.clone().map(|file| (FILE, file)));
    if let Some(folder) = &settings.client_root_folder {
        let found = HashedFiles::Certificates.of(folder);
        let found = found.map_err(|error| Trouble::file(FOLDER, folder, error))?;
        files.extend(found.into_iter().map(|file| (FOLDER, file)));
    }
    if files.is_empty() {
        let text = "SSLVerifyClient needs SSLCACertificateFile, which names the authorities";
        return Err(Trouble::Settings(text.into()));
    }
    let mut roots = RootCertStore::empty();
    for (directive, file) in files {
        for certificate in read_certificates(directive, &file)? {
            let added = roots.add(certificate);
            added.map_err(|error| Trouble::file(directive, &file, error))?;
        }
    }
    Ok(roots)
}

/// Reads the lists of SSLCARevocationFile and SSLCARevocationPath.
fn lists(settings: &Revocations) -> Result<Vec<CertificateRevocationListDer<'static>>, Trouble> {
    let mut files: Vec<(&'static str, PathBuf)> = Vec::new();
    files.extend(settings.file.clone().map(|file| (LISTS, file)));
    if let Some(folder) = &settings.folder {
        let found = HashedFiles::RevocationLists.of(folder);
        let found = found.map_err(|error| Trouble::file(LIST_FOLDER, folder, error))?;
        files.extend(found.into_iter().map(|file| (LIST_FOLDER, file)));
    }
    if files.is_empty() {
        let text = "SSLCARevocationCheck needs SSLCARevocationFile or SSLCARevocationPath, which \
                    names the lists";
        return Err(Trouble::Settings(text.into()));
    }
    let mut all = Vec::new();
    for (directive, file) in files {
        let read = CertificateRevocationListDer::pem_file_iter(&file);
        let read = read.and_then(|found| found.collect::<Result<Vec<_>, _>>());
        let found = read.map_err(|error| Trouble::file(directive, &file, error))?;
        if found.is_empty() {
            let reason = "the file has no revocation list in PEM";
            return Err(Trouble::file(directive, &file, reason));
        }
        all.extend(found);
    }
    Ok(all)
}
