//! The directives of managed certificates, which are mod_md's.

use super::row::*;
use crate::{authority_url, managed_name, RenewMode, RenewWindow, RequireHttps};
use crate::{ChallengeKind, DomainSettings, KeyKind, ManagedDomain};
use std::time::Duration;

/// The directives that may stand in `<MDomainSet>`.
pub(crate) const IN_SET: [&str; 8] = [
    "MDMembers",
    "MDCAChallenges",
    "MDPrivateKeys",
    "MDRenewWindow",
    "MDRenewMode",
    "MDRequireHttps",
    "MDStapling",
    "MDStaplingRenewWindow",
];

const STATUS: &str = "`mehari status` and the metrics show the certificates";
const PORTS: &str = "the addresses of `Listen` say which challenges can be answered";

pub const GROUP: Group = Group {
    title: "Managed certificates",
    rows: &[
        Directive::server(
            "MDomain",
            words("NAME... [auto|manual]", 1, ANY),
            "The host names of a managed domain. The server requests a certificate for these \
             names and renews it. The hosts with these names use the certificate.",
            |target, arguments| {
                let index = open_domain(target);
                add_members(target, arguments, 0, index)
            },
        )
        .example("example.org www.example.org", "*.example.org"),
        Directive::server(
            "MDMembers",
            words("NAME...|auto|manual", 1, ANY),
            "More names of an `<MDomainSet>`. `auto` also adds the other names of the domain's \
             hosts. `manual` does not add them.",
            |target, arguments| {
                let index = target.environment.managed_set;
                add_members(target, arguments, 0, index)
            },
        )
        .aliases(&["MDMember"])
        .default("auto")
        .example("manual", "*.example.org"),
        Directive::server(
            "MDCertificateAgreement",
            Shape::Choice(&["accepted"]),
            "Accepts the authority's terms of service. If this line is missing, no certificate is \
             requested.",
            |target, arguments| {
                arguments.choice()?;
                target.site.managed.authority.is_agreed = true;
                Ok(())
            },
        )
        .example("accepted", "yes"),
        Directive::server(
            "MDCertificateAuthority",
            words("URL|letsencrypt|letsencrypt-test", 1, 1),
            "The authority that signs the certificates: its ACME directory's URL, or a short name.",
            authority,
        )
        .default("letsencrypt")
        .example("https://ca.example.org/directory", "http://ca.example.org/"),
        Directive::server(
            "MDCACertificateFile",
            Shape::Path,
            "The root certificates, in PEM, by which the server verifies the authority's own \
             server.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                target.site.managed.authority.roots = Some(file);
                Ok(())
            },
        )
        .otherwise("the roots of the operating system")
        .example("/etc/ssl/ca.pem", "/one /two"),
        Directive::server(
            "MDContactEmail",
            words("ADDRESS", 1, 1),
            "The address to which the authority may write. ServerAdmin is not used for this.",
            contact,
        )
        .otherwise("no address")
        .example("admin@example.org", "nobody"),
        Directive::server(
            "MDCAChallenges",
            words("http-01|tls-alpn-01...", 1, 2),
            "How the authority may check the names. The server tries the first way, and the next \
             way after a failure.",
            challenges,
        )
        .otherwise(
            "http-01 if there is an address without TLS, and tls-alpn-01 if there is an address \
             with TLS",
        )
        .example("tls-alpn-01 http-01", "dns-01"),
        Directive::server(
            "MDPrivateKeys",
            words("P-256|P-384|RSA [2048|3072|4096]", 1, 2),
            "The type of the keys of new certificates.",
            private_keys,
        )
        .default("P-256")
        .example("RSA 4096", "RSA 1024"),
        Directive::server(
            "MDRenewWindow",
            words("PERCENT%|TIME", 1, 1),
            "How long before its end a certificate is renewed: a part of its lifetime (33%), or a \
             time (30d). The value is at most nine tenths of the lifetime.",
            renew_window,
        )
        .default("33%")
        .example("21d", "0%"),
        Directive::server(
            "MDRenewMode",
            Shape::Choice(&["auto", "always", "manual"]),
            "The domains for which certificates are requested. auto: domains that a host uses. \
             always: all domains. manual: none, and a stored certificate is used.",
            |target, arguments| {
                let mode = match arguments.choice()? {
                    "auto" => RenewMode::Auto,
                    "always" => RenewMode::Always,
                    _ => RenewMode::Manual,
                };
                settings(target).mode = Some(mode);
                Ok(())
            },
        )
        .aliases(&["MDDriveMode"])
        .default("auto"),
        Directive::server(
            "MDRequireHttps",
            Shape::Choice(&["off", "temporary", "permanent"]),
            "Redirects requests without TLS for the domain's names. temporary: by 302. permanent: \
             by 301. With permanent, responses over TLS also have Strict-Transport-Security for \
             half a year.",
            |target, arguments| {
                let required = match arguments.choice()? {
                    "off" => RequireHttps::Off,
                    "temporary" => RequireHttps::Temporary,
                    _ => RequireHttps::Permanent,
                };
                settings(target).require_https = Some(required);
                Ok(())
            },
        )
        .default("off"),
        Directive::server(
            "MDStoreDir",
            Shape::Path,
            "The folder for accounts, keys and certificates. Several servers may share it.",
            |target, arguments| {
                target.site.managed.store = arguments.path(0, &target.site.server_root)?;
                Ok(())
            },
        )
        .default("md"),
        Directive::server(
            "MDRetryDelay",
            Shape::Time {
                least: 1,
                most: 86_400,
            },
            "The pause after the first failed request for a certificate. Each further failure \
             doubles the pause, to at most a day.",
            |target, arguments| {
                target.site.managed.retry_delay = arguments.time()?;
                Ok(())
            },
        )
        .unit("s")
        .default("60"),
        Directive::server(
            "MDStapling",
            Shape::Flag,
            "Asks the OCSP responder that a certificate names, and sends the response with the \
             certificate. If the responder calls a certificate revoked, the server replaces it. \
             Some authorities have no responder, such as Let's Encrypt.",
            |target, arguments| {
                let is_on = arguments.flag()?;
                settings(target).stapling = Some(is_on);
                Ok(())
            },
        )
        .default("off"),
        Directive::server(
            "MDStaplingRenewWindow",
            words("PERCENT%|TIME", 1, 1),
            "How long before its end an OCSP response is fetched again: a part of its lifetime \
             (33%), or a time (12h).",
            |target, arguments| {
                let window = window(arguments)?;
                settings(target).staple_window = Some(window);
                Ok(())
            },
        )
        .default("33%")
        .example("50%", "0d"),
        Directive::ignored(
            "MDBaseServer",
            "the names of the main server always count too",
        ),
        Directive::ignored("MDServerStatus", STATUS),
        Directive::ignored("MDCertificateStatus", STATUS),
        Directive::ignored("MDCertificateCheck", STATUS),
        Directive::ignored("MDWarnWindow", "a failed renewal is logged each time"),
        Directive::ignored("MDCertificateProtocol", "the protocol is ACME (RFC 8555)"),
        Directive::ignored("MDPortMap", PORTS),
        Directive::ignored(
            "MDStapleOthers",
            "SSLStaplingFile names the responses of other \
             certificates",
        ),
        Directive::ignored(
            "MDStaplingKeepResponse",
            "an OCSP response is kept until its own end",
        ),
        Directive::ignored(
            "MDStoreLocks",
            "the store is always locked while a certificate is requested",
        ),
        Directive::ignored("MDActivationDelay", "a new certificate is used at once"),
        Directive::ignored("MDRetryFailover", "all requests go to one authority"),
        Directive::ignored(
            "MDInitialDelay",
            "the server requests certificates when it starts",
        ),
        Directive::ignored(
            "MDCheckInterval",
            "the server checks each certificate at a time of its own",
        ),
        Directive::ignored(
            "MDRenewViaARI",
            "MDRenewWindow says when a certificate is renewed",
        ),
    ],
};

/// Adds an empty domain. Returns its index.
fn open_domain(target: &mut Target) -> Option<usize> {
    let domains = &mut target.site.managed.domains;
    domains.push(ManagedDomain::of(Vec::new()));
    Some(domains.len() - 1)
}

/// Returns the settings of the open `<MDomainSet>`, or of all domains.
fn settings<'t>(target: &'t mut Target) -> &'t mut DomainSettings {
    let managed = &mut target.site.managed;
    match target.environment.managed_set {
        Some(index) => &mut managed.domains[index].settings,
        None => &mut managed.defaults,
    }
}

/// Adds the names from this word on to a domain. `None`: only `auto` or `manual` may stand there.
fn add_members(
    target: &mut Target,
    arguments: &Arguments,
    from: usize,
    domain: Option<usize>,
) -> Applied {
    let managed = &mut target.site.managed;
    for (index, word) in arguments.words.iter().enumerate().skip(from) {
        let adds = match word.text.to_ascii_lowercase().as_str() {
            "auto" => Some(true),
            "manual" => Some(false),
            _ => None,
        };
        if adds.is_some() {
            match domain {
                Some(domain) => managed.domains[domain].settings.adds_members = adds,
                None => managed.defaults.adds_members = adds,
            }
            continue;
        }
        let name = managed_name(&word.text).map_err(|why| arguments.fault(index, why))?;
        let Some(domain) = domain else {
            let message = "expected auto or manual: names stand in <MDomainSet>";
            return Err(arguments.fault(index, message));
        };
        if managed.domains.iter().any(|one| one.names.contains(&name)) {
            let message = format!("expected each name once, not `{name}` again");
            return Err(arguments.fault(index, message));
        }
        managed.domains[domain].names.push(name);
    }
    if domain.is_some_and(|domain| managed.domains[domain].names.is_empty()) {
        return Err(arguments.fault(0, "expected at least one host name"));
    }
    Ok(())
}

/// Opens an `<MDomainSet NAME...>`.
pub(crate) fn open_set(target: &mut Target, arguments: &Arguments) -> Applied {
    let index = open_domain(target);
    target.environment.managed_set = index;
    add_members(target, arguments, 0, index)
}

fn authority(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    let Some(directory) = authority_url(text) else {
        let message = format!("expected letsencrypt or the URL https://..., not `{text}`");
        let known = ["letsencrypt", "letsencrypt-test"].into_iter();
        return Err(arguments.fault(0, message).or_nearest(text, known));
    };
    target.site.managed.authority.directory = directory;
    Ok(())
}

fn contact(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    let text = text.strip_prefix("mailto:").unwrap_or(text);
    let parts = text.split_once('@');
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b",;?<>\"".contains(&byte);
    let is_address = parts.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    if !is_address || !text.bytes().all(is_plain) {
        let message = format!("expected one mail address, not `{text}`");
        return Err(arguments.fault(0, message));
    }
    target.site.managed.authority.contact = Some(text.to_owned());
    Ok(())
}

fn challenges(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut kinds = Vec::new();
    for (index, word) in arguments.words.iter().enumerate() {
        let kind = match word.text.to_ascii_lowercase().as_str() {
            "http-01" => ChallengeKind::Http,
            "tls-alpn-01" => ChallengeKind::TlsAlpn,
            _ => {
                let why = match word.text.as_str() {
                    "dns-01" => ": Mehari writes into no name server",
                    _ => "",
                };
                let message = format!("expected http-01 or tls-alpn-01, not `{}`{why}", word.text);
                let known = ["http-01", "tls-alpn-01"].into_iter();
                return Err(match why {
                    "" => arguments
                        .fault(index, message)
                        .or_nearest(&word.text, known),
                    _ => arguments.fault(index, message),
                });
            }
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    settings(target).challenges = Some(kinds);
    Ok(())
}

fn private_keys(target: &mut Target, arguments: &Arguments) -> Applied {
    let size = arguments.words.get(1).map(|word| word.text.as_str());
    let key = match (arguments.filled(0)?.to_ascii_lowercase().as_str(), size) {
        ("default" | "p-256" | "secp256r1", None) => KeyKind::P256,
        ("p-384" | "secp384r1", None) => KeyKind::P384,
        ("rsa", None | Some("2048")) => KeyKind::Rsa2048,
        ("rsa", Some("3072")) => KeyKind::Rsa3072,
        ("rsa", Some("4096")) => KeyKind::Rsa4096,
        _ => {
            let told = arguments.written(0);
            let message =
                format!("expected one of P-256, P-384 and RSA 2048, 3072 or 4096, not `{told}`");
            return Err(arguments.fault(0, message));
        }
    };
    settings(target).key = Some(key);
    Ok(())
}

fn renew_window(target: &mut Target, arguments: &Arguments) -> Applied {
    settings(target).window = Some(window(arguments)?);
    Ok(())
}

fn window(arguments: &Arguments) -> Result<RenewWindow, Fault> {
    let text = arguments.filled(0)?;
    let days = |text: &str| {
        let days: u32 = text.parse().ok()?;
        Some(Duration::from_secs(86_400) * days)
    };
    let window = match (text.strip_suffix('%'), text.strip_suffix('d')) {
        (Some(percent), _) => {
            let percent = percent.parse().ok();
            let percent = percent.filter(|percent| (1..=90).contains(percent));
            percent.map(RenewWindow::Percent)
        }
        (_, Some(text)) => days(text).map(RenewWindow::Time),
        _ => crate::arguments::duration(text).map(RenewWindow::Time),
    };
    let is_empty = window == Some(RenewWindow::Time(Duration::ZERO));
    window.filter(|_| !is_empty).ok_or_else(|| {
        let message = format!("expected 1% to 90%, or a time such as 30d, not `{text}`");
        arguments.fault(0, message)
    })
}
