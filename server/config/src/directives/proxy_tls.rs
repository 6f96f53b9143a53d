//! The directives of TLS to back ends, which are mod_ssl's.

use super::revocation;
use super::row::*;

const SAID: &str = "`https://` in the back end's URL enables TLS";
const LIBRARY: &str = "back ends get TLS 1.2 or 1.3 with the library's own ciphers";

pub const GROUP: Group = Group {
    title: "TLS to back ends",
    rows: &[
        Directive::host(
            "SSLProxyVerify",
            Shape::Choice(&["require", "optional", "none", "optional_no_ca"]),
            "Whether an `https://` back end must authenticate itself by a certificate. none: any \
             server at its address is accepted. There is one value for the whole server, because \
             all hosts share the back ends.",
            |target, arguments| {
                let verify = matches!(arguments.choice()?, "require" | "optional");
                once(&mut target.site.back_ends.tls.verify, verify, arguments)
            },
        )
        .otherwise("require"),
        Directive::host(
            "SSLProxyCheckPeerName",
            Shape::Flag,
            "Whether the certificate of a back end must be for the name in the back end's URL.",
            |target, arguments| {
                let check = arguments.flag()?;
                once(&mut target.site.back_ends.tls.check_name, check, arguments)
            },
        )
        .otherwise("On")
        .aliases(&["SSLProxyCheckPeerCN"]),
        Directive::host(
            "SSLProxyCACertificateFile",
            Shape::Path,
            "The certificates of the authorities that may sign back ends' certificates, in PEM.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                once(&mut target.site.back_ends.tls.authorities, file, arguments)
            },
        )
        .otherwise("the authorities that the system trusts")
        .example("/etc/ssl/internal.pem", "/one /two"),
        Directive::host(
            "SSLProxyCACertificatePath",
            Shape::Path,
            "A folder with the certificates of the authorities that may sign back ends' \
             certificates. Its PEM files have the names that `openssl rehash` makes.",
            |target, arguments| {
                let folder = arguments.path(0, &target.site.server_root)?;
                once(
                    &mut target.site.back_ends.tls.authority_folder,
                    folder,
                    arguments,
                )
            },
        )
        .example("/etc/ssl/internal", "/one /two"),
        Directive::host(
            "SSLProxyCARevocationFile",
            Shape::Path,
            "Revocation lists for back ends' certificates, in PEM.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                once(
                    &mut target.site.back_ends.tls.revocations.file,
                    file,
                    arguments,
                )
            },
        )
        .example("/etc/ssl/revoked.pem", "/one /two"),
        Directive::host(
            "SSLProxyCARevocationPath",
            Shape::Path,
            "A folder with revocation lists for back ends' certificates. Its PEM files have the \
             names that `openssl rehash` makes.",
            |target, arguments| {
                let folder = arguments.path(0, &target.site.server_root)?;
                once(
                    &mut target.site.back_ends.tls.revocations.folder,
                    folder,
                    arguments,
                )
            },
        )
        .example("/etc/ssl/revoked", "/one /two"),
        Directive::host(
            "SSLProxyCARevocationCheck",
            revocation::SHAPE,
            "The certificates that are looked up in the revocation lists. The values have the \
             meaning of those of SSLCARevocationCheck.",
            |target, arguments| {
                let check = revocation::check(arguments)?;
                once(
                    &mut target.site.back_ends.tls.revocations.check,
                    check,
                    arguments,
                )
            },
        )
        .otherwise("chain if there are revocation lists, else none")
        .example("leaf", "all"),
        Directive::host(
            "SSLProxyMachineCertificateFile",
            Shape::Path,
            "The server's own certificate and key, in one PEM file, for back ends that request a \
             client certificate.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                once(&mut target.site.back_ends.tls.identity, file, arguments)
            },
        )
        .otherwise("no certificate")
        .example("/etc/ssl/private/front.pem", "/one /two"),
        Directive::host(
            "SSLProxyMachineCertificateChainFile",
            Shape::Path,
            "The intermediate certificates in PEM: those between the certificate of \
             SSLProxyMachineCertificateFile and the root.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                once(
                    &mut target.site.back_ends.tls.identity_chain,
                    file,
                    arguments,
                )
            },
        )
        .example("/etc/ssl/chain.pem", "/one /two"),
        Directive::ignored("SSLProxyEngine", SAID),
        Directive::ignored("SSLProxyProtocol", LIBRARY),
        Directive::ignored("SSLProxyCipherSuite", LIBRARY),
        Directive::ignored("SSLProxyVerifyDepth", LIBRARY),
        Directive::ignored(
            "SSLProxyCheckPeerExpire",
            "an expired certificate is never valid",
        ),
    ],
};

/// Sets a value that all hosts share. A second line with another value is a fault.
fn once<T: PartialEq>(field: &mut Option<T>, value: T, arguments: &Arguments) -> Applied {
    match field {
        Some(known) if *known != value => Err(arguments.fault(
            0,
            format!(
                "expected the value it was given before: back ends are shared by all hosts, so \
                 there is one {} for the server",
                arguments.name
            ),
        )),
        _ => {
            *field = Some(value);
            Ok(())
        }
    }
}
