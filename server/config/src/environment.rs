//! The parser's state between lines that is not part of the site.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::definitions::{Definitions, Loading};
use crate::preload::PreloadStage;
use crate::problem::{At, Fault};
use crate::{AccessFormat, NoteKind, Preload, Preloaded};

/// A request of `Include`. The reader carries it out after the directive has been applied.
pub(crate) struct IncludeRequest {
    pub pattern: String,
    /// `IncludeOptional`: no file is no problem.
    pub optional: bool,
    pub at: At,
}

/// The URLs of a `<Proxy>` section.
pub(crate) enum ProxiedUrls {
    /// `<Proxy URL>`: URLs with this beginning, in lower case.
    Below(String),
    /// `<ProxyMatch REGEX>`.
    Matching(crate::Pattern),
}

/// A request of `Use`.
pub(crate) struct UseRequest {
    pub name: String,
    pub values: Vec<String>,
    pub at: At,
}

#[derive(Default)]
pub(crate) struct Environment {
    /// The definitions of earlier lines.
    pub definitions: Definitions,
    pub include: Option<IncludeRequest>,
    pub used: Option<UseRequest>,
    /// The macro that `UndefMacro` names.
    pub forgotten: Option<String>,
    /// `RewriteCond` lines before their rule.
    pub conditions: Vec<crate::RewriteCondition>,
    pub preloads: Vec<(PreloadStage, Preloaded)>,
    /// The number of the current line's host.
    pub host: u32,
    /// `LogFormat` by nickname. The format without a nickname is `TransferLog`'s.
    pub log_formats: BTreeMap<String, AccessFormat>,
    /// How many of the preloads perl has already loaded, for `<Perl>` sections.
    pub loaded_here: usize,
    /// `PerlAddAuthzProvider` and `PerlAddAuthnProvider`: handlers by name.
    pub authorizers: BTreeMap<String, String>,
    pub authenticators: BTreeMap<String, String>,
    /// `<Proxy URL>` and `<ProxyMatch REGEX>`: the URLs and the section's changes.
    pub proxied: Vec<(ProxiedUrls, Vec<crate::Change>)>,
    /// Whether some Perl was not run, so the directives are not fully known.
    pub is_partly_unknown: bool,
    /// `SSLCertificateKeyFile` before its `SSLCertificateFile`.
    pub waiting_keys: Vec<PathBuf>,
    /// `KeepAlive Off` outweighs a later `KeepAliveTimeout`.
    pub keep_alive_off: bool,
    /// Handler names that are valid only with an `Action`, and the error for a name without one.
    pub wants_action: Vec<(String, Fault)>,
    /// The balancer whose `<Proxy>` section is open.
    pub balancer: Option<String>,
    /// Upstreams that the directive being applied named.
    pub named: Vec<(String, At)>,
    /// The current directive's message about itself.
    pub note: Option<(NoteKind, String)>,
}

impl Environment {
    /// Makes the module present for `<IfModule>`, unless a site can do without it.
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

    /// Says something about the directive being applied that its writer should know.
    pub fn remark(&mut self, message: impl Into<String>) {
        self.note = Some((NoteKind::Remark, message.into()));
    }

    /// Notes that this use of the directive has no effect.
    pub fn ignore(&mut self, reason: impl Into<String>) {
        self.note = Some((NoteKind::Ignored, reason.into()));
    }

    pub fn preload(&mut self, stage: PreloadStage, preload: Preload) {
        let host = self.host;
        let is_known = |known: &Preloaded| known.what == preload && known.host == host;
        if !self.preloads.iter().any(|(_, known)| is_known(known)) {
            let what = Preloaded {
                host,
                ..preload.into()
            };
            self.preloads.push((stage, what));
        }
    }
}

/// A `PerlRequire` file: under `ServerRoot` if it exists there, else to be found in @INC.
pub(crate) fn required_file(server_root: &std::path::Path, text: &str) -> PathBuf {
    let below_root = server_root.join(text);
    if below_root.is_file() {
        below_root
    } else {
        PathBuf::from(text)
    }
}
