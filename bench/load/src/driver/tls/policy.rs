//! Turns the plan's TLS policy into a rustls configuration: trusted certificates, the client's own
//! certificate, and TLS versions.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use mehari_record::trust;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::plan::{TlsPolicy, TlsVersions};
use crate::plan_error::PlanError;

/// Returns a configuration with its own resumption cache. Each thread needs its own configuration.
pub fn configuration(policy: &TlsPolicy, http2: bool) -> Result<Arc<ClientConfig>, PlanError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions: &[_] = match policy.versions {
        TlsVersions::All => &[&rustls::version::TLS13, &rustls::version::TLS12],
        TlsVersions::Only12 => &[&rustls::version::TLS12],
        TlsVersions::Only13 => &[&rustls::version::TLS13],
    };
    let refused = |error: rustls::Error| PlanError::new(format!("TLS cannot be set up: {error}"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(verifier(policy, provider)?);
    let mut configuration = match &policy.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(
                certificates(&identity.certificate)?,
                private_key(&identity.key)?,
            )
            .map_err(refused)?,
    };
    configuration.alpn_protocols = if http2 {
        vec![b"h2".to_vec()]
    } else {
        vec![b"http/1.1".to_vec()]
    };
    configuration.enable_sni = !policy.no_server_name;
    if policy.no_resumption {
        configuration.resumption = Resumption::disabled();
    }
    Ok(Arc::new(configuration))
}

fn verifier(
    policy: &TlsPolicy,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, PlanError> {
    if policy.insecure {
        return Ok(Arc::new(trust::AnyCertificate(provider)));
    }
    let mut roots = RootCertStore::empty();
    let mut pinned = Vec::new();
    for path in &policy.authorities {
        for certificate in certificates(path)? {
            pinned.push(certificate.clone());
            roots.add(certificate).map_err(|error| {
                PlanError::new(format!(
                    "{}: not an authority's certificate: {error}",
                    path.display()
                ))
            })?;
        }
    }
    if policy.authorities.is_empty() {
        roots = trust::of_the_system();
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|error| {
        PlanError::new(format!(
            "no authority to trust ({error}): give --cacert FILE or --insecure"
        ))
    })?;
    Ok(Arc::new(Trusted { pinned, verifier }))
}

fn open(path: &Path) -> Result<BufReader<File>, PlanError> {
    let file = File::open(path)
        .map_err(|error| PlanError::new(format!("cannot read {}: {error}", path.display())))?;
    Ok(BufReader::new(file))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PlanError> {
    let found: Result<Vec<_>, _> = rustls_pemfile::certs(&mut open(path)?).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(PlanError::new(format!(
            "{}: expected certificates in PEM",
            path.display()
        ))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, PlanError> {
    match rustls_pemfile::private_key(&mut open(path)?) {
        Ok(Some(key)) => Ok(key),
        _ => Err(PlanError::new(format!(
            "{}: expected a private key in PEM",
            path.display()
        ))),
    }
}

/// Trusts the certificates of the given files in two ways: as authorities, and as server
/// certificates themselves, for example self-signed certificates.
#[derive(Debug)]
struct Trusted {
    pinned: Vec<CertificateDer<'static>>,
    verifier: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pinned.iter().any(|pinned| pinned == end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        self.verifier
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
