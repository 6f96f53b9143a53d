//! What the front knows of managed certificates: the tokens of the challenge http-01 (RFC 8555
//! section 8.3), which hosts redirect to TLS, and when certificates end.

use mehari_config::Site;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

pub struct Managed {
    /// Whether any request may concern managed certificates.
    pub is_concerned: Cell<bool>,
    /// Whether any host redirects requests without TLS.
    redirects: Cell<bool>,
    tokens: RefCell<HashMap<String, String>>,
    /// The domains with the end of each certificate, in seconds since 1970.
    pub expiries: RefCell<Vec<(String, u64)>>,
}

impl Managed {
    pub fn new(site: &Site) -> Managed {
        let managed = Managed {
            is_concerned: Cell::new(false),
            redirects: Cell::new(false),
            tokens: RefCell::default(),
            expiries: RefCell::default(),
        };
        managed.configure(site);
        managed
    }

    /// Takes over the settings of a site that was read again.
    pub fn configure(&self, site: &Site) {
        let mut hosts = site.all_hosts();
        self.redirects
            .set(hosts.any(|host| host.tls.require_https.is_some()));
        self.look();
    }

    /// Answers http-01 with these tokens and texts, and with no others.
    pub fn replace_tokens(&self, tokens: HashMap<String, String>) {
        self.tokens.replace(tokens);
        self.look();
    }

    /// Returns the text for a token.
    pub fn text_for(&self, token: &[u8]) -> Option<String> {
        let token = std::str::from_utf8(token).ok()?;
        self.tokens.borrow().get(token).cloned()
    }

    fn look(&self) {
        let has_tokens = !self.tokens.borrow().is_empty();
        self.is_concerned.set(has_tokens || self.redirects.get());
    }
}
