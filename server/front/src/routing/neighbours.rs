//! Decides whether the rules of a host and of a folder would admit a request for a file's
//! compressed neighbour. Rules run for the request of the file only, so the neighbour is sent only
//! if no rule can treat it otherwise than the file.
//!
//! `locate` calls [`may_be_sent`]. Access rules are compared there.

use mehari_config::{Host, RedirectRule, RewriteRule, Rewriting, Settings};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// A file and its neighbour, under the names that rules see.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub file: &'a [u8],
    pub neighbour: &'a [u8],
}

/// Whether no rule refuses the neighbour or leads its request elsewhere. `own`: the neighbour's
/// settings.
pub fn may_be_sent(
    host: &Host,
    (settings, own): (&Settings, &Settings),
    urls: Pair<'_>,
    files: Pair<'_>,
) -> bool {
    let redirects = |rules: &[Arc<RedirectRule>]| {
        rules
            .iter()
            .any(|rule| rule.matches(urls.neighbour).is_some())
    };
    let rewriting = &own.rules.rewriting;
    own.rules.redirect == settings.rules.redirect
        && !redirects(&host.rules.redirects)
        && !redirects(&own.rules.redirects)
        && !diverts(&host.rules.rewriting, urls)
        && !diverts(rewriting, files.behind_folder(rewriting))
}

impl<'a> Pair<'a> {
    /// Returns the parts of the names behind the folder of the rules.
    fn behind_folder(self, rewriting: &Rewriting) -> Pair<'a> {
        let folder = rewriting
            .folder
            .as_ref()
            .map(|path| path.as_os_str().as_bytes());
        let behind = |name: &'a [u8]| folder.and_then(|folder| name.strip_prefix(folder));
        Pair {
            file: behind(self.file).unwrap_or(self.file),
            neighbour: behind(self.neighbour).unwrap_or(self.neighbour),
        }
    }
}

/// Whether a rule may refuse the neighbour, or may lead only the neighbour elsewhere. Conditions
/// are not evaluated, because they may read the path.
fn diverts(rewriting: &Rewriting, names: Pair<'_>) -> bool {
    let matches = |rule: &RewriteRule, name| rule.pattern.matches(name) != rule.negated;
    let diverts = |rule: &RewriteRule| {
        let flags = &rule.flags;
        let is_refusal =
            flags.forbidden || flags.gone || flags.redirect.is_some_and(|status| status >= 400);
        let leads_on = rule.substitution.is_some() && !matches(rule, names.file);
        matches(rule, names.neighbour) && (is_refusal || leads_on)
    };
    rewriting.is_on() && rewriting.rules.iter().any(|rule| diverts(rule))
}
