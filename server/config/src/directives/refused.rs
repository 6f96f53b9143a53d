//! The directives of Apache that Mehari refuses, by module, with reasons.
//!
//! A line with a refused directive is a problem, whose message gives the reason.
//! docs/reference/directives.md lists the refused directives. The names are those that Apache 2.4
//! and its modules in Debian register.

/// The directives of one module that are refused.
pub struct Refused {
    /// The source file of the module, as `<IfModule>` names it.
    pub module: &'static str,
    pub why: &'static str,
    pub directives: &'static [&'static str],
}

/// Returns the refused directives of the module that has a directive with this name. The name may
/// be in any case.
pub(crate) fn named(name: &str) -> Option<&'static Refused> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
    REFUSED
        .iter()
        .find(|module| module.directives.iter().any(is_it))
}

pub const REFUSED: &[Refused] = &[
    Refused {
        module: "core.c",
        why: "Protocols chooses among HTTP/1.1 and HTTP/2",
        directives: &["Protocol"],
    },
    Refused {
        module: "core.c",
        why: "no client reads Content-MD5, which RFC 9110 no longer has",
        directives: &["ContentDigest"],
    },
    Refused {
        module: "core.c",
        why: "the limits are fixed: overlapping ranges are merged, and a request for more than 32 \
             ranges gets the whole content",
        directives: &["MaxRanges", "MaxRangeOverlaps", "MaxRangeReversals"],
    },
    Refused {
        module: "core.c",
        why: "each expression says its own options, as in (?i)",
        directives: &["RegexDefaultOptions"],
    },
    Refused {
        module: "core.c",
        why: "the limit is Apache's default, 10",
        directives: &["LimitInternalRecursion"],
    },
    Refused {
        module: "core.c",
        why: "REQUEST_URI is what the client sent, and REDIRECT_URL a path",
        directives: &["CGIVar", "QualifyRedirectURL"],
    },
    Refused {
        module: "core.c",
        why: "an unknown name gets the first host of its address: let that host refuse it",
        directives: &["StrictHostCheck"],
    },
    Refused {
        module: "mod_auth_basic.c",
        why: "passwords are compared as AuthUserFile holds them",
        directives: &["AuthBasicFake", "AuthBasicUseDigestAlgorithm"],
    },
    Refused {
        module: "mod_auth_form.c",
        why: "a login form belongs to the application: PerlAuthenHandler, or the application itself",
        directives: &["AuthFormProvider", "AuthFormUsername", "AuthFormPassword", "AuthFormLocation", "AuthFormMethod", "AuthFormMimetype", "AuthFormBody", "AuthFormSize", "AuthFormLoginRequiredLocation", "AuthFormLoginSuccessLocation", "AuthFormLogoutLocation", "AuthFormSitePassphrase", "AuthFormAuthoritative", "AuthFormFakeBasicAuth", "AuthFormDisableNoStore"],
    },
    Refused {
        module: "mod_authn_anon.c",
        why: "a PerlAuthenHandler of three lines admits guests",
        directives: &["Anonymous", "Anonymous_MustGiveEmail", "Anonymous_NoUserId", "Anonymous_VerifyEmail", "Anonymous_LogEmail"],
    },
    Refused {
        module: "mod_authn_core.c",
        why: "name the provider in each section",
        directives: &["AuthnProviderAlias"],
    },
    Refused {
        module: "mod_authn_dbd.c",
        why: "a PerlAuthenHandler asks databases through DBI",
        directives: &["AuthDBDUserPWQuery", "AuthDBDUserRealmQuery"],
    },
    Refused {
        module: "mod_authn_dbm.c",
        why: "a PerlAuthenHandler reads DBM files",
        directives: &["AuthDBMUserFile", "AuthDBMType"],
    },
    Refused {
        module: "mod_authn_socache.c",
        why: "correct passwords are always remembered for five minutes",
        directives: &["AuthnCacheSOCache", "AuthnCacheEnable", "AuthnCacheProvideFor", "AuthnCacheTimeout", "AuthnCacheContext"],
    },
    Refused {
        module: "mod_authnz_fcgi.c",
        why: "a PerlAuthenHandler may ask another program",
        directives: &["AuthnzFcgiDefineProvider", "AuthnzFcgiCheckAuthnProvider"],
    },
    Refused {
        module: "mod_authnz_ldap.c",
        why: "there is no LDAP client in the server: a PerlAuthenHandler with Net::LDAP asks the directory",
        directives: &["AuthLDAPURL", "AuthLDAPBindDN", "AuthLDAPBindPassword", "AuthLDAPBindAuthoritative", "AuthLDAPRemoteUserIsDN", "AuthLDAPRemoteUserAttribute", "AuthLDAPCompareDNOnServer", "AuthLDAPSubGroupAttribute", "AuthLDAPSubGroupClass", "AuthLDAPMaxSubGroupDepth", "AuthLDAPGroupAttribute", "AuthLDAPGroupAttributeIsDN", "AuthLDAPDereferenceAliases", "AuthLDAPCharsetConfig", "AuthLDAPAuthorizePrefix", "AuthLDAPInitialBindAsUser", "AuthLDAPInitialBindPattern", "AuthLDAPSearchAsUser", "AuthLDAPCompareAsUser"],
    },
    Refused {
        module: "mod_authz_core.c",
        why: "name the requirement in each section",
        directives: &["AuthzProviderAlias", "AuthzSendForbiddenOnFailure"],
    },
    Refused {
        module: "mod_authz_dbd.c",
        why: "a PerlAuthzHandler asks databases through DBI",
        directives: &["AuthzDBDLoginToReferer", "AuthzDBDQuery", "AuthzDBDRedirectQuery"],
    },
    Refused {
        module: "mod_authz_dbm.c",
        why: "a PerlAuthzHandler reads DBM files",
        directives: &["AuthDBMGroupFile", "AuthzDBMType"],
    },
    Refused {
        module: "mod_buffer.c",
        why: "bodies are read whole before a program runs",
        directives: &["BufferSize"],
    },
    Refused {
        module: "mod_case_filter.c",
        why: "it is Apache's example of a filter",
        directives: &["CaseFilter"],
    },
    Refused {
        module: "mod_case_filter_in.c",
        why: "it is Apache's example of a filter",
        directives: &["CaseFilterIn"],
    },
    Refused {
        module: "mod_cern_meta.c",
        why: "Header says which fields a file has",
        directives: &["MetaFiles", "MetaDir", "MetaSuffix"],
    },
    Refused {
        module: "mod_charset_lite.c",
        why: "pages are not translated between character sets",
        directives: &["CharsetSourceEnc", "CharsetDefault", "CharsetOptions"],
    },
    Refused {
        module: "mod_dav.c",
        why: "WebDAV is not served",
        directives: &["DAV", "DAVBasePath", "DAVMinTimeout", "DAVDepthInfinity", "DAVLockDiscovery"],
    },
    Refused {
        module: "mod_dav_fs.c",
        why: "WebDAV is not served",
        directives: &["DAVLockDB"],
    },
    Refused {
        module: "mod_dav_lock.c",
        why: "WebDAV is not served",
        directives: &["DAVGenericLockDB"],
    },
    Refused {
        module: "mod_dbd.c",
        why: "Perl reaches databases through DBI; Apache::DBI keeps connections",
        directives: &["DBDriver", "DBDParams", "DBDPersist", "DBDPrepareSQL", "DBDInitSQL", "DBDMin", "DBDKeep", "DBDMax", "DBDExptime"],
    },
    Refused {
        module: "mod_deflate.c",
        why: "request bodies are not inflated",
        directives: &["DeflateInflateLimitRequestBody", "DeflateInflateRatioLimit", "DeflateInflateRatioBurst"],
    },
    Refused {
        module: "mod_dialup.c",
        why: "it is Apache's example of a slow modem",
        directives: &["ModemStandard"],
    },
    Refused {
        module: "mod_dir.c",
        why: "a folder with a Perl handler is always redirected to its path with a slash, as by \
             default",
        directives: &["DirectoryCheckHandler"],
    },
    Refused {
        module: "mod_dumpio.c",
        why: "`mehari record` shows what clients and servers send",
        directives: &["DumpIOInput", "DumpIOOutput"],
    },
    Refused {
        module: "mod_echo.c",
        why: "the server speaks HTTP only",
        directives: &["ProtocolEcho"],
    },
    Refused {
        module: "mod_ext_filter.c",
        why: "a PerlOutputFilterHandler may run another program",
        directives: &["ExtFilterOptions", "ExtFilterDefine"],
    },
    Refused {
        module: "mod_fcgid.c",
        why: "FastCgiServer and SetHandler fcgid-script start FastCGI programs",
        directives: &["FcgidAccessChecker", "FcgidAccessCheckerAuthoritative", "FcgidAuthenticator", "FcgidAuthenticatorAuthoritative", "FcgidAuthorizer", "FcgidAuthorizerAuthoritative", "FcgidCmdOptions", "FcgidMaxRequestsPerProcess", "FcgidPassHeader", "FcgidWrapper", "BusyScanInterval", "BusyTimeout", "DefaultInitEnv", "DefaultMaxClassProcessCount", "DefaultMinClassProcessCount", "ErrorScanInterval", "FastCgiAccessChecker", "FastCgiAccessCheckerAuthoritative", "FastCgiAuthenticator", "FastCgiAuthenticatorAuthoritative", "FastCgiAuthorizer", "FastCgiAuthorizerAuthoritative", "FCGIWrapper", "IdleScanInterval", "IdleTimeout", "IPCCommTimeout", "IPCConnectTimeout", "MaxProcessCount", "MaxRequestInMem", "MaxRequestLen", "MaxRequestsPerProcess", "OutputBufferSize", "PassHeader", "PHP_Fix_Pathinfo_Enable", "ProcessLifeTime", "SharememPath", "SocketPath", "SpawnScore", "SpawnScoreUpLimit", "TerminationScore", "TimeScore", "ZombieScanInterval"],
    },
    Refused {
        module: "mod_file_cache.c",
        why: "files in use are always kept in memory",
        directives: &["cachefile", "mmapfile"],
    },
    Refused {
        module: "mod_heartbeat.c",
        why: "BalancerMember and health checks say which back ends answer",
        directives: &["HeartbeatAddress"],
    },
    Refused {
        module: "mod_heartmonitor.c",
        why: "BalancerMember and health checks say which back ends answer",
        directives: &["HeartbeatListen", "HeartbeatStorage", "HeartbeatMaxServers"],
    },
    Refused {
        module: "mod_http2.c",
        why: "no TLS cipher is offered that RFC 9113 forbids",
        directives: &["H2ModernTLSOnly"],
    },
    Refused {
        module: "mod_http2.c",
        why: "HTTP/2 begins by ALPN, or by prior knowledge in clear text",
        directives: &["H2Upgrade", "H2Direct"],
    },
    Refused {
        module: "mod_http2.c",
        why: "no early hints (103) are sent",
        directives: &["H2EarlyHints", "H2EarlyHint"],
    },
    Refused {
        module: "mod_http2.c",
        why: "back ends are asked in HTTP/1.1, and WebSockets come over HTTP/1.1",
        directives: &["H2ProxyRequests", "H2WebSockets"],
    },
    Refused {
        module: "mod_ident.c",
        why: "no client answers ident any more",
        directives: &["IdentityCheck", "IdentityCheckTimeout"],
    },
    Refused {
        module: "mod_imagemap.c",
        why: "browsers follow image maps themselves",
        directives: &["ImapMenu", "ImapDefault", "ImapBase"],
    },
    Refused {
        module: "mod_include.c",
        why: "elements begin with `<!--#` and end with `-->`",
        directives: &["SSIStartTag", "SSIEndTag"],
    },
    Refused {
        module: "mod_info.c",
        why: "server-info shows only the configuration",
        directives: &["AddModuleInfo"],
    },
    Refused {
        module: "mod_log_config.c",
        why: "write CustomLog in the main server and in each host",
        directives: &["GlobalLog"],
    },
    Refused {
        module: "mod_log_debug.c",
        why: "a PerlLogHandler writes to the error log",
        directives: &["LogMessage"],
    },
    Refused {
        module: "mod_log_forensic.c",
        why: "each request has one access log line, even when the server ends first",
        directives: &["ForensicLog"],
    },
    Refused {
        module: "mod_logio.c",
        why: "%{backend}Q is the time to the first byte",
        directives: &["LogIOTrackTTFB"],
    },
    Refused {
        module: "mod_lua.c",
        why: "LuaAttractRawURL and its relatives run Lua, with the interface of lighttpd",
        directives: &["LuaRoot", "LuaPackagePath", "LuaPackageCPath", "LuaAuthzProvider", "LuaHookPreTranslateName", "LuaHookTranslateName", "LuaHookFixups", "LuaHookMapToStorage", "LuaHookCheckUserID", "LuaHookTypeChecker", "LuaHookAccessChecker", "LuaHookAuthChecker", "LuaHookInsertFilter", "LuaHookLog", "LuaScope", "LuaInherit", "LuaCodeCache", "LuaQuickHandler", "Lua_____ByteCodeHack", "LuaMapHandler", "LuaOutputFilter", "LuaInputFilter"],
    },
    Refused {
        module: "mod_md.c",
        why: "the authority is asked directly",
        directives: &["MDHttpProxy", "MDHttpProxyCACertificateFile"],
    },
    Refused {
        module: "mod_md.c",
        why: "the challenge dns-01 is not done: MDCAChallenges has http-01 and tls-alpn-01",
        directives: &["MDChallengeDns01", "MDChallengeDns01Version"],
    },
    Refused {
        module: "mod_md.c",
        why: "SSLCertificateFile and SSLCertificateKeyFile name the files of other certificates",
        directives: &["MDCertificateFile", "MDCertificateKeyFile"],
    },
    Refused {
        module: "mod_md.c",
        why: "clients refuse such a certificate whenever its OCSP responder is down: MDStapling alone does not risk that",
        directives: &["MDMustStaple"],
    },
    Refused {
        module: "mod_md.c",
        why: "the error log and the metrics tell of each certificate; no program is run",
        directives: &["MDNotifyCmd", "MDMessageCmd"],
    },
    Refused {
        module: "mod_md.c",
        why: "each name of a host counts",
        directives: &["MDMatchNames"],
    },
    Refused {
        module: "mod_md.c",
        why: "the server speaks to authorities that need neither, such as Let's Encrypt",
        directives: &["MDExternalAccountBinding", "MDProfile", "MDProfileMandatory"],
    },
    Refused {
        module: "mod_mime.c",
        why: "PATH_INFO never names a type",
        directives: &["ModMimeUsePathInfo"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "back ends are reached directly, never through another proxy",
        directives: &["ProxyRemote", "ProxyRemoteMatch", "NoProxy", "ProxyDomain", "ProxySourceAddress"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "RewriteRule with [P] puts variables into paths; the host of a back end is literal",
        directives: &["ProxyPassInterpolateEnv"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "Require says who may use a path; Mehari is not a forward proxy",
        directives: &["ProxyBlock"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "Max-Forwards is not counted, because it limits TRACE, which is not served",
        directives: &["ProxyMaxForwards"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "a head that RFC 9112 forbids is answered 502",
        directives: &["ProxyBadHeader"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "a balancer has the members that the configuration names, in every host",
        directives: &["BalancerGrowth", "BalancerPersist", "BalancerInherit", "ProxyPassInherit"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "a request body is read whole before a back end gets it",
        directives: &["Proxy100Continue"],
    },
    Refused {
        module: "mod_proxy_connect.c",
        why: "Mehari is not a forward proxy",
        directives: &["AllowCONNECT"],
    },
    Refused {
        module: "mod_proxy_express.c",
        why: "RewriteMap and [P] map hosts to back ends",
        directives: &["ProxyExpressEnable", "ProxyExpressDBMFile", "ProxyExpressDBMType"],
    },
    Refused {
        module: "mod_proxy_fcgi.c",
        why: "every FastCGI program gets the variables of CGI, with SCRIPT_FILENAME as PHP expects it",
        directives: &["ProxyFCGIBackendType", "ProxyFCGISetEnvIf"],
    },
    Refused {
        module: "mod_proxy_ftp.c",
        why: "back ends speak HTTP and FastCGI",
        directives: &["ProxyFtpListOnWildcard", "ProxyFtpEscapeWildcards", "ProxyFtpDirCharset"],
    },
    Refused {
        module: "mod_proxy_hcheck.c",
        why: "the members' own parameters say how health is checked",
        directives: &["ProxyHCTemplate", "ProxyHCExpr", "ProxyHCTPsize"],
    },
    Refused {
        module: "mod_proxy_html.c",
        why: "links within pages are not rewritten",
        directives: &["ProxyHTMLEvents", "ProxyHTMLLinks", "ProxyHTMLURLMap", "ProxyHTMLDoctype", "ProxyHTMLFixups", "ProxyHTMLMeta", "ProxyHTMLInterp", "ProxyHTMLExtended", "ProxyHTMLStripComments", "ProxyHTMLBufSize", "ProxyHTMLCharsetOut", "ProxyHTMLEnable"],
    },
    Refused {
        module: "mod_proxy_scgi.c",
        why: "back ends speak HTTP and FastCGI",
        directives: &["ProxySCGISendfile", "ProxySCGIInternalRedirect"],
    },
    Refused {
        module: "mod_proxy_wstunnel.c",
        why: "an accepted upgrade is always forwarded",
        directives: &["ProxyWebsocketFallbackToProxyHttp"],
    },
    Refused {
        module: "mod_reflector.c",
        why: "it is Apache's tool for testing filters",
        directives: &["ReflectorHeader"],
    },
    Refused {
        module: "mod_remoteip.c",
        why: "write the addresses in RemoteIPTrustedProxy and RemoteIPInternalProxy",
        directives: &["RemoteIPTrustedProxyList", "RemoteIPInternalProxyList", "RemoteIPProxyProtocolExceptions"],
    },
    Refused {
        module: "mod_request.c",
        why: "bodies are always kept until their request ends",
        directives: &["KeptBodySize"],
    },
    Refused {
        module: "mod_sed.c",
        why: "a PerlOutputFilterHandler edits pages",
        directives: &["OutputSed", "InputSed"],
    },
    Refused {
        module: "mod_session.c",
        why: "sessions belong to the application: Apache::Session, Mehari::State",
        directives: &["Session", "SessionMaxAge", "SessionHeader", "SessionEnv", "SessionInclude", "SessionExclude", "SessionExpiryUpdateInterval"],
    },
    Refused {
        module: "mod_session_cookie.c",
        why: "sessions belong to the application: Apache::Session, Mehari::State",
        directives: &["SessionCookieName", "SessionCookieName2", "SessionCookieRemove"],
    },
    Refused {
        module: "mod_session_crypto.c",
        why: "sessions belong to the application: Apache::Session, Mehari::State",
        directives: &["SessionCryptoPassphrase", "SessionCryptoPassphraseFile", "SessionCryptoCipher", "SessionCryptoDriver"],
    },
    Refused {
        module: "mod_session_dbd.c",
        why: "sessions belong to the application: Apache::Session, Mehari::State",
        directives: &["SessionDBDSelectLabel", "SessionDBDInsertLabel", "SessionDBDUpdateLabel", "SessionDBDDeleteLabel", "SessionDBDPerUser", "SessionDBDCookieRemove", "SessionDBDCookieName", "SessionDBDCookieName2"],
    },
    Refused {
        module: "mod_so.c",
        why: "no library of Apache's is loaded",
        directives: &["LoadFile"],
    },
    Refused {
        module: "mod_socache_memcache.c",
        why: "the response cache is in memory, on disk or in Redis",
        directives: &["MemcacheConnTTL"],
    },
    Refused {
        module: "mod_socache_redis.c",
        why: "CacheRedis gives the address of Redis",
        directives: &["RedisConnPoolTTL", "RedisTimeout"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "the TLS library has no such choice",
        directives: &["SSLVHostSNIPolicy", "SSLFIPS", "SSLSRPVerifierFile", "SSLSRPUnknownUserSeed"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "one file is read: SSLCACertificateFile, SSLCARevocationFile, SSLProxyCACertificateFile",
        directives: &["SSLCADNRequestPath", "SSLCARevocationPath", "SSLProxyCACertificatePath", "SSLProxyMachineCertificatePath"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "revocation lists count for clients' certificates only",
        directives: &["SSLProxyCARevocationPath", "SSLProxyCARevocationFile", "SSLProxyCARevocationCheck"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "write the whole chain into SSLProxyMachineCertificateFile",
        directives: &["SSLProxyMachineCertificateChainFile"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "the server asks no OCSP responder about clients: SSLCARevocationFile has the revoked \
             certificates",
        directives: &["SSLOCSPEnable", "SSLOCSPDefaultResponder", "SSLOCSPOverrideResponder", "SSLOCSPResponseTimeSkew", "SSLOCSPResponseMaxAge", "SSLOCSPResponderTimeout", "SSLOCSPUseRequestNonce", "SSLOCSPProxyURL", "SSLOCSPNoVerify", "SSLOCSPResponderCertificateFile"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "the server asks no OCSP responder here: SSLStaplingFile names the file of the \
             response",
        directives: &["SSLStaplingResponseTimeSkew", "SSLStaplingResponseMaxAge", "SSLStaplingStandardCacheTimeout", "SSLStaplingFakeTryLater", "SSLStaplingErrorCacheTimeout", "SSLStaplingForceURL"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "ErrorLog and LogLevel hold for TLS too",
        directives: &["SSLLog", "SSLLogLevel"],
    },
    Refused {
        module: "mod_suexec.c",
        why: "a PerlPool section with User runs Perl as another user; CGI programs have the server's user",
        directives: &["SuexecUserGroup"],
    },
    Refused {
        module: "mod_unixd.c",
        why: "containers and systemd's RootDirectory confine a service",
        directives: &["ChrootDir", "Suexec"],
    },
    Refused {
        module: "mod_usertrack.c",
        why: "a PerlFixupHandler sets a tracking cookie",
        directives: &["CookieExpires", "CookieDomain", "CookieStyle", "CookieTracking", "CookieName", "CookieSameSite", "CookieSecure", "CookieHttpOnly"],
    },
    Refused {
        module: "mod_xml2enc.c",
        why: "pages are not translated between character sets",
        directives: &["xml2EncDefault", "xml2EncAlias", "xml2StartParse"],
    },
    Refused {
        module: "util_ldap.c",
        why: "there is no LDAP client in the server: a PerlAuthenHandler with Net::LDAP asks the directory",
        directives: &["LDAPSharedCacheSize", "LDAPSharedCacheFile", "LDAPCacheEntries", "LDAPCacheTTL", "LDAPOpCacheEntries", "LDAPOpCacheTTL", "LDAPTrustedGlobalCert", "LDAPTrustedClientCert", "LDAPTrustedMode", "LDAPVerifyServerCert", "LDAPConnectionTimeout", "LDAPReferrals", "LDAPReferralHopLimit", "LDAPLibraryDebug", "LDAPTimeout", "LDAPConnectionPoolTTL", "LDAPRetries", "LDAPRetryDelay"],
    },
];
