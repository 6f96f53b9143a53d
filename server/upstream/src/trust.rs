//! Makes the TLS settings for back ends: trusted authorities, and the certificate for back ends
//! that request a certificate.
//!
//! The settings are made from the configuration at the start and at each reload. Each `https://`
//! member has a [`BackEndTls`].

use crate::Fault;
use mehari_config::{BackEnd, HashedFiles, ProxyTls, RevocationDepth, Revocations};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{aws_lc_rs, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime,
};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The TLS settings for all `https://` back ends.
#[derive(Clone)]
pub struct Trust(Arc<ClientConfig>);

/// The TLS settings for one back end, with the name that its certificate must have.
#[derive(Clone)]
pub struct BackEndTls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

impl Trust {
    /// Reads every file that the settings name.
    ///
    /// # Errors
    ///
    /// A text with the directive, its file and the problem.
    pub fn load(settings: &ProxyTls) -> Result<Trust, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = verifier(settings, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS to back ends: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some(file) => {
                const DIRECTIVE: &str = "SSLProxyMachineCertificateFile";
                let mut chain = certificates(DIRECTIVE, file)?;
                if let Some(file) = &settings.identity_chain {
                    chain.extend(certificates("SSLProxyMachineCertificateChainFile", file)?);
                }
                let key = PrivateKeyDer::from_pem_file(file)
                    .map_err(|error| trouble(DIRECTIVE, file, format!("its key: {error}")))?;
                let config = builder.with_client_auth_cert(chain, key);
                config.map_err(|error| trouble(DIRECTIVE, file, error))?
            }
        };
        Ok(Trust(Arc::new(config)))
    }

    /// Returns the settings for one member, or `None` if its URL has no name for a certificate.
    pub fn tls(&self, member: &BackEnd) -> Option<BackEndTls> {
        let name = ServerName::try_from(member.host_name().to_string()).ok()?;
        Some(BackEndTls {
            config: self.0.clone(),
            name,
        })
    }
}

fn verifier(settings: &ProxyTls, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
    let chain = if settings.verifies() {
        let roots = Arc::new(roots(settings)?);
        let mut chain = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
        if let Some(check) = settings.revocations.check() {
            chain = chain
                .with_crls(lists(&settings.revocations)?)
                .enforce_revocation_expiration();
            if check.depth == RevocationDepth::Leaf {
                chain = chain.only_check_end_entity_revocation();
            }
            if check.permits_unlisted {
                chain = chain.allow_unknown_revocation_status();
            }
        }
        let chain = chain.build();
        Some(chain.map_err(|error| format!("certificates of back ends: {error}"))?)
    } else {
        None
    };
    Ok(Verifier {
        chain,
        checks_name: settings.checks_name(),
        provider: provider.clone(),
    })
}

/// Returns the file of a directive and the files of a folder, each with the directive's name.
fn files(
    file: (&'static str, &Option<PathBuf>),
    folder: (&'static str, &Option<PathBuf>),
    kind: HashedFiles,
) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let mut files: Vec<(&'static str, PathBuf)> = Vec::new();
    files.extend(file.1.clone().map(|path| (file.0, path)));
    if let Some(path) = folder.1 {
        let found = kind.of(path);
        let found = found.map_err(|error| trouble(folder.0, path, error))?;
        files.extend(found.into_iter().map(|path| (folder.0, path)));
    }
    Ok(files)
}

fn roots(settings: &ProxyTls) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let files = files(
        ("SSLProxyCACertificateFile", &settings.authorities),
        ("SSLProxyCACertificatePath", &settings.authority_folder),
        HashedFiles::Certificates,
    )?;
    for (directive, file) in &files {
        for certificate in certificates(directive, file)? {
            let added = roots.add(certificate);
            added.map_err(|error| trouble(directive, file, error))?;
        }
    }
    if files.is_empty() {
        let known = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(known.certs);
        if roots.is_empty() {
            return Err("https:// back ends cannot be verified: the system trusts no authority (package ca-certificates); expected SSLProxyCACertificateFile".into());
        }
    }
    Ok(roots)
}

/// Reads the lists of SSLProxyCARevocationFile and SSLProxyCARevocationPath.
fn lists(settings: &Revocations) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let files = files(
        ("SSLProxyCARevocationFile", &settings.file),
        ("SSLProxyCARevocationPath", &settings.folder),
        HashedFiles::RevocationLists,
    )?;
    if files.is_empty() {
        return Err("SSLProxyCARevocationCheck needs SSLProxyCARevocationFile or SSLProxyCARevocationPath, which names the lists".into());
    }
    let mut all = Vec::new();
    for (directive, file) in &files {
        let read = CertificateRevocationListDer::pem_file_iter(file);
        let read = read.and_then(|found| found.collect::<Result<Vec<_>, _>>());
        let found = read.map_err(|error| trouble(directive, file, error))?;
        if found.is_empty() {
            let reason = "the file has no revocation list in PEM";
            return Err(trouble(directive, file, reason));
        }
        all.extend(found);
    }
    Ok(all)
}

fn certificates(directive: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read =
        CertificateDer::pem_file_iter(file).and_then(|found| found.collect::<Result<Vec<_>, _>>());
    match read {
        Ok(found) if found.is_empty() => Err(trouble(
            directive,
            file,
            "the file has no certificate in PEM",
        )),
        Ok(found) => Ok(found),
        Err(error) => Err(trouble(directive, file, error)),
    }
}

fn trouble(directive: &str, file: &Path, reason: impl ToString) -> String {
    format!("{directive} {}: {}", file.display(), reason.to_string())
}

/// Verifies certificates as strictly as the configuration demands.
#[derive(Debug)]
struct Verifier {
    /// The verifier with the trusted authorities. `None` if any certificate is accepted.
    chain: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        staple: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        let judged = chain.verify_server_cert(certificate, between, name, staple, now);
        match judged {
            // The library checks the name last. An error about the name therefore means that
            // everything else in the certificate is correct.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}

/// Returns the reason why a handshake failed, as a text for the log.
pub(crate) fn fault(error: &std::io::Error) -> Fault {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(why)) => Fault::Untrusted(match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "it is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "it is for another name"
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "no trusted authority has signed it"
            }
            CertificateError::Revoked => "it has been revoked",
            CertificateError::UnknownRevocationStatus => {
                "no revocation list of its authority is known"
            }
            CertificateError::ExpiredRevocationList
            | CertificateError::ExpiredRevocationListContext { .. } => {
                "the revocation list of its authority has expired"
            }
            _ => "it is not in order",
        }),
        Some(_) => Fault::Handshake,
        None => Fault::Broken(error.kind()),
    }
}
