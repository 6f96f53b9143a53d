//! Makes the variables of mod_ssl (its documentation, "Environment Variables") for the connection
//! and the client's certificate.

use super::session::Session;
use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::oid_registry::Oid;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Name;

/// The parts of a distinguished name: mod_ssl's word and the object identifier of each part.
const PARTS: [(&str, &str); 14] = [
    ("CN", "2.5.4.3"),
    ("SN", "2.5.4.4"),
    ("C", "2.5.4.6"),
    ("L", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("T", "2.5.4.12"),
    ("D", "2.5.4.13"),
    ("G", "2.5.4.42"),
    ("I", "2.5.4.43"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("Email", "1.2.840.113549.1.9.1"),
];

pub fn of(session: &Session) -> Vec<(String, String)> {
    let mut all = Variables(Vec::new());
    all.add("SSL_PROTOCOL", session.version);
    all.add("SSL_CIPHER", &session.cipher);
    all.add("SSL_CIPHER_EXPORT", "false");
    all.add("SSL_CIPHER_USEKEYSIZE", session.bits.to_string());
    all.add("SSL_CIPHER_ALGKEYSIZE", session.bits.to_string());
    all.add("SSL_COMPRESS_METHOD", "NULL");
    all.add("SSL_SECURE_RENEG", "true");
    all.add(
        "SSL_SESSION_RESUMED",
        if session.resumed {
            "Resumed"
        } else {
            "Initial"
        },
    );
    all.add(
        "SSL_VERSION_INTERFACE",
        concat!("Mehari/", env!("CARGO_PKG_VERSION")),
    );
    all.add("SSL_VERSION_LIBRARY", "rustls/0.23");
    let client = session.client.first();
    all.add(
        "SSL_CLIENT_VERIFY",
        if client.is_some() { "SUCCESS" } else { "NONE" },
    );
    if let Some(certificate) = client.and_then(parse) {
        all.certificate(&certificate);
    }
    all.0
}

/// Returns the certificate in PEM, as mod_ssl's `ExportCertData` gives the certificate to programs.
pub fn pem(certificate: &CertificateDer<'_>) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(certificate);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem + "-----END CERTIFICATE-----\n"
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    X509Certificate::from_der(certificate)
        .ok()
        .map(|(_, certificate)| certificate)
}

struct Variables(Vec<(String, String)>);

impl Variables {
    fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        // A NUL would end the variable in a program's environment and hide the rest.
        let value: String = value.into();
        self.0.push((name.into(), value.replace('\0', "")));
    }

    fn certificate(&mut self, certificate: &X509Certificate<'_>) {
        self.add(
            "SSL_CLIENT_M_VERSION",
            (certificate.version().0 + 1).to_string(),
        );
        let serial = certificate.raw_serial();
        let serial = serial.strip_prefix(&[0]).unwrap_or(serial);
        let serial: String = serial.iter().map(|byte| format!("{byte:02X}")).collect();
        self.add("SSL_CLIENT_M_SERIAL", serial);
        let validity = certificate.validity();
        self.add("SSL_CLIENT_V_START", time(&validity.not_before));
        self.add("SSL_CLIENT_V_END", time(&validity.not_after));
        let left = validity
            .time_to_expiration()
            .map_or(0, |left| left.whole_days());
        self.add("SSL_CLIENT_V_REMAIN", left.to_string());
        self.name("SSL_CLIENT_S_DN", certificate.subject());
        self.name("SSL_CLIENT_I_DN", certificate.issuer());
        let Ok(Some(names)) = certificate.subject_alternative_name() else {
            return;
        };
        let (mut mails, mut hosts) = (0, 0);
        for name in &names.value.general_names {
            match name {
                GeneralName::RFC822Name(mail) => {
                    self.add(format!("SSL_CLIENT_SAN_Email_{mails}"), *mail);
                    mails += 1;
                }
                GeneralName::DNSName(host) => {
                    self.add(format!("SSL_CLIENT_SAN_DNS_{hosts}"), *host);
                    hosts += 1;
                }
                _ => {}
            }
        }
    }

    /// Adds a variable with the whole name as in RFC 2253, last part first, and a variable for each
    /// part.
    fn name(&mut self, variable: &str, name: &X509Name<'_>) {
        let mut parts: Vec<String> = Vec::new();
        let mut counts = [0; PARTS.len()];
        for attribute in name.iter_attributes() {
            let value = attribute.as_str().map_or_else(
                |_| attribute.as_slice().escape_ascii().to_string(),
                str::to_string,
            );
            let oid: &Oid = attribute.attr_type();
            let oid = oid.to_id_string();
            let known = PARTS.iter().position(|(_, known)| *known == oid);
            let word = known.map_or(oid.as_str(), |at| PARTS[at].0);
            parts.push(format!(
                "{}={}",
                if word == "Email" {
                    "emailAddress"
                } else {
                    word
                },
                escaped(&value)
            ));
            if let Some(at) = known {
                let number = counts[at];
                counts[at] += 1;
                match number {
                    0 => self.add(format!("{variable}_{word}"), value),
                    _ => self.add(format!("{variable}_{word}_{number}"), value),
                }
            }
        }
        parts.reverse();
        self.add(variable, parts.join(","));
    }
}

/// Escapes a value as RFC 2253 section 2.4 demands.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    let last = value.chars().count().saturating_sub(1);
    for (at, character) in value.chars().enumerate() {
        let special = ",+\"\\<>;".contains(character);
        let edge =
            (at == 0 && (character == ' ' || character == '#')) || (at == last && character == ' ');
        if special || edge {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// Formats a time as `Nov 21 23:36:29 2026 GMT`.
fn time(time: &ASN1Time) -> String {
    let time = time.to_datetime();
    let month = time.month().to_string();
    format!(
        "{} {:2} {:02}:{:02}:{:02} {} GMT",
        &month[..3],
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.year()
    )
}
