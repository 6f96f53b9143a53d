//! Generates certificates and keys for the tests.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;

/// A certificate and its key, as PEM and parsed.
pub struct Pair {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
    parameters: CertificateParams,
}

impl Pair {
    pub fn of(name: &str) -> Pair {
        Pair::self_signed(parameters(name))
    }

    pub fn authority() -> Pair {
        Pair::named_authority("authority.example")
    }

    pub fn named_authority(name: &str) -> Pair {
        let mut parameters = parameters(name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Pair::self_signed(parameters)
    }

    pub fn self_signed(parameters: CertificateParams) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        Pair {
            certificate,
            key,
            parameters,
        }
    }

    /// Returns the certificate as one that signs others.
    pub fn issuer(&self) -> Issuer<'_, &KeyPair> {
        Issuer::from_params(&self.parameters, &self.key)
    }

    pub fn signed_by(name: &str, authority: &Pair) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = parameters(name);
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, "Caravan, Ltd");
        parameters.serial_number = Some(vec![0x0a, 0xbc].into());
        let certificate = parameters.signed_by(&key, &authority.issuer());
        Pair {
            certificate: certificate.expect("a certificate"),
            key,
            parameters,
        }
    }

    pub fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }
}

pub fn parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![name.to_string()]).expect("a name");
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}
