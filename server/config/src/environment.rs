//! The state of the parser between two lines, as far as it is not part of the site.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::definitions::{Definitions, Loading};
use crate::preload::PreloadStage;
use crate::problem::{At, Fault};
use crate::{AccessFormat, AccessLogSettings, NoteKind, Preload, Preloaded};

/// A line `Include`. The reader reads the files after the directive has been applied.
pub(crate) struct IncludeRequest {
    pub pattern: String,
    /// `IncludeOptional`: a pattern that matches no file is not a problem.
    pub optional: bool,
    pub at: At,
}

/// The URLs of a `<Proxy>` section.
pub(crate) enum ProxiedUrls {
    /// `<Proxy URL>`: the URLs that begin with this text, in lower case. `<Proxy *>` has an empty
    /// text, for all URLs.
    Below(String),
    /// `<ProxyMatch REGEX>`.
    Matching(crate::Pattern),
}

/// A handler name for which an `Action` may follow.
pub(crate) struct WantedAction {
    pub name: String,
    /// The fault to report if no `Action` follows.
    pub fault: Fault,
    /// Whether the name is valid without an `Action`, unless it is like that of an `Action`.
    pub may_be_missing: bool,
}

/// A section `<Proxy>` or `<ProxyMatch>`.
pub(crate) struct ProxySection {
    pub urls: ProxiedUrls,
    pub changes: Vec<crate::Change>,
    pub file: PathBuf,
    pub at: At,
}

/// A line `Use`, which names a macro. The reader reads the macro's lines after the directive has
/// been applied.
pub(crate) struct UseRequest {
    pub name: String,
    pub values: Vec<String>,
    pub at: At,
}

#[derive(Default)]
pub(crate) struct Environment {
    /// The definitions of earlier lines.
    pub definitions: Definitions,
    /// The bits of [`crate::option`] that an `Options` line may not name.
    pub refused_options: u8,
    pub include: Option<IncludeRequest>,
    pub used: Option<UseRequest>,
    /// The macro that `UndefMacro` names.
    pub forgotten: Option<String>,
    /// The `RewriteCond` lines since the last `RewriteRule`.
    pub conditions: Vec<crate::RewriteCondition>,
    pub preloads: Vec<(PreloadStage, Preloaded)>,
    /// The number of the current line's host.
    pub host: u32,
    /// The number of the current line's section. 0: the line is outside of sections.
    pub section: u32,
    /// The name of the `<PerlPool>` that is open.
    pub pool: Option<String>,
    /// `LogFormat` by nickname. `TransferLog` uses the format without a nickname.
    pub log_formats: BTreeMap<String, AccessFormat>,
    /// `GlobalLog`: the logs that every host writes.
    pub global_logs: Vec<AccessLogSettings>,
    /// The number of preloads that the perl for `<Perl>` sections has already loaded.
    pub loaded_here: usize,
    /// `PerlAddAuthzProvider` and `PerlAddAuthnProvider`: handlers by name.
    pub authorizers: BTreeMap<String, String>,
    pub authenticators: BTreeMap<String, String>,
    pub proxied: Vec<ProxySection>,
    /// Whether some Perl code was not run, so the directives of Perl modules are not fully known.
    pub is_partly_unknown: bool,
    /// The files of `SSLCertificateKeyFile` lines whose `SSLCertificateFile` line has not come yet.
    pub waiting_keys: Vec<PathBuf>,
    /// Whether a line `KeepAlive Off` was read. It outweighs a later `KeepAliveTimeout`.
    pub keep_alive_off: bool,
    /// `KeepAliveTimeout 0`
    pub keeps_no_time: bool,
    /// The handler names that are valid only with an `Action`, each with the fault to report if no
    /// `Action` follows.
    pub wants_action: Vec<WantedAction>,
    /// The balancer whose `<Proxy>` section is open.
    pub balancer: Option<String>,
    /// The URL of the `<Proxy>` section that is open.
    pub back_end: Option<String>,
    /// The index of the managed domain whose `<MDomainSet>` is open.
    pub managed_set: Option<usize>,
    /// The upstreams that the current directive named.
    pub named: Vec<(String, At)>,
    /// The pools that the current directive named.
    pub named_pools: Vec<(String, At)>,
    /// The note about the current directive.
    pub note: Option<(NoteKind, String)>,
}

impl Environment {
    /// Makes the module present for `<IfModule>`, unless a site does not need the module.
    pub fn load_module(&mut self, identifier: &str) {
        match self.definitions.load_module(identifier) {
            Loading::StoodInFor => self.ignore("Mehari does this module's work itself"),
            Loading::DoneWithout => {
                self.ignore("Mehari does not need this module, and <IfModule> does not find it");
            }
            Loading::Nothing => {
                self.remark("nothing is loaded, and Mehari does not replace this module");
            }
        }
    }

    /// Notes something about the current directive that the author of the line should know.
    pub fn remark(&mut self, message: impl Into<String>) {
        self.note = Some((NoteKind::Remark, message.into()));
    }

    /// Notes that the current directive has no effect here.
    pub fn ignore(&mut self, reason: impl Into<String>) {
        self.note = Some((NoteKind::Ignored, reason.into()));
    }

    pub fn preload(&mut self, stage: PreloadStage, preload: Preload) {
        let (host, section, pool) = (self.host, self.section, self.pool.clone());
        let is_known = |known: &Preloaded| {
            known.what == preload
                && (known.host, known.section) == (host, section)
                && known.pool == pool
        };
        if !self.preloads.iter().any(|(_, known)| is_known(known)) {
            let what = Preloaded {
                host,
                section,
                pool,
                ..preload.into()
            };
            self.preloads.push((stage, what));
        }
    }
}

/// Returns the path of a `PerlRequire` file: below `ServerRoot` if the file exists there, else the
/// text as written, which perl looks up in @INC.
pub(crate) fn required_file(server_root: &std::path::Path, text: &str) -> PathBuf {
    let below_root = server_root.join(text);
    if below_root.is_file() {
        below_root
    } else {
        PathBuf::from(text)
    }
}
