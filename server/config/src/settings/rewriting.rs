//! The rewriting settings of one scope after merging.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Change, RewriteRule};

/// The rewriting settings of one scope.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Rewriting {
    /// `RewriteEngine`. `None`: not configured.
    pub engine: Option<bool>,
    pub rules: Vec<Arc<RewriteRule>>,
    /// `RewriteBase`: the URL path of a folder.
    pub base: Option<String>,
    /// `RewriteOptions Inherit`: the rules of outer scopes run after the rules of this scope.
    pub inherit: bool,
    /// `RewriteOptions AllowNoSlash`: the rules of a folder also see the folder itself without the
    /// final slash.
    pub allow_no_slash: bool,
    /// The folder of the rules' section or .htaccess, with a final slash.
    pub folder: Option<PathBuf>,
}

impl Rewriting {
    /// Applies one scope's changes. The rules of the scope replace those of outer scopes, unless
    /// the scope inherits them.
    pub(crate) fn apply(&mut self, changes: &[Change], folder: Option<&Path>) {
        let mut own = Rewriting::default();
        let mut speaks = false;
        for change in changes {
            match change {
                Change::RewriteEngine(on) => own.engine = Some(*on),
                Change::RewriteRule(rule) => own.rules.push(rule.clone()),
                Change::RewriteBase(base) => own.base = Some(base.clone()),
                Change::RewriteInherit(inherit) => own.inherit = *inherit,
                Change::RewriteNoSlash => own.allow_no_slash = true,
                _ => continue,
            }
            speaks = true;
        }
        if !speaks {
            return;
        }
        if own.inherit {
            own.rules.extend_from_slice(&self.rules);
        }
        own.engine = own.engine.or(self.engine);
        own.folder = folder.map(|folder| folder.join(""));
        *self = own;
    }

    pub fn is_on(&self) -> bool {
        self.engine == Some(true) && !self.rules.is_empty()
    }

    /// Tells whether a rule sets a handler or a media type.
    pub(crate) fn forces(&self) -> bool {
        self.is_on() && self.rules.iter().any(|rule| rule.flags.forced.is_some())
    }
}
