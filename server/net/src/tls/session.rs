//! The facts of an established TLS connection. They are made once and serve programs and logs.

use super::variables;
use mehari_config::TlsSettings;
use mehari_http::Field;
use mehari_observe::Lookup;
use rustls::pki_types::CertificateDer;
use rustls::{HandshakeKind, ProtocolVersion, ServerConnection};
use std::cell::OnceCell;
use std::sync::Arc;

#[derive(Debug)]
pub struct Session {
    /// The host name that the client requested (SNI).
    pub name: Option<String>,
    pub version: &'static str,
    /// OpenSSL's name of the cipher.
    pub cipher: String,
    pub bits: u16,
    pub resumed: bool,
    pub http2: bool,
    /// The client's certificate and its chain, both verified.
    pub client: Vec<CertificateDer<'static>>,
    /// The settings under which the client was accepted.
    pub settings: Arc<TlsSettings>,
    variables: OnceCell<Vec<(String, String)>>,
}

impl Session {
    pub fn of(connection: &ServerConnection, settings: Arc<TlsSettings>) -> Session {
        let version = match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLSv1.2",
        };
        let suite = connection.negotiated_cipher_suite();
        let suite = suite.map_or(String::new(), |suite| format!("{:?}", suite.suite()));
        let client = connection.peer_certificates().unwrap_or_default();
        Session {
            name: connection.server_name().map(str::to_string),
            version,
            bits: if suite.contains("AES_128") { 128 } else { 256 },
            cipher: openssl_name(&suite),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
            http2: connection.alpn_protocol() == Some(b"h2"),
            client: client.iter().map(|one| one.clone().into_owned()).collect(),
            settings,
            variables: OnceCell::new(),
        }
    }

    /// Returns the SSL_* variables that mod_ssl's `StdEnvVars` gives, made from the certificates.
    /// Called once per connection.
    pub fn variables(&self) -> impl Iterator<Item = Field<'_>> {
        let all = self.variables.get_or_init(|| variables::of(self));
        all.iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
    }

    /// Returns SSL_CLIENT_CERT and the client's chain, in PEM.
    pub fn client_pem(&self) -> Vec<(String, String)> {
        let name = |index: usize| match index.checked_sub(1) {
            None => "SSL_CLIENT_CERT".to_string(),
            Some(number) => format!("SSL_CLIENT_CERT_CHAIN_{number}"),
        };
        let certificates = self.client.iter().enumerate();
        certificates
            .map(|(index, one)| (name(index), variables::pem(one)))
            .collect()
    }
}

impl Lookup for Session {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "HTTPS" => Some("on"),
            "SSL_TLS_SNI" => self.name.as_deref(),
            // The frequently used variables need no certificate.
            "SSL_PROTOCOL" => Some(self.version),
            "SSL_CIPHER" => Some(&self.cipher),
            _ => {
                let all = self.variables.get_or_init(|| variables::of(self));
                let found = all.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.as_str())
            }
        }
    }
}

/// Converts a registered cipher name to OpenSSL's name: `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`
/// becomes ECDHE-RSA-AES128-GCM-SHA256. Names of TLS 1.3 stay as they are.
fn openssl_name(registered: &str) -> String {
    if let Some(name) = registered.strip_prefix("TLS13_") {
        return format!("TLS_{name}");
    }
    let name = registered.trim_start_matches("TLS_").replace("_WITH_", "_");
    let name = name
        .replace("AES_128", "AES128")
        .replace("AES_256", "AES256");
    let name = name.replace("POLY1305_SHA256", "POLY1305");
    name.replace('_', "-")
}

#[cfg(test)]
mod tests {
    #[test]
    fn ciphers_have_openssls_names() {
        for (registered, name) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            (
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "ECDHE-RSA-AES128-GCM-SHA256",
            ),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ),
        ] {
            assert_eq!(super::openssl_name(registered), name);
        }
    }
}
