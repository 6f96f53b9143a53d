//! A certificate that is being revoked. The file in the store says what is still to be done, so a
//! restart does not forget the wish, and servers that share the store do the work once.

use crate::certificate::Facts;
use crate::message::{Reason, Wish};
use crate::store::{self, Store};
use crate::Error;
use base64::prelude::{Engine, BASE64_STANDARD};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// The certificate in DER, in Base64.
    certificate: String,
    pub serial: String,
    pub reason: Reason,
    /// The certificate is revoked before a new one is in use.
    pub is_at_once: bool,
    /// The authority has revoked the certificate.
    pub is_revoked: bool,
}

impl Revocation {
    pub fn new(facts: &Facts, wish: &Wish) -> Revocation {
        Revocation {
            certificate: BASE64_STANDARD.encode(&facts.der),
            serial: facts.serial.clone(),
            reason: wish.reason,
            is_at_once: wish.is_at_once,
            is_revoked: false,
        }
    }

    /// Returns what is left to do for a certificate that its authority says is revoked.
    pub fn found(facts: &Facts) -> Revocation {
        let wish = Wish {
            domain: String::new(),
            reason: Reason::Unspecified,
            is_at_once: true,
        };
        Revocation {
            is_revoked: true,
            ..Revocation::new(facts, &wish)
        }
    }

    /// Tells whether this is the certificate that is being revoked.
    pub fn concerns(&self, facts: &Facts) -> bool {
        self.der().is_ok_and(|der| der == facts.der)
    }

    /// Returns the certificate in DER.
    pub fn der(&self) -> Result<Vec<u8>, Error> {
        let der = BASE64_STANDARD.decode(&self.certificate);
        der.map_err(|error| Error::Made(format!("the certificate to revoke: {error}")))
    }

    pub fn read(store: &Store, domain: &str) -> Result<Option<Revocation>, Error> {
        let file = store.revocation(domain);
        let text = store::read(&file)?;
        let read = text.map(|text| serde_json::from_str(&text)).transpose();
        read.map_err(|error| Error::Store {
            file,
            reason: error.to_string(),
        })
    }

    pub fn write(&self, store: &Store, domain: &str) -> Result<(), Error> {
        let text = serde_json::to_string(self);
        let text = text.map_err(|error| Error::Made(error.to_string()))?;
        store::write(&store.revocation(domain), text)
    }

    pub fn remove(store: &Store, domain: &str) -> Result<(), Error> {
        store::remove(&store.revocation(domain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_kept_until_it_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("md")).expect("a store");
        let facts = Facts {
            der: vec![1, 2, 3],
            serial: "0a".into(),
            ..Facts::default()
        };
        let wish = Wish {
            domain: "a.example".into(),
            reason: Reason::KeyCompromise,
            is_at_once: false,
        };
        let revocation = Revocation::new(&facts, &wish);
        assert!(revocation.concerns(&facts) && !revocation.concerns(&Facts::default()));
        revocation.write(&store, "a.example").expect("written");
        let read = Revocation::read(&store, "a.example").expect("readable");
        assert_eq!(read.as_ref(), Some(&revocation));
        assert_eq!(Revocation::read(&store, "b.example").expect("none"), None);
        for _ in 0..2 {
            Revocation::remove(&store, "a.example").expect("removed");
        }
        assert_eq!(Revocation::read(&store, "a.example").expect("none"), None);
    }
}
