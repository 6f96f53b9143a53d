//! The definitions that a line makes for later lines: names of `Define`, modules, handler names,
//! directives of Perl modules. A .htaccess file starts with the definitions of its site.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::CustomDirective;

mod expand;

/// The Apache modules whose work Mehari does itself, by file name and by identifier. `<IfModule>`
/// accepts either.
const STOOD_IN_FOR: &[(&str, &str)] = &[
    ("mod_perl.c", "perl_module"),
    ("core.c", "core_module"),
    ("http_core.c", "http_module"),
    ("mod_so.c", "so_module"),
    ("mod_version.c", "version_module"),
    ("mod_status.c", "status_module"),
    ("mod_info.c", "info_module"),
    ("mod_alias.c", "alias_module"),
    ("mod_mime.c", "mime_module"),
    ("mod_dir.c", "dir_module"),
    ("mod_cgi.c", "cgi_module"),
    ("mod_cgid.c", "cgid_module"),
    ("mod_env.c", "env_module"),
    ("mod_log_config.c", "log_config_module"),
    ("mod_authz_core.c", "authz_core_module"),
    ("mod_authz_host.c", "authz_host_module"),
    ("mod_authz_user.c", "authz_user_module"),
    ("mod_authz_groupfile.c", "authz_groupfile_module"),
    ("mod_authn_core.c", "authn_core_module"),
    ("mod_authn_file.c", "authn_file_module"),
    ("mod_auth_basic.c", "auth_basic_module"),
    ("mod_auth_digest.c", "auth_digest_module"),
    ("mod_userdir.c", "userdir_module"),
    ("mod_vhost_alias.c", "vhost_alias_module"),
    ("mod_include.c", "include_module"),
    ("mod_remoteip.c", "remoteip_module"),
    ("mod_rewrite.c", "rewrite_module"),
    ("mod_headers.c", "headers_module"),
    ("mod_deflate.c", "deflate_module"),
    ("mod_brotli.c", "brotli_module"),
    ("mod_filter.c", "filter_module"),
    ("mod_cache.c", "cache_module"),
    ("mod_cache_disk.c", "cache_disk_module"),
    ("mod_cache_socache.c", "cache_socache_module"),
    ("mod_expires.c", "expires_module"),
    ("mod_setenvif.c", "setenvif_module"),
    ("mod_actions.c", "actions_module"),
    ("mod_speling.c", "speling_module"),
    ("mod_autoindex.c", "autoindex_module"),
    ("mod_negotiation.c", "negotiation_module"),
    ("mod_access_compat.c", "access_compat_module"),
    ("mod_version.c", "version_module"),
    ("mod_reqtimeout.c", "reqtimeout_module"),
    ("mod_fcgid.c", "fcgid_module"),
    ("mod_macro.c", "macro_module"),
    ("mod_unixd.c", "unixd_module"),
    ("mod_logio.c", "logio_module"),
    ("mod_proxy.c", "proxy_module"),
    ("mod_proxy_http.c", "proxy_http_module"),
    ("mod_proxy_fcgi.c", "proxy_fcgi_module"),
    ("mod_proxy_balancer.c", "proxy_balancer_module"),
    ("mod_proxy_wstunnel.c", "proxy_wstunnel_module"),
    ("mod_proxy_hcheck.c", "proxy_hcheck_module"),
    ("mod_lbmethod_byrequests.c", "lbmethod_byrequests_module"),
    ("mod_lbmethod_bybusyness.c", "lbmethod_bybusyness_module"),
    ("mod_slotmem_shm.c", "slotmem_shm_module"),
    ("mod_ssl.c", "ssl_module"),
    ("mod_md.c", "md_module"),
    ("mod_http2.c", "http2_module"),
    ("mod_socache_shmcb.c", "socache_shmcb_module"),
    ("prefork.c", "mpm_prefork_module"),
    ("mod_mpm_prefork.c", "mpm_prefork_module"),
    ("worker.c", "mpm_worker_module"),
    ("mod_mpm_worker.c", "mpm_worker_module"),
    ("event.c", "mpm_event_module"),
    ("mod_mpm_event.c", "mpm_event_module"),
];

/// The modules that Debian's Apache contains without `LoadModule`, and mod_perl.
const BUILT_IN: &[&str] = &[
    "core_module",
    "so_module",
    "http_module",
    "log_config_module",
    "logio_module",
    "unixd_module",
    "version_module",
    "perl_module",
];

/// Returns the files of the modules whose work Mehari does itself.
pub fn replaced_modules() -> impl Iterator<Item = &'static str> {
    STOOD_IN_FOR.iter().map(|(file, _)| *file)
}

/// The modules that a site does not need: they add convenience and never decide about access. For
/// `<IfModule>` they are always absent. Any other loaded module is present, so an unsupported
/// directive inside its `<IfModule>` is reported and not skipped.
const DONE_WITHOUT: &[&str] = &["mime_magic_module"];

/// The effect of a `LoadModule` line.
pub(crate) enum Loading {
    /// Mehari does the module's work itself.
    StoodInFor,
    /// The site works without the module.
    DoneWithout,
    /// Mehari does not do the module's work.
    Nothing,
}

/// The modules that `LoadModule` lines named.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadedModules {
    /// Whether there was a `LoadModule` line. After such a line `<IfModule>` tests the loaded
    /// modules, as in Apache.
    any: bool,
    loaded: BTreeSet<String>,
}

/// The definitions of the lines read so far.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// The names of `-D NAME` and `Define NAME`, with the values of `${NAME}`.
    pub names: BTreeMap<String, String>,
    /// The variables that the file `envvars` beside the configuration exports.
    pub(crate) exported: BTreeMap<String, String>,
    pub(crate) modules: LoadedModules,
    /// The handler names for which `Action` lines name programs, in lower case.
    pub(crate) actions: BTreeSet<String>,
    /// The directives that Perl modules have defined.
    pub(crate) custom: Vec<Arc<CustomDirective>>,
}

impl Definitions {
    /// Makes the module present for `<IfModule>`, unless the module is in `DONE_WITHOUT`.
    pub(crate) fn load_module(&mut self, identifier: &str) -> Loading {
        self.modules.any = true;
        if DONE_WITHOUT.contains(&identifier) {
            return Loading::DoneWithout;
        }
        self.modules.loaded.insert(identifier.to_string());
        if STOOD_IN_FOR.iter().any(|(_, known)| *known == identifier) {
            Loading::StoodInFor
        } else {
            Loading::Nothing
        }
    }

    /// Tells whether a module is present, by file name (`mod_perl.c`) or identifier
    /// (`perl_module`).
    ///
    /// A configuration with `LoadModule` lines was written for Apache. In such a configuration a
    /// module that Mehari replaces is present after its `LoadModule` line, as Debian's files
    /// expect. In other configurations all replaced modules are present except mod_ssl, because an
    /// address uses TLS only if the configuration says so.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        let stood_in_for = STOOD_IN_FOR
            .iter()
            .find(|(file, identifier)| name == *file || name == *identifier);
        if let Some((_, identifier)) = stood_in_for {
            let by_itself = !self.modules.any && *identifier != "ssl_module";
            return by_itself
                || BUILT_IN.contains(identifier)
                || self.modules.loaded.contains(*identifier);
        }
        self.modules.loaded.contains(name)
            || self
                .custom
                .iter()
                .any(|known| known.module == name.trim_end_matches(".c"))
            || name
                .strip_prefix("mod_")
                .and_then(|name| name.strip_suffix(".c"))
                .is_some_and(|name| self.modules.loaded.contains(&format!("{name}_module")))
    }

    /// Returns the value of `${NAME}`: a definition, or else a variable of the server's own
    /// environment, or else a variable of the file `envvars`.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let defined = self.names.get(name).cloned();
        defined
            .or_else(|| std::env::var(name).ok())
            .or_else(|| self.exported.get(name).cloned())
    }
}
