//! The rewriting settings of one scope after merging.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::rewrite_options::RewriteOptions;
use crate::{Change, RewriteRule};

/// The rewriting settings of one scope.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Rewriting {
    /// `RewriteEngine`. `None`: not configured.
    pub engine: Option<bool>,
    pub rules: Vec<Arc<RewriteRule>>,
    /// `RewriteBase`: the URL path of a folder.
    pub base: Option<String>,
    /// `RewriteOptions`. `None`: not configured.
    pub options: Option<RewriteOptions>,
    /// The folder of the rules' section or .htaccess, with a final slash.
    pub folder: Option<PathBuf>,
    /// Whether a section, a .htaccess file or a virtual host has a directive of rewriting.
    pub is_configured: bool,
}

impl Rewriting {
    /// Applies the changes of one section or .htaccess file.
    pub(crate) fn apply(&mut self, changes: &[Change], folder: Option<&Path>) {
        let mut own = Rewriting::of(changes);
        if own.is_configured {
            own.folder = folder.map(|folder| folder.join(""));
            own.inherit(self);
            *self = own;
        }
    }

    /// Applies the lines outside of sections to the base of all sections. As in Apache, their
    /// rules are those of the host only.
    pub(crate) fn apply_base(&mut self, changes: &[Change]) {
        let own = Rewriting::of(changes);
        self.engine = own.engine.or(self.engine);
        self.options = own.options.or(self.options);
    }

    /// Reads the changes of one scope.
    pub(crate) fn of(changes: &[Change]) -> Rewriting {
        let mut own = Rewriting::default();
        for change in changes {
            match change {
                Change::RewriteEngine(on) => own.engine = Some(*on),
                Change::RewriteRule(rule) => own.rules.push(rule.clone()),
                Change::RewriteBase(base) => own.base = Some(base.clone()),
                Change::RewriteOptions(more) => {
                    own.options.get_or_insert_with(Default::default).add(*more)
                }
                _ => continue,
            }
            own.is_configured = true;
        }
        own
    }

    /// Merges the settings of the outer scope into those of this scope, as mod_rewrite does
    /// (`config_perdir_merge` and `config_server_merge`). The rules of the scope replace those of
    /// outer scopes, unless `RewriteOptions` says otherwise.
    pub(crate) fn inherit(&mut self, outer: &Rewriting) {
        let of_outer = outer.options.unwrap_or_default();
        self.engine = self.engine.or(outer.engine);
        self.options = self.options.or(outer.options);
        let options = self.options.unwrap_or_default();
        let is_passed_down = !options.ignore_inherit;
        if options.inherit || (of_outer.inherit_down && is_passed_down) {
            self.rules.extend_from_slice(&outer.rules);
        } else if options.inherit_before || (of_outer.inherit_down_before && is_passed_down) {
            self.rules.splice(..0, outer.rules.iter().cloned());
        }
        if options.merge_base {
            self.base = self.base.take().or_else(|| outer.base.clone());
        }
    }

    /// `RewriteOptions AllowNoSlash`
    pub fn allows_no_slash(&self) -> bool {
        self.options.is_some_and(|options| options.allow_no_slash)
    }

    pub fn is_on(&self) -> bool {
        self.engine == Some(true) && !self.rules.is_empty()
    }

    /// Tells whether a rule sets a handler or a media type.
    pub(crate) fn forces(&self) -> bool {
        self.is_on() && self.rules.iter().any(|rule| rule.flags.forced.is_some())
    }
}
