//! The directives of TLS, which are mod_ssl's: certificates, versions, ciphers, clients'
//! certificates.

use super::revocation;
use super::row::*;
use crate::{CertificateFiles, ClientCertificates, SniPolicy, TlsVersion};

mod ciphers;

const RESUMPTION: &str = "sessions resume by tickets, which need no store";
const STAPLE: &str = "the server asks no OCSP responder here: SSLStaplingFile names the file of \
                      the response";
const LIBRARY: &str = "the TLS library has no such choice";
const LIBRARY_RANDOM: &str = "random numbers come from the operating system";

pub const GROUP: Group = Group {
    title: "TLS",
    rows: &[
        Directive::host(
            "SSLEngine",
            Shape::Choice(&["On", "Off", "Optional"]),
            "Whether an address speaks TLS. If the address's `Listen` line names a protocol \
             (`Listen 8443 https`), that protocol decides.",
            |target, arguments| {
                target.host.tls.engine = Some(match arguments.choice()? {
                    "On" => true,
                    "Off" => false,
                    _ => return Err(arguments.fault(0, "expected On or Off: an upgrade within HTTP/1.1 is not offered")),
                });
                Ok(())
            },
        )
        .otherwise("On for port 443 if there is a certificate"),
        Directive::server(
            "SSLVHostSNIPolicy",
            Shape::Choice(&["strict", "secure", "authonly", "insecure"]),
            "The hosts for which one connection may carry requests, besides the host that the \
             client named in the handshake (SNI). strict: none. secure: hosts with the same \
             certificates, versions, ciphers and rules about clients' certificates. authonly: \
             hosts with the same rules about clients' certificates. insecure: all. Requests for \
             other hosts get 421.",
            |target, arguments| {
                target.site.sni_policy = match arguments.choice()? {
                    "strict" => SniPolicy::Strict,
                    "secure" => SniPolicy::Secure,
                    "authonly" => SniPolicy::AuthOnly,
                    _ => SniPolicy::Insecure,
                };
                Ok(())
            },
        )
        .default("secure"),
        Directive::host(
            "SSLCertificateFile",
            Shape::Path,
            "A file with a certificate and then its chain, in PEM. There may be one file for each \
             key type. The server reads it again at a reload, and when it changes.",
            |target, arguments| {
                let certificate = arguments.path(0, &target.site.server_root)?;
                let key = target.environment.waiting_keys.pop();
                target.host.tls.certificates.push(CertificateFiles { certificate, key });
                Ok(())
            },
        )
        .example("/etc/ssl/example.pem", "/one /two"),
        Directive::host(
            "SSLCertificateKeyFile",
            Shape::Path,
            "The key of the certificate in the SSLCertificateFile line before this line. The key \
             is in PEM and has no passphrase.",
            certificate_key,
        )
        .otherwise("the key in the certificate's file")
        .example("/etc/ssl/private/example.key", "/one /two"),
        Directive::host(
            "SSLCertificateChainFile",
            Shape::Path,
            "The intermediate certificates in PEM: those between the server's certificate and the \
             root.",
            |target, arguments| {
                target.host.tls.chain = Some(arguments.path(0, &target.site.server_root)?);
                Ok(())
            },
        )
        .example("/etc/ssl/chain.pem", "/one /two"),
        Directive::host(
            "SSLProtocol",
            words("[+|-]all|TLSv1.2|TLSv1.3...", 1, ANY),
            "The TLS versions that clients may use.",
            protocol,
        )
        .default("all")
        .example("all -SSLv3 -TLSv1 -TLSv1.1", "TLSv1.4"),
        Directive::host(
            "SSLCipherSuite",
            words("[TLSv1.3] CIPHER:...", 1, 2),
            "The ciphers, by OpenSSL's names, the preferred cipher first. Names of groups (HIGH, \
             ECDHE) and exclusions (!MD5) stand for the TLS library's own choice, which contains \
             no weak cipher.",
            ciphers::suite,
        )
        .otherwise("the library's own order")
        .example("ECDHE-RSA-AES256-GCM-SHA384:TLS_AES_128_GCM_SHA256", "RC4-MD5"),
        Directive::host(
            "SSLHonorCipherOrder",
            Shape::Flag,
            "Whose order of ciphers applies. On: the server's. Off: the client's.",
            |target, arguments| {
                target.host.tls.own_order = Some(arguments.flag()?);
                Ok(())
            },
        )
        .default("Off"),
        Directive::host(
            "SSLSessionTickets",
            Shape::Flag,
            "Whether a client may resume an earlier TLS session without a whole handshake.",
            |target, arguments| {
                target.host.tls.tickets = Some(arguments.flag()?);
                Ok(())
            },
        )
        .default("On"),
        Directive::host(
            "SSLVerifyClient",
            Shape::Choice(&["none", "optional", "require", "optional_no_ca"]),
            "Whether clients send a certificate. none: they do not. optional: they may. require: \
             they must. A certificate that is sent must be valid, so a line with optional_no_ca \
             is refused.",
            |target, arguments| {
                target.host.tls.clients = Some(match arguments.choice()? {
                    "none" => ClientCertificates::None,
                    "optional" => ClientCertificates::Optional,
                    "require" => ClientCertificates::Require,
                    _ => return Err(arguments.fault(0, "expected none, optional or require: a certificate without a trusted authority is never accepted")),
                });
                Ok(())
            },
        )
        .default("none"),
        Directive::host(
            "SSLCACertificateFile",
            Shape::Path,
            "The certificates of the authorities that may sign clients' certificates, in PEM.",
            |target, arguments| {
                target.host.tls.client_roots = Some(arguments.path(0, &target.site.server_root)?);
                Ok(())
            },
        )
        .example("/etc/ssl/clients.pem", "/one /two"),
        Directive::host(
            "SSLCACertificatePath",
            Shape::Path,
            "A folder with the certificates of the authorities that may sign clients' \
             certificates. Its PEM files have the names that `openssl rehash` makes.",
            |target, arguments| {
                target.host.tls.client_root_folder = Some(arguments.path(0, &target.site.server_root)?);
                Ok(())
            },
        )
        .example("/etc/ssl/clients", "/one /two"),
        Directive::host(
            "SSLCARevocationFile",
            Shape::Path,
            "Revocation lists for clients' certificates, in PEM. If a list has expired, all \
             certificates of its authority are refused.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                target.host.tls.client_revocations.file = Some(file);
                Ok(())
            },
        )
        .example("/etc/ssl/revoked.pem", "/one /two"),
        Directive::host(
            "SSLCARevocationPath",
            Shape::Path,
            "A folder with revocation lists for clients' certificates. Its PEM files have the \
             names that `openssl rehash` makes.",
            |target, arguments| {
                let folder = arguments.path(0, &target.site.server_root)?;
                target.host.tls.client_revocations.folder = Some(folder);
                Ok(())
            },
        )
        .example("/etc/ssl/revoked", "/one /two"),
        Directive::host(
            "SSLCARevocationCheck",
            revocation::SHAPE,
            "The certificates that are looked up in the revocation lists. leaf: the client's own \
             certificate. chain: also those of the authorities between it and the root. If an \
             authority has no list, its certificates are refused. With no_crl_for_cert_ok they \
             are accepted.",
            |target, arguments| {
                target.host.tls.client_revocations.check = Some(revocation::check(arguments)?);
                Ok(())
            },
        )
        .otherwise("chain if there are revocation lists, else none")
        .example("chain no_crl_for_cert_ok", "all"),
        Directive::host(
            "SSLStaplingFile",
            Shape::Path,
            "A file with an OCSP response in DER, which the server sends with the certificate. \
             The server reads the file again when it changes.",
            |target, arguments| {
                target.host.tls.staple = Some(arguments.path(0, &target.site.server_root)?);
                Ok(())
            },
        )
        .example("/var/lib/mehari/example.ocsp", "/one /two"),
        Directive::everywhere(
            "SSLOptions",
            words("[+|-]StdEnvVars [+|-]ExportCertData", 1, ANY),
            "The TLS variables in %ENV. StdEnvVars: all variables SSL_*. ExportCertData: the \
             certificates themselves. HTTPS and SSL_TLS_SNI are always set.",
            options,
        )
        .htaccess(crate::overrides::OPTIONS)
        .example("+StdEnvVars", "+FakeBasicAuth"),
        Directive::everywhere(
            "SSLRequireSSL",
            words("", 0, 0),
            "Requests without TLS get 403.",
            |target, _| {
                target.changes.push(Change::RequireTls);
                Ok(())
            },
        )
        .htaccess(crate::overrides::AUTH)
        .example("", "On"),
        Directive::everywhere(
            "SSLRequire",
            words("EXPRESSION", 1, ANY),
            "Requests for which the expression is false get 403. The expression has Apache's \
             older syntax, with `and`, `or`, `not`, `eq` and the like. If there are several \
             lines, all expressions must be true.",
            |target, arguments| {
                let text = arguments.written(0);
                let parsed = crate::Expression::parse_tls(&text);
                let rule = parsed.map_err(|why| arguments.fault(0, why))?;
                target.changes.push(Change::TlsRequirement(std::sync::Arc::new(rule)));
                Ok(())
            },
        )
        .htaccess(crate::overrides::AUTH)
        .example("%{SSL_CLIENT_S_DN_O} eq \"Caravan\" and %{SSL_CIPHER_USEKEYSIZE} >= 128", "%{SSL_CIPHER} eq"),
        Directive::everywhere(
            "SSLUserName",
            words("VARIABLE", 1, 1),
            "The TLS variable whose value becomes the user (REMOTE_USER), for example \
             SSL_CLIENT_S_DN_CN. As in Apache, `Require` does not see this user.",
            |target, arguments| {
                let name = arguments.filled(0)?.to_string();
                target.changes.push(Change::TlsUserName(name));
                Ok(())
            },
        )
        .htaccess(crate::overrides::AUTH)
        .example("SSL_CLIENT_S_DN_CN", "\"\""),
        Directive::everywhere(
            "StrictTransportSecurity",
            words("SECONDS [includeSubDomains] [preload] | off", 1, 3),
            "Sends the field Strict-Transport-Security with every response over TLS. Browsers \
             then always use TLS.",
            strict_transport,
        )
        .otherwise("not sent")
        .example("31536000 includeSubDomains", "always"),
        Directive::host(
            "Protocols",
            words("h2|h2c|http/1.1...", 1, 3),
            "The protocols that clients may use. h2 is HTTP/2 over TLS. h2c is HTTP/2 in clear \
             text. HTTP/1.1 is always allowed.",
            |target, arguments| {
                let mut http2 = false;
                for (index, word) in arguments.words.iter().enumerate() {
                    match word.text.to_ascii_lowercase().as_str() {
                        "h2" | "h2c" => http2 = true,
                        "http/1.1" => {}
                        _ => {
                            let message = format!("expected h2, h2c or http/1.1, not `{}`", word.text);
                            return Err(arguments.fault(index, message));
                        }
                    }
                }
                target.host.tls.http2 = Some(http2);
                Ok(())
            },
        )
        .default("h2 http/1.1")
        .example("h2 http/1.1", "h3"),
        Directive::ignored("ProtocolsHonorOrder", "HTTP/2 is preferred"),
        Directive::ignored("SSLSessionCache", RESUMPTION),
        Directive::ignored("SSLSessionCacheTimeout", RESUMPTION),
        Directive::ignored("SSLSessionTicketKeyFile", "the server makes and changes the ticket \
                                                       keys itself and keeps them in memory"),
        Directive::ignored("SSLUseStapling", STAPLE),
        Directive::ignored("SSLStaplingCache", STAPLE),
        Directive::ignored("SSLStaplingResponderTimeout", STAPLE),
        Directive::ignored("SSLStaplingReturnResponderErrors", STAPLE),
        Directive::ignored("SSLStaplingErrorCacheTimeout", STAPLE),
        Directive::ignored("SSLStaplingFakeTryLater", STAPLE),
        Directive::ignored("SSLStaplingForceURL", STAPLE),
        Directive::ignored("SSLStaplingResponseMaxAge", STAPLE),
        Directive::ignored("SSLStaplingResponseTimeSkew", STAPLE),
        Directive::ignored("SSLStaplingStandardCacheTimeout", STAPLE),
        Directive::ignored("SSLCompression", "TLS is never compressed"),
        Directive::ignored("SSLInsecureRenegotiation", "TLS is never renegotiated"),
        Directive::ignored("SSLRenegBufferSize", "TLS is never renegotiated"),
        Directive::ignored("SSLRandomSeed", LIBRARY_RANDOM),
        Directive::ignored("SSLCryptoDevice", LIBRARY),
        Directive::ignored("SSLOpenSSLConfCmd", LIBRARY),
        Directive::ignored("SSLVerifyDepth", LIBRARY),
        Directive::ignored("SSLPassPhraseDialog", "the server reads only keys without a passphrase"),
        Directive::ignored("SSLStrictSNIVHostCheck", "a client that names an unknown host gets \
                                                      the first certificate"),
        Directive::ignored("SSLCADNRequestFile", "clients get the names of SSLCACertificateFile's authorities")
            .aliases(&["SSLCADNRequestPath"]),
    ],
};

fn certificate_key(target: &mut Target, arguments: &Arguments) -> Applied {
    let key = arguments.path(0, &target.site.server_root)?;
    let mut pairs = target.host.tls.certificates.iter_mut();
    match pairs.find(|pair| pair.key.is_none()) {
        Some(pair) => pair.key = Some(key),
        // The line of the certificate may follow. It then takes the waiting key.
        None => target.environment.waiting_keys.push(key),
    }
    Ok(())
}

fn protocol(target: &mut Target, arguments: &Arguments) -> Applied {
    const BOTH: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];
    let mut versions: Vec<TlsVersion> = Vec::new();
    let mut asked_for_old = None;
    for (index, word) in arguments.words.iter().enumerate() {
        let (takes_away, name) = match word.text.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, word.text.strip_prefix('+').unwrap_or(&word.text)),
        };
        let named: &[TlsVersion] = match name.to_ascii_lowercase().as_str() {
            "all" => &BOTH,
            "tlsv1.2" => &BOTH[..1],
            "tlsv1.3" => &BOTH[1..],
            "sslv2" | "sslv3" | "tlsv1" | "tlsv1.0" | "tlsv1.1" => {
                if !takes_away {
                    asked_for_old = Some(word.text.clone());
                }
                &[]
            }
            _ => {
                let message = format!("expected all, TLSv1.2 or TLSv1.3, not `{}`", word.text);
                return Err(arguments.fault(index, message));
            }
        };
        versions.retain(|version| !named.contains(version));
        if !takes_away {
            versions.extend(named);
        }
    }
    if versions.is_empty() {
        let message = "no version is left; expected TLSv1.2 or TLSv1.3 among them";
        return Err(arguments.fault(0, message));
    }
    if let Some(old) = asked_for_old {
        let remark = format!("{old} is broken and not spoken; TLSv1.2 and TLSv1.3 are");
        target.environment.remark(remark);
    }
    versions.sort();
    target.host.tls.versions = versions;
    Ok(())
}

fn options(target: &mut Target, arguments: &Arguments) -> Applied {
    for (index, word) in arguments.words.iter().enumerate() {
        let on = !word.text.starts_with('-');
        let name = word.text.trim_start_matches(['+', '-']);
        match name.to_ascii_lowercase().as_str() {
            "stdenvvars" => target.changes.push(Change::TlsVariables(on)),
            "exportcertdata" => target.changes.push(Change::TlsCertificates(on)),
            "strictrequire" | "optrenegotiate" => target
                .environment
                .remark(format!("{name} has no effect here")),
            _ => {
                let message = format!("expected StdEnvVars or ExportCertData, not `{}`", word.text);
                let known = ["StdEnvVars", "ExportCertData"].into_iter();
                return Err(arguments.fault(index, message).or_nearest(name, known));
            }
        }
    }
    Ok(())
}

fn strict_transport(target: &mut Target, arguments: &Arguments) -> Applied {
    let first = arguments.filled(0)?;
    if first.eq_ignore_ascii_case("off") {
        target.changes.push(Change::StrictTransport(None));
        return Ok(());
    }
    let digits = first.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || first.len() > 10 {
        let message = format!("expected a number of seconds, or off, not `{first}`");
        return Err(arguments.fault(0, message));
    }
    let mut value = format!("max-age={first}");
    for (index, word) in arguments.words.iter().enumerate().skip(1) {
        match word.text.to_ascii_lowercase().as_str() {
            "includesubdomains" => value.push_str("; includeSubDomains"),
            "preload" => value.push_str("; preload"),
            _ => {
                let message = format!("expected includeSubDomains or preload, not `{}`", word.text);
                return Err(arguments.fault(index, message));
            }
        }
    }
    let line = format!("Strict-Transport-Security: {value}\r\n");
    target.changes.push(Change::StrictTransport(Some(line)));
    Ok(())
}
