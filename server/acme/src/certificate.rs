//! Makes keys, requests and the certificates of tls-alpn-01, and reads what a certificate says.

use crate::Error;
use mehari_config::KeyKind;
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair, RsaKeySize};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::hash::{DefaultHasher, Hash, Hasher};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::OID_PKIX_ACCESS_DESCRIPTOR_OCSP;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What a certificate says. Times are seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub names: Vec<String>,
    /// The serial number in hexadecimal digits.
    pub serial: String,
    pub not_before: u64,
    pub not_after: u64,
    /// A number that depends on the whole certificate.
    pub mark: u64,
    /// The certificate in DER, and the certificate of its issuer if the chain has it.
    pub der: Vec<u8>,
    pub issuer: Option<Vec<u8>>,
    /// The URL of the issuer's OCSP responder.
    pub responder: Option<String>,
}

impl Facts {
    /// Reads key and chain in PEM. The error says why they cannot be used.
    pub fn of(pem: &str) -> Result<Facts, String> {
        let failed = |error: rustls::pki_types::pem::Error| format!("it is not PEM: {error}");
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(failed)?;
        let chain = CertificateDer::pem_slice_iter(pem.as_bytes());
        let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(failed)?;
        let first = chain.first().ok_or("it has no certificate")?.clone();
        let issuer = chain.get(1).map(|one| one.to_vec());
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        rustls::sign::CertifiedKey::from_der(chain, key, &provider)
            .map_err(|error| format!("its key and its certificate: {error}"))?;
        let (_, certificate) =
            X509Certificate::from_der(&first).map_err(|error| error.to_string())?;
        let names = certificate.subject_alternative_name();
        let names = names.map_err(|error| error.to_string())?;
        let names = names.iter().flat_map(|names| &names.value.general_names);
        let names = names.filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        });
        let seconds = |time: &x509_parser::time::ASN1Time| time.timestamp().max(0) as u64;
        let mut hasher = DefaultHasher::new();
        first.as_ref().hash(&mut hasher);
        Ok(Facts {
            names: names.collect(),
            serial: serial(&certificate),
            not_before: seconds(&certificate.validity().not_before),
            not_after: seconds(&certificate.validity().not_after),
            mark: hasher.finish(),
            der: first.to_vec(),
            issuer,
            responder: responder(&certificate),
        })
    }

    /// Tells whether the certificate is for all these names.
    pub fn has(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.names.contains(name))
    }
}

fn serial(certificate: &X509Certificate<'_>) -> String {
    let bytes = certificate.raw_serial().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the URL of the OCSP responder (RFC 5280 section 4.2.2.1).
fn responder(certificate: &X509Certificate<'_>) -> Option<String> {
    let places = certificate
        .iter_extensions()
        .find_map(|one| match one.parsed_extension() {
            ParsedExtension::AuthorityInfoAccess(places) => Some(&places.accessdescs),
            _ => None,
        })?;
    places.iter().find_map(|place| match place.access_location {
        GeneralName::URI(url) if place.access_method == OID_PKIX_ACCESS_DESCRIPTOR_OCSP => {
            Some(url.to_owned())
        }
        _ => None,
    })
}

/// Makes a key.
pub fn key(kind: KeyKind) -> Result<KeyPair, Error> {
    let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    Ok(match kind {
        KeyKind::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyKind::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
        KeyKind::Rsa2048 => rsa(RsaKeySize::_2048),
        KeyKind::Rsa3072 => rsa(RsaKeySize::_3072),
        KeyKind::Rsa4096 => rsa(RsaKeySize::_4096),
    }?)
}

/// Makes the request for a certificate with these names, in DER.
pub fn request(names: &[String], key: &KeyPair) -> Result<Vec<u8>, Error> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = DistinguishedName::new();
    Ok(parameters.serialize_request(key)?.der().to_vec())
}

/// Makes the certificate of RFC 8737 section 3 for a name, with its key, in PEM.
pub fn proof(name: &str, digest: &[u8]) -> Result<String, Error> {
    let mut parameters = CertificateParams::new([name.to_owned()])?;
    parameters.distinguished_name = DistinguishedName::new();
    let extension = CustomExtension::new_acme_identifier(digest);
    parameters.custom_extensions = vec![extension];
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    Ok(key.serialize_pem() + &certificate.pem())
}
