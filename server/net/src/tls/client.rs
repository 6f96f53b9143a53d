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
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "SSLCACertificateFile";
const FOLDER: &str = "SSLCACertificatePath";

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
    if let Some(file) = &settings.client_revocations {
        builder = builder.with_crls(read_revocations(file)?);
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
        files.extend(hashed_files(folder)?.into_iter().map(|file| (FOLDER, file)));
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

/// Returns the files of a folder that OpenSSL would look at: those whose names are a hash, a dot
/// and a number, such as `9d66eef0.0`.
fn hashed_files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let is_hashed = |name: &str| {
        let parts = name.split_once('.');
        parts.is_some_and(|(hash, number)| {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && is_number
        })
    };
    let entries = folder.read_dir();
    let entries = entries.map_err(|error| Trouble::file(FOLDER, folder, error))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let hashed = names.filter(|name| name.to_str().is_some_and(is_hashed));
    let mut files: Vec<PathBuf> = hashed.map(|name| folder.join(name)).collect();
    files.sort();
    if files.is_empty() {
        let reason = "expected PEM files with the names that `openssl rehash` makes, such as \
                      9d66eef0.0";
        return Err(Trouble::file(FOLDER, folder, reason));
    }
    Ok(files)
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
