//! The directives of Apache of which Mehari accepts one value only: the value that says what Mehari
//! always does. A line with another value is a problem, whose message gives the reason.

use super::row::*;
use crate::overrides::{AUTH, FILE_INFO, INDEXES, OPTIONS};

const LOGIN_FORM: &str = "a login form belongs to the application, or to a PerlAuthenHandler";
const EXAMPLE: &str = "a PerlOutputFilterHandler or PerlInputFilterHandler changes the case";
const RECORD: &str = "`mehari record` shows what clients and servers send";
const SSI: &str = "elements of server-side includes begin with `<!--#` and end with `-->`";
const MEMBERS: &str = "a balancer has the members that the configuration names, in every host";

pub const GROUP: Group = Group {
    title: "One value only",
    rows: &[
        Directive::only(
            "AuthBasicUseDigestAlgorithm",
            &["Off"],
            "Basic passwords are compared with those of htpasswd: `AuthType Digest` reads those of \
             htdigest",
        ).htaccess(AUTH),
        Directive::only("AuthFormFakeBasicAuth", &["Off"], LOGIN_FORM).htaccess(AUTH),
        Directive::only(
            "AuthnCacheTimeout",
            &["300"],
            "a correct password is always remembered for five minutes, or until its file changes",
        ).htaccess(AUTH),
        Directive::only("BalancerInherit", &["On"], MEMBERS).of_host(),
        Directive::only("BalancerPersist", &["Off"], MEMBERS).of_host(),
        Directive::only("CaseFilter", &["Off"], EXAMPLE).of_host(),
        Directive::only("CaseFilterIn", &["Off"], EXAMPLE).of_host(),
        Directive::only(
            "CGIVar",
            &["REQUEST_URI original-uri"],
            "REQUEST_URI is what the client sent, and REDIRECT_URL is the path before a redirect",
        ).htaccess(FILE_INFO),
        Directive::only(
            "ContentDigest",
            &["Off"],
            "no client reads Content-MD5, which RFC 9110 no longer has",
        ).htaccess(OPTIONS),
        Directive::only(
            "CookieTracking",
            &["Off"],
            "a PerlFixupHandler sets a tracking cookie",
        ).htaccess(FILE_INFO),
        Directive::only("DAV", &["Off"], "WebDAV is not served").htaccess(0),
        Directive::only(
            "DirectoryCheckHandler",
            &["Off"],
            "every folder is redirected to its path with a slash, also a folder with a handler: \
             `DirectorySlash Off` ends that",
        ).htaccess(INDEXES),
        Directive::only("DumpIOInput", &["Off"], RECORD).of_host(),
        Directive::only("DumpIOOutput", &["Off"], RECORD).of_host(),
        Directive::only(
            "H2Direct",
            &["On"],
            "HTTP/2 in clear text always begins by prior knowledge",
        ).of_host(),
        Directive::only(
            "H2EarlyHints",
            &["Off"],
            "no early hints (103) are sent: `Header add Link` sends the fields with the response",
        ).of_host(),
        Directive::only(
            "H2ModernTLSOnly",
            &["On"],
            "the TLS library has no cipher that RFC 9113 forbids",
        ).of_host(),
        Directive::only(
            "H2ProxyRequests",
            &["Off"],
            "Mehari is not a forward proxy, and back ends are asked in HTTP/1.1",
        ).htaccess(FILE_INFO),
        Directive::only(
            "H2Upgrade",
            &["Off"],
            "HTTP/2 begins by ALPN, or in clear text by prior knowledge",
        ).htaccess(AUTH),
        Directive::only(
            "H2WebSockets",
            &["Off"],
            "WebSockets come over HTTP/1.1, which browsers choose for them by themselves",
        ).of_host(),
        Directive::only(
            "IdentityCheck",
            &["Off"],
            "no client answers ident any more",
        ).htaccess(0),
        Directive::only(
            "LimitInternalRecursion",
            &["10", "10 10"],
            "the limit is Apache's default, 10",
        ).of_host(),
        Directive::only(
            "LogIOTrackTTFB",
            &["Off"],
            "`%{queue}Q` and `%{backend}Q` in a log format are the times before the response's head",
        ),
        Directive::only(
            "MDMatchNames",
            &["all"],
            "ServerName and every ServerAlias of a host count",
        ).of_host(),
        Directive::only(
            "MDMustStaple",
            &["Off"],
            "clients refuse a certificate with must-staple while its OCSP responder is down: \
             `MDStapling On` alone has no such risk",
        ).of_host(),
        Directive::only(
            "MDProfileMandatory",
            &["Off"],
            "the authority chooses the profile of a certificate",
        ).of_host(),
        Directive::only(
            "MetaFiles",
            &["Off"],
            "`Header` says which fields a file has",
        ).htaccess(INDEXES),
        Directive::only(
            "ModMimeUsePathInfo",
            &["Off"],
            "PATH_INFO never names a type: `ForceType` in a section does",
        ).htaccess(0),
        Directive::only(
            "Protocol",
            &["http"],
            "`SSLEngine On` and `Listen PORT https` choose TLS",
        ).of_host(),
        Directive::only("ProtocolEcho", &["Off"], "the server speaks HTTP only").of_host(),
        Directive::only(
            "Proxy100Continue",
            &["Off"],
            "a request body is read whole before a back end gets it",
        ).htaccess(0),
        Directive::only(
            "ProxyBadHeader",
            &["IsError"],
            "if a back end sends a head that RFC 9112 forbids, the client gets 502",
        ).of_host(),
        Directive::only(
            "ProxyExpressEnable",
            &["Off"],
            "RewriteMap and [P] map hosts to back ends",
        ).htaccess(FILE_INFO),
        Directive::only(
            "ProxyHTMLEnable",
            &["Off"],
            "links within pages are not rewritten: the filter SUBSTITUTE replaces texts",
        ).htaccess(0),
        Directive::only(
            "ProxyMaxForwards",
            &["-1"],
            "Max-Forwards is not counted, because it limits TRACE, which is not served",
        ).of_host(),
        Directive::only(
            "ProxyPassInherit",
            &["On"],
            "the main server's ProxyPass lines hold in every host: `ProxyPass PATH !` excludes a path",
        ).of_host(),
        Directive::only(
            "ProxyPassInterpolateEnv",
            &["Off"],
            "RewriteRule with [P] puts variables into paths; the host of a back end is literal",
        ).htaccess(0),
        Directive::only(
            "ProxySCGIInternalRedirect",
            &["On"],
            "a Location that is a path is followed within the server",
        ).htaccess(0),
        Directive::only(
            "ProxySCGISendfile",
            &["Off"],
            "`XSendFile On` sends the file that a program names in X-Sendfile",
        ).htaccess(0),
        Directive::only(
            "ProxyWebsocketFallbackToProxyHttp",
            &["On"],
            "a `ws://` back end is asked like an `http://` one, with an upgrade or without",
        ).htaccess(0),
        Directive::only(
            "QualifyRedirectURL",
            &["Off"],
            "REDIRECT_URL is a path",
        ).htaccess(FILE_INFO),
        Directive::only(
            "RegexDefaultOptions",
            &["DOLLAR_ENDONLY", "+DOLLAR_ENDONLY"],
            "`$` matches the end of the text only; an expression itself says other options, as in \
             (?i)",
        ).of_host(),
        Directive::only(
            "Session",
            &["Off"],
            "sessions belong to the application: Apache::Session, Mehari::State",
        ).htaccess(AUTH),
        Directive::only("SSIEndTag", &["-->"], SSI).of_host(),
        Directive::only("SSIStartTag", &["<!--#"], SSI).of_host(),
        Directive::only(
            "SSLFIPS",
            &["Off"],
            "the TLS library is not in its FIPS mode",
        ).of_host(),
        Directive::only(
            "SSLOCSPEnable",
            &["Off"],
            "the server asks no OCSP responder about clients: SSLCARevocationFile has the revoked \
             certificates",
        ).of_host(),
        Directive::only(
            "Suexec",
            &["Off"],
            "a PerlPool section with User runs Perl as another user; CGI programs have the server's \
             user",
        ).of_host(),
    ],
};
