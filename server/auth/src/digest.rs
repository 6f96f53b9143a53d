//! Digest authentication (RFC 7616, qop=auth): reads the user that a request names, and checks the
//! proof.
//!
//! The front's access phase calls this module. Nonces carry a mark made with a secret of this
//! process, so reloads do not invalidate them. The module `nonce` keeps the used counts. The module
//! `users` reads the files of `htdigest` outside the event loop.

mod field;
mod nonce;
mod users;

pub use field::DigestCredentials;
pub use nonce::{NonceState, Nonces, Use};
pub use users::{UserList, Users};

use md5::Md5;
use mehari_config::DigestAlgorithm;
use mehari_text::hex;
use sha2::{Digest, Sha256};

use crate::passwords::is_same;

#[derive(Default)]
pub struct Digests {
    pub nonces: Nonces,
    pub users: Users,
}

/// The settings of the requested place and the values of the request from which a proof is
/// computed.
pub struct ProofContext<'a> {
    pub realm: &'a str,
    pub algorithms: &'a [DigestAlgorithm],
    /// Whether proofs of the older form without `qop` (RFC 2069) are accepted.
    pub may_lack_qop: bool,
    pub method: &'a [u8],
}

/// A correct proof. [`Proved::info`] makes the Authentication-Info field from it.
pub struct Proved {
    algorithm: DigestAlgorithm,
    secret: String,
}

impl ProofContext<'_> {
    /// Checks the proof. Returns `None` if the proof is wrong. The check of an unknown user costs
    /// the same computation.
    pub fn check(&self, given: &DigestCredentials, listed: &UserList) -> Option<Proved> {
        let algorithm = given.algorithm.unwrap_or(DigestAlgorithm::Md5);
        if given.realm != self.realm.as_bytes() || !self.algorithms.contains(&algorithm) {
            return None;
        }
        if given.quality.is_none() && !self.may_lack_qop {
            return None;
        }
        let known = listed.secret(&given.user, self.realm, algorithm);
        let secret = known.unwrap_or_default();
        let expected = response(algorithm, secret, given, self.method);
        let fits = is_same(expected.as_bytes(), &given.response) && known.is_some();
        fits.then(|| Proved {
            algorithm,
            secret: secret.to_string(),
        })
    }
}

impl Proved {
    /// Returns the value of the Authentication-Info field. The field proves the server to the
    /// client and may give the client its `next` nonce.
    pub fn info(&self, given: &DigestCredentials, next: Option<&str>) -> Vec<u8> {
        let mut line = b"Authentication-Info: rspauth=\"".to_vec();
        line.extend_from_slice(response(self.algorithm, &self.secret, given, b"").as_bytes());
        line.push(b'"');
        if let Some(next) = next {
            line.extend_from_slice(format!(", nextnonce=\"{next}\"").as_bytes());
        }
        if let Some(quality) = &given.quality {
            line.extend_from_slice(b", cnonce=\"");
            for byte in &quality.client_nonce {
                if matches!(byte, b'"' | b'\\') {
                    line.push(b'\\');
                }
                line.push(*byte);
            }
            line.extend_from_slice(b"\", nc=");
            line.extend_from_slice(&quality.written_count);
            line.extend_from_slice(b", qop=auth");
        }
        line.extend_from_slice(b"\r\n");
        line
    }
}

/// Computes the response value of RFC 7616 section 3.4.1, or that of RFC 2069 if the client sent no
/// `qop`.
fn response(
    algorithm: DigestAlgorithm,
    secret: &str,
    given: &DigestCredentials,
    method: &[u8],
) -> String {
    let request = hashed(algorithm, &[method, &given.uri]);
    match &given.quality {
        Some(quality) => hashed(
            algorithm,
            &[
                secret.as_bytes(),
                &given.nonce,
                &quality.written_count,
                &quality.client_nonce,
                b"auth",
                request.as_bytes(),
            ],
        ),
        None => hashed(
            algorithm,
            &[secret.as_bytes(), &given.nonce, request.as_bytes()],
        ),
    }
}

/// Hashes the parts, joined by colons. The result is in hexadecimal.
fn hashed(algorithm: DigestAlgorithm, parts: &[&[u8]]) -> String {
    fn of<D: Digest>(text: &[u8]) -> String {
        hex::lower(&D::digest(text))
    }
    let text = parts.join(&b":"[..]);
    match algorithm {
        DigestAlgorithm::Md5 => of::<Md5>(&text),
        DigestAlgorithm::Sha256 => of::<Sha256>(&text),
    }
}

#[cfg(test)]
mod tests;
