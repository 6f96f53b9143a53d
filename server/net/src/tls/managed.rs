//! The certificates of managed domains, each of which can be replaced alone while connections are
//! accepted, and the certificates that answer the challenge tls-alpn-01 (RFC 8737).
//!
//! Until a domain has a certificate, its clients get a self-signed certificate.

use super::config;
use super::hosts::Trouble;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::ServerConfig;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The protocol that a client of the authority asks for.
pub(super) const PROTOCOL: &[u8] = b"acme-tls/1";

/// The certificate of one domain. Handshakes that begin after a change get the new certificate.
#[derive(Debug)]
pub struct Slot(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Slot {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let key = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let fits = key.key.choose_scheme(hello.signature_schemes()).is_some();
        fits.then_some(key)
    }
}

/// All managed certificates. A reload keeps them.
#[derive(Default)]
pub struct Managed {
    slots: RefCell<HashMap<String, Arc<Slot>>>,
    challenges: RefCell<HashMap<String, Arc<ServerConfig>>>,
}

impl Managed {
    /// Returns the place of a domain's certificate. A new place has a self-signed certificate.
    pub(super) fn slot(&self, domain: &str) -> Result<Arc<Slot>, Trouble> {
        if let Some(slot) = self.slots.borrow().get(domain) {
            return Ok(slot.clone());
        }
        let key = self_signed(domain).map_err(|error| {
            Trouble::Settings(format!(
                "MDomain {domain}: a self-signed certificate: {error}"
            ))
        })?;
        let slot = Arc::new(Slot(RwLock::new(Arc::new(key))));
        self.slots
            .borrow_mut()
            .insert(domain.to_owned(), slot.clone());
        Ok(slot)
    }

    /// Replaces the certificate of a domain by key and chain in PEM. Returns whether the
    /// certificate differs from the one before.
    ///
    /// # Errors
    ///
    /// The text is no PEM, or the key belongs to another certificate. The old certificate stays.
    pub fn replace(&self, domain: &str, pem: &str) -> Result<bool, String> {
        let key = Arc::new(certified(pem)?);
        let slot = self.slot(domain).map_err(|trouble| trouble.to_string())?;
        let mut place = slot.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, key);
        Ok(before.cert != place.cert)
    }

    /// Sends an OCSP response in DER with the certificate of a domain from now on, or none.
    pub fn staple(&self, domain: &str, response: Option<Vec<u8>>) {
        if let Some(slot) = self.slots.borrow().get(domain) {
            let mut key = slot.0.write().unwrap_or_else(PoisonError::into_inner);
            let mut stapled = CertifiedKey::clone(&key);
            stapled.ocsp = response;
            *key = Arc::new(stapled);
        }
    }

    /// Answers the challenge tls-alpn-01 for these names, each with key and certificate in PEM, and
    /// for no others.
    ///
    /// # Errors
    ///
    /// A certificate cannot be used.
    pub fn answer_challenges(&self, proofs: &[(String, String)]) -> Result<(), String> {
        let mut challenges = HashMap::new();
        for (name, pem) in proofs {
            challenges.insert(name.to_ascii_lowercase(), challenge(pem)?);
        }
        self.challenges.replace(challenges);
        Ok(())
    }

    /// Returns what a connection gets that asks for `acme-tls/1` alone and this name.
    pub(super) fn challenge(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let challenges = self.challenges.borrow();
        if challenges.is_empty() {
            return None;
        }
        let mut protocols = hello.alpn()?;
        let is_asked = protocols.next() == Some(PROTOCOL) && protocols.next().is_none();
        let name = hello.server_name().filter(|_| is_asked)?;
        challenges.get(&name.to_ascii_lowercase()).cloned()
    }
}

fn certified(pem: &str) -> Result<CertifiedKey, String> {
    let (chain, key) = parsed(pem)?;
    let certified = CertifiedKey::from_der(chain, key, &config::provider());
    certified.map_err(|error| error.to_string())
}

type Parsed = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn parsed(pem: &str) -> Result<Parsed, String> {
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes());
    let key = key.map_err(|error| format!("its key: {error}"))?;
    let chain = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| format!("its chain: {error}"))?;
    Ok((chain, key))
}

fn challenge(pem: &str) -> Result<Arc<ServerConfig>, String> {
    let (chain, key) = parsed(pem)?;
    let key = config::provider().key_provider.load_private_key(key);
    let key = key.map_err(|error| format!("its key: {error}"))?;
    // The library would refuse to check a certificate with RFC 8737's critical extension.
    let slot = Slot(RwLock::new(Arc::new(CertifiedKey::new(chain, key))));
    let builder = ServerConfig::builder_with_provider(Arc::new(config::provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = builder.with_no_client_auth();
    let mut config = builder.with_cert_resolver(Arc::new(slot));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn self_signed(domain: &str) -> Result<CertifiedKey, String> {
    let failed = |error: rcgen::Error| error.to_string();
    let key = KeyPair::generate().map_err(failed)?;
    let parameters = CertificateParams::new([domain.to_owned()]).map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let chain = vec![certificate.der().clone()];
    let certified = CertifiedKey::from_der(chain, key.into(), &config::provider());
    certified.map_err(|error| error.to_string())
}
