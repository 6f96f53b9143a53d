//! Reads, checks and chooses the server's certificates and keys.

use super::hosts::Trouble;
use mehari_config::{CertificateFiles, TlsSettings};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::path::Path;
use std::sync::Arc;

/// Certificates for one name, one for each key type.
#[derive(Debug)]
pub struct Certificates(Vec<Arc<CertifiedKey>>);

impl Certificates {
    pub fn load(
        settings: &TlsSettings,
        provider: &CryptoProvider,
    ) -> Result<Certificates, Trouble> {
        let chain = match &settings.chain {
            Some(file) => read_certificates("SSLCertificateChainFile", file)?,
            None => Vec::new(),
        };
        let staple = match &settings.staple {
            Some(file) => Some(read_staple(file)?),
            None => None,
        };
        let mut keys = Vec::new();
        for files in &settings.certificates {
            let mut key = pair(files, &chain, provider)?;
            // The configured OCSP response belongs to the first certificate.
            if keys.is_empty() {
                key.ocsp.clone_from(&staple);
            }
            keys.push(Arc::new(key));
        }
        Ok(Certificates(keys))
    }
}

impl ResolvesServerCert for Certificates {
    /// Returns the first certificate whose key has a signature scheme that the client accepts.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        let fits = |key: &&Arc<CertifiedKey>| key.key.choose_scheme(schemes).is_some();
        self.0.iter().find(fits).cloned()
    }
}

fn pair(
    files: &CertificateFiles,
    chain: &[CertificateDer<'static>],
    provider: &CryptoProvider,
) -> Result<CertifiedKey, Trouble> {
    let mut certificates = read_certificates("SSLCertificateFile", &files.certificate)?;
    certificates.extend_from_slice(chain);
    let (directive, file) = match &files.key {
        Some(file) => ("SSLCertificateKeyFile", file),
        None => ("SSLCertificateFile", &files.certificate),
    };
    let key = read_key(directive, file)?;
    match CertifiedKey::from_der(certificates, key, provider) {
        Ok(key) => Ok(key),
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
            Err(Trouble::Mismatch {
                certificate: files.certificate.clone(),
                key: file.clone(),
            })
        }
        Err(error @ rustls::Error::InvalidCertificate(_)) => Err(Trouble::file(
            "SSLCertificateFile",
            &files.certificate,
            error,
        )),
        Err(error) => Err(Trouble::file(directive, file, error)),
    }
}

/// Reads every certificate of a PEM file. A file without certificates is an error.
pub fn read_certificates(
    directive: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, Trouble> {
    let read = CertificateDer::pem_file_iter(file).and_then(|found| found.collect());
    let found: Vec<_> = read.map_err(|error| Trouble::file(directive, file, pem_reason(&error)))?;
    if found.is_empty() {
        Err(Trouble::file(
            directive,
            file,
            "the file has no certificate in PEM",
        ))
    } else {
        Ok(found)
    }
}

fn read_key(directive: &'static str, file: &Path) -> Result<PrivateKeyDer<'static>, Trouble> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => {
            let reason = "the file has no key in PEM (a key with a passphrase cannot be used)";
            Trouble::file(directive, file, reason)
        }
        other => Trouble::file(directive, file, pem_reason(&other)),
    })
}

fn read_staple(file: &Path) -> Result<Vec<u8>, Trouble> {
    let failed = |reason: String| Trouble::file("SSLStaplingFile", file, reason);
    let bytes = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    // An OCSPResponse is an ASN.1 SEQUENCE (0x30). No real response is longer than 64 KiB.
    if bytes.first() == Some(&0x30) && bytes.len() <= 65_536 {
        Ok(bytes)
    } else {
        Err(failed("the file is not an OCSP response in DER".into()))
    }
}

fn pem_reason(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        other => format!("it is not PEM: {other}"),
    }
}
