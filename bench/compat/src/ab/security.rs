//! Makes ab's lines about a TLS connection. rustls negotiates the connection, and ab's lines need
//! OpenSSL's names.

use super::measured::TlsLines;
use super::options::{Options, Tls};
use mehari_load::{Identity, TlsFacts, TlsPolicy, TlsVersions};
use std::net::IpAddr;

impl TlsLines {
    pub fn of(facts: &TlsFacts) -> TlsLines {
        TlsLines {
            protocol: format!(
                "{},{},{},{}",
                facts.version.replace('_', "."),
                cipher(&facts.cipher),
                facts.peer_key_bits,
                facts.cipher_bits
            ),
            temporary_key: temporary_key(&facts.key_exchange),
        }
    }
}

/// Returns OpenSSL's name of a cipher. rustls's `TLS13_AES_128_GCM_SHA256` is
/// `TLS_AES_128_GCM_SHA256`, and `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is
/// `ECDHE-RSA-AES128-GCM-SHA256`.
fn cipher(name: &str) -> String {
    if let Some(rest) = name.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let Some((exchange, suite)) = name
        .strip_prefix("TLS_")
        .and_then(|rest| rest.split_once("_WITH_"))
    else {
        return name.to_string();
    };
    let suite = suite
        .replace("AES_", "AES")
        .replace("POLY1305_SHA256", "POLY1305");
    format!("{exchange}-{suite}").replace('_', "-")
}

fn temporary_key(group: &str) -> Option<String> {
    let shown = match group.to_ascii_lowercase().as_str() {
        "x25519" => "X25519 253 bits",
        "secp256r1" => "ECDH prime256v1 256 bits",
        "secp384r1" => "ECDH secp384r1 384 bits",
        "secp521r1" => "ECDH secp521r1 521 bits",
        _ => return None,
    };
    Some(shown.into())
}

/// Returns the server name to send: the name in a `Host:` line, otherwise the URL's host. Returns
/// `None` instead of an address.
pub fn server_name(options: &Options) -> Option<String> {
    if !options.target.tls || !options.tls.server_name {
        return None;
    }
    let name = options
        .host_override
        .as_ref()
        .unwrap_or(&options.target.host);
    let is_name = !name.is_empty() && name.parse::<IpAddr>().is_err();
    is_name.then(|| name.clone())
}

/// Returns the TLS policy. Like ab, it verifies no certificate and makes a full handshake for each
/// connection.
pub fn policy(options: &Options) -> TlsPolicy {
    let Tls {
        protocol,
        certificate,
        ..
    } = &options.tls;
    let name = server_name(options);
    TlsPolicy {
        insecure: true,
        no_resumption: true,
        identity: certificate.clone().map(|file| Identity {
            certificate: file.clone(),
            key: file,
        }),
        no_server_name: name.is_none(),
        server_name: name,
        versions: match protocol.as_deref() {
            Some(name) if name.eq_ignore_ascii_case("TLS1.2") => TlsVersions::Only12,
            Some(name) if name.eq_ignore_ascii_case("TLS1.3") => TlsVersions::Only13,
            _ => TlsVersions::All,
        },
        ..TlsPolicy::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cipher_suites_have_the_names_of_openssl() {
        let rows = [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            (
                "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                "ECDHE-RSA-AES256-GCM-SHA384",
            ),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ),
        ];
        for (ours, theirs) in rows {
            assert_eq!(cipher(ours), theirs);
        }
    }
}
