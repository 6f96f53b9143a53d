//! OCSP (RFC 6960): asks the responder of a certificate's issuer, and verifies what it answers.
//!
//! A response is good only if the issuer, or a certificate that the issuer has signed for OCSP, has
//! signed it, and if it is about this certificate and about now.

use crate::certificate::Facts;
use crate::{client, now};
use sha1::{Digest, Sha1};
use x509_cert::der::asn1::{Null, ObjectIdentifier, OctetString};
use x509_cert::der::{Decode, Encode};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::Certificate;
use x509_ocsp::{
    BasicOcspResponse, CertId, CertStatus, OcspRequest, OcspResponse, OcspResponseStatus, Request,
    SingleResponse, TbsRequest,
};
use x509_parser::prelude::{AlgorithmIdentifier, FromDer, X509Certificate};

const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
/// How far the responder's clock may be ahead, in seconds.
const SKEW: u64 = 300;
/// How long a response without `nextUpdate` is used, in seconds.
const SHORT: u64 = 3_600;

/// A verified response. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub der: Vec<u8>,
    pub begins: u64,
    pub ends: u64,
    pub is_revoked: bool,
}

/// Asks the responder of the certificate.
pub async fn ask(facts: &Facts) -> Result<Response, String> {
    let url = facts.responder.as_deref();
    let url = url.ok_or("the certificate names no OCSP responder")?;
    let request = request(facts)?;
    let der = client::post(url, "application/ocsp-request", request).await?;
    Response::of(der, facts, now()).map_err(|why| format!("{url}: {why}"))
}

fn request(facts: &Facts) -> Result<Vec<u8>, String> {
    let one = Request {
        req_cert: id(facts)?,
        single_request_extensions: None,
    };
    let request = OcspRequest {
        tbs_request: TbsRequest {
            version: Default::default(),
            requestor_name: None,
            request_list: vec![one],
            request_extensions: None,
        },
        optional_signature: None,
    };
    request.to_der().map_err(unreadable)
}

/// Returns what identifies the certificate: hashes of its issuer, and its serial number.
fn id(facts: &Facts) -> Result<CertId, String> {
    let issuer = facts.issuer.as_deref();
    let issuer = issuer.ok_or("the chain does not have the issuer's certificate")?;
    let issuer = Certificate::from_der(issuer).map_err(unreadable)?;
    let own = Certificate::from_der(&facts.der).map_err(unreadable)?;
    let name = own.tbs_certificate.issuer.to_der().map_err(unreadable)?;
    let key = &issuer.tbs_certificate.subject_public_key_info;
    let hash = |bytes: &[u8]| OctetString::new(Sha1::digest(bytes).to_vec()).map_err(unreadable);
    let serial: SerialNumber = own.tbs_certificate.serial_number.clone();
    Ok(CertId {
        hash_algorithm: AlgorithmIdentifierOwned {
            oid: SHA1,
            parameters: Some(Null.into()),
        },
        issuer_name_hash: hash(&name)?,
        issuer_key_hash: hash(key.subject_public_key.raw_bytes())?,
        serial_number: serial,
    })
}

impl Response {
    /// Verifies a response. The error says why it cannot be used.
    pub fn of(der: Vec<u8>, facts: &Facts, now: u64) -> Result<Response, String> {
        let outer = OcspResponse::from_der(&der).map_err(unreadable)?;
        if outer.response_status != OcspResponseStatus::Successful {
            return Err(format!("the responder answers {:?}", outer.response_status));
        }
        let bytes = outer.response_bytes.ok_or("the response is empty")?;
        let basic = BasicOcspResponse::from_der(bytes.response.as_bytes()).map_err(unreadable)?;
        verify(&basic, facts.issuer.as_deref().unwrap_or_default())?;
        let wanted = id(facts)?;
        let is_same = |one: &&SingleResponse| {
            let (one, wanted) = (&one.cert_id, &wanted);
            one.hash_algorithm.oid == wanted.hash_algorithm.oid
                && one.issuer_name_hash == wanted.issuer_name_hash
                && one.issuer_key_hash == wanted.issuer_key_hash
                && one.serial_number == wanted.serial_number
        };
        let single = basic.tbs_response_data.responses.iter().find(is_same);
        let single = single.ok_or("the response is about another certificate")?;
        let begins = single.this_update.0.to_unix_duration().as_secs();
        let ends = single.next_update.as_ref();
        let ends = ends.map_or(begins + SHORT, |end| end.0.to_unix_duration().as_secs());
        if begins > now + SKEW || ends <= now {
            return Err("the response is not valid now".into());
        }
        let is_revoked = match single.cert_status {
            CertStatus::Good(_) => false,
            CertStatus::Revoked(_) => true,
            CertStatus::Unknown(_) => return Err("the responder does not know it".into()),
        };
        Ok(Response {
            der,
            begins,
            ends,
            is_revoked,
        })
    }
}

/// Checks the signature of the issuer, or of a certificate that the issuer has signed for OCSP
/// (RFC 6960 section 4.2.2.2).
fn verify(basic: &BasicOcspResponse, issuer: &[u8]) -> Result<(), String> {
    let signed = basic.tbs_response_data.to_der().map_err(unreadable)?;
    let (_, issuer) = X509Certificate::from_der(issuer).map_err(|error| error.to_string())?;
    if is_signed_by(basic, &signed, &issuer) {
        return Ok(());
    }
    for delegate in basic.certs.iter().flatten() {
        let der = delegate.to_der().map_err(unreadable)?;
        let Ok((_, delegate)) = X509Certificate::from_der(&der) else {
            continue;
        };
        let usage = delegate.extended_key_usage().ok().flatten();
        let may_sign = usage.is_some_and(|usage| usage.value.ocsp_signing);
        if may_sign
            && delegate.validity().is_valid()
            && delegate.verify_signature(Some(issuer.public_key())).is_ok()
            && is_signed_by(basic, &signed, &delegate)
        {
            return Ok(());
        }
    }
    Err("the response is not signed by the issuer of the certificate".into())
}

fn is_signed_by(basic: &BasicOcspResponse, signed: &[u8], signer: &X509Certificate<'_>) -> bool {
    let Ok(algorithm) = basic.signature_algorithm.to_der() else {
        return false;
    };
    let Ok((_, algorithm)) = AlgorithmIdentifier::from_der(&algorithm) else {
        return false;
    };
    let signature = x509_parser::asn1_rs::BitString::new(0, basic.signature.raw_bytes());
    x509_parser::verify::verify_signature(signer.public_key(), &algorithm, &signature, signed)
        .is_ok()
}

fn unreadable(error: x509_cert::der::Error) -> String {
    format!("it is not DER: {error}")
}
