//! The directives of Apache that Mehari refuses, by module, with reasons.
//!
//! A line with a refused directive is a problem, whose message gives the reason.
//! docs/reference/directives.md lists the refused directives. The names are those that Apache 2.4
//! and its modules in Debian register. Of the modules of other packages, the beginning of the names
//! is known.

/// The directives of one module that are refused.
pub struct Refused {
    /// The source file of the module, as `<IfModule>` names it.
    pub module: &'static str,
    pub why: &'static str,
    pub directives: &'static [&'static str],
}

/// A module of another package than Apache's. All names of its directives begin alike.
pub struct Foreign {
    /// The source file of the module, as `<IfModule>` names it.
    pub module: &'static str,
    /// The beginning of the names, in any case.
    pub prefix: &'static str,
    pub why: &'static str,
}

/// The modules of Debian's other packages whose directives are refused.
pub const FOREIGN: &[Foreign] = &[
    Foreign {
        module: "mod_auth_openidc.c",
        prefix: "OIDC",
        why: "the application, or a PerlAuthenHandler, logs users in by OpenID Connect",
    },
    Foreign {
        module: "mod_authz_svn.c",
        prefix: "AuthzSVN",
        why: "WebDAV is not served: svnserve serves the repositories of Subversion",
    },
    Foreign {
        module: "mod_dav_svn.c",
        prefix: "SVN",
        why: "WebDAV is not served: svnserve serves the repositories of Subversion",
    },
    Foreign {
        module: "mod_evasive20.c",
        prefix: "DOS",
        why: "ClientRequestRate, MaxConcurrentReqs and MaxConnectionsPerClient limit clients",
    },
    Foreign {
        module: "mod_passenger.c",
        prefix: "Passenger",
        why: "the application runs in its own server, to which ProxyPass leads",
    },
    Foreign {
        module: "mod_php.c",
        prefix: "php_",
        why: "PHP runs behind `SetHandler \"proxy:fcgi:...\"`, and php.ini and .user.ini have its \
              settings",
    },
    Foreign {
        module: "mod_php.c",
        prefix: "PHPIniDir",
        why: "PHP runs behind `SetHandler \"proxy:fcgi:...\"`, and php-fpm chooses its php.ini",
    },
    Foreign {
        module: "mod_qos.c",
        prefix: "QS_",
        why: "ClientRequestRate, MaxConcurrentReqs and MaxConnectionsPerClient limit clients",
    },
    Foreign {
        module: "mod_security2.c",
        prefix: "Sec",
        why: "`<If>`, `Require expr` and RewriteRule with [F] refuse requests, and a \
              PerlAccessHandler can judge more of them",
    },
    Foreign {
        module: "mod_wsgi.c",
        prefix: "WSGI",
        why: "a Python application runs in its own server, to which ProxyPass leads by \
              `uwsgi://` or `http://`",
    },
];

/// Returns the module of another package that has a directive with this name. The name may be in
/// any case.
pub(crate) fn foreign(name: &str) -> Option<&'static Foreign> {
    let begins = |module: &&Foreign| {
        let start = name.get(..module.prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(module.prefix))
    };
    FOREIGN.iter().find(begins)
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
        module: "mod_auth_form.c",
        why: "a login form belongs to the application: PerlAuthenHandler, or the application itself",
        directives: &["AuthFormProvider", "AuthFormUsername", "AuthFormPassword", "AuthFormLocation", "AuthFormMethod", "AuthFormMimetype", "AuthFormBody", "AuthFormSize", "AuthFormLoginRequiredLocation", "AuthFormLoginSuccessLocation", "AuthFormLogoutLocation", "AuthFormSitePassphrase", "AuthFormAuthoritative", "AuthFormDisableNoStore"],
    },
    Refused {
        module: "mod_authn_anon.c",
        why: "a PerlAuthenHandler of three lines admits guests",
        directives: &["Anonymous", "Anonymous_MustGiveEmail", "Anonymous_NoUserId", "Anonymous_VerifyEmail", "Anonymous_LogEmail"],
    },
    Refused {
        module: "mod_authn_core.c",
        why: "AuthBasicProvider and AuthUserFile name the provider in each section",
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
        why: "a `<Macro>` holds Require lines for several sections",
        directives: &["AuthzProviderAlias"],
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
        module: "mod_charset_lite.c",
        why: "pages keep their character set: AddDefaultCharset and AddCharset name it",
        directives: &["CharsetSourceEnc", "CharsetDefault", "CharsetOptions"],
    },
    Refused {
        module: "mod_dialup.c",
        why: "the module is Apache's example of a slow modem: MaxConcurrentReqs and \
              ClientRequestRate limit clients",
        directives: &["ModemStandard"],
    },
    Refused {
        module: "mod_ext_filter.c",
        why: "a PerlOutputFilterHandler may run another program",
        directives: &["ExtFilterOptions", "ExtFilterDefine"],
    },
    Refused {
        module: "mod_fcgid.c",
        why: "a PerlAccessHandler, PerlAuthenHandler or PerlAuthzHandler decides, and it may ask another program",
        directives: &["FcgidAccessChecker", "FcgidAuthenticator", "FcgidAuthorizer", "FastCgiAccessChecker", "FastCgiAuthenticator", "FastCgiAuthorizer"],
    },
    Refused {
        module: "mod_fcgid.c",
        why: "all scripts have the same settings: FcgidInitialEnv and FcgidMaxProcessesPerClass",
        directives: &["FcgidCmdOptions"],
    },
    Refused {
        module: "mod_fcgid.c",
        why: "a program gets every field except Authorization as HTTP_NAME: CGIPassAuth adds \
              Authorization",
        directives: &["FcgidPassHeader", "PassHeader"],
    },
    Refused {
        module: "mod_fcgid.c",
        why: "`SetHandler fcgid-script` runs a script by its own #! line: FastCgiServer starts one program for many scripts",
        directives: &["FcgidWrapper", "FCGIWrapper"],
    },
    Refused {
        module: "mod_heartbeat.c",
        why: "BalancerMember names the back ends, and the settings hcinterval and hcuri of ProxySet check them",
        directives: &["HeartbeatAddress"],
    },
    Refused {
        module: "mod_heartmonitor.c",
        why: "BalancerMember names the back ends, and the settings hcinterval and hcuri of ProxySet check them",
        directives: &["HeartbeatListen", "HeartbeatStorage", "HeartbeatMaxServers"],
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
        module: "mod_lua.c",
        why: "LuaAttractRawURL and its relatives run Lua, with the interface of lighttpd",
        directives: &["LuaAuthzProvider", "LuaHookPreTranslateName", "LuaHookTranslateName", "LuaHookFixups", "LuaHookMapToStorage", "LuaHookCheckUserID", "LuaHookTypeChecker", "LuaHookAccessChecker", "LuaHookAuthChecker", "LuaHookInsertFilter", "LuaHookLog", "LuaQuickHandler", "Lua_____ByteCodeHack", "LuaMapHandler", "LuaOutputFilter", "LuaInputFilter"],
    },
    Refused {
        module: "mod_md.c",
        why: "the authority is asked directly, never through a proxy",
        directives: &["MDHttpProxy", "MDHttpProxyCACertificateFile"],
    },
    Refused {
        module: "mod_md.c",
        why: "the challenge dns-01 is not done: MDCAChallenges has http-01 and tls-alpn-01",
        directives: &["MDChallengeDns01"],
    },
    Refused {
        module: "mod_md.c",
        why: "SSLCertificateFile and SSLCertificateKeyFile name the files of other certificates",
        directives: &["MDCertificateFile", "MDCertificateKeyFile"],
    },
    Refused {
        module: "mod_md.c",
        why: "the error log and the metrics tell of each certificate; no program is run",
        directives: &["MDNotifyCmd", "MDMessageCmd"],
    },
    Refused {
        module: "mod_md.c",
        why: "the server asks authorities that need neither, such as Let's Encrypt",
        directives: &["MDExternalAccountBinding", "MDProfile"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "back ends are reached directly, never through another proxy",
        directives: &["ProxyRemote", "ProxyRemoteMatch"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "the system's routes choose the address from which a back end is asked",
        directives: &["ProxySourceAddress"],
    },
    Refused {
        module: "mod_proxy.c",
        why: "back ends are those that the configuration names: Require says who may use a path",
        directives: &["ProxyBlock"],
    },
    Refused {
        module: "mod_proxy_fcgi.c",
        why: "SetEnvIfExpr sets variables of a program, which cannot replace CGI's own",
        directives: &["ProxyFCGISetEnvIf"],
    },
    Refused {
        module: "mod_sed.c",
        why: "the filter SUBSTITUTE and a PerlOutputFilterHandler edit pages",
        directives: &["OutputSed", "InputSed"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "the TLS library does not authenticate clients by passwords: AuthType asks for them",
        directives: &["SSLSRPVerifierFile"],
    },
    Refused {
        module: "mod_ssl.c",
        why: "every back end that asks gets the certificate of SSLProxyMachineCertificateFile",
        directives: &["SSLProxyMachineCertificatePath"],
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
        directives: &["ChrootDir"],
    },
];
