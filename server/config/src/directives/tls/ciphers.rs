//! Parses `SSLCipherSuite`: a list in OpenSSL's syntax, restricted to the ciphers that Mehari
//! offers.

use super::super::row::*;

/// The ciphers that Mehari offers: OpenSSL's name, and the registered name. Here the registered
/// names of TLS 1.3 ciphers begin with `TLS13_` instead of `TLS_`.
const KNOWN: [(&str, &str); 9] = [
    ("TLS_AES_256_GCM_SHA384", "TLS13_AES_256_GCM_SHA384"),
    ("TLS_AES_128_GCM_SHA256", "TLS13_AES_128_GCM_SHA256"),
    (
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS13_CHACHA20_POLY1305_SHA256",
    ),
    (
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    ),
    (
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    ),
    (
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    ),
    (
        "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ),
    (
        "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    ),
    (
        "ECDHE-RSA-CHACHA20-POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    ),
];

/// OpenSSL's names of groups that include all ciphers of `KNOWN`.
const GROUPS: [&str; 12] = [
    "all",
    "default",
    "complementofdefault",
    "high",
    "eecdh",
    "ecdhe",
    "kecdhe",
    "keecdh",
    "ecdh",
    "aesgcm",
    "aes",
    "tlsv1.2",
];

pub fn suite(target: &mut Target, arguments: &Arguments) -> Applied {
    let (only_13, list) = match arguments.words.len() {
        2 if arguments.text(0)?.eq_ignore_ascii_case("TLSv1.3") => (true, arguments.filled(1)?),
        2 if arguments.text(0)?.eq_ignore_ascii_case("SSL") => (false, arguments.filled(1)?),
        2 => return Err(arguments.fault(0, "expected TLSv1.3, or the list of ciphers alone")),
        _ => (false, arguments.filled(0)?),
    };
    let (mut named, mut has_group, mut dropped) = (Vec::new(), false, Vec::new());
    for word in list.split([':', ',', ' ']).filter(|word| !word.is_empty()) {
        let exact = KNOWN
            .iter()
            .find(|(openssl, _)| openssl.eq_ignore_ascii_case(word));
        if let Some((_, registered)) = exact {
            named.push(*registered);
        } else if !word.starts_with(['!', '-', '+', '@']) {
            if GROUPS.contains(
                &word
                    .split('+')
                    .next()
                    .unwrap_or(word)
                    .to_ascii_lowercase()
                    .as_str(),
            ) {
                has_group = true
            } else {
                dropped.push(word)
            }
        }
    }
    if named.is_empty() && !has_group {
        let known: Vec<&str> = KNOWN.iter().map(|(openssl, _)| *openssl).collect();
        let index = arguments.words.len() - 1;
        let message = format!(
            "no cipher here is one that is offered; expected some of {}",
            known.join(":")
        );
        return Err(arguments.fault(index, message));
    }
    if !dropped.is_empty() {
        target
            .environment
            .remark(format!("not offered, and left out: {}", dropped.join(" ")));
    }
    keep(&mut target.host.tls.ciphers, only_13, named, has_group);
    Ok(())
}

/// Adds the ciphers of a list to the kept ciphers. As in mod_ssl, a list for TLS 1.3 does not
/// change the ciphers of older versions. A list without names of TLS 1.3 ciphers does not remove
/// these ciphers.
fn keep(kept: &mut Vec<&'static str>, only_13: bool, named: Vec<&'static str>, has_group: bool) {
    let is_13 = |name: &&'static str| name.starts_with("TLS13_");
    let names_13 = only_13 || named.iter().any(is_13);
    let names_12 = !only_13;
    kept.retain(|name| if is_13(name) { !names_13 } else { !names_12 });
    kept.extend(named);
    let rest = KNOWN.iter().map(|(_, registered)| *registered);
    let missing: Vec<&'static str> = rest
        .filter(|name| !kept.contains(name))
        .filter(|name| {
            if is_13(name) {
                // All ciphers of this TLS version are offered if the list contains a group or names
                // no cipher of the version.
                has_group || !kept.iter().any(is_13)
            } else {
                (has_group && names_12) || !kept.iter().any(|kept| !is_13(kept))
            }
        })
        .collect();
    kept.extend(missing);
}
