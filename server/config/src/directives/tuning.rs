//! The directives of Apache that only tune what another directive or a handler would switch on,
//! which Mehari refuses. Debian's packages ship such lines with modules that a site only loads.

use super::row::*;

const DAV: &str = "WebDAV is not served, and `DAV On` is refused";
const DATABASES: &str = "Perl reaches databases through DBI, and AuthDBDUserPWQuery is refused";
const FTP: &str = "no back end speaks FTP, and `ftp://` is refused";
const INFLATE: &str = "request bodies are not inflated, and SetInputFilter has no effect";
const LDAP: &str = "there is no LDAP client in the server, and AuthLDAPURL is refused";
const LUA: &str = "LuaAttractRawURL and its relatives run Lua, and mod_lua's hooks are refused";
const MAPS: &str = "browsers follow image maps themselves, and the handler `imap-file` is refused";
const PAGES: &str = "links within pages are not rewritten, and `ProxyHTMLEnable On` is refused";
const ENCODINGS: &str =
    "pages are not translated between character sets, and the filter xml2enc is refused";
const RESPONDERS: &str =
    "the server asks no OCSP responder about clients, and `SSLOCSPEnable On` is refused";
const SESSIONS: &str = "sessions belong to the application, and `Session On` is refused";
const TRACKING: &str = "no tracking cookie is set, and `CookieTracking On` is refused";
const PASSWORDS: &str = "correct passwords are always remembered for five minutes, in memory";
const CHECKERS: &str = "FcgidAccessChecker, FcgidAuthenticator and FcgidAuthorizer are refused";
const METAFILES: &str = "`Header` says which fields a file has, and `MetaFiles On` is refused";
const EXPRESS: &str = "RewriteMap maps hosts to back ends, and `ProxyExpressEnable On` is refused";
const FILES: &str = "files in use are always kept in memory";
const STORES: &str = "the response cache has its own connections to Redis";

pub const GROUP: Group = Group {
    title: "Ignored, because what they tune is refused",
    rows: &[
        Directive::ignored("AddModuleInfo", "server-info shows only the configuration"),
        Directive::ignored(
            "AllowCONNECT",
            "Mehari is not a forward proxy, and `ProxyRequests On` is refused",
        ),
        Directive::ignored("AuthnCacheContext", PASSWORDS),
        Directive::ignored("AuthnCacheEnable", PASSWORDS),
        Directive::ignored("AuthnCacheProvideFor", PASSWORDS),
        Directive::ignored("AuthnCacheSOCache", PASSWORDS),
        Directive::ignored("BalancerGrowth", "no member is added while the server runs"),
        Directive::ignored("BufferSize", "bodies are read whole before a program runs"),
        Directive::ignored("CacheFile", FILES),
        Directive::ignored("CookieDomain", TRACKING),
        Directive::ignored("CookieExpires", TRACKING),
        Directive::ignored("CookieHttpOnly", TRACKING),
        Directive::ignored("CookieName", TRACKING),
        Directive::ignored("CookieSameSite", TRACKING),
        Directive::ignored("CookieSecure", TRACKING),
        Directive::ignored("CookieStyle", TRACKING),
        Directive::ignored("DAVBasePath", DAV),
        Directive::ignored("DAVDepthInfinity", DAV),
        Directive::ignored("DAVGenericLockDB", DAV),
        Directive::ignored("DAVLockDB", DAV),
        Directive::ignored("DAVLockDiscovery", DAV),
        Directive::ignored("DAVMinTimeout", DAV),
        Directive::ignored("DBDExptime", DATABASES),
        Directive::ignored("DBDInitSQL", DATABASES),
        Directive::ignored("DBDKeep", DATABASES),
        Directive::ignored("DBDMax", DATABASES),
        Directive::ignored("DBDMin", DATABASES),
        Directive::ignored("DBDParams", DATABASES),
        Directive::ignored("DBDPersist", DATABASES),
        Directive::ignored("DBDPrepareSQL", DATABASES),
        Directive::ignored("DBDriver", DATABASES),
        Directive::ignored("DeflateInflateLimitRequestBody", INFLATE),
        Directive::ignored("DeflateInflateRatioBurst", INFLATE),
        Directive::ignored("DeflateInflateRatioLimit", INFLATE),
        Directive::ignored("FcgidAccessCheckerAuthoritative", CHECKERS)
            .aliases(&["FastCgiAccessCheckerAuthoritative"]),
        Directive::ignored("FcgidAuthenticatorAuthoritative", CHECKERS)
            .aliases(&["FastCgiAuthenticatorAuthoritative"]),
        Directive::ignored("FcgidAuthorizerAuthoritative", CHECKERS)
            .aliases(&["FastCgiAuthorizerAuthoritative"]),
        Directive::ignored(
            "H2EarlyHint",
            "no early hints (103) are sent, and `H2EarlyHints On` is refused",
        ),
        Directive::ignored(
            "IdentityCheckTimeout",
            "no client answers ident any more, and `IdentityCheck On` is refused",
        ),
        Directive::ignored("ImapBase", MAPS),
        Directive::ignored("ImapDefault", MAPS),
        Directive::ignored("ImapMenu", MAPS),
        Directive::ignored(
            "KeptBodySize",
            "bodies are always kept until their request ends",
        ),
        Directive::ignored("LDAPCacheEntries", LDAP),
        Directive::ignored("LDAPCacheTTL", LDAP),
        Directive::ignored("LDAPConnectionPoolTTL", LDAP),
        Directive::ignored("LDAPConnectionTimeout", LDAP),
        Directive::ignored("LDAPLibraryDebug", LDAP),
        Directive::ignored("LDAPOpCacheEntries", LDAP),
        Directive::ignored("LDAPOpCacheTTL", LDAP),
        Directive::ignored("LDAPReferralHopLimit", LDAP),
        Directive::ignored("LDAPReferrals", LDAP),
        Directive::ignored("LDAPRetries", LDAP),
        Directive::ignored("LDAPRetryDelay", LDAP),
        Directive::ignored("LDAPSharedCacheFile", LDAP),
        Directive::ignored("LDAPSharedCacheSize", LDAP),
        Directive::ignored("LDAPTimeout", LDAP),
        Directive::ignored("LDAPTrustedClientCert", LDAP),
        Directive::ignored("LDAPTrustedGlobalCert", LDAP),
        Directive::ignored("LDAPTrustedMode", LDAP),
        Directive::ignored("LDAPVerifyServerCert", LDAP),
        Directive::ignored("LoadFile", "no library of Apache's is loaded"),
        Directive::ignored("LuaCodeCache", LUA),
        Directive::ignored("LuaInherit", LUA),
        Directive::ignored("LuaPackageCPath", LUA),
        Directive::ignored("LuaPackagePath", LUA),
        Directive::ignored("LuaRoot", LUA),
        Directive::ignored("LuaScope", LUA),
        Directive::ignored(
            "MDChallengeDns01Version",
            "MDCAChallenges has http-01 and tls-alpn-01, and MDChallengeDns01 is refused",
        ),
        Directive::ignored("MemcacheConnTTL", STORES),
        Directive::ignored("MetaDir", METAFILES),
        Directive::ignored("MetaSuffix", METAFILES),
        Directive::ignored("MMapFile", FILES),
        Directive::ignored(
            "NoProxy",
            "back ends are reached directly, and ProxyRemote is refused",
        ),
        Directive::ignored(
            "ProxyDomain",
            "Mehari is not a forward proxy, and `ProxyRequests On` is refused",
        ),
        Directive::ignored("ProxyExpressDBMFile", EXPRESS),
        Directive::ignored("ProxyExpressDBMType", EXPRESS),
        Directive::ignored(
            "ProxyFCGIBackendType",
            "a program's SCRIPT_FILENAME is a plain path, which PHP-FPM and others understand",
        ),
        Directive::ignored("ProxyFtpDirCharset", FTP),
        Directive::ignored("ProxyFtpEscapeWildcards", FTP),
        Directive::ignored("ProxyFtpListOnWildcard", FTP),
        Directive::ignored("ProxyHCTPsize", "one thread checks all back ends"),
        Directive::ignored("ProxyHTMLBufSize", PAGES),
        Directive::ignored("ProxyHTMLCharsetOut", PAGES),
        Directive::ignored("ProxyHTMLDoctype", PAGES),
        Directive::ignored("ProxyHTMLEvents", PAGES),
        Directive::ignored("ProxyHTMLExtended", PAGES),
        Directive::ignored("ProxyHTMLFixups", PAGES),
        Directive::ignored("ProxyHTMLInterp", PAGES),
        Directive::ignored("ProxyHTMLLinks", PAGES),
        Directive::ignored("ProxyHTMLMeta", PAGES),
        Directive::ignored("ProxyHTMLStripComments", PAGES),
        Directive::ignored("ProxyHTMLURLMap", PAGES),
        Directive::ignored("RedisConnPoolTTL", STORES),
        Directive::ignored("RedisTimeout", STORES),
        Directive::ignored(
            "ReflectorHeader",
            "the directive tunes Apache's tool for testing filters, and the handler `reflector` \
             is refused",
        ),
        Directive::ignored("SessionCookieName", SESSIONS),
        Directive::ignored("SessionCookieName2", SESSIONS),
        Directive::ignored("SessionCookieRemove", SESSIONS),
        Directive::ignored("SessionCryptoCipher", SESSIONS),
        Directive::ignored("SessionCryptoDriver", SESSIONS),
        Directive::ignored("SessionCryptoPassphrase", SESSIONS),
        Directive::ignored("SessionCryptoPassphraseFile", SESSIONS),
        Directive::ignored("SessionDBDCookieName", SESSIONS),
        Directive::ignored("SessionDBDCookieName2", SESSIONS),
        Directive::ignored("SessionDBDCookieRemove", SESSIONS),
        Directive::ignored("SessionDBDDeleteLabel", SESSIONS),
        Directive::ignored("SessionDBDInsertLabel", SESSIONS),
        Directive::ignored("SessionDBDPerUser", SESSIONS),
        Directive::ignored("SessionDBDSelectLabel", SESSIONS),
        Directive::ignored("SessionDBDUpdateLabel", SESSIONS),
        Directive::ignored("SessionEnv", SESSIONS),
        Directive::ignored("SessionExclude", SESSIONS),
        Directive::ignored("SessionExpiryUpdateInterval", SESSIONS),
        Directive::ignored("SessionHeader", SESSIONS),
        Directive::ignored("SessionInclude", SESSIONS),
        Directive::ignored("SessionMaxAge", SESSIONS),
        Directive::ignored("SSLOCSPDefaultResponder", RESPONDERS),
        Directive::ignored("SSLOCSPNoVerify", RESPONDERS),
        Directive::ignored("SSLOCSPOverrideResponder", RESPONDERS),
        Directive::ignored("SSLOCSPProxyURL", RESPONDERS),
        Directive::ignored("SSLOCSPResponderCertificateFile", RESPONDERS),
        Directive::ignored("SSLOCSPResponderTimeout", RESPONDERS),
        Directive::ignored("SSLOCSPResponseMaxAge", RESPONDERS),
        Directive::ignored("SSLOCSPResponseTimeSkew", RESPONDERS),
        Directive::ignored("SSLOCSPUseRequestNonce", RESPONDERS),
        Directive::ignored(
            "SSLSRPUnknownUserSeed",
            "the TLS library has no passwords, and SSLSRPVerifierFile is refused",
        ),
        Directive::ignored("xml2EncAlias", ENCODINGS),
        Directive::ignored("xml2EncDefault", ENCODINGS),
        Directive::ignored("xml2StartParse", ENCODINGS),
    ],
};
